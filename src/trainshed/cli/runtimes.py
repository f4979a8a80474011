"""`trainshed runtimes`: the runtimes a TrainJob can refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import output, target
from trainshed.cli.options import DataDir, Format, Output, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace
from trainshed.kube.objects import Object, dig, text

if TYPE_CHECKING:
    from trainshed.client.client import Client

FRAMEWORK = "trainer.kubeflow.org/framework"
_COLUMNS = ("NAME", "SCOPE", "FRAMEWORK", "NODES", "JOBS", "IMAGE")


def runtimes(
    name: Annotated[str, typer.Argument(metavar="[name]", help="Only this one.", show_default=False)] = "",
    form: Output = Format.table,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """List the runtimes that TrainJobs can refer to."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    found = target.perform(where, lambda client: _fetch(client, name))
    if form is Format.table:
        output.table(_COLUMNS, [_row(runtime) for runtime in found], {})
    else:
        print(output.document(found[0] if name else {"items": found}, form))


async def _fetch(client: Client, name: str) -> list[Object]:
    if name:
        own = await client.find("trainingruntimes", name, client.namespace)
        return [own or await client.get("clustertrainingruntimes", name)]
    from trainshed.jobs import runtimes as known

    return await known.fetch(client, client.namespace)


def _row(runtime: Object) -> tuple[str, ...]:
    jobs: list[Object] = dig(runtime, "spec", "template", "spec", "replicatedJobs") or []
    images = [image for job in jobs for image in _images(job)]
    return (
        text(runtime, "metadata", "name"),
        "cluster" if runtime.get("kind") == "ClusterTrainingRuntime" else "namespace",
        text(runtime, "metadata", "labels", FRAMEWORK),
        str(dig(runtime, "spec", "mlPolicy", "numNodes") or 1),
        ", ".join(str(job.get("name")) for job in jobs),
        images[-1] if images else "",
    )


def _images(job: Object) -> list[str]:
    pod = dig(job, "template", "spec", "template", "spec")
    return [str(container.get("image") or "") for container in dig(pod, "containers") or []]
