"""Names and places by which launchers, workers and what they share find each other."""

from __future__ import annotations

from typing import Final

from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube.objects import Object, text

CONFIG_VOLUME: Final = "mpi-job-config"
CONFIG_FOLDER: Final = "/etc/mpi"
KUBECTL_VOLUME: Final = "mpi-job-kubectl"
KUBECTL_FOLDER: Final = "/opt/kube"
KUBEXEC: Final = "kubexec.sh"
HOSTFILE: Final = "hostfile"
DISCOVER: Final = "discover_hosts.sh"


def launcher(job: Object) -> str:
    """The launcher pod, and the account and rights it has."""
    return f"{text(job, 'metadata', 'name')}-launcher"


def worker(job: Object, index: int) -> str:
    return f"{text(job, 'metadata', 'name')}-worker-{index}"


def config(job: Object) -> str:
    return f"{text(job, 'metadata', 'name')}-config"


def slots(job: Object) -> int:
    """How many processes a worker has room for."""
    found = number(job, "spec", "slotsPerWorker")
    return 1 if found is None else found


def account(job: Object, template: Object) -> str:
    """The launcher's service account: the one its template names, else its own."""
    return text(template, "spec", "serviceAccountName") or launcher(job)


def computes(template: Object) -> bool:
    """Does a launcher with this template train as well? It does where it asks for a GPU."""
    limits = (mapping(one, "resources", "limits") for one in entries(template, "spec", "containers"))
    return any("gpu" in name for found in limits for name in found)
