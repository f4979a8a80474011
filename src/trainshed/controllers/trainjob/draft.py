"""A JobSet in the making: what the stages of the merge work on, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainshed.kinds.reading import child, entries, mapping, number
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object, copied, plant, text

API_VERSION = "jobset.x-k8s.io/v1alpha2"
TRAINJOB_API = "trainer.kubeflow.org/v1alpha1"


@dataclass(slots=True)
class Draft:
    """Everything here is the draft's own; the TrainJob and the runtime it came from are never changed."""

    job: Object
    runtime: Object
    labels: Object
    annotations: Object
    spec: Object
    """The JobSetSpec so far."""
    objects: list[Object] = field(default_factory=list)
    """What is made beside the JobSet, for it to use."""

    @property
    def name(self) -> str:
        return text(self.job, "metadata", "name")

    @property
    def trainer(self) -> Object | None:
        """The TrainJob's own part, if it has one: several plugins do nothing without."""
        found = mapping(self.job, "spec").get("trainer")
        return found if isinstance(found, dict) else None

    @property
    def nodes(self) -> int | None:
        """How many nodes the TrainJob asks for, if it says so."""
        return number(self.trainer, "numNodes")

    def policy(self, name: str) -> Object | None:
        return templates.policy(self.runtime, "mlPolicy", name)

    # --- jobs ---

    @property
    def jobs(self) -> list[Object]:
        return entries(self.spec, "replicatedJobs")

    def job_named(self, name: str) -> Object | None:
        return next((job for job in self.jobs if text(job, "name") == name), None)

    @property
    def trainer_job(self) -> Object | None:
        """The first job that stands for the training itself."""
        return next((job for job in self.jobs if templates.ancestor(job) == templates.TRAINER), None)

    @property
    def node(self) -> Object | None:
        """The container the training runs in."""
        return container(self.trainer_job, templates.NODE) if self.trainer_job else None

    def rendered(self) -> Object:
        """The JobSet as it would be applied now."""
        metadata: Object = {"name": self.name}
        if namespace := text(self.job, "metadata", "namespace"):
            metadata["namespace"] = namespace
        if self.labels:
            metadata["labels"] = dict(self.labels)
        if self.annotations:
            metadata["annotations"] = dict(self.annotations)
        metadata["ownerReferences"] = [owner(self.job)]
        return {
            "apiVersion": API_VERSION,
            "kind": "JobSet",
            "metadata": metadata,
            "spec": copied(self.spec),
        }


def begin(job: Object, runtime: Object) -> Draft:
    """The runtime's template, untouched."""
    template = mapping(runtime, "spec", "template")
    return Draft(
        job=job,
        runtime=runtime,
        labels=dict(mapping(template, "metadata", "labels")),
        annotations=dict(mapping(template, "metadata", "annotations")),
        spec=copied(mapping(template, "spec")),
    )


def container(job: Object, name: str) -> Object | None:
    return next((found for found in templates.containers(job) if text(found, "name") == name), None)


def any_container(job: Object, name: str) -> Object | None:
    """A container, or else an init container, of that name."""
    both = templates.containers(job) + entries(templates.pod(job), "initContainers")
    return next((found for found in both if text(found, "name") == name), None)


def pod_template(job: Object) -> Object:
    """A job's pod template, for filling in."""
    return child(child(child(job, "template"), "spec"), "template")


def count(job: Object) -> int:
    """How many pods a job has."""
    found = number(job, "template", "spec", "parallelism")
    return 1 if found is None else found


def set_count(job: Object, pods: int) -> None:
    """Every pod must finish, so the two numbers are always the same."""
    plant(job, pods, "template", "spec", "parallelism")
    plant(job, pods, "template", "spec", "completions")


def owner(job: Object) -> Object:
    """The reference by which everything made for a TrainJob goes with it."""
    return {
        "apiVersion": TRAINJOB_API,
        "kind": "TrainJob",
        "name": text(job, "metadata", "name"),
        "uid": text(job, "metadata", "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def beside(job: Object, kind: str, suffix: str, api_version: str = "v1", **content: object) -> Object:
    """An object made beside the JobSet, named after the TrainJob and owned by it."""
    metadata: Object = {"name": text(job, "metadata", "name") + suffix}
    if namespace := text(job, "metadata", "namespace"):
        metadata["namespace"] = namespace
    metadata["ownerReferences"] = [owner(job)]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
