"""The TrainJob's own values in the JobSet: initializers, image, command, environment, suspension."""

from __future__ import annotations

from trainshed.controllers.trainjob import counts, upserts
from trainshed.controllers.trainjob.draft import Draft, container
from trainshed.controllers.trainjob.plugins import torchtune
from trainshed.kinds.core.environment import variable
from trainshed.kinds.reading import entries, is_true, mapping, sequence
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object, copied, text

_OWN_STEPS = (templates.TRAINER, templates.DATASET, templates.MODEL)


def replicate_once(draft: Draft) -> None:
    """Of a job that stands for a step of the TrainJob there is one; its size is its number of pods."""
    for job in draft.jobs:
        if templates.ancestor(job) in _OWN_STEPS:
            job["replicas"] = 1


def suspend(draft: Draft) -> None:
    """As the TrainJob says, whatever the template had."""
    draft.spec["suspend"] = is_true(draft.job, "spec", "suspend")


# --- initializers -----------------------------------------------------------------------------------------


def initialize_dataset(draft: Draft) -> None:
    _initialize(draft, "dataset", templates.DATASET)


def initialize_model(draft: Draft) -> None:
    _initialize(draft, "model", templates.MODEL)


def _initialize(draft: Draft, what: str, step: str) -> None:
    given = mapping(draft.job, "spec", "initializer", what)
    for job in draft.jobs:
        target = container(job, step) if templates.ancestor(job) == step else None
        if target is not None and given:
            _initialize_container(target, given)


def _initialize_container(target: Object, given: Object) -> None:
    if isinstance(given.get("storageUri"), str):
        upserts.environment(target, variable("STORAGE_URI", given["storageUri"]))
    upserts.environment(target, *upserts.given(entries(given, "env")))
    if secret := text(given, "secretRef", "name"):
        target["envFrom"] = [*sequence(target, "envFrom"), {"secretRef": {"name": secret}}]


# --- the training -----------------------------------------------------------------------------------------


def set_image(draft: Draft) -> None:
    _set(draft, "image")


def set_command(draft: Draft) -> None:
    """torchtune's command was completed by its plugin."""
    if not torchtune.applies(draft):
        _set(draft, "command")


def set_args(draft: Draft) -> None:
    _set(draft, "args")


def _set(draft: Draft, field: str) -> None:
    """A field as a whole, and only that one: a new command keeps the runtime's arguments."""
    value = (draft.trainer or {}).get(field)
    if value is None:
        return
    for job in draft.jobs:
        node = container(job, templates.NODE) if templates.ancestor(job) == templates.TRAINER else None
        if node is not None:
            node[field] = copied(value)


def add_environment(draft: Draft) -> None:
    variables = upserts.given(entries(draft.trainer, "env"))
    for job in counts.computing_jobs(draft):
        node = container(job, templates.NODE)
        if node is not None:
            upserts.environment(node, *copied(variables))
