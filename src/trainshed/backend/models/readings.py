"""From a request to what is wanted: both forms become one, and every value is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trainshed.backend.models.parts import LauncherResources
from trainshed.backend.rendering import amounts, checks, sources
from trainshed.backend.rendering import presets as shipped
from trainshed.backend.rendering.forms import FULL
from trainshed.backend.rendering.frameworks import FRAMEWORKS, Framework
from trainshed.backend.rendering.mounts import volumes
from trainshed.backend.rendering.presets import GPU
from trainshed.backend.rendering.unacceptable import Unacceptable
from trainshed.backend.rendering.wanted import Code, Files, Git, Resources, Volume, Wanted
from trainshed.backend.settings import Preset

if TYPE_CHECKING:
    from trainshed.backend.models.requests import CreateRequest

_MOST_ENV = 96 * 1024


def wanted(
    request: CreateRequest, presets: Mapping[str, Preset], uploaded: Files | None, most: int
) -> Wanted:
    """Raises `Unacceptable` with the field at fault."""
    framework = FRAMEWORKS[request.framework]
    _check_form(request)
    code = _code(request, uploaded, most)
    preset = amounts.chosen("preset", request.preset, shipped.known(presets))
    resources = _resources(request, preset)
    return Wanted(
        user=checks.user("user_id", request.user_id),
        namespace=checks.namespace("namespace", request.namespace) if request.namespace else "",
        name=checks.job("name", request.name) if request.name else "",
        framework=framework.name,
        runtime=_runtime(request, framework, code),
        runtime_kind=request.runtime_kind,
        nodes=_nodes(request, preset),
        processes=_processes(request, framework, resources),
        code=code,
        command=_command(request),
        arguments=tuple(
            checks.text(f"arguments[{index}]", word) for index, word in enumerate(request.arguments)
        ),
        image=checks.image("image", request.image) if request.image else "",
        env=_env(request, framework),
        volumes=volumes(_volumes(request)),
        resources=resources,
        launcher=_launcher(request, framework),
        labels=tuple(checks.label_pair("labels", key, value) for key, value in request.labels.items()),
        priority_class=checks.subdomain("priority_class", request.priority_class)
        if request.priority_class
        else "",
        retries=request.retries,
        ttl_seconds=request.ttl_seconds_after_finished,
        suspend=request.suspend,
        submitted=request.submitted(),
    )


def _check_form(request: CreateRequest) -> None:
    both = [field for field in FULL if getattr(request, field) is not None]
    if request.config is not None and both:
        raise Unacceptable(
            both[0], "is said by config already", "give either config or the fields of the full form"
        )


def _is_full(request: CreateRequest) -> bool:
    return request.config is None and (
        bool(request.image) or any(getattr(request, field) is not None for field in FULL)
    )


def _runtime(request: CreateRequest, framework: Framework, code: Code | None) -> str:
    if request.runtime:
        return checks.subdomain("runtime", request.runtime)
    if request.runtime_kind == "TrainingRuntime":
        raise Unacceptable("runtime", "must name the TrainingRuntime", "GET /api/runtimes lists them")
    return framework.runtime_for(full=_is_full(request) or isinstance(code, Git))


def _nodes(request: CreateRequest, preset: Preset | None) -> int:
    asked = request.config.num_nodes if request.config else request.num_nodes
    return asked or (preset.num_nodes if preset else None) or 1


def _processes(request: CreateRequest, framework: Framework, resources: Resources) -> int | None:
    given = request.processes_per_node
    if given == "auto":
        return int(dict(resources.limits).get(GPU, "1"))
    if given is not None and not 1 <= given <= 1024:
        raise Unacceptable("processes_per_node", f"must be 1 to 1024, not {str(given)[:20]}")
    if given is not None and given > 1 and framework.name != "pytorch" and not framework.is_launched:
        why = f"{framework.name} runs one process on each node"
        raise Unacceptable("processes_per_node", why, "ask for more nodes instead")
    return given


# --- code and command ---------------------------------------------------------------------------------------


def _code(request: CreateRequest, uploaded: Files | None, most: int) -> Code | None:
    given = [name for name in ("training_code", "files", "git") if getattr(request, name) is not None]
    given += ["archive"] if uploaded is not None else []
    if len(given) > 1:
        raise Unacceptable(given[1], f"the code is given by {given[0]} already", "give the code in one way")
    is_blank = request.training_code is not None and not request.training_code.strip()
    if (not given or is_blank) and not request.command:
        hint = "give training_code, files, git, an upload, or a command that needs no code"
        raise Unacceptable("training_code", "there is no code to run", hint)
    if request.training_code is not None:
        return sources.inline("training_code", request.training_code, most)
    if request.files is not None:
        texts = {path: _encoded(path, text) for path, text in request.files.items()}
        return sources.files("files", texts, must_start=not request.command, most=most)
    if request.git is not None:
        given_git = request.git
        shelves = [volume.mount_path for volume in request.volumes if volume.pvc]
        sources.require_reachable("git.url", given_git.url, shelves)
        return sources.git("git", given_git.url, given_git.ref, given_git.subfolder, given_git.secret)
    return uploaded


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Unacceptable("files", f"{checks.shown(path)} is not Unicode text") from None


def _command(request: CreateRequest) -> str | tuple[str, ...]:
    given = request.command
    size = len(given) if isinstance(given, str) else sum(len(word) + 3 for word in given)
    if size > checks.MOST_COMMAND:
        why = f"must be no more than {checks.MOST_COMMAND // 1024} KiB"
        raise Unacceptable("command", why, "put it into a file of the code")
    if isinstance(given, list):
        return tuple(checks.text(f"command[{index}]", word) for index, word in enumerate(given))
    if given and not given.strip():
        raise Unacceptable("command", "must not be blank", "leave it out to have train.py run")
    if given and request.arguments:
        hint = "write them into the command, or give the command as a list of words"
        raise Unacceptable("arguments", "shell text takes no arguments", hint)
    return checks.text("command", given)


def _env(request: CreateRequest, framework: Framework) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for index, variable in enumerate(request.env_vars):
        field = f"env_vars[{index}]"
        name = checks.variable(f"{field}.name", variable.name)
        if name in found:
            raise Unacceptable(f"{field}.name", f"{name} is given twice")
        if name in framework.all_reserved:
            raise Unacceptable(f"{field}.name", f"{name} is set for {framework.name} jobs", "leave it out")
        found[name] = checks.text(f"{field}.value", variable.value)
    if sum(len(name) + len(value.encode()) for name, value in found.items()) > _MOST_ENV:
        hint = "put large values into files of the code, or on a volume"
        raise Unacceptable("env_vars", f"must have no more than {_MOST_ENV // 1024} KiB together", hint)
    return tuple(found.items())


# --- resources ----------------------------------------------------------------------------------------------


def _resources(request: CreateRequest, preset: Preset | None) -> Resources:
    if config := request.config:
        given = amounts.equal(
            cpu=("config.cpu_per_node", config.cpu_per_node),
            memory=("config.memory_per_node", config.memory_per_node),
            gpus=config.gpu_per_node if "gpu_per_node" in config.model_fields_set else None,
        )
    else:
        given = amounts.between(
            cpu=(("cpu_request", request.cpu_request), ("cpu_limit", request.cpu_limit)),
            memory=(("memory_request", request.memory_request), ("memory_limit", request.memory_limit)),
            gpus=request.gpu_count,
        )
    return amounts.over(preset, given)


def _launcher(request: CreateRequest, framework: Framework) -> Resources | None:
    if request.launcher is None:
        return None
    if not framework.is_launched:
        raise Unacceptable("launcher", f"{framework.name} jobs have no launcher", "leave it out")
    return _launched_by(request.launcher)


def _launched_by(launcher: LauncherResources) -> Resources:
    return amounts.equal(
        cpu=("launcher.cpu", launcher.cpu), memory=("launcher.memory", launcher.memory), gpus=None
    )


def _volumes(request: CreateRequest) -> list[Volume]:
    return [
        Volume(volume.name, volume.mount_path, volume.pvc or "", volume.read_only, volume.memory)
        for volume in request.volumes
    ]
