"""OpenMPI: a hostfile for the launcher, and keys by which it reaches the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.controllers.trainjob import upserts
from trainshed.controllers.trainjob.counts import runs_launcher_as_node
from trainshed.controllers.trainjob.draft import Draft, beside, container, count
from trainshed.controllers.trainjob.plugins.plugin import Plugin
from trainshed.controllers.trainjob.refusals import CREATION_FAILED, Refusal
from trainshed.kinds.core.environment import variable
from trainshed.kinds.reading import number
from trainshed.kinds.trainer import devices, templates
from trainshed.kube.objects import Object, text

SSH_SUFFIX, HOSTFILE_SUFFIX = "-mpi-ssh-auth", "-mpi-hostfile"
_PRIVATE, _PUBLIC = "ssh-privatekey", "ssh-publickey"
_FOLDER, _HOSTFILE = "/etc/mpi", "hostfile"


def applies(draft: Draft) -> bool:
    return draft.policy("mpi") is not None


def enforce(draft: Draft) -> None:
    implementation = text(draft.policy("mpi"), "mpiImplementation") or "OpenMPI"
    if implementation != "OpenMPI":
        raise Refusal(CREATION_FAILED, f"MPI implementation for {implementation} doesn't supported")
    for job in draft.jobs:
        if text(job, "name") in (templates.NODE, templates.LAUNCHER):
            _connect(draft, job)
    launcher = draft.job_named(templates.LAUNCHER)
    if launcher is not None:
        _equip_launcher(draft, launcher)
    draft.objects += [ssh_secret(draft), hostfile(draft)]


def _connect(draft: Draft, job: Object) -> None:
    """The keys, in every pod that takes part."""
    node = container(job, templates.NODE)
    upserts.volumes(templates.pod(job), _ssh_volume(draft.name))
    if node is not None:
        path = text(draft.policy("mpi"), "sshAuthMountPath") or "/root/.ssh"
        upserts.mounts(node, {"name": "mpi-ssh-auth", "mountPath": path})


def _ssh_volume(name: str) -> Object:
    items = [
        {"key": _PRIVATE, "path": "id_rsa", "mode": 0o640},
        {"key": _PUBLIC, "path": "id_rsa.pub", "mode": 0o644},
        {"key": _PUBLIC, "path": "authorized_keys", "mode": 0o644},
    ]
    secret = {"secretName": name + SSH_SUFFIX, "defaultMode": 0o400, "items": items}
    return {"name": "mpi-ssh-auth", "secret": secret}


def _equip_launcher(draft: Draft, job: Object) -> None:
    items = [{"key": _HOSTFILE, "path": _HOSTFILE, "mode": 0o444}]
    source = {"name": draft.name + HOSTFILE_SUFFIX, "items": items}
    upserts.volumes(templates.pod(job), {"name": "mpi-hostfile", "configMap": source})
    node = container(job, templates.NODE)
    if node is None:
        return
    upserts.mounts(node, {"name": "mpi-hostfile", "mountPath": _FOLDER})
    upserts.environment(
        node,
        variable("OMPI_MCA_orte_default_hostfile", f"{_FOLDER}/{_HOSTFILE}"),
        variable("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        variable("OMPI_MCA_orte_set_default_slots", slots(draft)),
        variable("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"),
    )


def slots(draft: Draft) -> int:
    """Processes per node: as asked, or one per GPU where the runtime says just one."""
    asked = number(draft.trainer, "numProcPerNode")
    if asked is not None:
        return asked
    default = number(draft.policy("mpi"), "numProcPerNode")
    default = 1 if default is None else default
    gpus = devices.gpus(devices.resources(draft.job, draft.runtime))
    return gpus if default == 1 and gpus > 1 else default


# --- objects ----------------------------------------------------------------------------------------------


def ssh_secret(draft: Draft) -> Object:
    """Without its keys: they are made once, when the Secret is, and never again."""
    return beside(draft.job, "Secret", SSH_SUFFIX, type="kubernetes.io/ssh-auth", immutable=True)


def ssh_data(private: str, public: str) -> Object:
    """What such a Secret holds."""
    return {_PRIVATE: private, _PUBLIC: public}


def hostfile(draft: Draft) -> Object:
    lines = "".join(f"{endpoint} slots={slots(draft)}\n" for endpoint in endpoints(draft))
    return beside(draft.job, "ConfigMap", HOSTFILE_SUFFIX, data={_HOSTFILE: lines})


def endpoints(draft: Draft) -> Iterator[str]:
    """Where each node answers, in the order of the jobs."""
    subdomain = text(draft.spec, "network", "subdomain") or draft.name
    names = {templates.NODE} | ({templates.LAUNCHER} if runs_launcher_as_node(draft) else set())
    for job in draft.jobs:
        name = text(job, "name")
        for replica in range(number(job, "replicas") or 1) if name in names else ():
            for pod in range(count(job)):
                yield f"{draft.name}-{name}-{replica}-{pod}.{subdomain}"


PLUGIN = Plugin("mpi", applies, enforce)
