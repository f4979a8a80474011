"""The recent past: one log of events per resource, all of them inside one window bounded by count and bytes.

Watchers hold positions in these logs, not copies. A position counts from the first event ever logged, so
cutting the front of a log moves nobody; whoever stands before the cut has lost events and is told so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable

from trainshed.store.records import Event
from trainshed.store.settings import Settings

EVENT_BYTES = 300
"""What an event costs beside the bytes it keeps alive: the event, a replaced record, places in lists."""

Wake = Callable[[int], None]
"""Told once, on the first batch of events of interest: the position where that batch begins."""


class Log:
    """The events of one resource, and who waits for more of them."""

    __slots__ = ("_waiting", "base", "events", "floor", "revision")

    def __init__(self, floor: int) -> None:
        self.events: list[Event] = []
        self.base = 0
        self.floor = floor
        """Events up to this revision may be missing; later ones are all here."""
        self.revision = 0
        """Of the last change, 0 when nothing is known."""
        self._waiting: dict[str | None, set[Wake]] = {}

    @property
    def end(self) -> int:
        return self.base + len(self.events)

    def after(self, revision: int) -> int:
        """The position behind everything up to a revision."""
        return self.base + bisect_right(self.events, revision, key=_revision)

    def at(self, position: int) -> Event:
        return self.events[position - self.base]

    def since(self, position: int) -> list[Event]:
        return self.events[position - self.base :]

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.revision = event.record.revision

    def cut(self, count: int) -> None:
        self.floor = self.events[count - 1].record.revision
        del self.events[:count]
        self.base += count

    def park(self, namespace: str | None, wake: Wake) -> None:
        self._waiting.setdefault(namespace, set()).add(wake)

    def leave(self, namespace: str | None, wake: Wake) -> None:
        if waiting := self._waiting.get(namespace):
            waiting.discard(wake)
            if not waiting:
                del self._waiting[namespace]

    def wake(self, start: int) -> None:
        """Wake those to whom the events from `start` on matter; other namespaces sleep on."""
        if not self._waiting:
            return
        spaces: set[str | None] = {event.record.key.namespace for event in self.since(start)}
        for space in (None, *spaces):
            for wake in self._waiting.pop(space, ()):
                wake(start)


class History:
    """All logs and the window over them."""

    __slots__ = ("_bytes", "_logs", "_opened", "_order", "_settings", "compacted")

    def __init__(self, compacted: int, settings: Settings) -> None:
        self.compacted = compacted
        """Nothing later than this revision has been forgotten, of any resource."""
        self._opened = compacted
        self._settings = settings
        self._logs: dict[str, Log] = {}
        self._order: deque[str] = deque()
        self._bytes = 0

    def log(self, resource: str) -> Log:
        found = self._logs.get(resource)
        if found is None:
            found = self._logs[resource] = Log(self._opened)
        return found

    def revision_of(self, resource: str) -> int:
        found = self._logs.get(resource)
        return found.revision if found else 0

    def add(self, event: Event) -> None:
        resource = event.record.key.resource
        self.log(resource).add(event)
        self._order.append(resource)
        self._bytes += _cost(event)

    def publish(self, events: Iterable[Event]) -> None:
        """Log a batch, then wake each log's watchers once."""
        starts: dict[str, int] = {}
        for event in events:
            resource = event.record.key.resource
            if resource not in starts:
                starts[resource] = self.log(resource).end
            self.add(event)
        for resource, start in starts.items():
            self._logs[resource].wake(start)

    def trim(self) -> bool:
        """Cut a window that is over a bound, by an eighth at once so that it rarely happens; True if cut."""
        settings = self._settings
        if len(self._order) <= settings.window_events and self._bytes <= settings.window_bytes:
            return False
        return self.shrink(7 / 8)

    def shrink(self, share: float) -> bool:
        """Cut the window to a share of what it holds, or of its bounds where it holds more."""
        most_events = int(min(self._settings.window_events, len(self._order)) * share)
        most_bytes = int(min(self._settings.window_bytes, self._bytes) * share)
        cuts: Counter[str] = Counter()
        while self._order and (len(self._order) > most_events or self._bytes > most_bytes):
            resource = self._order.popleft()
            event = self._logs[resource].events[cuts[resource]]
            cuts[resource] += 1
            self._bytes -= _cost(event)
            self.compacted = event.record.revision
        for resource, count in cuts.items():
            self._logs[resource].cut(count)
        return bool(cuts)

    def __len__(self) -> int:
        return len(self._order)


def _revision(event: Event) -> int:
    return event.record.revision


def _cost(event: Event) -> int:
    """The bytes that forgetting this event would free; the present state is not on its account."""
    replaced = len(event.previous.value) if event.previous else 0
    gone = len(event.record.value) if event.type == "DELETED" else 0
    return EVENT_BYTES + replaced + gone
