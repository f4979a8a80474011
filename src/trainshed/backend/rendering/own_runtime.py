"""A TrainingRuntime for one job: a copy of the named one, with what a TrainJob itself cannot say.

No dialect of the TrainJob knows retries, priorities or what a launcher gets beside its workers; and an image
or variables of a TrainJob reach the launcher of an MPI runtime only. Runtimes know all that.
"""

from __future__ import annotations

from trainshed.backend.rendering.frameworks import FRAMEWORKS
from trainshed.backend.rendering.literal import unexpanded
from trainshed.backend.rendering.wanted import Resources, Wanted
from trainshed.kinds.reading import child, is_true
from trainshed.kinds.trainer import templates
from trainshed.kinds.trainer.runtimes import FRAMEWORK
from trainshed.kube.objects import Object, copied, plant, text

KIND = "TrainingRuntime"


def is_needed(wanted: Wanted) -> bool:
    """Whether the runtime has to be looked up (`Wanted.base`), to make another one of it."""
    framework = FRAMEWORKS[wanted.framework]
    by_roles = framework.is_launched and bool(
        wanted.image or wanted.launcher or wanted.runtime != "deepspeed-distributed"
    )
    return wanted.retries is not None or bool(wanted.priority_class) or by_roles


def is_split(wanted: Wanted) -> bool:
    """Whether the launcher only launches, so that it gets other resources than the workers."""
    if wanted.base is None or not FRAMEWORKS[wanted.framework].is_launched:
        return False
    mpi = templates.policy(wanted.base, "mlPolicy", "mpi")
    return mpi is not None and (wanted.launcher is not None or not is_true(mpi, "runLauncherAsNode"))


def derived(wanted: Wanted, name: str, labels: dict[str, str]) -> Object | None:
    """The job's own runtime, by its name; None where the named one will do."""
    if wanted.base is None or not is_needed(wanted):
        return None
    spec: Object = copied(wanted.base.get("spec") or {})
    runtime: Object = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": KIND,
        "metadata": {"name": name, "labels": {**_framework(wanted.base), **labels}},
        "spec": spec,
    }
    if wanted.retries is not None:
        _limit(runtime, wanted.retries)
    if wanted.priority_class:
        for job in templates.jobs(runtime):
            templates.pod(job)["priorityClassName"] = wanted.priority_class
    if FRAMEWORKS[wanted.framework].is_launched:
        _equip_roles(wanted, runtime)
    return runtime


def _limit(runtime: Object, retries: int) -> None:
    """Any failure ends the attempt, for all pods at once; the JobSet begins so many others."""
    for job in templates.jobs(runtime):
        inner = child(child(job, "template"), "spec")
        inner["backoffLimit"] = 0
        for own in ("backoffLimitPerIndex", "maxFailedIndexes"):
            inner.pop(own, None)
        templates.pod(job)["restartPolicy"] = "Never"
    plant(runtime, retries, "spec", "template", "spec", "failurePolicy", "maxRestarts")


def resources(found: Resources) -> Object:
    parts = {"requests": dict(found.requests), "limits": dict(found.limits)}
    return {part: amounts for part, amounts in parts.items() if amounts}


def _framework(base: Object) -> dict[str, str]:
    name = text(base, "metadata", "labels", FRAMEWORK)
    return {FRAMEWORK: name} if name else {}


def _equip_roles(wanted: Wanted, runtime: Object) -> None:
    """One image for both roles; where the launcher only launches, the workers' share here."""
    split = is_split(wanted)
    if split:
        child(child(child(runtime, "spec"), "mlPolicy"), "mpi")["runLauncherAsNode"] = False
    for job in templates.jobs(runtime):
        for container in templates.containers(job):
            if wanted.image:
                container["image"] = wanted.image
            if split and text(job, "name") == templates.NODE:
                _equip_worker(wanted, container)


def _equip_worker(wanted: Wanted, container: Object) -> None:
    if given := resources(wanted.resources):
        container["resources"] = given
    if wanted.env:
        own = [
            variable
            for variable in container.get("env") or []
            if variable.get("name") not in dict(wanted.env)
        ]
        container["env"] = own + [{"name": name, "value": unexpanded(value)} for name, value in wanted.env]
