"""`trainshed suspend`, `resume` and `delete`: small changes to training jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import apply, target
from trainshed.cli.apply import DryRun, Files, Overlays, Recursive
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace, Target
from trainshed.compose.trouble import FAILED, WRONG_USAGE, Trouble
from trainshed.jobs.summary import summarize
from trainshed.kube.objects import text

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
    _change(where, names, True)


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
    _change(where, names, False)


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
    """Delete jobs, or what manifests describe; logs are kept."""
    described = bool(files or overlays)
    if [bool(names), everything, described].count(True) != 1:
        said = "name the jobs to delete, or give --all, or manifests with -f or -k"
        raise Trouble(said, "one of these only", WRONG_USAGE)
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    if described:
        _delete_described(where, apply.gather(files, overlays, recursive), dry_run, wait)
    elif dry_run:
        raise Trouble("--dry-run is for manifests", "give them with -f or -k", WRONG_USAGE)
    elif everything:
        target.perform(where, lambda client: _delete_everything(client, wait))
    else:
        _leave(target.perform(where, lambda client: _delete_named(client, where, names or [], wait)))


def _change(where: Target, names: Sequence[str], suspended: bool) -> None:
    _leave(target.perform(where, lambda client: _set(client, where, names, suspended)))


async def _set(client: Client, where: Target, names: Sequence[str], suspended: bool) -> list[Trouble]:
    return (await _each(client, where, names, lambda one: _set_one(client, one, suspended)))[1]


async def _each(
    client: Client, where: Target, names: Sequence[str], act: Callable[[Reference], Awaitable[None]]
) -> tuple[list[Reference], list[Trouble]]:
    """Act on all that are named: those it worked for, and what kept it from the others, which is said."""
    from trainshed.kube.faults import Fault

    done: list[Reference] = []
    refused: list[Trouble] = []
    await _check_kinds(client, names)
    for name in names:
        try:
            one = await target.job(client, name)
            await act(one)
            done.append(one)
        except Fault as fault:
            refused.append(target.refused(fault, where))
        except Trouble as trouble:
            refused.append(trouble)
        else:
            continue
        apply.complain(refused[-1].message, refused[-1].hint)
    return done, refused


async def _check_kinds(client: Client, names: Sequence[str]) -> None:
    """Whoever writes kind and name apart may mean another job than the name alone would: nothing is done."""
    from trainshed.jobs import jobkinds

    for name, then in zip(names, [*names[1:], "<name>"], strict=True):
        if jobkinds.called(name) is not None:
            await target.job(client, name, then)


def _leave(refused: Sequence[Trouble]) -> None:
    if refused:
        raise typer.Exit(max(trouble.code for trouble in refused))


async def _set_one(client: Client, one: Reference, suspended: bool) -> None:
    before = await one.get(client)
    if summarize(before).is_finished:
        wanted = "suspended" if suspended else "resumed"
        raise Trouble(f"{one.address} has ended and cannot be {wanted}", _AGAIN, FAILED)
    if one.kind.is_suspended(before) is suspended:
        print(f"{one.address} {'is already suspended' if suspended else 'is not suspended'}", flush=True)
        return
    await client.patch(one.kind.resource, one.name, one.kind.suspension(suspended), client.namespace)
    print(f"{one.address} {'suspended' if suspended else 'resumed'}", flush=True)


async def _delete_named(client: Client, where: Target, names: Sequence[str], wait: bool) -> list[Trouble]:
    done, refused = await _each(client, where, names, lambda one: _delete_one(client, one))
    await _see_gone(client, done, wait)
    return refused


async def _delete_everything(client: Client, wait: bool) -> None:
    meant = await _all(client)
    for one in meant:
        await _delete_one(client, one)
    await _see_gone(client, meant, wait)
    if not meant:
        print("No training jobs found.")


async def _delete_one(client: Client, one: Reference) -> None:
    from trainshed.client.requests import Delete

    await client.delete(one.kind.resource, one.name, client.namespace, Delete(propagation="Foreground"))


async def _see_gone(client: Client, going: Sequence[Reference], wait: bool) -> None:
    from trainshed.jobs.applying import gone

    for one in going:
        if wait:
            await gone(client, one.kind.resource, one.name, client.namespace)
        print(f"{one.address} {'deleted' if wait else 'is being deleted'}", flush=True)


async def _all(client: Client) -> list[Reference]:
    from trainshed.jobs import references
    from trainshed.jobs.jobkinds import TRAINJOB
    from trainshed.jobs.references import Reference

    found = [(TRAINJOB, job) for job in (await client.list(TRAINJOB.resource, client.namespace)).items]
    for kind in await references.served(client):
        found += [(kind, job) for job in await references.listed(client, kind, client.namespace)]
    return [Reference(kind, text(job, "metadata", "name")) for kind, job in found]


# --- what manifests describe --------------------------------------------------------------------------------


def _delete_described(where: Target, found: Sequence[Parsed], dry_run: bool, wait: bool) -> None:
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
