"""`trainshed events`: what happened to a training job and all it owns, in order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import output, target
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace
from trainshed.kube import ages
from trainshed.kube.objects import Object, text

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.jobs.belongings import Belongings
    from trainshed.jobs.jobkinds import JobKind

COLUMNS = ("AGE", "TYPE", "REASON", "OBJECT", "MESSAGE")
COLOURS = {"Warning": "yellow"}


def events(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[name]", help="A TrainJob, or pytorchjob/train and the like.", show_default=False
        ),
    ] = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Show the events of a job and its pods, or of a namespace."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    found = target.perform(where, lambda client: fetch(client, name))
    if found:
        output.table(COLUMNS, [row(event, datetime.now(UTC)) for event in found], COLOURS)
    else:
        print("No events found.")


async def fetch(client: Client, name: str) -> list[Object]:
    """Events of the namespace, or of a job and all it owns or has owned."""
    from trainshed.jobs import belongings, happenings

    if not name:
        return sorted((await client.list("events", client.namespace)).items, key=happenings.when)
    reference = await target.job(client, name)
    job = await reference.get(client)
    return await fetch_for(client, reference.kind, job, await belongings.fetch_for(client, reference))


async def fetch_for(client: Client, kind: JobKind, job: Object, mine: Belongings) -> list[Object]:
    from trainshed.jobs import happenings

    return happenings.of_job((await client.list("events", client.namespace)).items, kind, job, mine)


def row(event: Object, now: datetime) -> tuple[str, ...]:
    from trainshed.jobs import happenings

    then = ages.parse_timestamp(happenings.when(event))
    count = int(event.get("count") or 1)
    age = ages.human_age(then, now) if then else ""
    return (
        f"{age} (x{count})" if count > 1 else age,
        text(event, "type"),
        text(event, "reason"),
        f"{text(event, 'involvedObject', 'kind')}/{text(event, 'involvedObject', 'name')}",
        " ".join(text(event, "message").split()),
    )
