"""What a node of a TrainJob computes with: CPUs and GPUs, from the resources asked for."""

from __future__ import annotations

from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer import templates
from trainshed.kube import quantities
from trainshed.kube.objects import JSON, Object, dig, text


def resources(job: Object, runtime: Object) -> Object:
    """Of one node: the TrainJob's as a whole, else those of the runtime's node container.

    Upstream does not merge the two here, although the container gets both: see docs/quirks.md.
    """
    own = dig(job, "spec", "trainer", "resourcesPerNode")
    return own if isinstance(own, dict) else _runtime_resources(runtime)


def gpus(resources: JSON) -> int:
    """How many GPUs; the first resource whose name contains `gpu`, of the requests if they have one."""
    return _first_gpu(mapping(resources, "requests")) or _first_gpu(mapping(resources, "limits"))


def cpus(resources: JSON) -> int:
    """How many CPUs are requested, or allowed where nothing is requested; part of one counts as one."""
    return whole(mapping(resources, "requests").get("cpu")) or whole(mapping(resources, "limits").get("cpu"))


def whole(amount: JSON) -> int:
    """A quantity rounded up; anything else is nothing."""
    is_amount = isinstance(amount, str | int | float) and not isinstance(amount, bool)
    return quantities.whole(amount) if is_amount and quantities.is_quantity(amount) else 0


def _first_gpu(amounts: Object) -> int:
    return whole(next((amount for name, amount in amounts.items() if "gpu" in name.lower()), 0))


def _runtime_resources(runtime: Object) -> Object:
    for job in templates.jobs(runtime):
        if text(job, "name") == templates.NODE or templates.ancestor(job) == templates.TRAINER:
            for container in entries(templates.pod(job), "containers"):
                if text(container, "name") == templates.NODE and isinstance(container.get("resources"), dict):
                    return mapping(container, "resources")
    return {}
