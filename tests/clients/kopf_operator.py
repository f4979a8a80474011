"""A minimal kopf operator for TrainJobs, run by the tests as `kopf run` in its own process."""

from __future__ import annotations

from collections.abc import Mapping

import kopf

GROUP, VERSION, PLURAL = "trainer.kubeflow.org", "v1alpha1", "trainjobs"
NOTE = "operator.example.com"


@kopf.on.startup()
def be_quick(settings: kopf.OperatorSettings, **_: object) -> None:
    settings.watching.server_timeout = 5  # so that the tests see watches resumed
    settings.persistence.finalizer = f"{NOTE}/finalizer"
    settings.posting.level = 20


@kopf.on.create(GROUP, VERSION, PLURAL)
def accept(body: kopf.Body, patch: kopf.Patch, **_: object) -> None:
    condition = {
        "type": "Suspended",
        "status": "False",
        "reason": "Accepted",
        "message": "The operator has seen it.",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch.status["conditions"] = [condition]
    kopf.info(body, reason="Accepted", message="The operator has seen it.")


@kopf.on.resume(GROUP, VERSION, PLURAL)
def remember(patch: kopf.Patch, **_: object) -> None:
    note(patch, "resumed", "yes")


@kopf.on.update(GROUP, VERSION, PLURAL, field="spec.suspend")
def follow(old: object, new: object, patch: kopf.Patch, **_: object) -> None:
    note(patch, "suspend", f"{old}-{new}")


@kopf.on.delete(GROUP, VERSION, PLURAL)
def clean_up(spec: Mapping[str, object], patch: kopf.Patch, **_: object) -> None:
    note(patch, "cleaned", str(spec["runtimeRef"]))


def note(patch: kopf.Patch, key: str, value: str) -> None:
    patch.metadata.annotations[f"{NOTE}/{key}"] = value
