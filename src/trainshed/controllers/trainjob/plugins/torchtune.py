"""torchtune (`command: [tune, run]`): recipe and configuration, chosen by the job's size and arguments."""

from __future__ import annotations

from trainshed.controllers.trainjob.draft import Draft, count
from trainshed.controllers.trainjob.plugins import processes
from trainshed.controllers.trainjob.plugins.plugin import PORT, Plugin, first_node
from trainshed.kinds.reading import texts
from trainshed.kinds.trainer import devices, torchtune
from trainshed.kube.objects import text


def applies(draft: Draft) -> bool:
    is_called = texts(draft.trainer, "command") == torchtune.ENTRYPOINT
    return draft.policy("torch") is not None and is_called and draft.node is not None


def enforce(draft: Draft) -> None:
    node = draft.node
    if node is None:
        return
    kept = [part for part in texts(node, "command") if part.partition("=")[0] in torchtune.FIXED]
    recipe, config = recipe_of(draft)
    node["command"] = [*torchtune.ENTRYPOINT, *_rendezvous(draft), recipe, "--config", config, *kept]


def _rendezvous(draft: Draft) -> list[str]:
    """Processes that are several must meet somewhere."""
    found = processes.per_node(draft.job, draft.runtime)
    many = found > 1 if isinstance(found, int) else _gpus(draft) > 1
    return [f"--rdzv_endpoint={first_node(draft)}:{PORT}"] if many or _nodes(draft) > 1 else []


def recipe_of(draft: Draft) -> tuple[str, str]:
    """What `tune run` is to run, and with which of the configurations it knows."""
    model = torchtune.model_of(text(draft.job, "spec", "runtimeRef", "name"))
    args = texts(draft.trainer, "args")
    if _nodes(draft) != 1:
        is_many = _nodes(draft) > 1
        return "full_finetune_distributed", f"{model}_full{'_multinode' if is_many else ''}"
    where = "_single_device" if _is_single(draft) else ""
    how = "_qlora" if torchtune.is_quantized(args) else "_lora" if torchtune.is_low_rank(args) else "_full"
    program = "full_finetune" if how == "_full" else "lora_finetune"
    return f"{program}{where or '_distributed'}", f"{model}{how}{where}"


def _is_single(draft: Draft) -> bool:
    return processes.per_node(draft.job, draft.runtime) == 1 or _gpus(draft) == 1


def _gpus(draft: Draft) -> int:
    return devices.gpus(devices.resources(draft.job, draft.runtime))


def _nodes(draft: Draft) -> int:
    return count(draft.trainer_job) if draft.trainer_job else 1


PLUGIN = Plugin("torchtune", applies, enforce)
