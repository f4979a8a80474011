"""What a pod was when a former agent ended, from its status and what the engine still finds; pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube import verdicts
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.objects import Object, text
from trainshed.runner.engine import Exit, Found
from trainshed.runner.pod_status import names, part_of
from trainshed.runner.states import ContainerView, Running, Terminated, Waiting

LOST_CODE: Final = 137
_LOST: Final = "the container was no longer there when the agent came back"
_STOPPED: Final = "Trainshed was stopped on this machine"


@dataclass(frozen=True, slots=True)
class Adopted:
    views: dict[str, ContainerView]
    is_lost: bool
    """Something ran and all is gone without a trace: the machine or the whole runner was stopped."""


def adopt(pod: Object, found: Iterable[Found], *, was_drained: bool = False) -> Adopted:
    """A pod that `was_drained` was ended by the former agent, which was told to stop."""
    why = verdicts.by_agent(_STOPPED, "") if was_drained else _LOST
    newest: dict[str, list[Found]] = {}
    for one in sorted(found, key=lambda one: one.attempt):
        newest.setdefault(one.container, []).append(one)
    told = {
        text(status, "name"): status
        for group in ("initContainerStatuses", "containerStatuses")
        for status in entries(pod, "status", group)
    }
    views, is_lost = {}, False
    for name in names(pod):
        base = _from_status(ContainerView(name, part_of(pod, name)), told.get(name, {}))
        views[name], lost = _with_runs(base, newest.get(name, []), why)
        is_lost = is_lost or lost
    goes_on = any(run.pid is not None for runs in newest.values() for run in runs)
    return Adopted(views, is_lost and not goes_on)


def _from_status(view: ContainerView, told: Object) -> ContainerView:
    """What was last written; the attempt is the number of restarts once anything has run."""
    restarts = number(told, "restartCount") or 0
    ran = bool(told.get("containerID"))
    last = _end(mapping(told, "lastState", "terminated"), restarts - 1)
    state = mapping(told, "state")
    seen = dataclasses.replace(view, restarts=restarts, attempt=restarts if ran else None, last=last)
    if running := mapping(state, "running"):
        started = parse_timestamp(running.get("startedAt"))
        if started is not None:
            known = dataclasses.replace(seen, state=Running(started))
            return known.judged(started=told.get("started") is True, ready=told.get("ready") is True)
    if end := _end(mapping(state, "terminated"), restarts):
        return seen.terminated(end)
    return dataclasses.replace(seen, state=Waiting())


def _end(told: Object, attempt: int) -> Terminated | None:
    if not told:
        return None
    return Terminated(
        number(told, "exitCode") or 0,
        text(told, "reason"),
        number(told, "signal") or 0,
        text(told, "message"),
        parse_timestamp(told.get("startedAt")),
        parse_timestamp(told.get("finishedAt")),
        attempt if attempt >= 0 else None,
    )


def _with_runs(view: ContainerView, runs: list[Found], why: str) -> tuple[ContainerView, bool]:
    """The view brought up to what the engine found, and whether a run was lost."""
    if not runs:
        if not view.is_running:
            return view, False
        lost = Terminated(LOST_CODE, "ContainerStatusUnknown", 0, why, attempt=view.attempt)
        return view.terminated(lost), True
    for run in runs:
        view = _with_run(view, run)
    return view, False


def _with_run(view: ContainerView, run: Found) -> ContainerView:
    if view.attempt is not None and run.attempt < view.attempt:
        return view
    is_new = view.attempt != run.attempt or not view.is_running
    if run.exit is not None:
        already = isinstance(view.state, Terminated) and view.attempt == run.attempt
        return view if already else view.terminated(ended(run.exit, run.attempt, run.exit.message))
    if run.pid is not None and is_new and run.started is not None:
        return view.running(run.attempt, run.started)
    return view


def ended(exit: Exit, attempt: int, message: str) -> Terminated:
    """How a run ended, in the words of a status."""
    reason = "OOMKilled" if exit.oom else "Completed" if exit.code == 0 else "Error"
    return Terminated(exit.code, reason, exit.signal, message, exit.started, exit.finished, attempt)
