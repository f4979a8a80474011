"""The hosts files on disk: changed in place, as they are mounted into running containers."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

from trainshed.kube.objects import Object, text
from trainshed.runner.hosts import Host, Neighbourhood, Sight

log = logging.getLogger(__name__)

_RUMOUR_SECONDS = 0.1
"""How long what happens in one namespace may be unknown in the others."""


class HostsFiles:
    """A file per namespace, and more where some look differently; one turn's changes are written together.

    Other namespaces hear of them a little later: there may be many, and few look for each other.
    """

    def __init__(self, folder: Path, common: Callable[[str], str] = lambda namespace: "") -> None:
        """`common` are the lines every file has, whoever lives there."""
        self._folder, self._common = folder, common
        self._namespaces: dict[str, Neighbourhood] = {}
        self._others: dict[str, set[Sight]] = {}
        """Files beside the usual ones that are in use, by namespace."""
        self._stale: set[str] = set()
        self._scheduled: asyncio.Handle | None = None
        self._moved: set[str] = set()
        """Namespaces of which the others have not heard yet."""
        self._rumour: asyncio.Handle | None = None

    def path(self, namespace: str, sight: Sight = "usual") -> Path:
        """Where the file is, once it was flushed; it is kept up to date from then on."""
        if sight == "usual":
            return self._folder / f"{namespace}.hosts"
        used = self._others.setdefault(namespace, set())
        if sight not in used:
            used.add(sight)
            self._touch(namespace)
        return self._folder / f"{namespace}.{sight}.hosts"

    def put(self, uid: str, host: Host) -> None:
        if self._of(host.namespace).put(uid, host):
            self._touch(host.namespace)

    def drop(self, uid: str, namespace: str) -> None:
        if self._of(namespace).drop(uid):
            self._touch(namespace)

    def see_service(self, before: Object | None, after: Object | None) -> None:
        """A service came, changed or went."""
        namespace = text(after or before, "metadata", "namespace")
        if after is not None:
            self._of(namespace).put_service(after)
        else:
            self._of(namespace).drop_service(text(before, "metadata", "name"))
        self._touch(namespace)

    def reachable(self, namespace: str) -> list[tuple[Object, str]]:
        return self._of(namespace).reachable()

    def flush(self) -> None:
        """Write now what is stale: before a pod starts, its file has to know it."""
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        for namespace in sorted(self._stale):
            if self._of(namespace).is_empty:
                self._forget(namespace)
            else:
                self._write(namespace)
            self._stale.discard(namespace)

    def forget_strangers(self) -> None:
        """Once all pods are known: remove what a former life left of namespaces where nobody lives."""
        for path in self._folder.glob("*.hosts"):
            if path.name.partition(".")[0] not in self._namespaces:
                path.unlink(missing_ok=True)

    def _write(self, namespace: str) -> None:
        for sight in ("usual", *sorted(self._others.get(namespace, ()))):
            write_in_place(self.path(namespace, sight), self._render(namespace, sight))

    def _forget(self, namespace: str) -> None:
        """Nobody lives there, and nothing leads there: the namespace may be gone."""
        for sight in ("usual", *self._others.get(namespace, ())):
            self.path(namespace, sight).unlink(missing_ok=True)
        self._others.pop(namespace, None)
        del self._namespaces[namespace]

    def _render(self, namespace: str, sight: Sight) -> str:
        others = (one.abroad(sight) for name, one in sorted(self._namespaces.items()) if name != namespace)
        return "".join([self._of(namespace).render(sight), self._common(namespace), *others])

    def _spread(self) -> None:
        """Tell all namespaces where somebody lives what has moved elsewhere."""
        moved, self._moved, self._rumour = self._moved, set(), None
        self._stale |= {name for name, one in self._namespaces.items() if one.is_inhabited and moved - {name}}
        self._flush_later()

    def _flush_later(self) -> None:
        try:
            self.flush()
        except OSError as why:
            log.warning("hosts files are not up to date: %s", why)

    def _of(self, namespace: str) -> Neighbourhood:
        if namespace not in self._namespaces:
            self._namespaces[namespace] = Neighbourhood()
            self._touch(namespace)
        return self._namespaces[namespace]

    def _touch(self, namespace: str) -> None:
        self._stale.add(namespace)
        self._moved.add(namespace)
        loop = asyncio.get_running_loop()
        if self._scheduled is None:
            self._scheduled = loop.call_soon(self._flush_later)
        if self._rumour is None:
            self._rumour = loop.call_later(_RUMOUR_SECONDS, self._spread)


def write_in_place(path: Path, content: str) -> None:
    """Change a file without replacing it: containers have this very file mounted."""
    data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.pwrite(handle, data, 0)
        os.ftruncate(handle, len(data))
    finally:
        os.close(handle)
