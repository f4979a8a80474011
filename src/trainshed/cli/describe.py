"""`trainshed describe`: one training job from its spec to its pods and events, and why it is where it is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import events, invocation, output, remedies, target
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace
from trainshed.jobs import summary
from trainshed.jobs.summary import Summary
from trainshed.kinds.core import podstates
from trainshed.kube import ages
from trainshed.kube.objects import Object, dig, text

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.jobs.belongings import Belongings
    from trainshed.jobs.jobkinds import JobKind, Member

_MOST_EVENTS = 15
_POD_COLUMNS = ("RANK", "ROLE", "POD", "NODE", "STATE", "RESTARTS", "ATTEMPT", "MESSAGE")
_COLOURS = {"Running": "green", "Completed": "green", "Error": "red", "OOMKilled": "red"}


def describe(
    name: Annotated[
        str, typer.Argument(metavar="<name>", help="A TrainJob, or pytorchjob/train and the like.")
    ],
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Show a training job with its pods, conditions and events."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    kind, job, mine, happened = target.perform(where, lambda client: _fetch(client, name))
    now = datetime.now(UTC)
    found = mine.summary(job)
    print(output.pairs(_facts(found, job, mine.jobset, now)))
    if remedies.is_lacking(found.verdict) and (remedy := remedies.known(where)):
        print(f"\n{remedy}")
    _section("Conditions", ("TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"), _conditions(job, now))
    _section("Pods", _POD_COLUMNS, _pods(kind, mine.pods, job))
    shown = happened[-_MOST_EVENTS:]
    more = f": the last {len(shown)} of {len(happened)}; all with {invocation.command_there('events', name)}"
    _section(
        f"Events{more if len(shown) < len(happened) else ''}",
        events.COLUMNS,
        [events.row(event, now) for event in shown],
    )


async def _fetch(client: Client, name: str) -> tuple[JobKind, Object, Belongings, list[Object]]:
    from trainshed.jobs import belongings

    reference = await target.job(client, name)
    job = await reference.get(client)
    mine = await belongings.fetch_for(client, reference)
    return reference.kind, job, mine, await events.fetch_for(client, reference.kind, job, mine)


def _facts(found: Summary, job: Object, jobset: Object | None, now: datetime) -> dict[str, str]:
    facts = {
        "name": f"{found.namespace}/{found.name}",
        "kind": found.kind if found.kind != "TrainJob" else "",
        "state": found.state,
        "verdict": found.verdict,
        "runtime": found.runtime,
        "nodes": str(found.nodes),
        "processes": str(dig(job, "spec", "trainer", "numProcPerNode") or ""),
        "image": text(job, "spec", "trainer", "image"),
        "restarts": _restarts(found, jobset),
        "created": _moment(found.created, now),
        "finished": _moment(found.finished, now),
        "took": _duration(found),
    }
    return {name: value for name, value in facts.items() if value}


def _restarts(found: Summary, jobset: Object | None) -> str:
    """`3`; of the whole job: `2 of 10`; of both: `5 (2 of 10 of the whole job)`."""
    most = dig(jobset, "spec", "failurePolicy", "maxRestarts")
    whole = int(dig(jobset, "status", "restarts") or 0)
    if not most:
        return str(found.restarts)
    return (
        f"{whole} of {most}"
        if whole == found.restarts
        else f"{found.restarts} ({whole} of {most} of the whole job)"
    )


def _moment(when: datetime | None, now: datetime) -> str:
    return f"{ages.timestamp(when)} ({ages.human_age(when, now)} ago)" if when else ""


def _duration(found: Summary) -> str:
    if not found.created or not found.finished:
        return ""
    return f"{(found.finished - found.created).total_seconds():.0f} s"


def _conditions(job: Object, now: datetime) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for condition in dig(job, "status", "conditions") or []:
        since = ages.parse_timestamp(text(condition, "lastTransitionTime"))
        rows.append(
            (
                text(condition, "type"),
                text(condition, "status"),
                ages.human_age(since, now) if since else "",
                text(condition, "reason"),
                text(condition, "message"),
            )
        )
    return rows


def _pods(kind: JobKind, pods: list[Object], job: Object) -> list[tuple[str, ...]]:
    from trainshed.jobs import jobkinds

    ordered = jobkinds.in_order(kind, pods, job)
    return [_pod_row(pod, jobkinds.member(kind, pod, job)) for pod in ordered]


def _pod_row(pod: Object, one: Member) -> tuple[str, ...]:
    state, message = pod_state(pod)
    return (
        str(one.rank),
        one.role,
        text(pod, "metadata", "name"),
        text(pod, "spec", "nodeName"),
        state,
        str(podstates.restarts_begun(pod)),
        str(summary.attempt_of(pod)),
        message,
    )


def pod_state(pod: Object) -> tuple[str, str]:
    """The most telling state of a pod or its containers, and why, in the words of the job's verdict."""
    state, phase = _trouble(pod), text(pod, "status", "phase")
    if not state and phase not in ("Pending", "Failed"):
        return phase, ""
    waits, begins, ended = podstates.waiting(pod), podstates.going_before(pod), podstates.bad_end(pod)
    if waits is not None:
        return state or phase, waits.why
    if begins is not None:
        return state or phase, begins.words
    return state or phase, f"{ended.where.strip(', ')} {ended.how}".strip() if ended is not None else ""


def _trouble(pod: Object) -> str:
    """The pod's own reason, or that of a container which waits or did not end well; empty if all is well."""
    if reason := text(pod, "status", "reason"):
        return reason
    for part in ("initContainerStatuses", "containerStatuses"):
        for status in dig(pod, "status", part) or []:
            for kind in ("waiting", "terminated"):
                reason = text(status, "state", kind, "reason")
                if reason and reason != "Completed":
                    return reason
    return ""


def _section(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if rows:
        print(f"\n{title}")
        output.table(columns, rows, {**_COLOURS, **events.COLOURS})
