"""`trainshed events`: what happened to a training job and all it owns, in order."""

from __future__ import annotations

from collections.abc import Iterable
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
    """Events of the namespace, or of the job and of whatever carries its name in front."""
    if name:
        reference = await target.job(client, name)
        await reference.get(client)
        name = reference.name
    items = (await client.list("events", client.namespace)).items
    return sorted((item for item in items if not name or _is_about(item, name)), key=_when)


def row(event: Object, now: datetime) -> tuple[str, ...]:
    then = ages.parse_timestamp(_when(event))
    count = int(event.get("count") or 1)
    age = ages.human_age(then, now) if then else ""
    return (
        f"{age} (x{count})" if count > 1 else age,
        text(event, "type"),
        text(event, "reason"),
        f"{text(event, 'involvedObject', 'kind')}/{text(event, 'involvedObject', 'name')}",
        " ".join(text(event, "message").split()),
    )


def _is_about(event: Object, name: str) -> bool:
    about = text(event, "involvedObject", "name")
    return about == name or about.startswith(f"{name}-")


def _when(event: Object) -> str:
    times: Iterable[str] = (
        text(event, "lastTimestamp"),
        text(event, "eventTime"),
        text(event, "firstTimestamp"),
    )
    return next((time for time in times if time), text(event, "metadata", "creationTimestamp"))
