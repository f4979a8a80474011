"""The v2.1 dialect of the Trainer API: still accepted, each old field answered with what replaced it."""

from __future__ import annotations

from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object, dig

_METADATA = "spec.runtimePatches[].trainingRuntimeSpec.template.metadata"
_REPLACED = {
    "podTemplateOverrides": "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs",
    "labels": f"{_METADATA}.labels",
    "annotations": f"{_METADATA}.annotations",
}


def trainjob_warnings(job: Object) -> list[str]:
    given = [(old, new) for old, new in _REPLACED.items() if dig(job, "spec", old)]
    found = [f"spec.{old}: replaced in Trainer v2.2 by {new}" for old, new in given]
    words = dig(job, "spec", "trainer", "numProcPerNode")
    if isinstance(words, str):
        found.append(
            f'spec.trainer.numProcPerNode: the word "{words}" was replaced in Trainer v2.2; '
            "give a number, or leave the field out to have it chosen by the resources"
        )
    return found


def runtime_warnings(runtime: Object) -> list[str]:
    torch = templates.policy(runtime, "mlPolicy", "torch") or {}
    found = []
    if "numProcPerNode" in torch:
        found.append(
            "spec.mlPolicy.torch.numProcPerNode: replaced in Trainer v2.2 by "
            "spec.trainer.numProcPerNode of the TrainJob"
        )
    if "elasticPolicy" in torch:
        found.append(
            "spec.mlPolicy.torch.elasticPolicy: works here; Trainer v2.1 ignores it, later ones drop it"
        )
    return found
