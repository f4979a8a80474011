"""The kubeconfig of the embedded server: one context, `trainshed`, with its authority and the admin token."""

from __future__ import annotations

import base64
from pathlib import Path

from trainshed.apiserver.access import privatefiles

CONTEXT = "trainshed"

# Every value is base64, a URL or a token of URL-safe letters: nothing that YAML could read differently.
_TEMPLATE = """\
apiVersion: v1
kind: Config
current-context: {context}
clusters:
- name: {context}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
contexts:
- name: {context}
  context:
    cluster: {context}
    user: {context}-admin
users:
- name: {context}-admin
  user:
    token: {token}
preferences: {{}}
"""


def server_url(host: str, port: int) -> str:
    """Where clients on this machine reach a server bound to `host`."""
    reachable = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"https://[{reachable}]:{port}" if ":" in reachable else f"https://{reachable}:{port}"


def render(server: str, authority_pem: bytes, token: str) -> str:
    authority = base64.b64encode(authority_pem).decode()
    return _TEMPLATE.format(context=CONTEXT, server=server, authority=authority, token=token)


def write(path: Path, server: str, authority_pem: bytes, token: str) -> None:
    """Write it with mode 0600, leaving an unchanged file alone. Raises `OSError`."""
    privatefiles.write_if_changed(path, render(server, authority_pem, token).encode())
