"""`trainshed logs`: the lines of a TrainJob, of all ranks or one, as they are or as they come."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import console, target
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace, Target
from trainshed.compose.trouble import FAILED, HERE, PROGRAM, Trouble
from trainshed.jobs import summary
from trainshed.kube import faults
from trainshed.kube.objects import Object, dig, text

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.client.requests import LogOptions


def logs(
    name: Annotated[str, typer.Argument(metavar="<name>", help="A TrainJob.")],
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
    """Print what the pods of a TrainJob wrote."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    if follow:
        raise typer.Exit(target.perform(where, lambda client: _follow(client, name, rank)))
    from trainshed.client.requests import LogOptions

    options = LogOptions(container=container, previous=previous, timestamps=timestamps, tail_lines=tail)
    if attempt is not None or (where.is_embedded and target.perform(where, lambda c: _is_silent(c, name))):
        _print_kept(where, name, (rank, attempt), options)
    else:
        target.perform(where, lambda client: _print_all(client, name, rank, options))


async def _is_silent(client: Client, name: str) -> bool:
    """Whether no pod is left that could be asked: the job was deleted, has failed or is suspended."""
    from trainshed.client.requests import Where

    mine = Where(labels=f"{summary.JOBSET_NAME}={name}")
    return not (await client.list("pods", client.namespace, mine)).items


def _print_kept(where: Target, name: str, wanted: tuple[int | None, int | None], options: LogOptions) -> None:
    from trainshed.cli import keptlogs
    from trainshed.runner.logs.reading import Wish

    if not where.is_embedded:
        raise Trouble("logs of earlier attempts are kept by a Trainshed on its own machine only", "", FAILED)
    root, namespace = where.folder.root / "logs", where.namespace or "default"
    found = keptlogs.find(root, namespace, name, *wanted)
    if not found:
        there = keptlogs.attempts(root, namespace, name)
        if not there:
            target.perform(where, lambda client: client.get(summary.TRAINJOBS, name, client.namespace))
        kept = f" as asked for; kept are attempts {', '.join(map(str, there))}" if there else " yet"
        hint = f"see what it does with {PROGRAM} describe {name}{HERE}"
        raise Trouble(f'there are no lines of TrainJob "{name}"{kept}', hint, FAILED)
    keptlogs.show(found, options.container, Wish(tail=options.tail_lines, timestamps=options.timestamps))


async def _follow(client: Client, name: str, rank: int | None) -> int:
    from trainshed.cli import following

    await client.get(summary.TRAINJOBS, name, client.namespace)
    return await following.to_the_end(client, name, rank=rank, owned=False)


async def _print_all(client: Client, name: str, rank: int | None, options: LogOptions) -> None:
    from trainshed.client.requests import Where

    await client.get(summary.TRAINJOBS, name, client.namespace)
    mine = Where(labels=f"{summary.JOBSET_NAME}={name}")
    pods = summary.in_order((await client.list("pods", client.namespace, mine)).items)
    chosen = [pod for pod in pods if rank is None or summary.rank_of(pod) == rank]
    if not chosen:
        there = ", ".join(str(summary.rank_of(pod)) for pod in pods)
        raise Trouble(f"{name} has no rank {rank}", f"it has {there}", FAILED)
    refusals = [await _print_one(client, pod, options, alone=len(chosen) == 1) for pod in chosen]
    if all(refusals):
        raise Trouble(str(refusals[0]), f"see {PROGRAM} describe {name}{HERE}", FAILED)
    for pod, refusal in zip(chosen, refusals, strict=True):
        if refusal:
            console.say(f"[{summary.rank_of(pod)}] {refusal}")


async def _print_one(
    client: Client, pod: Object, options: LogOptions, *, alone: bool
) -> faults.BadRequest | None:
    """Print a pod's lines; why there are none, where its container cannot be asked."""
    rank, role = summary.rank_of(pod), summary.role_of(pod)
    chosen = dataclasses.replace(options, container=options.container or _main(pod))
    stream = client.logs(text(pod, "metadata", "name"), client.namespace, chosen)
    try:
        if alone:
            async for piece in stream:
                sys.stdout.write(piece.decode(errors="replace"))
        else:
            await console.pieces(str(rank) if role == "node" else f"{role} {rank}", rank, stream)
    except faults.BadRequest as why:
        return why
    return None


def _main(pod: Object) -> str:
    names = [str(container.get("name")) for container in dig(pod, "spec", "containers") or []]
    return "node" if "node" in names else names[0]
