"""A client of server-sent events that keeps what it was told, and its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from trainshed.kube.objects import JSON, Object


@dataclass(frozen=True)
class Event:
    name: str
    id: str
    data: JSON


@dataclass
class Follower:
    """Follows one stream, over as many connections as it takes."""

    rest: httpx.Client
    path: str
    params: Object
    heard: list[Event] = field(default_factory=list)
    last: str = ""

    @contextmanager
    def connected(self) -> Iterator[Iterator[Event]]:
        """Events as they come, behind the last one that came before."""
        headers = {"Last-Event-ID": self.last} if self.last else {}
        with self.rest.stream("GET", self.path, params=self.params, headers=headers) as answer:
            if answer.status_code != 200:
                answer.read()
            assert answer.status_code == 200, f"{answer.status_code}: {answer.text}"
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield self._events(answer)

    def _events(self, answer: httpx.Response) -> Iterator[Event]:
        name = data = id = ""
        for line in answer.iter_lines():
            if line.startswith("id: "):
                id = line[4:]
            elif line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
            elif not line and name:
                found = Event(name, id, json.loads(data))
                self.heard.append(found)
                self.last = id or self.last
                yield found
                name = data = id = ""

    def to_the_end(self) -> Object:
        """What the `end` says."""
        with self.connected() as events:
            for event in events:
                if event.name == "end":
                    body: Object = event.data
                    return body
        raise AssertionError(f"the stream broke off: {self.heard[-2:]}")

    def lines(self, worker: int | None = None) -> list[str]:
        return [
            line
            for event in self.heard
            if event.name == "lines" and worker in (None, event.data["worker"])
            for line in event.data["lines"]
        ]


def lines_of(rest: httpx.Client, name: str, namespace: str = "default", **more: JSON) -> Follower:
    return Follower(rest, f"/api/trainjob/{name}/logs/stream", {"namespace": namespace, **more})


def states_of(rest: httpx.Client, name: str, namespace: str = "default", **more: JSON) -> Follower:
    return Follower(rest, f"/api/trainjob/{name}/status/stream", {"namespace": namespace, **more})
