"""`pods/log`: what the checks of kubectl and the SDKs expect, in front of whoever keeps the lines.

The lines themselves are the node agent's, reached through `Source`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from trainshed.apiserver.answers import Stream
from trainshed.apiserver.call import Call
from trainshed.apiserver.requests import Query
from trainshed.kube import ages, faults
from trainshed.kube.objects import Object, dig, metadata

TEXT = b"text/plain"
_LONGEST_SECONDS = 30 * 365 * 24 * 3600
_IMAGES = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What of a container's log is wanted, checked."""

    container: str
    follow: bool
    previous: bool
    timestamps: bool
    since: datetime | None
    tail: int | None
    limit: int | None


class Source(Protocol):
    async def open(self, pod: Object, wish: Wish) -> AsyncIterator[bytes]:
        """Pieces of the log, as bytes ready to send; ends with the container when following."""
        ...


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""  # makes this a generator


@dataclass(frozen=True, slots=True)
class PodLogs:
    source: Source

    async def handle(self, call: Call) -> Stream:
        record = call.state.store.get(call.key)
        if record is None:
            raise call.not_found()
        pod = call.state.get("pods", call.namespace, call.target.name) or {}
        wish = _wish(call.request.query, pod, call.target.name, call.state.now())
        if not dig(pod, "spec", "nodeName"):
            return Stream(_nothing(), TEXT)
        _check_started(pod, wish)
        return Stream(await self.source.open(pod, wish), TEXT)


def _wish(query: Query, pod: Object, name: str, now: datetime) -> Wish:
    errors = _query_errors(query)
    if errors:
        raise faults.refuse("PodLogOptions", "", name, errors)
    seconds, since = query.integer("sinceSeconds"), query.get("sinceTime")
    return Wish(
        container=chosen_container(pod, query.get("container"), name),
        follow=query.flag("follow"),
        previous=query.flag("previous"),
        timestamps=query.flag("timestamps"),
        since=_ago(now, seconds) if seconds else ages.parse_timestamp(since) if since else None,
        tail=query.integer("tailLines"),
        limit=query.integer("limitBytes"),
    )


def _ago(now: datetime, seconds: int) -> datetime:
    """Of a longer time the sum could not be told, and no log is as old."""
    return now - timedelta(seconds=min(seconds, _LONGEST_SECONDS))


def _query_errors(query: Query) -> list[faults.FieldError]:
    errors = []
    for name, least in (("tailLines", 0), ("limitBytes", 1), ("sinceSeconds", 1)):
        value = query.integer(name)
        if value is not None and value < least:
            errors.append(faults.invalid(name, value, f"must be greater than or equal to {least}"))
    if query.get("sinceSeconds") and query.get("sinceTime"):
        errors.append(
            faults.forbidden("sinceSeconds", "at most one of `sinceTime` or `sinceSeconds` may be specified")
        )
    since = query.get("sinceTime")
    if since and ages.parse_timestamp(since) is None:
        errors.append(faults.invalid("sinceTime", since[:64], "must be a time in RFC 3339 form"))
    return errors


def chosen_container(pod: Object, wanted: str, name: str) -> str:
    """The named container, or the only one there is."""
    groups: list[Sequence[Object]] = [
        dig(pod, "spec", part) or [] for part in ("initContainers", "containers", "ephemeralContainers")
    ]
    names = [[str(item.get("name")) for item in group] for group in groups]
    if wanted:
        if not any(wanted in group for group in names):
            raise faults.BadRequest(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(names[1]) == 1:
        return names[1][0]
    chosen = dig(metadata(pod), "annotations", "kubectl.kubernetes.io/default-container")
    if chosen in names[1]:
        return str(chosen)
    extra = f" or one of the init containers: [{' '.join(names[0])}]" if names[0] else ""
    choose = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names[1])}]"
    raise faults.BadRequest(choose + extra)


def _check_started(pod: Object, wish: Wish) -> None:
    statuses = [
        item
        for part in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for item in dig(pod, "status", part) or []
    ]
    found: Object = next((item for item in statuses if item.get("name") == wish.container), {})
    quoted = f'container "{wish.container}" in pod "{metadata(pod).get("name")}"'
    has_run = dig(found, "lastState", "terminated") is not None
    if wish.previous and not has_run:
        raise faults.BadRequest(f"previous terminated {quoted} not found")
    waiting = dig(found, "state", "waiting")
    if waiting is not None and not has_run:
        reason = str(waiting.get("reason") or "ContainerCreating")
        raise faults.BadRequest(f"{quoted} is waiting to start: {_IMAGES.get(reason, reason)}")
