"""Writers that keep books of what they were promised, to be compared with what is there after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from tests.builders import a_config_map
from trainshed.client import answers, requests
from trainshed.client.failures import ConnectionFailure
from trainshed.client.requests import Request, Resource
from trainshed.client.transport import HttpTransport
from trainshed.kube.objects import Object, decode

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
LABEL = "in=ledger"
WRITERS = 6
NAMES_EACH = 6
Told = Callable[[], None]


@dataclass(frozen=True)
class Entry:
    """The state of one name: its number, or None for deleted; the revision where it is known."""

    number: int | None
    revision: int = 0


@dataclass
class Ledger:
    namespace: str
    entries: dict[str, Entry] = field(default_factory=dict)
    doubtful: dict[str, Entry] = field(default_factory=dict)
    """Writes that were cut off: done or not, nobody knows."""
    promised: set[int] = field(default_factory=set)
    """The revisions of all acknowledged writes that told theirs."""
    number: int = 0

    async def keep(self, transport: HttpTransport, random: Random, told: Told) -> None:
        """Write from many sides until the server is gone; `told` is called at each acknowledgement."""
        async with asyncio.TaskGroup() as group:
            for writer in range(WRITERS):
                group.create_task(self._write(writer, transport, Random(random.random()), told))

    async def _write(self, writer: int, transport: HttpTransport, random: Random, told: Told) -> None:
        while True:
            name = f"w{writer}-{random.randrange(NAMES_EACH)}"
            wanted, request = self._next(name, random)
            try:
                answer = await transport.send(request)
            except ConnectionFailure:
                self.doubtful[name] = wanted
                return
            self._enter(name, wanted, answers.read_object(answer))
            told()

    def _next(self, name: str, random: Random) -> tuple[Entry, Request]:
        present = self.entries.get(name, Entry(None)).number is not None
        if present and random.random() < 0.25:
            return Entry(None), requests.delete(CONFIG_MAPS, name, self.namespace)
        self.number += 1
        obj = a_numbered(name, self.number, random.randrange(4000))
        if not present:
            return Entry(self.number), requests.create(CONFIG_MAPS, obj, self.namespace)
        if random.random() < 0.5:
            return Entry(self.number), requests.replace(CONFIG_MAPS, obj, self.namespace)
        change = {"data": obj["data"]}
        return Entry(self.number), requests.patch(CONFIG_MAPS, name, change, self.namespace, type="merge")

    def _enter(self, name: str, wanted: Entry, answer: Object) -> None:
        if wanted.number is None:
            self.entries[name] = wanted
            return
        revision = int(answer["metadata"]["resourceVersion"])
        self.entries[name] = Entry(wanted.number, revision)
        self.promised.add(revision)

    def compare(self, items: Mapping[str, Object]) -> None:
        """Fails unless what is there is what was promised, or what a cut-off write may have made of it."""
        for name in {*self.entries, *self.doubtful, *items}:
            found, known = items.get(name), self.entries.get(name, Entry(None))
            number = None if found is None else number_of(found)
            if number == known.number:
                assert found is None or int(found["metadata"]["resourceVersion"]) == known.revision, name
            else:
                assert name in self.doubtful, f"{name}: {known} was promised, {number} is there"
                assert number == self.doubtful[name].number, name
            revision = 0 if found is None else int(found["metadata"]["resourceVersion"])
            self.entries[name] = Entry(number, revision)
        self.doubtful.clear()


def a_numbered(name: str, number: int, size: int) -> Object:
    """An object that shows whether it is whole."""
    data = {"number": str(number), "size": str(size), "padding": "x" * size}
    return a_config_map(name, data, labels={"in": "ledger"})


def number_of(obj: Object) -> int:
    data = obj["data"]
    assert len(data["padding"]) == int(data["size"]), f"{obj['metadata']['name']} is not whole"
    return int(data["number"])


@dataclass
class Follower:
    """A watcher that resumes where it stood, and keeps all it has seen."""

    namespace: str
    revision: int
    state: dict[str, Object] = field(default_factory=dict)
    revisions: list[int] = field(default_factory=list)

    async def follow(self, transport: HttpTransport, until: Callable[[], bool] = lambda: False) -> None:
        """Read events until the claim holds or the server is gone."""
        where = requests.Where(labels=LABEL, revision=str(self.revision))
        request = requests.watch(CONFIG_MAPS, self.namespace, where)
        try:
            async with transport.stream(request) as stream:
                assert stream.code == 200
                async for line in stream.lines():
                    self._see(decode(line))
                    if until():
                        return
        except ConnectionFailure:
            return

    def _see(self, event: Object) -> None:
        assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
        meta = event["object"]["metadata"]
        revision = int(meta["resourceVersion"])
        assert revision > self.revision, f"revision {revision} came after {self.revision}"
        self.revision = revision
        self.revisions.append(revision)
        if event["type"] == "DELETED":
            assert self.state.pop(meta["name"], None) is not None, f"{meta['name']} went twice"
        else:
            assert (event["type"] == "ADDED") == (meta["name"] not in self.state), event
            self.state[meta["name"]] = event["object"]
