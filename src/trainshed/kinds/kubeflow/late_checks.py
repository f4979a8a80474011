"""Faults of the two kinds without a validating webhook: controllers find them and say so in an event."""

from __future__ import annotations

from collections.abc import Callable

from trainshed.kinds import dns
from trainshed.kinds.kubeflow.families import MPI, MXNET, Family
from trainshed.kinds.reading import entries, number
from trainshed.kube.objects import JSON, Object, dig, text


def fault(family: Family, job: Object) -> str:
    """The first thing wrong with an MPIJob or MXJob, in the controller's words; empty when it may run."""
    check = _CHECKS.get(family.kind)
    return check(job) if check else ""


def _mpi(job: Object) -> str:
    given = dig(job, "spec", MPI.replicas)
    if not isinstance(given, dict):
        return "MPIReplicaSpecs is not valid"
    wrong = next(filter(None, (_mpi_replica(type, replica) for type, replica in given.items())), "")
    if not wrong and "Launcher" not in given:
        return "MPIReplicaSpec is not valid: Master ReplicaSpec must be present"
    return wrong


def _mpi_replica(type: str, replica: JSON) -> str:
    containers = entries(replica, "template", "spec", "containers")
    if not containers:
        return f"MPIReplicaSpecs is not valid: containers definition expected in {type}"
    if type not in MPI.types:
        return f"MPIReplicaType is {type} but must be one of [{' '.join(MPI.types)}]"
    for container in containers:
        for field, word in (("image", "Image"), ("name", "ImageName")):
            if not text(container, field):
                return f"MPIReplicaSpec is not valid: {word} is undefined in the container of {type}"
    if type == "Launcher" and number(replica, "replicas") not in (None, 1):
        return "MPIReplicaSpec is not valid: There must be only 1 launcher replica"
    return ""


def _mxnet(job: Object) -> str:
    faults = dns.label_faults(text(job, "metadata", "name"))
    if faults:
        return f"MXJob name is invalid: [{' '.join(faults)}]"
    given = dig(job, "spec", MXNET.replicas)
    is_valid = isinstance(given, dict) and all(_is_trainable(replica) for replica in given.values())
    return "" if is_valid else "MXJobSpec is not valid"


def _is_trainable(replica: JSON) -> bool:
    containers = entries(replica, "template", "spec", "containers")
    names = [text(container, "name") for container in containers]
    return MXNET.container in names and all(text(container, "image") for container in containers)


_CHECKS: dict[str, Callable[[Object], str]] = {MPI.kind: _mpi, MXNET.kind: _mxnet}
