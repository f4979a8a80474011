"""Names for addresses: the hosts file that all pods of a namespace share.

There is no name server: with one that does not answer at once, the reverse look-ups of distributed training
cost seconds each. Text is decided by pure functions; `HostsFiles` keeps the files up to date in place, as
they are mounted into running containers.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainshed.kinds.reading import entries, mapping, texts
from trainshed.kube.objects import Object, dig, text
from trainshed.runner.pod_plan import hostname

_LOCAL: Final = (
    "127.0.0.1 localhost",
    "::1 localhost ip6-localhost ip6-loopback",
    "fe00::0 ip6-localnet",
    "ff02::1 ip6-allnodes",
    "ff02::2 ip6-allrouters",
)
_ZONE: Final = "svc.cluster.local"


@dataclass(frozen=True, slots=True)
class Host:
    """One pod as others find it."""

    address: str
    namespace: str
    hostname: str
    subdomain: str
    labels: tuple[tuple[str, str], ...]
    aliases: tuple[tuple[str, str], ...]
    created: str


def host_of(pod: Object, address: str) -> Host:
    aliases = tuple(
        (text(alias, "ip"), " ".join(texts(alias, "hostnames")))
        for alias in entries(pod, "spec", "hostAliases")
    )
    return Host(
        address,
        text(pod, "metadata", "namespace"),
        hostname(pod),
        text(pod, "spec", "subdomain"),
        tuple(sorted((key, str(value)) for key, value in mapping(pod, "metadata", "labels").items())),
        aliases,
        text(pod, "metadata", "creationTimestamp"),
    )


def names_of(host: Host) -> list[str]:
    """All names of a pod, the full one first: that is what a reverse look-up finds."""
    if not host.subdomain:
        return [host.hostname]
    short = f"{host.hostname}.{host.subdomain}"
    return [*_qualified(short, host.namespace), host.hostname]


def _qualified(name: str, namespace: str) -> list[str]:
    return [f"{name}.{namespace}.{_ZONE}", f"{name}.{namespace}.svc", f"{name}.{namespace}", name]


def selected(service: Object, hosts: Iterable[Host]) -> list[Host]:
    """The pods behind a service."""
    wanted = mapping(service, "spec", "selector").items()
    return [host for host in hosts if wanted and wanted <= dict(host.labels).items()]


def render(hosts: Iterable[Host], services: Iterable[Object]) -> str:
    """The hosts file of a namespace. Where a name was used before, the newest pod comes first."""
    newest_first = sorted(hosts, key=lambda host: (host.created, host.address), reverse=True)
    lines = [*_LOCAL, *(_line(host) for host in newest_first)]
    for service in sorted(services, key=lambda one: text(one, "metadata", "name")):
        name, namespace = text(service, "metadata", "name"), text(service, "metadata", "namespace")
        behind = sorted(selected(service, newest_first), key=lambda host: host.hostname)
        lines += [f"{host.address} {' '.join(_qualified(name, namespace))}" for host in behind]
    lines += dict.fromkeys(f"{ip} {names}" for host in newest_first for ip, names in host.aliases)
    return "\n".join(lines) + "\n"


@functools.lru_cache(maxsize=16_384)
def _line(host: Host) -> str:
    return f"{host.address} {' '.join(names_of(host))}"


def is_gone(pod: Object) -> bool:
    """Whether nobody will meet the pod any more."""
    return dig(pod, "status", "phase") in ("Succeeded", "Failed")


class HostsFiles:
    """One file per namespace; changes of one turn of the loop are written together."""

    def __init__(self, folder: Path, services: Callable[[str], list[Object]]) -> None:
        self._folder, self._services = folder, services
        self._hosts: dict[str, dict[str, Host]] = {}
        self._stale: set[str] = set()
        self._scheduled: asyncio.Handle | None = None

    def path(self, namespace: str) -> Path:
        return self._folder / f"{namespace}.hosts"

    def put(self, uid: str, host: Host) -> None:
        known = self._hosts.setdefault(host.namespace, {})
        if known.get(uid) != host:
            known[uid] = host
            self.touch(host.namespace)

    def drop(self, uid: str, namespace: str) -> None:
        if self._hosts.get(namespace, {}).pop(uid, None) is not None:
            self.touch(namespace)

    def touch(self, namespace: str) -> None:
        """Something in the namespace changed: write its file soon."""
        self._stale.add(namespace)
        if self._scheduled is None:
            self._scheduled = asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Write now what is stale: before a pod starts, its file has to know it."""
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        stale, self._stale = self._stale, set()
        for namespace in stale:
            hosts = self._hosts.get(namespace, {}).values()
            write_in_place(self.path(namespace), render(hosts, self._services(namespace)))

    def addresses(self, namespace: str) -> Mapping[str, str]:
        """One pod's address for each service of a namespace that has any."""
        hosts = list(self._hosts.get(namespace, {}).values())
        found = {text(one, "metadata", "name"): selected(one, hosts) for one in self._services(namespace)}
        return {name: behind[0].address for name, behind in found.items() if behind}


def write_in_place(path: Path, content: str) -> None:
    """Change a file without replacing it: containers have this very file mounted."""
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(handle, data, 0)
        os.ftruncate(handle, len(data))
    finally:
        os.close(handle)
