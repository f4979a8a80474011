"""Names for addresses: what the hosts file that all pods of a namespace share has in it; pure.

There is no name server: with one that does not answer at once, the reverse look-ups of distributed training
cost seconds each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from trainshed.kinds.reading import entries, is_true, mapping, texts
from trainshed.kube import conditions
from trainshed.kube.objects import Object, dig, text
from trainshed.runner.pod_plan import hostname

_LOCAL: Final = """\
127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
fe00::0 ip6-localnet
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
"""
Label = tuple[str, str]
_ZONE: Final = "svc.cluster.local"
Sight = Literal["usual", "ready", "all"]
"""Who is seen of pods that are not ready. `usual`: they are found by their own name, not by a service's, as
on a cluster. `ready`: not by their own name either where a service bears it; for those who wait for others.
`all`: like the ready ones; for whoever looks only once."""


@dataclass(frozen=True, slots=True)
class Host:
    """One pod as others find it."""

    address: str
    namespace: str
    hostname: str
    subdomain: str
    labels: tuple[Label, ...]
    aliases: tuple[tuple[str, str], ...]
    created: str
    is_ready: bool = True


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
        conditions.is_true(dig(pod, "status", "conditions"), "Ready")
        and not dig(pod, "metadata", "deletionTimestamp"),
    )


def names_of(host: Host) -> list[str]:
    """All names of a pod, the full one first: that is what a reverse look-up finds."""
    if not host.subdomain:
        return [host.hostname]
    short = f"{host.hostname}.{host.subdomain}"
    return [*_qualified(short, host.namespace), host.hostname]


def _qualified(name: str, namespace: str) -> list[str]:
    return [*_abroad(name, namespace), name]


def _abroad(name: str, namespace: str) -> list[str]:
    """What is said to other namespaces."""
    return [f"{name}.{namespace}.{_ZONE}", f"{name}.{namespace}.svc", f"{name}.{namespace}"]


Naming = Callable[[str, str], list[str]]
"""The names of something by its own and its namespace."""


def is_behind(host: Host, service: Object) -> bool:
    wanted = mapping(service, "spec", "selector").items()
    return bool(wanted) and all(label in host.labels for label in wanted)


@functools.lru_cache(maxsize=16_384)
def lines_of(host: Host) -> str:
    own = f"{host.address} {' '.join(names_of(host))}\n"
    return own + "".join(f"{address} {names}\n" for address, names in host.aliases)


@functools.lru_cache(maxsize=16_384)
def line_abroad(host: Host) -> str:
    """A pod as other namespaces find it: by the names it has below a service."""
    if not host.subdomain:
        return ""
    return f"{host.address} {' '.join(_abroad(f'{host.hostname}.{host.subdomain}', host.namespace))}\n"


def lines_of_service(
    service: Object, behind: Iterable[Host], sight: Sight = "usual", called: Naming = _qualified
) -> str:
    """The names of a service lead to the pods behind it."""
    names = called(text(service, "metadata", "name"), text(service, "metadata", "namespace"))
    early = sight == "all" or is_early(service)
    seen = (host for host in sorted(behind, key=_order) if early or host.is_ready)
    return "".join(_line(host, names) for host in seen)


def _line(host: Host, names: list[str]) -> str:
    """A name that is a pod's own as well would lead to the same address twice."""
    own = names_of(host)
    return f"{host.address} {' '.join(name for name in names if name not in own)}\n"


def is_early(service: Object) -> bool:
    """Whether it leads to pods before they are ready."""
    return is_true(service, "spec", "publishNotReadyAddresses")


def _order(host: Host) -> tuple[str, str]:
    return host.hostname, host.address


