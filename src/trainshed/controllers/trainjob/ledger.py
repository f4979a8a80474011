"""What was seen of pods that are gone by the time somebody asks why their job failed.

A Job that gives up deletes the pods it still has, and a JobSet that starts again deletes all of them; what
they said would be lost. So every change of a pod passes by here, and the telling ones are kept, per job.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from trainshed.controllers.trainjob import ranks
from trainshed.kinds.core import podstates
from trainshed.kinds.core.podstates import HEALTHY, Digest, Ended
from trainshed.kinds.jobset import labels
from trainshed.kube.objects import Object, text
from trainshed.loop.keys import Key

MOST_NOTED: Final = 10_000
"""Pods whose version is remembered; of any other it is only looked at twice."""


class Seen(NamedTuple):
    """A bad end and whose it was."""

    ended: Ended
    pod: Object
    """Only its metadata: enough to name it."""

    @property
    def order(self) -> tuple[bool, str, int]:
        """The first cause comes first."""
        return self.ended.is_echo, self.ended.at, ranks.index_of(self.pod)

    def sentence(self, jobset: Object | None) -> str:
        """`rank 1 of 2 exited 1: ModuleNotFoundError: No module named 'foo'`"""
        return f"{ranks.name_of(self.pod, jobset)}{self.ended.where} {self.ended.how}"


@dataclass(slots=True)
class _Page:
    """All about one JobSet of a TrainJob."""

    jobset_uid: str
    digests: dict[str, Digest] = field(default_factory=dict)
    seen: dict[int, dict[str, Seen]] = field(default_factory=dict)
    """By attempt and by pod; of each pod the latest end."""


class Ledger:
    def __init__(self) -> None:
        self._pages: dict[Key, _Page] = {}
        self._watched: set[Key] = set()
        self._noted: dict[str, str] = {}
        """The latest version of each pod that was looked at."""

    def concerns(self, pod: Object) -> Iterable[Key]:
        """The TrainJob a change of a pod concerns, if it says anything new; takes note of it."""
        meta = pod["metadata"]
        name = text(meta, "labels", labels.JOBSET_NAME)
        if not name:
            return ()
        key = Key(text(meta, "namespace"), name)
        return (key,) if self._is_news(key, pod) or key in self._watched else ()

    def watch(self, key: Key, is_troubled: bool) -> None:
        """A job in trouble is looked at on every change of its pods, until it is out of it."""
        (self._watched.add if is_troubled else self._watched.discard)(key)

    def forget(self, key: Key) -> None:
        self._pages.pop(key, None)
        self._watched.discard(key)

    def first_failure(self, key: Key, attempt: int | None = None) -> Seen | None:
        """What began the failure of an attempt, or of the latest one with any failure."""
        page = self._pages.get(key)
        if page is None or not page.seen:
            return None
        found = page.seen.get(max(page.seen) if attempt is None else attempt, {})
        return min(found.values(), key=lambda seen: seen.order, default=None)

    def _is_news(self, key: Key, pod: Object) -> bool:
        """Each version is looked at once: a change comes with the one before, too."""
        uid, version = text(pod, "metadata", "uid"), text(pod, "metadata", "resourceVersion")
        if version and self._noted.pop(uid, None) == version:
            self._noted[uid] = version
            return False
        self._noted[uid] = version
        if len(self._noted) > MOST_NOTED:
            del self._noted[next(iter(self._noted))]
        return self._note(key, pod)

    def _note(self, key: Key, pod: Object) -> bool:
        digest, uid = podstates.digest(pod), text(pod, "metadata", "uid")
        page = self._page(key, pod, is_news=digest != HEALTHY)
        if page is None or page.digests.get(uid, HEALTHY) == digest:
            return False
        page.digests[uid] = digest
        ended = podstates.bad_end(pod)
        if ended is not None:
            page.seen.setdefault(ranks.attempt_of(pod), {})[uid] = Seen(ended, {"metadata": pod["metadata"]})
        return True

    def _page(self, key: Key, pod: Object, *, is_news: bool) -> _Page | None:
        jobset_uid = text(pod, "metadata", "labels", labels.JOBSET_UID)
        page = self._pages.get(key)
        if page is not None and page.jobset_uid == jobset_uid:
            return page
        if is_news:
            page = self._pages[key] = _Page(jobset_uid)
            return page
        return None
