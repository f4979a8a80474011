"""`trainshed get`: the TrainJobs there are, and how each one does."""

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

Name = Annotated[str, typer.Argument(metavar="[name]", help="Only this TrainJob.", show_default=False)]
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
    """List TrainJobs with their state, restarts and verdict."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    jobs, summaries = target.perform(where, lambda client: _fetch(client, name, everywhere))
    if form is not Format.table:
        print(output.document(jobs[0] if name else {"items": jobs}, form))
    elif not summaries:
        print("No TrainJobs found.")
    else:
        _print(summaries, everywhere)


async def _fetch(client: Client, name: str, everywhere: bool) -> tuple[list[Object], list[Summary]]:
    from trainshed.client.requests import ALL
    from trainshed.jobs import belongings

    place = ALL if everywhere else client.namespace
    if name:
        job = await client.get(TRAINJOBS, name, client.namespace)
        return [job], [(await belongings.fetch(client, name, client.namespace)).summary(job)]
    jobs = (await client.list(TRAINJOBS, place)).items
    known = await belongings.fetch_all(client, place)
    return jobs, [known[_key(job)].summary(job) for job in jobs]


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
        found.name,
        found.state,
        str(found.nodes),
        found.runtime,
        str(found.restarts),
        age,
        found.verdict,
    )