class Neighbourhood:
    """The pods and services of one namespace, in pieces: one change must not cost a look at all others."""

    def __init__(self) -> None:
        self._hosts: dict[str, Host] = {}
        self._services: dict[str, Object] = {}
        self._lines: dict[str, str] = {}
        """Of each service, in the usual sight."""
        self._by_label: dict[Label, set[str]] = {}
        """Names of services by one label that their pods have."""
        self._bearers: dict[Label, dict[str, Host]] = {}
        """Pods by each of their labels."""
        self._with_address: set[str] = set()
        self._abroad: dict[Sight, str] = {}

    def put(self, uid: str, host: Host) -> bool:
        """Whether that changed anything."""
        before = self._hosts.get(uid)
        if before == host:
            return False
        self._place(uid, before, host)
        is_news = self._renew([one for one in (before, host) if one is not None])
        if before is not None and replace(before, is_ready=host.is_ready) == host and not is_news:
            return False
        self._abroad.clear()
        return True

    def drop(self, uid: str) -> bool:
        gone = self._hosts.get(uid)
        if gone is not None:
            self._place(uid, gone, None)
            self._renew([gone])
            self._abroad.clear()
        return gone is not None

    def _place(self, uid: str, before: Host | None, after: Host | None) -> None:
        for label in before.labels if before is not None else ():
            bearers = self._bearers[label]
            del bearers[uid]
            if not bearers:
                del self._bearers[label]
        self._hosts.pop(uid, None)
        if after is not None:
            self._hosts[uid] = after
            for label in after.labels:
                self._bearers.setdefault(label, {})[uid] = after

    def _behind(self, service: Object) -> list[Host]:
        """One of its labels leads to few pods, whatever else lives here."""
        label = _label(service)
        found = self._bearers.get(label, {}).values() if label is not None else ()
        return [host for host in found if is_behind(host, service)]

    def put_service(self, service: Object) -> None:
        name = text(service, "metadata", "name")
        self.drop_service(name)
        self._services[name] = service
        self._lines[name] = lines_of_service(service, self._behind(service))
        if (label := _label(service)) is not None:
            self._by_label.setdefault(label, set()).add(name)
        if text(service, "spec", "clusterIP") not in ("", "None"):
            self._with_address.add(name)

    def drop_service(self, name: str) -> None:
        self._abroad.clear()
        gone = self._services.pop(name, None)
        self._lines.pop(name, None)
        self._with_address.discard(name)
        if gone is not None and (label := _label(gone)) is not None:
            self._by_label[label].discard(name)
            if not self._by_label[label]:
                del self._by_label[label]

    def render(self, sight: Sight = "usual") -> str:
        """Where a name was used before, the newest pod comes first: the first line with a name counts."""
        newest_first = sorted(self._hosts.values(), key=_age, reverse=True)
        if sight == "ready":
            newest_first = [host for host in newest_first if not self._is_hidden(host)]
        services: Iterable[str] = self._lines.values()
        if sight == "all":
            services = (lines_of_service(one, self._behind(one), sight) for one in self._services.values())
        return "".join([_LOCAL, *map(lines_of, newest_first), *services])

    def _is_hidden(self, host: Host) -> bool:
        """Whether a pod's own name is that of a service which does not lead to it yet."""
        service = self._services.get(host.hostname)
        if service is None or host.is_ready or host.subdomain:
            return False
        return is_behind(host, service) and not is_early(service)

    @property
    def is_empty(self) -> bool:
        return not self._hosts and not self._services

    @property
    def is_inhabited(self) -> bool:
        return bool(self._hosts)

    def abroad(self, sight: Sight = "usual") -> str:
        """What the files of other namespaces say of this one."""
        sight = "usual" if sight == "ready" else sight
        if sight not in self._abroad:
            newest_first = sorted(self._hosts.values(), key=_age, reverse=True)
            services = (
                lines_of_service(one, self._behind(one), sight, _abroad) for one in self._services.values()
            )
            self._abroad[sight] = "".join([*map(line_abroad, newest_first), *services])
        return self._abroad[sight]

    def reachable(self) -> list[tuple[Object, str]]:
        """Services with an address of their own, and a pod behind each."""
        found = []
        for service in (self._services[name] for name in sorted(self._with_address)):
            found += [(service, host.address) for host in self._behind(service)[:1]]
        return found

    def _renew(self, changed: list[Host]) -> bool:
        """Whether any service leads elsewhere now."""
        names = {name for host in changed for label in host.labels for name in self._by_label.get(label, ())}
        before = {name: self._lines[name] for name in names}
        for name in names:
            if any(is_behind(host, self._services[name]) for host in changed):
                self._lines[name] = lines_of_service(self._services[name], self._behind(self._services[name]))
        return any(self._lines[name] != lines for name, lines in before.items())


def _label(service: Object) -> Label | None:
    """One of the labels that pods behind the service have."""
    return min(
        ((key, str(value)) for key, value in mapping(service, "spec", "selector").items()), default=None
    )


def _age(host: Host) -> tuple[str, str]:
    return host.created, host.address
