"""How many processes of PyTorch run on each node."""

from __future__ import annotations

from trainshed.kinds.reading import mapping
from trainshed.kinds.trainer import devices
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object

AUTO = "auto"


def per_node(job: Object, runtime: Object) -> int | str:
    """Per node: a number, or a word torchrun understands.

    `auto` without GPUs means one process per CPU; with GPUs the word stays and torchrun counts them itself.
    The words `cpu` and `gpu`, and a value in the runtime, are of the v2.1 dialect.
    """
    resources = devices.resources(job, runtime)
    asked = mapping(job, "spec", "trainer").get("numProcPerNode")
    if asked is None:
        asked = mapping(runtime, "spec", "mlPolicy", "torch").get("numProcPerNode", AUTO)
    if asked == "cpu" or (asked == AUTO and devices.gpus(resources) == 0):
        return max(1, devices.cpus(resources))
    number = whole(asked)
    return asked if number is None else number
