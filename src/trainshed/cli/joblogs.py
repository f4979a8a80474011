"""`trainshed logs`: the lines of a training job, of all ranks or one, as they are or as they come."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import console, plane, remedies, target
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace, Target
from trainshed.compose.trouble import FAILED, PLACE, PROGRAM, Trouble
from trainshed.jobs import summary
from trainshed.kinds.core import podstates
from trainshed.kube import faults
from trainshed.kube.objects import Object, text

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.client.requests import LogOptions
    from trainshed.jobs.jobkinds import Member
    from trainshed.jobs.keptlogs import Claim
    from trainshed.jobs.references import Reference
    from trainshed.jobs.summary import Summary
    from trainshed.runner.logs.kept import Kept


def logs(
    name: Annotated[
        str, typer.Argument(metavar="<name>", help="A TrainJob, or pytorchjob/train and the like.")
    ],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the job has ended.")] = False,
    rank: Annotated[
        int | None, typer.Option("--rank", min=0, help="Only this node's lines.", show_default=False)
    ] = None,
    container: Annotated[
        str, typer.Option("-c", "--container", help="Another container than the trainer.", show_default=False)
    ] = "",
    previous: Annotated[bool, typer.Option("--previous", "-p", help="The run before a restart.")] = False,
    attempt: Annotated[
        int | None,
        typer.Option(
            "--attempt",
            min=0,
            help="Of an earlier start of the whole job, from what is kept.",
            show_default=False,
        ),
    ] = None,
    tail: Annotated[
        int | None, typer.Option("--tail", min=0, help="Only so many last lines each.", show_default=False)
    ] = None,
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Put the time before each line.")] = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Print what the pods of a training job wrote."""
    if follow and (previous or attempt is not None):
        raise typer.BadParameter("a run that is over cannot be followed: leave out -f")
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    one = target.perform(where, lambda client: target.job(client, name))
    from trainshed.client.requests import LogOptions

    options = LogOptions(container=container, previous=previous, timestamps=timestamps, tail_lines=tail)
    if follow:
        raise typer.Exit(_follow(where, one, rank, options))
    if attempt is not None or (where.is_embedded and _is_silent(where, one)):
        _print_kept(where, one, (rank, attempt), options)
    else:
        target.perform(where, lambda client: _print_all(client, one, rank, options))


def _is_silent(where: Target, one: Reference) -> bool:
    """Whether pods are gone that could be asked: the job was deleted, has failed or is suspended.

    A job that has ended takes some of its pods away, and leaves others.
    """
    there, job = target.perform(where, lambda client: _found(client, one))
    if not there or job is None:
        return not there
    state = summary.summarize(job, None, there)
    if one.kind.family is not None:
        return state.is_finished and len(there) < state.nodes
    return state.is_finished and not _ranks(where, one) <= {_part(pod) for pod in there}


async def _found(client: Client, one: Reference) -> tuple[list[Object], Object | None]:
    there = (await client.list("pods", client.namespace, one.pods)).items
    return there, await client.find(one.kind.resource, one.name, client.namespace)


def _ranks(where: Target, one: Reference) -> set[tuple[str, int]]:
    """Those whose lines are kept, of a TrainJob's last attempt."""
    return {(kept.note.step, kept.note.index) for kept in _kept(where, one, (None, None))}


def _part(pod: Object) -> tuple[str, int]:
    return summary.role_of(pod), summary.rank_of(pod)


def _print_kept(
    where: Target, one: Reference, wanted: tuple[int | None, int | None], options: LogOptions
) -> None:
    from trainshed.jobs import keptlogs

    if not where.is_embedded:
        raise Trouble("logs of earlier attempts are kept by a Trainshed on its own machine only", "", FAILED)
    found = _kept(where, one, wanted)
    if not found and one.kind.family is None:
        _refuse_rank(one, wanted[0], _kept(where, one, (None, wanted[1])))
    if not found:
        _, claim = target.perform(where, lambda client: _claimed(client, one))
        there = keptlogs.attempts(where.folder.pod_logs, where.namespace or "default", one.name, claim)
        if there:
            raise _lineless(one, f" as asked for; kept are attempts {', '.join(map(str, there))}")
    if not any(kept.containers() for kept in found):  # none of them has ever begun
        raise _lineless(one, _why_none(summary.summarize(target.perform(where, one.get))))
    _show(found, one, options)


def _lineless(one: Reference, more: str) -> Trouble:
    hint = f"see what it does with {PROGRAM} describe {one.address}{PLACE}"
    return Trouble(f'there are no lines of {one.kind.kind} "{one.name}"{more}', hint, FAILED)


def _why_none(state: Summary) -> str:
    yet = "" if state.is_finished else " yet"
    return f"{yet}: {state.verdict}" if state.verdict else yet


def _refuse_rank(one: Reference, rank: int | None, others: list[Kept]) -> None:
    if others:
        there = ", ".join(map(str, sorted({kept.note.index for kept in others})))
        raise Trouble(f"{one.address} has no rank {rank}", f"it has {there}", FAILED)


