"""The training kinds' webhooks, at home in the server: what they fill in, what they refuse, how they say it.

Upstream each group runs its own webhooks, so refusals differ in code and form: Trainer and the Training
Operator answer 403, JobSet 422 with causes, Katib 400 without a reason. Status writes are never judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from trainshed.apiserver.admission import Check, Request
from trainshed.kinds.jobset import defaults as jobset_defaults
from trainshed.kinds.jobset import validate as jobset_rules
from trainshed.kinds.katib import defaults as experiment_defaults
from trainshed.kinds.katib import trials
from trainshed.kinds.katib import validate as experiment_rules
from trainshed.kinds.kubeflow import validate as operator_rules
from trainshed.kinds.kubeflow.families import FAMILIES, MXNET, Family
from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer import dialects, runtime_checks, trainjobs
from trainshed.kube import documents, faults, schema
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object, copied, text

TRAINJOBS, JOBSETS = "trainjobs.trainer.kubeflow.org", "jobsets.jobset.x-k8s.io"
RUNTIMES, CLUSTER_RUNTIMES = (
    "trainingruntimes.trainer.kubeflow.org",
    "clustertrainingruntimes.trainer.kubeflow.org",
)
EXPERIMENTS = "experiments.kubeflow.org"


# --- how webhooks refuse ----------------------------------------------------------------------------------


class Unreasoned(faults.BadRequest):
    """Katib's refusals: a code and a message, no reason."""

    def status(self) -> Object:
        return {key: value for key, value in super().status().items() if key != "reason"}


def _denial(webhook: str, why: str) -> str:
    return f'admission webhook "{webhook}" denied the request: {why}'


def _forbid(webhook: str, errors: Iterable[FieldError]) -> None:
    if why := _aggregated(errors):
        raise faults.Forbidden(_denial(webhook, why))


def _aggregated(errors: Iterable[FieldError]) -> str:
    """Several errors as one text, none of them twice."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def _changes_nothing(request: Request) -> bool:
    """Whether only metadata is written: a finalizer must come off whatever became of a job's surroundings."""
    return request.old is not None and request.obj.get("spec") == request.old.get("spec")


# --- TrainJobs and runtimes -------------------------------------------------------------------------------


def trainjob_is_filled_in(request: Request) -> None:
    if not request.subresource:
        trainjobs.stamp_patches(request.obj, request.old, request.state.timestamp())
        trainjobs.tidy_resources(request.obj)


def trainjob_fits_its_runtime(request: Request) -> None:
    if request.subresource:
        return
    _warn(request, dialects.trainjob_warnings(request.obj))
    key = trainjobs.runtime_key(request.obj)
    if not trainjobs.is_supported(key):
        raise faults.Forbidden(_denial(_webhook("trainjob"), f"unsupported runtime: {key}"))
    runtime = _runtime(request) or _snapshot(request)
    if runtime is not None and _is_cluster_wide(request.obj) and runtime_checks.is_deprecated(runtime):
        request.warn(runtime_checks.deprecation(runtime, referenced=True))
    if not _changes_nothing(request):
        _forbid(_webhook("trainjob"), _trainjob_errors(request, runtime))


def _trainjob_errors(request: Request, runtime: Object | None) -> list[FieldError]:
    if runtime is None:
        return [trainjobs.missing_runtime(request.obj)]
    around = trainjobs.Surroundings(
        runtime,
        jobset=request.state.head(JOBSETS, request.namespace, request.name),
        has_priority_class=lambda name: _priority_class(request, name) is not None,
    )
    return trainjobs.errors(request.obj, request.old, around)


def _priority_class(request: Request, name: str) -> Object | None:
    return request.state.head("priorityclasses.scheduling.k8s.io", "", name)


def _is_cluster_wide(job: Object) -> bool:
    return text(job, "spec", "runtimeRef", "kind") == trainjobs.CLUSTER_RUNTIME


def _runtime(request: Request) -> Object | None:
    name = text(request.obj, "spec", "runtimeRef", "name")
    if _is_cluster_wide(request.obj):
        return request.state.head(CLUSTER_RUNTIMES, "", name)
    return request.state.head(RUNTIMES, request.namespace, name)


def _snapshot(request: Request) -> Object | None:
    """A job's own copy of its runtime: it may be changed after the runtime itself is gone."""
    if request.old is None:
        return None
    found = request.state.head("configmaps", request.namespace, request.name + trainjobs.SNAPSHOT_SUFFIX)
    owners = [text(owner, "uid") for owner in entries(found, "metadata", "ownerReferences")]
    if text(request.old, "metadata", "uid") not in owners:
        return None
    return _read(mapping(found, "data").get("runtime"))


def _read(written: JSON) -> Object | None:
    try:
        found = documents.read_yaml(written.encode(errors="replace")) if isinstance(written, str) else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def runtime_is_usable(request: Request) -> None:
    """Of the namespaced kind only new ones are checked, as upstream does."""
    is_cluster_wide = not request.kind.namespaced
    if request.subresource or (runtime_checks.is_unchecked(request.obj) and _was_unchecked(request)):
        return
    _warn(request, dialects.runtime_warnings(request.obj))
    if is_cluster_wide and request.old is None and runtime_checks.is_deprecated(request.obj):
        request.warn(runtime_checks.deprecation(request.obj))
    if (is_cluster_wide or request.old is None) and not _changes_nothing(request):
        _forbid(_webhook(request.kind.singular), runtime_checks.errors(request.obj))


