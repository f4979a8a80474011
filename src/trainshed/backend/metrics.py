"""What Prometheus is told: how the service is used, and how the jobs of all namespaces do. Names nobody."""

from __future__ import annotations

import asyncio
import time
from collections import Counter as Tally
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trainshed.backend.index import Index, News
from trainshed.jobs.summary import FINAL, State

_BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_START_BOUNDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)
_QUEUED: tuple[State, ...] = ("Pending", "Waiting")
_OPERATOR_SECONDS = 2.0
_MOST_BYTES = 1 << 20
_ELSEWHERE = "(none)"
"""The route of requests that no route takes: their paths could be anything."""


class ApiMetrics:
    """Of the service's own requests, by route."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "trainshed_http_requests",
            "Requests, by how they were answered.",
            ["method", "route", "code"],
            registry=registry,
        )
        self.seconds = Histogram(
            "trainshed_http_request_seconds",
            "Until the answer began.",
            ["method", "route"],
            buckets=_BOUNDS,
            registry=registry,
        )
        self.open = Gauge(
            "trainshed_http_requests_open", "Requests under way, streams included.", registry=registry
        )


class Measured:
    """Measures the application inside; where an answer never began, its client had left."""

    def __init__(self, app: ASGIApp, metrics: ApiMetrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, code = time.monotonic(), 499

        async def noted(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
                self._metrics.seconds.labels(*_place(scope)).observe(time.monotonic() - began)
            await send(message)

        with self._metrics.open.track_inprogress():
            try:
                await self._app(scope, receive, noted)
            finally:
                self._metrics.requests.labels(*_place(scope), code).inc()


def _place(scope: Scope) -> tuple[str, str]:
    """Method and route, of which there are only so many."""
    route = getattr(scope.get("route"), "path", _ELSEWHERE)
    return (scope["method"], route) if route != _ELSEWHERE else ("ANY", _ELSEWHERE)


class JobMetrics(Collector):
    """How the jobs do, read from the index when somebody asks; starts are noted as they happen."""

    def __init__(
        self, index: Index, registry: CollectorRegistry, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._index, self._clock = index, clock
        self._queued: dict[str, float] = {}
        """When each job that has not run yet was first seen."""
        self._starts = Histogram(
            "trainshed_job_start_seconds",
            "From a TrainJob's first sight until it ran.",
            buckets=_START_BOUNDS,
            registry=registry,
        )
        self._ends = Counter(
            "trainshed_jobs_finished", "TrainJobs seen to finish.", ["state"], registry=registry
        )
        registry.register(self)
        index.listen(self._heard)

    def collect(self) -> Iterator[Metric]:
        rows = self._index.rows()
        phases = Tally(row.phase for row in rows)
        jobs = GaugeMetricFamily("trainshed_jobs", "TrainJobs, by what they do.", labels=["state"])
        for phase in get_args(State):
            jobs.add_metric([phase], phases[phase])
        yield jobs
        queue = GaugeMetricFamily("trainshed_jobs_queued", "TrainJobs that have not started to run.")
        queue.add_metric([], sum(phases[phase] for phase in _QUEUED))
        yield queue
        restarts = GaugeMetricFamily("trainshed_job_restarts", "Restarts of the TrainJobs there are.")
        restarts.add_metric([], sum(self._restarts(row.uid) for row in rows))
        yield restarts

    def _restarts(self, uid: str) -> int:
        return self._index.restarts(uid) + sum(pod.restarts for pod in self._index.pods(uid))

    def _heard(self, news: News) -> None:
        before, after = news.before, news.after
        if after is None:
            self._queued.pop(before.uid if before else "", None)
        elif before is None:
            # What was there before this process was not seen to come: how long it took is not known.
            if self._index.synced.is_set():
                self._queued[after.uid] = self._clock()
        elif before.phase != after.phase:
            self._changed(after.uid, after.phase)

    def _changed(self, uid: str, phase: str) -> None:
        if phase == "Suspended":
            self._queued.pop(uid, None)  # somebody holds it back: that is no latency
        elif phase not in _QUEUED:
            began = self._queued.pop(uid, None)
            if began is not None:
                self._starts.observe(self._clock() - began)
        if phase in FINAL:
            self._ends.labels(phase).inc()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Starts after the index."""
    JobMetrics(app.state.index, app.state.registry)
    yield


async def of_operator(socket: Path | None) -> bytes:
    """What the operator on this machine tells of its reconciles; nothing where there is none."""
    if socket is None:
        return b""
    try:
        async with asyncio.timeout(_OPERATOR_SECONDS):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
                answer = await reader.read(_MOST_BYTES)
                while piece := await reader.read(_MOST_BYTES):
                    answer += piece
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return b""
    head, _, body = answer.partition(b"\r\n\r\n")
    return body if b" 200 " in head.partition(b"\r\n")[0] else b""