def _show(found: list[Kept], one: Reference, options: LogOptions) -> None:
    from trainshed.cli import keptlines
    from trainshed.runner.logs.reading import Wish

    wish = Wish(tail=options.tail_lines, timestamps=options.timestamps)
    keptlines.show(found, options.container, wish, one.kind.family.container if one.kind.family else "node")


def _kept(where: Target, one: Reference, wanted: tuple[int | None, int | None]) -> list[Kept]:
    from trainshed.jobs import jobkinds, keptlogs

    root, namespace = where.folder.pod_logs, where.namespace or "default"
    rank, attempt = wanted
    job, claim = target.perform(where, lambda client: _claimed(client, one))
    family = one.kind.family
    if family is None:
        return keptlogs.find(root, namespace, one.name, rank, attempt, claim)
    found = keptlogs.find(root, namespace, one.name, None, attempt, claim)
    return [
        kept for kept in found if rank in (None, jobkinds.rank(family, job, kept.note.step, kept.note.index))
    ]


async def _claimed(client: Client, one: Reference) -> tuple[Object | None, Claim]:
    """The job, and which lines are its own."""
    from trainshed.jobs import keptlogs

    job = await client.find(one.kind.resource, one.name, client.namespace)
    return job, await keptlogs.claim_of(client, one.kind, job)


def _follow(where: Target, one: Reference, rank: int | None, options: LogOptions) -> int:
    from trainshed.cli import following

    ended = target.perform(where, lambda client: _ended(client, one)) if where.is_embedded else None
    if ended is None or not _is_silent(where, one):
        return target.perform(where, lambda client: _follow_pods(client, one, rank, options, where))
    # Nobody can be asked for the lines any more; whoever follows wants to read them all the same.
    if found := _kept(where, one, (rank, None)):
        _show(found, one, options)
    return following.say_end(one.address, ended)


async def _ended(client: Client, one: Reference) -> Summary | None:
    """How a job ended; None while it has not."""
    from trainshed.jobs import belongings

    job = await one.get(client)
    if not summary.summarize(job).is_finished:
        return None
    return (await belongings.fetch_for(client, one)).summary(job)


async def _follow_pods(
    client: Client, one: Reference, rank: int | None, options: LogOptions, where: Target
) -> int:
    from trainshed.cli import following

    await one.get(client)
    return await following.to_the_end(
        client,
        one.name,
        rank=rank,
        owned=False,
        remedy=remedies.known(where),
        kind=one.kind,
        options=options,
        plane=plane.of(where),
    )


async def _print_all(client: Client, one: Reference, rank: int | None, options: LogOptions) -> None:
    from trainshed.jobs import jobkinds

    job = await one.get(client)
    found = (await client.list("pods", client.namespace, one.pods)).items
    pods = [(jobkinds.member(one.kind, pod, job), pod) for pod in jobkinds.in_order(one.kind, found, job)]
    chosen, state = _of_rank(one, pods, rank), summary.summarize(job, None, found)
    if all(podstates.never_began(pod, options.container or member.trainer) for member, pod in chosen):
        raise _lineless(one, _why_none(state))
    if state.state == "Waiting":
        console.say(f"{one.address}: {state.message}")
    refusals = [await _print_one(client, *each, options, alone=len(chosen) == 1) for each in chosen]
    if all(refusals):
        raise Trouble(str(refusals[0]), _instead(one, [pod for _, pod in chosen], options), FAILED)
    for (member, _), refusal in zip(chosen, refusals, strict=True):
        if refusal:
            console.say(f"[{member.label}] {refusal}")


def _instead(one: Reference, pods: list[Object], options: LogOptions) -> str:
    """What to do where no pod has such lines: the run before may have been that of an earlier pod."""
    earlier = max((summary.attempt_of(pod) for pod in pods), default=0) - 1
    if options.previous and earlier >= 0:
        before = f"{PROGRAM} logs {one.address} --attempt {earlier}{PLACE}"
        return f"the whole job was started again: see {before}"
    return f"see {PROGRAM} describe {one.address}{PLACE}"


def _of_rank(
    one: Reference, pods: list[tuple[Member, Object]], rank: int | None
) -> list[tuple[Member, Object]]:
    chosen = [(member, pod) for member, pod in pods if rank in (None, member.rank)]
    if pods and not chosen:
        there = ", ".join(str(member.rank) for member, _ in pods)
        raise Trouble(f"{one.address} has no rank {rank}", f"it has {there}", FAILED)
    return chosen


async def _print_one(
    client: Client, member: Member, pod: Object, options: LogOptions, *, alone: bool
) -> faults.BadRequest | None:
    """Print a pod's lines; why there are none, where its container cannot be asked."""
    chosen = dataclasses.replace(options, container=options.container or member.trainer)
    stream = client.logs(text(pod, "metadata", "name"), client.namespace, chosen)
    try:
        if alone:
            async for piece in stream:
                sys.stdout.write(piece.decode(errors="replace"))
        else:
            await console.pieces(_label(member), member.rank, stream)
    except faults.BadRequest as why:
        return why
    return None


def _label(member: Member) -> str:
    parts = member.role != "node" and member.index is None
    return f"{member.role} {member.rank}" if parts else member.label