def _was_unchecked(request: Request) -> bool:
    return request.old is None or runtime_checks.is_unchecked(request.old)


def _webhook(singular: str) -> str:
    return f"validator.{singular}.trainer.kubeflow.org"


def _warn(request: Request, warnings: Iterable[str]) -> None:
    for warning in warnings:
        request.warn(warning)


# --- JobSets ----------------------------------------------------------------------------------------------


def jobset_is_filled_in(request: Request) -> None:
    if request.operation == "CREATE":
        jobset_defaults.apply(request.obj)


def jobset_can_run(request: Request) -> None:
    if request.subresource or _changes_nothing(request):
        return
    if request.old is not None:
        errors = jobset_rules.update_errors(request.obj, request.old)
    else:
        find_claim = partial(request.state.head, "persistentvolumeclaims", request.namespace)
        errors = jobset_rules.create_errors(request.obj, find_claim)
    if errors:
        kind = request.kind
        refused = faults.refuse(kind.kind, kind.group, request.name, list(dict.fromkeys(errors)))
        refused.message = _denial("vjobset.kb.io", refused.message)
        raise refused


# --- kubeflow.org/v1 --------------------------------------------------------------------------------------


def _operator_job_is_complete(family: Family, request: Request) -> None:
    if request.subresource:
        return
    _warn(request, operator_rules.warnings(family, request.obj))
    if family.has_webhook and not _changes_nothing(request):
        _forbid(family.webhook, operator_rules.errors(family, request.obj, request.old))


def _operator_job_keeps_its_bounds(family: Family, request: Request) -> None:
    """No webhook of upstream's sees a scale, so one could make a job that could not be created."""
    if request.subresource not in ("", "scale") or _changes_nothing(request):
        return
    errors = operator_rules.size_errors(family, request.obj, request.old)
    if request.subresource and family.has_webhook:
        errors += operator_rules.errors(family, request.obj, request.old)
    if errors:
        raise faults.refuse(request.kind.kind, request.kind.group, request.name, errors)


# --- Experiments ------------------------------------------------------------------------------------------


def experiment_is_filled_in(request: Request) -> None:
    if not request.subresource:
        experiment_defaults.apply(request.obj)


def experiment_can_run(request: Request) -> None:
    if request.subresource or _changes_nothing(request):
        return
    _warn(request, _injection_warnings(request))
    around = trials.Surroundings(partial(request.state.head, "configmaps"), partial(_job_fault, request))
    errors = experiment_rules.errors(request.obj, request.old, around)
    if why := _aggregated(errors) or _leftover_volume(request):
        raise Unreasoned(_denial("validator.experiment.katib.kubeflow.org", why))


def _injection_warnings(request: Request) -> list[str]:
    """Katib refuses Experiments in namespaces without its label; here nothing depends on the label."""
    namespace = request.state.head("namespaces", "", request.namespace)
    label = experiment_rules.INJECTION_LABEL
    if text(namespace, "metadata", "labels", label) == "enabled":
        return []
    where = f'namespace "{request.namespace}" lacks label "{label}: enabled"'
    return [f"{where}: a cluster with Katib would refuse this Experiment"] if request.old is None else []


def _leftover_volume(request: Request) -> str:
    if request.old is not None or text(request.obj, "spec", "resumePolicy") != "FromVolume":
        return ""
    algorithm = text(request.obj, "spec", "algorithm", "algorithmName")
    volume = f"{request.name}-{algorithm}-{request.namespace}"
    if request.state.head("persistentvolumes", "", volume) is None:
        return ""
    where = f"{request.name} in namespace: {request.namespace}"
    return f"Cannot create the Experiment: {where}, PV: {volume} is not deleted"


def _job_fault(request: Request, job: Object) -> str:
    """A trial's Job is read as the real kind upstream: unknown fields and wrong types are found then."""
    kind = request.state.registry.stored("jobs.batch")
    if kind is None:
        return ""
    obj = copied(job)
    unknown = schema.prune(kind.schema(), obj)
    if unknown:
        return f"unable to convert: {', '.join(unknown)} to Job"
    wrong = [
        error for error in schema.validate(kind.schema(), obj) if error.reason == "FieldValueTypeInvalid"
    ]
    return f"unable to convert spec.TrialTemplate to Job: {wrong[0]}" if wrong else ""


CHECKS: dict[str, tuple[Check, ...]] = {
    TRAINJOBS: (trainjob_is_filled_in,),
    JOBSETS: (jobset_is_filled_in,),
    EXPERIMENTS: (experiment_is_filled_in,),
}
"""What the mutating webhooks do, before an object is validated."""

VERDICTS: dict[str, tuple[Check, ...]] = {
    TRAINJOBS: (trainjob_fits_its_runtime,),
    RUNTIMES: (runtime_is_usable,),
    CLUSTER_RUNTIMES: (runtime_is_usable,),
    JOBSETS: (jobset_can_run,),
    EXPERIMENTS: (experiment_can_run,),
    **{
        family.resource: (
            partial(_operator_job_is_complete, family),
            partial(_operator_job_keeps_its_bounds, family),
        )
        for family in FAMILIES
        if family.has_webhook or family is MXNET
    },
}
"""What the validating webhooks do, after it."""
