"""`trainshed get`: the training jobs there are, and how each one does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import output, target
from trainshed.cli.options import DataDir, Format, Output, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace
from trainshed.jobs.summary import TRAINJOBS, Summary
from trainshed.kube.ages import human_age
from trainshed.kube.objects import Object, text

if TYPE_CHECKING:
    from trainshed.client.client import Client

COLOURS = {
    "Running": "green",
    "Complete": "green",
    "Failed": "red",
    "Waiting": "yellow",
    "Restarting": "yellow",
    "Suspended": "yellow",
}
_COLUMNS = ("NAME", "STATE", "NODES", "RUNTIME", "RESTARTS", "AGE", "MESSAGE")

Name = Annotated[
    str,
    typer.Argument(
        metavar="[name]",
        help="Only this job: a TrainJob, or pytorchjob/train and the like.",
        show_default=False,
    ),
]
Everywhere = Annotated[bool, typer.Option("-A", "--all-namespaces", help="In all namespaces.")]


def get(
    name: Name = "",
    everywhere: Everywhere = False,
    form: Output = Format.table,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """List training jobs with their state, restarts and verdict."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    jobs, summaries = target.perform(where, lambda client: _fetch(client, name, everywhere))
    if form is not Format.table:
        print(output.document(jobs[0] if name else {"items": jobs}, form))
    elif not summaries:
        print("No training jobs found.")
    else:
        _print(summaries, everywhere)


async def _fetch(client: Client, name: str, everywhere: bool) -> tuple[list[Object], list[Summary]]:
    from trainshed.client.requests import ALL
    from trainshed.jobs import belongings, references

    place = ALL if everywhere else client.namespace
    if name:
        reference = await target.job(client, name)
        job = await reference.get(client)
        return [job], [(await belongings.fetch_for(client, reference)).summary(job)]
    jobs = (await client.list(TRAINJOBS, place)).items
    known = await belongings.fetch_all(client, place)
    summaries = [known[_key(job)].summary(job) for job in jobs]
    for kind in await references.served(client):
        others = await references.listed(client, kind, place)
        theirs = await belongings.fetch_all_v1(client, kind, place) if others else {}
        summaries += [theirs[_key(job)].summary(job) for job in others]
        jobs += others
    return jobs, summaries


def _key(obj: Object) -> tuple[str, str]:
    return text(obj, "metadata", "namespace"), text(obj, "metadata", "name")


def _print(summaries: Sequence[Summary], everywhere: bool) -> None:
    now = datetime.now(UTC)
    columns = ("NAMESPACE", *_COLUMNS) if everywhere else _COLUMNS
    rows = [((found.namespace,) if everywhere else ()) + _row(found, now) for found in summaries]
    output.table(columns, rows, COLOURS)


def _row(found: Summary, now: datetime) -> tuple[str, ...]:
    age = human_age(found.created, now) if found.created else ""
    return (
        f"{found.kind.lower()}/{found.name}" if found.kind != "TrainJob" else found.name,
        found.state,
        str(found.nodes),
        found.runtime,
        str(found.restarts),
        age,
        found.verdict,
    )
