"""`trainshed suspend`, `resume` and `delete`: small changes to TrainJobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import target
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace
from trainshed.compose.trouble import FAILED, WRONG_USAGE, Trouble
from trainshed.jobs.summary import TRAINJOBS, summarize
from trainshed.kube.objects import text

if TYPE_CHECKING:
    from trainshed.client.client import Client

Names = Annotated[list[str], typer.Argument(metavar="<name>...", help="TrainJobs.")]
SomeNames = Annotated[
    list[str] | None, typer.Argument(metavar="<name>...", help="TrainJobs.", show_default=False)
]

_AGAIN = "delete it and create it again to have it run once more"


def suspend(
    names: Names,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Stop the pods of TrainJobs, to go on later."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    target.perform(where, lambda client: _set(client, names, True))


def resume(
    names: Names,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Start the pods of suspended TrainJobs again."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    target.perform(where, lambda client: _set(client, names, False))


def delete(
    names: SomeNames = None,
    everything: Annotated[bool, typer.Option("--all", help="All TrainJobs of the namespace.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until they are gone.")] = True,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Delete TrainJobs and what they own; their logs are kept."""
    if bool(names) == everything:
        raise Trouble("name the TrainJobs to delete, or give --all", "not both", WRONG_USAGE)
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    target.perform(where, lambda client: _delete(client, names or [], everything, wait))


async def _set(client: Client, names: Sequence[str], suspended: bool) -> None:
    found = [await client.get(TRAINJOBS, name, client.namespace) for name in names]
    # All are looked at before any is changed: a refusal leaves everything as it was.
    if ended := [name for name, job in zip(names, found, strict=True) if summarize(job).is_finished]:
        raise Trouble(_ended(ended, "suspended" if suspended else "resumed"), _AGAIN, FAILED)
    for name, before in zip(names, found, strict=True):
        if bool(before["spec"].get("suspend")) is suspended:
            print(f"{name} {'is already suspended' if suspended else 'is not suspended'}")
            continue
        await client.patch(TRAINJOBS, name, {"spec": {"suspend": suspended}}, client.namespace)
        print(f"{name} {'suspended' if suspended else 'resumed'}")


def _ended(names: Sequence[str], wanted: str) -> str:
    have = "has" if len(names) == 1 else "have"
    return f"{', '.join(names)} {have} ended and cannot be {wanted}"


async def _delete(client: Client, names: Sequence[str], everything: bool, wait: bool) -> None:
    from trainshed.cli.following import gone
    from trainshed.client.requests import Delete

    if everything:
        listing = await client.list(TRAINJOBS, client.namespace)
        names = [text(job, "metadata", "name") for job in listing.items]
    for name in names:
        await client.delete(TRAINJOBS, name, client.namespace, Delete(propagation="Foreground"))
    for name in names:
        if wait:
            await gone(client, name)
        print(f"{name} {'deleted' if wait else 'is being deleted'}", flush=True)
    if everything and not names:
        print("No TrainJobs found.")
