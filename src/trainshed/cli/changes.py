"""`trainshed suspend`, `resume` and `delete`: small changes to training jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import apply, target
from trainshed.cli.apply import DryRun, Files, Overlays, Recursive
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace
from trainshed.compose.trouble import FAILED, WRONG_USAGE, Trouble
from trainshed.jobs.summary import summarize
from trainshed.kube.objects import Object, text

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.jobs.applying import How
    from trainshed.jobs.manifests import Document, Parsed
    from trainshed.jobs.references import Reference

_HELP = "TrainJobs, or pytorchjob/train and the like."
Names = Annotated[list[str], typer.Argument(metavar="<name>...", help=_HELP)]
SomeNames = Annotated[list[str] | None, typer.Argument(metavar="<name>...", help=_HELP, show_default=False)]

_AGAIN = "delete it and create it again to have it run once more"


def suspend(
    names: Names,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Stop the pods of training jobs, to go on later."""
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
    """Start the pods of suspended training jobs again."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    target.perform(where, lambda client: _set(client, names, False))


def delete(
    names: SomeNames = None,
    everything: Annotated[bool, typer.Option("--all", help="All training jobs of the namespace.")] = False,
    files: Files = None,
    overlays: Overlays = None,
    recursive: Recursive = False,
    dry_run: DryRun = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until they are gone.")] = True,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Delete training jobs and what they own, or all that manifests describe; logs are kept."""
    described = bool(files or overlays)
    if [bool(names), everything, described].count(True) != 1:
        said = "name the jobs to delete, or give --all, or manifests with -f or -k"
        raise Trouble(said, "one of these only", WRONG_USAGE)
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    if described:
        _delete_described(where, apply.gather(files, overlays, recursive), dry_run, wait)
    elif dry_run:
        raise Trouble("--dry-run is for manifests", "give them with -f or -k", WRONG_USAGE)
    else:
        target.perform(where, lambda client: _delete(client, names or [], everything, wait))


async def _set(client: Client, names: Sequence[str], suspended: bool) -> None:
    meant = [await target.job(client, name) for name in names]
    found = [(one, await one.get(client)) for one in meant]
    # All are looked at before any is changed: a refusal leaves everything as it was.
    if ended := [one.address for one, job in found if summarize(job).is_finished]:
        raise Trouble(_ended(ended, "suspended" if suspended else "resumed"), _AGAIN, FAILED)
    for one, before in found:
        await _set_one(client, one, before, suspended)


async def _set_one(client: Client, one: Reference, before: Object, suspended: bool) -> None:
    if one.kind.is_suspended(before) is suspended:
        print(f"{one.address} {'is already suspended' if suspended else 'is not suspended'}")
        return
    await client.patch(one.kind.resource, one.name, one.kind.suspension(suspended), client.namespace)
    print(f"{one.address} {'suspended' if suspended else 'resumed'}")


def _ended(names: Sequence[str], wanted: str) -> str:
    have = "has" if len(names) == 1 else "have"
    return f"{', '.join(names)} {have} ended and cannot be {wanted}"


async def _delete(client: Client, names: Sequence[str], everything: bool, wait: bool) -> None:
    from trainshed.client.requests import Delete
    from trainshed.jobs.applying import gone

    meant = await _all(client) if everything else [await target.job(client, name) for name in names]
    for one in meant:
        await client.delete(one.kind.resource, one.name, client.namespace, Delete(propagation="Foreground"))
    for one in meant:
        if wait:
            await gone(client, one.kind.resource, one.name, client.namespace)
        print(f"{one.address} {'deleted' if wait else 'is being deleted'}", flush=True)
    if not meant:
        print("No training jobs found.")


async def _all(client: Client) -> list[Reference]:
    from trainshed.jobs import references
    from trainshed.jobs.jobkinds import TRAINJOB
    from trainshed.jobs.references import Reference

    found = [(TRAINJOB, job) for job in (await client.list(TRAINJOB.resource, client.namespace)).items]
    for kind in await references.served(client):
        found += [(kind, job) for job in await references.listed(client, kind, client.namespace)]
    return [Reference(kind, text(job, "metadata", "name")) for kind, job in found]


# --- what manifests describe --------------------------------------------------------------------------------


def _delete_described(where: target.Target, found: Sequence[Parsed], dry_run: bool, wait: bool) -> None:
    from trainshed.jobs.applying import How

    how = How(where.namespace, dry_run)
    refused = target.perform(where, lambda client: _delete_all(client, apply.readable(found), how, wait))
    if refused + apply.unreadable(found):
        raise typer.Exit(FAILED)


async def _delete_all(client: Client, documents: Sequence[Document], how: How, wait: bool) -> int:
    """Delete jobs first and what they need last; how many were refused."""
    from trainshed.jobs import applying

    refused, going = 0, []
    for document in reversed(applying.ordered(documents)):
        outcome = await applying.delete(client, document, how)
        apply.tell(outcome, document.origin)
        refused += not outcome.verb
        if outcome.verb == "deleted":
            going.append(document)
    if wait:
        await applying.all_gone(client, going)
    return refused
