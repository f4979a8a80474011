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
    resources, given = devices.resources(job, runtime), asked(job, runtime)
    if given == "cpu" or (given == AUTO and devices.gpus(resources) == 0):
        return max(1, devices.cpus(resources))
    number = whole(given)
    return given if number is None else number


def asked(job: Object, runtime: Object) -> int | str:
    """What was written; `auto` where nothing was."""
    own: int | str | None = mapping(job, "spec", "trainer").get("numProcPerNode")
    if own is not None:
        return own
    found: int | str = mapping(runtime, "spec", "mlPolicy", "torch").get("numProcPerNode", AUTO)
    return found
