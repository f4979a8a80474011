"""What the webhooks of the Training Operator refuse and warn of; they see objects without defaults."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.kinds import dns
from trainshed.kinds.checks import IMMUTABLE, Errors
from trainshed.kinds.kubeflow.families import MXNET, PYTORCH, TENSORFLOW, Family
from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube.faults import FieldError, forbidden, invalid, required, unsupported
from trainshed.kube.objects import Object, dig, text

MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")
_MANAGER = "spec.runPolicy.managedBy"
_MX_FATE = (
    "MXJob is deprecated, and the MXJob will be removed in the release v1.9.0. "
    "Please see https://github.com/kubeflow/training-operator/issues/1996 for more details"
)


def errors(family: Family, job: Object, old: Object | None) -> Errors:
    found = [*_name_errors(job)]
    if family.checks_manager:
        found += _manager_errors(job, old)
    if family is PYTORCH:
        found += _elastic_errors(job)
    return [*found, *_replica_map_errors(family, job)]


def warnings(family: Family, job: Object) -> list[str]:
    if family is MXNET:
        return [_MX_FATE]
    if family is PYTORCH and dig(job, "spec", "elasticPolicy", "nProcPerNode") is not None:
        return ["spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead"]
    return []


def _name_errors(job: Object) -> Iterator[FieldError]:
    name = text(job, "metadata", "name")
    faults = dns.label_faults(name)
    if faults:
        yield invalid("metadata.name", name, f"should match: {','.join(faults)}")


def _manager_errors(job: Object, old: Object | None) -> Iterator[FieldError]:
    manager = dig(job, "spec", "runPolicy", "managedBy")
    if old is not None and manager != dig(old, "spec", "runPolicy", "managedBy"):
        yield invalid(_MANAGER, manager, IMMUTABLE)
    if manager is not None and manager not in MANAGERS:
        yield unsupported(_MANAGER, manager, MANAGERS)


def _elastic_errors(job: Object) -> Iterator[FieldError]:
    if not isinstance(dig(job, "spec", "elasticPolicy"), dict):
        return
    if "Worker" not in mapping(job, "spec", PYTORCH.replicas):
        yield required(f"spec.{PYTORCH.replicas}[Worker]", "must be configured if elastic policy is used")
    old, new = dig(job, "spec", "elasticPolicy", "nProcPerNode"), dig(job, "spec", "nprocPerNode")
    if old is not None and new is not None:
        yield forbidden("spec.elasticPolicy.nProcPerNode", "must not be used with spec.nprocPerNode")


def size_errors(family: Family, job: Object, old: Object | None) -> Errors:
    """Of a change of how many workers there are: an elastic job stays within the bounds it names.

    Upstream leaves that to its autoscaler and to torchrun, which starts no round outside of them. New jobs
    are taken as they are, as upstream takes them.
    """
    counts = [number(one, "spec", PYTORCH.replicas, "Worker", "replicas") for one in (job, old or {})]
    if family is not PYTORCH or old is None or counts[0] is None or counts[0] == counts[1]:
        return []
    return [*_bound_errors(counts[0], mapping(job, "spec", "elasticPolicy"))]


def _bound_errors(count: int, policy: Object) -> Iterator[FieldError]:
    field = f"spec.{PYTORCH.replicas}[Worker].replicas"
    least, most = number(policy, "minReplicas"), number(policy, "maxReplicas")
    if least is not None and count < least:
        yield invalid(field, count, f"must be at least spec.elasticPolicy.minReplicas, which is {least}")
    if most is not None and count > most:
        yield invalid(field, count, f"must be at most spec.elasticPolicy.maxReplicas, which is {most}")


# --- replicas ---------------------------------------------------------------------------------------------


def _replica_map_errors(family: Family, job: Object) -> Iterator[FieldError]:
    field = f"spec.{family.replicas}"
    given = dig(job, "spec", family.replicas)
    if not isinstance(given, dict):
        yield required(field, "must be required")
        given = {}
    for type in given:
        yield from _replica_errors(family, f"{field}[{type}]", type, mapping(given, type))
    if family.needs_master and "Master" not in given:
        yield required(f"{field}[Master]", "must be present")
    if family is TENSORFLOW and {"Chief", "Master"} <= given.keys():
        yield forbidden(field, "must not have more than 1 Chief or Master role")


def _replica_errors(family: Family, field: str, type: str, replica: Object) -> Iterator[FieldError]:
    if family.checks_types and type not in family.types:
        yield unsupported(field, type, family.types)
    containers = entries(replica, "template", "spec", "containers")
    yield from _container_errors(family, f"{field}.template.spec.containers", containers)
    count = number(replica, "replicas")
    if family.one_master and type == "Master":
        if count != 1:
            yield forbidden(f"{field}.replicas", "must be 1")
    elif family is PYTORCH and count is not None and count < 1:
        yield forbidden(f"{field}.replicas", "must be at least 1")


def _container_errors(family: Family, field: str, containers: list[Object]) -> Iterator[FieldError]:
    if not containers:
        yield required(field, "must be specified")
    for index, container in enumerate(containers):
        if not text(container, "image"):
            yield required(f"{field}[{index}].image", "must be required")
    if family.container not in [text(container, "name") for container in containers]:
        name = f'"{family.container}"' if family.quotes_container else family.container
        yield required(field, f"must have at least one container with name {name}")
