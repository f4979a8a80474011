"""The objects of a job: system ConfigMap, code ConfigMap, a runtime of its own where needed, TrainJob."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from trainshed.backend.rendering import code, naming, own_runtime, scripts, shell
from trainshed.backend.rendering.literal import unexpanded
from trainshed.backend.rendering.wanted import Git, Resources, Volume, Wanted
from trainshed.jobs import dialects
from trainshed.jobs.dialects import Change, Dialect
from trainshed.jobs.submission import TTL
from trainshed.kube.objects import Object

API_VERSION: Final = "trainer.kubeflow.org/v1alpha1"
MANAGER: Final = "trainshed.dev/backend"
"""Whose patch of the runtime it is."""
USER: Final = "trainshed.dev/user"
FRAMEWORK: Final = "trainshed.dev/framework"
CODE_OF: Final = "trainshed.dev/code-of"
REQUEST: Final = "trainshed.dev/request"
"""Annotation of the TrainJob: the request it came from, without the code."""
_SETUP_VOLUME: Final = "setup"


@dataclass(frozen=True, slots=True)
class Rendered:
    """In the order of creation."""

    system: Object | None
    code: Object | None
    runtime: Object | None
    """A TrainingRuntime of the job's own. It belongs to the code, which is always there then."""
    trainjob: Object


def render(wanted: Wanted, name: str, dialect: Dialect) -> Rendered:
    """All objects for a job of this name; they carry no namespace."""
    return Rendered(
        system(wanted),
        _code(wanted, name),
        own_runtime.derived(wanted, name, {**labels(wanted), CODE_OF: name}),
        _trainjob(wanted, name, dialect),
    )


def labels(wanted: Wanted) -> dict[str, str]:
    """On everything that is made for one job."""
    return {scripts.MANAGED_BY: "trainshed", USER: wanted.user, FRAMEWORK: wanted.framework}


# --- beside the job -----------------------------------------------------------------------------------------


def system(wanted: Wanted) -> Object | None:
    """The ConfigMap with the framework's script, where the job sources it."""
    script = shell.framework(wanted).script
    return scripts.config_map(script) if script is not None and _is_set_up(wanted) else None


def _is_set_up(wanted: Wanted) -> bool:
    """Whether the job sources a script of ours."""
    by_runtime = wanted.runtime == shell.TF_CONFIG_RUNTIME and wanted.framework == "tensorflow"
    return shell.framework(wanted).script is not None and not by_runtime


def _code(wanted: Wanted, name: str) -> Object | None:
    content = code.content(wanted)
    if content is None and not own_runtime.is_needed(wanted):
        return None
    meta = {"name": naming.code_name(name), "labels": {**labels(wanted), CODE_OF: name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **(content or {})}


# --- the job ------------------------------------------------------------------------------------------------


def _trainjob(wanted: Wanted, name: str, dialect: Dialect) -> Object:
    spec: Object = {
        "runtimeRef": _runtime(wanted, name),
        "trainer": _trainer(wanted, name),
        **dialects.changes(_changes(wanted, name), dialect, MANAGER),
    }
    if wanted.suspend:
        spec["suspend"] = True
    annotations = {REQUEST: json.dumps(wanted.submitted, separators=(",", ":"), sort_keys=True)}
    if wanted.ttl_seconds is not None:
        annotations[TTL] = str(wanted.ttl_seconds)
    meta = {"name": name, "labels": {**dict(wanted.labels), **labels(wanted)}, "annotations": annotations}
    return {"apiVersion": API_VERSION, "kind": "TrainJob", "metadata": meta, "spec": spec}


def _runtime(wanted: Wanted, name: str) -> Object:
    kind, named = wanted.runtime_kind, wanted.runtime
    if wanted.base is not None and own_runtime.is_needed(wanted):
        kind, named = own_runtime.KIND, name
    return {"apiGroup": "trainer.kubeflow.org", "kind": kind, "name": named}


def _trainer(wanted: Wanted, name: str) -> Object:
    trainer: Object = {"numNodes": wanted.nodes, "command": shell.command(wanted)}
    if wanted.image:
        trainer["image"] = wanted.image
    if wanted.processes is not None:
        trainer["numProcPerNode"] = wanted.processes
    if variables := _env(wanted, name):
        trainer["env"] = variables
    own = (wanted.launcher or Resources()) if own_runtime.is_split(wanted) else wanted.resources
    if amounts := own_runtime.resources(own):
        trainer["resourcesPerNode"] = amounts
    return trainer


def _env(wanted: Wanted, name: str) -> list[Object]:
    own: dict[str, str] = {}
    if wanted.framework == "tensorflow":
        own = {"PET_NNODES": str(wanted.nodes), "JOBSET_NAME": name}
    given = [{"name": key, "value": unexpanded(value)} for key, value in (*own.items(), *wanted.env)]
    return given + (code.clone_env(wanted) if shell.clones_itself(wanted) else [])


# --- the pods -----------------------------------------------------------------------------------------------


def _changes(wanted: Wanted, name: str) -> list[Change]:
    volumes, mounts = _volumes(wanted, name)
    pod: Object = {}
    if volumes:
        pod["volumes"] = volumes
    if before := _init_containers(wanted):
        pod["initContainers"] = before
    if mounts:
        pod["containers"] = [{"name": "node", "volumeMounts": mounts}]
    return [Change(shell.framework(wanted).jobs, {"spec": pod})] if pod else []


def _volumes(wanted: Wanted, name: str) -> tuple[list[Object], list[Object]]:
    volumes, mounts = code.volumes(wanted, naming.code_name(name)), code.mounts(wanted)
    script = shell.framework(wanted).script
    if script is not None and _is_set_up(wanted):
        source = {"name": script.config_map, "defaultMode": 0o755}
        volumes.append({"name": _SETUP_VOLUME, "configMap": source})
        mounts.append({"name": _SETUP_VOLUME, "mountPath": scripts.FOLDER, "readOnly": True})
    for volume in wanted.volumes:
        volumes.append({"name": volume.name, **_source(volume)})
        mounts.append(_mount(volume))
    return volumes, mounts


def _mount(volume: Volume) -> Object:
    mount: Object = {"name": volume.name, "mountPath": volume.mount_path}
    return {**mount, "readOnly": True} if volume.read_only else mount


def _source(volume: Volume) -> Object:
    if volume.claim:
        claim: Object = {"claimName": volume.claim}
        return {"persistentVolumeClaim": {**claim, "readOnly": True} if volume.read_only else claim}
    return {"emptyDir": {"medium": "Memory"} if volume.in_memory else {}}


def _init_containers(wanted: Wanted) -> list[Object]:
    """What the init containers of the platform runtimes have to know."""
    found: list[Object] = []
    if wanted.runtime == shell.TF_CONFIG_RUNTIME:
        nodes = str(wanted.nodes)
        env = [{"name": "PET_NNODES", "value": nodes}, {"name": "NUM_WORKERS", "value": nodes}]
        found.append({"name": "tf-config-generator", "env": env})
    if isinstance(wanted.code, Git) and not shell.clones_itself(wanted):
        clone: Object = {"name": "git-clone", "env": code.clone_env(wanted)}
        # The repository may be on a claim (file://).
        claims = [_mount(volume) for volume in wanted.volumes if volume.claim]
        if mounts := [*code.credential_mounts(wanted.code), *claims]:
            clone["volumeMounts"] = mounts
        found.append(clone)
    return found
