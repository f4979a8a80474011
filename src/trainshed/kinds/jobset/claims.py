"""Volume claims a JobSet makes for itself (`volumeClaimPolicies`): names, mounts, claims already there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainshed.kinds import dns
from trainshed.kinds.checks import Errors, same
from trainshed.kinds.reading import entries, mapping
from trainshed.kube.faults import FieldError, invalid
from trainshed.kube.objects import Object, dig, text

FindClaim = Callable[[str], Object | None]
_MOST_NAME = 63


def errors(jobset: Object, find: FindClaim) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, policy in enumerate(entries(jobset, "spec", "volumeClaimPolicies")):
        field = f"spec.volumeClaimPolicies[{index}]"
        for place, template in enumerate(entries(policy, "templates")):
            name = text(template, "metadata", "name")
            found += _name_errors(f"{field}.template[{place}].name", name, jobset, name in seen)
            found += _mount_errors(jobset, name)
            existing = find(claim_name(jobset, name))
            if existing is not None:
                found += _reuse_errors(field, place, policy, existing)
            seen.add(name)
    return found


def claim_name(jobset: Object, template: str) -> str:
    return f"{template}-{text(jobset, 'metadata', 'name')}"


def _name_errors(field: str, name: str, jobset: Object, repeated: bool) -> Iterator[FieldError]:
    if repeated:
        yield invalid(field, name, "names must be unique for VolumeClaimPolicies template")
    for why in dns.subdomain_faults(name):
        yield invalid(field, name, why)
    if len(claim_name(jobset, name)) > _MOST_NAME:
        yield invalid(field, name, "VolumeClaimPolicies template name is too long")


def _mount_errors(jobset: Object, name: str) -> Iterator[FieldError]:
    """Some container mounts the claim, and no volume of the pods has its name."""
    jobs, mounted = entries(jobset, "spec", "replicatedJobs"), False
    for index, job in enumerate(jobs):
        pod = mapping(job, "template", "spec", "template", "spec")
        field = f"spec.replicatedJobs[{index}].template.spec.template.spec.volumes"
        for place, volume in enumerate(entries(pod, "volumes")):
            if text(volume, "name") == name:
                why = f"volume name conflicts with VolumeClaimPolicy template name: {name}"
                yield invalid(f"{field}[{place}].name", name, why)
        mounted = mounted or _mounts(pod, name)
    if not mounted:
        lacking = "replicatedJob containers don't have a matching volumeMount"
        yield invalid("spec.replicatedJobs", jobs, f"{lacking}: {name} from VolumeClaimPolicies")


def _mounts(pod: Object, name: str) -> bool:
    containers = entries(pod, "initContainers") + entries(pod, "containers")
    mounts = (mount for container in containers for mount in entries(container, "volumeMounts"))
    return any(text(mount, "name") == name for mount in mounts)


def _reuse_errors(field: str, place: int, policy: Object, existing: Object) -> Iterator[FieldError]:
    """A claim that is already there is used only as it is, and outlives the JobSet."""
    wanted, has = mapping(entries(policy, "templates")[place], "spec"), mapping(existing, "spec")
    if not all(same(value, has.get(name)) for name, value in wanted.items()):
        meta = mapping(existing, "metadata")
        where = f"{text(meta, 'name')} in namespace {text(meta, 'namespace')}"
        yield invalid(f"{field}.template[{place}].spec", wanted, f"spec does not match existing PVC {where}")
    retention = dig(policy, "retentionPolicy", "whenDeleted")
    if retention != "Retain":
        why = "retentionPolicy must be retain when PVC exists"
        yield invalid(f"{field}.retentionPolicy.whenDeleted", retention, why)
