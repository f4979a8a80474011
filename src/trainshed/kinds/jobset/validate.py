"""What the validating webhook of JobSet 0.12 refuses; alpha features (InPlaceRestart, RestartJob) are off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainshed.kinds import dns
from trainshed.kinds.checks import MOST_INT32, Errors, immutable
from trainshed.kinds.jobset import claims, policies
from trainshed.kinds.jobset.faults import plain
from trainshed.kinds.reading import entries, is_true, mapping, number
from trainshed.kube.faults import FieldError, invalid, too_long
from trainshed.kube.objects import Object, copied, dig, text

_SUBDOMAIN_TOO_LONG = ".spec.network.subdomain is too long, must be less than 63 characters"
_GROUP_TOO_LONG = ".spec.replicatedJob[].groupName is too long, must be less than 63 characters"
_NAME_TOO_LONG = "JobSet name is too long, {} names generated for this JobSet will exceed 63 characters"
_MOST_MANAGER = 63


def create_errors(jobset: Object, find_claim: Callable[[str], Object | None]) -> Errors:
    """Faults of a new JobSet; `find_claim` looks a PersistentVolumeClaim up in its namespace."""
    return [
        *_restart_errors(jobset),
        *_first_job_errors(jobset),
        *_subdomain_errors(text(jobset, "spec", "network", "subdomain")),
        *_manager_errors(jobset),
        *_job_errors(jobset),
        *policies.errors(jobset),
        *claims.errors(jobset, find_claim),
    ]


def _restart_errors(jobset: Object) -> Iterator[FieldError]:
    if text(jobset, "spec", "failurePolicy", "restartStrategy") == "InPlaceRestart":
        yield plain(
            "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled"
        )


def _first_job_errors(jobset: Object) -> Iterator[FieldError]:
    jobs = entries(jobset, "spec", "replicatedJobs")
    if jobs and jobs[0].get("dependsOn") is not None:
        yield plain("DependsOn can't be set for the first ReplicatedJob")


def _subdomain_errors(subdomain: str) -> Iterator[FieldError]:
    """It is the domain of the pods and the name of a service: two rules, and both are reported."""
    field = "spec.network.subdomain"
    if subdomain:
        for why in dns.subdomain_faults(subdomain):
            yield invalid(field, subdomain, why)
        yield from _label_errors(field, subdomain, subdomain, _SUBDOMAIN_TOO_LONG)


def _manager_errors(jobset: Object) -> Iterator[FieldError]:
    manager = dig(jobset, "spec", "managedBy")
    if isinstance(manager, str):
        yield from dns.domain_prefixed_path("spec.managedBy", manager)
        if len(manager) > _MOST_MANAGER:
            yield too_long("spec.managedBy", _MOST_MANAGER)


# --- replicated jobs --------------------------------------------------------------------------------------


def _job_errors(jobset: Object) -> Iterator[FieldError]:
    name, seen = text(jobset, "metadata", "name"), set[str]()
    for index, job in enumerate(entries(jobset, "spec", "replicatedJobs")):
        seen.add(text(job, "name"))
        yield from _size_errors(job)
        field = f"spec.replicatedJobs[{index}]"
        group = text(job, "groupName")
        yield from _label_errors(f"{field}.groupName", group, group, _GROUP_TOO_LONG)
        yield from _name_errors(f"{field}.name", name, job)
        yield from _order_errors(job, seen)


def _size_errors(job: Object) -> Iterator[FieldError]:
    parallelism = number(job, "template", "spec", "parallelism")
    if (1 if parallelism is None else parallelism) * _replicas(job) > MOST_INT32:
        what = f"the product of replicas and parallelism must not exceed {MOST_INT32}"
        yield plain(f"{what} for replicatedJob '{text(job, 'name')}'")


def name_errors(jobset: Object) -> Iterator[FieldError]:
    """Names that Jobs, pods and the Service cannot have: without a webhook, nobody refuses the JobSet."""
    yield from _subdomain_errors(text(jobset, "spec", "network", "subdomain"))
    for index, job in enumerate(entries(jobset, "spec", "replicatedJobs")):
        yield from _name_errors(f"spec.replicatedJobs[{index}].name", text(jobset, "metadata", "name"), job)


def _name_errors(field: str, jobset: str, job: Object) -> Iterator[FieldError]:
    """The names of the last job and the last pod are the longest."""
    longest = f"{jobset}-{text(job, 'name')}-{_replicas(job) - 1}"
    yield from _label_errors(field, longest, longest, _NAME_TOO_LONG.format("job"))
    completions = number(job, "template", "spec", "completions")
    if completions is not None and text(job, "template", "spec", "completionMode") in ("", "Indexed"):
        pod = f"{longest}-{completions - 1}-abcde"
        yield from _label_errors(field, pod, longest, _NAME_TOO_LONG.format("pod"))


def _label_errors(field: str, name: str, shown: str, too_long: str) -> Iterator[FieldError]:
    for why in dns.label_faults(name):
        yield invalid(field, shown, too_long if why == dns.TOO_LONG else why)


def _order_errors(job: Object, seen: set[str]) -> Iterator[FieldError]:
    for needed in entries(job, "dependsOn"):
        if text(needed, "name") not in seen:
            yield plain(
                f"replicatedJob: {text(job, 'name')} cannot depend on replicatedJob: {text(needed, 'name')}"
            )


def _replicas(job: Object) -> int:
    found = number(job, "replicas")
    return 1 if found is None else found


# --- change -----------------------------------------------------------------------------------------------

_FREE_IN_POD = ("nodeSelector", "tolerations", "schedulingGates")
_FREE_IN_METADATA = ("labels", "annotations")


def update_errors(new: Object, old: Object) -> Errors:
    """The jobs stay as they are, but for where their pods may go while the JobSet is suspended."""
    jobs = entries(new, "spec", "replicatedJobs")
    if is_true(new, "spec", "suspend") or is_true(old, "spec", "suspend"):
        jobs = _with_old_placement(jobs, old)
    before = entries(old, "spec", "replicatedJobs")
    return [
        *immutable("spec.replicatedJobs", jobs, before),
        *immutable("spec.managedBy", dig(new, "spec", "managedBy"), dig(old, "spec", "managedBy")),
    ]


def _with_old_placement(jobs: list[Object], old: Object) -> list[Object]:
    before = {text(job, "name"): job for job in entries(old, "spec", "replicatedJobs")}
    found = copied(jobs)
    for job in found:
        if text(job, "name") in before:
            _put_back(_pod_template(job), _pod_template(before[text(job, "name")]))
    return list(found)


def _put_back(template: Object, old: Object) -> None:
    for part, names in (("metadata", _FREE_IN_METADATA), ("spec", _FREE_IN_POD)):
        kept = {name: value for name, value in mapping(template, part).items() if name not in names}
        before = mapping(old, part)
        template[part] = kept | {name: before[name] for name in names if name in before}


def _pod_template(job: Object) -> Object:
    return mapping(job, "template", "spec", "template")
