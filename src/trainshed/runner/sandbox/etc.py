"""The few files in /etc that differ from the host's."""

from __future__ import annotations

import os

from trainshed.runner.sandbox.network import Addresses


def write_files(folder: str, is_open: bool, addresses: Addresses) -> None:
    """`closed` for pods without a way out; `open` for those with one."""
    for name, text in (("resolv.conf", resolv(is_open, addresses)), ("nsswitch.conf", nsswitch(is_open))):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def resolv(is_open: bool, addresses: Addresses) -> str:
    if not is_open:
        return "# pods of this machine have no name server: all names are in /etc/hosts\n"
    return f"nameserver {addresses.bridge}\noptions timeout:2 attempts:1\n"


def nsswitch(is_open: bool) -> str:
    """Peers are found in /etc/hosts. A name server that does not answer would cost seconds at every turn."""
    hosts = "files dns" if is_open else "files"
    return (
        f"passwd: files\ngroup: files\nshadow: files\nhosts: {hosts}\nnetworks: files\n"
        "protocols: files\nservices: files\nethers: files\nrpc: files\n"
    )
