"""Rules for TrainJobs that call torchtune (`command: [tune, run]`); the runtime's name tells the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainshed.kinds.reading import mapping, number, texts
from trainshed.kinds.trainer import devices
from trainshed.kube.faults import FieldError, invalid
from trainshed.kube.objects import Object, text

ENTRYPOINT = ["tune", "run"]
_LLAMA_70B, _QWEN = "llama3_3/70B", "qwen2_5/1.5B"
_SMALL = ("llama3_2/1B", "llama3_2/3B")
_MODELS = (*_SMALL, _LLAMA_70B, _QWEN)
FIXED = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
"""Settings that the runtime's own command makes."""
_NAME, _NODES = "spec.runtimeRef.name", "spec.trainer.numNodes"


def errors(job: Object, runtime: Object) -> Iterator[FieldError]:
    name, args = text(job, "spec", "runtimeRef", "name"), texts(job, "spec", "trainer", "args")
    model, nodes = model_of(name), number(job, "spec", "trainer", "numNodes")
    nodes = 1 if nodes is None else nodes
    if model not in _MODELS:
        why = f"must have a supported pretrained model, invalid model configured: {model}"
        yield invalid(_NAME, name, why)
    if nodes > 1 and model != _LLAMA_70B:
        yield invalid(_NODES, nodes, f"must be 1 for {model} model")
    if nodes == 1 and is_quantized(args):
        yield from _quantization_errors(job, runtime, model)
    if nodes > 1 and (is_quantized(args) or is_low_rank(args)):
        yield invalid(_NODES, nodes, "LoRA fine-tuning is not supported for multi-node training in TorchTune")
    yield from _fixed_settings(args)


def model_of(runtime: str) -> str:
    """`torchtune-llama3.2-1b` trains `llama3_2/1B`; names of any other shape tell nothing."""
    parts = runtime.split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def _quantization_errors(job: Object, runtime: Object, model: str) -> Iterator[FieldError]:
    """QLoRA: not for Qwen, and for the small models only on a single device."""
    if model == _QWEN:
        name = text(job, "spec", "runtimeRef", "name")
        yield invalid(_NAME, name, f"QLoRA is not supported for {model} model")
    trainer = mapping(job, "spec", "trainer")
    processes = "auto" if trainer.get("numProcPerNode") is None else trainer["numProcPerNode"]
    if model in _SMALL and processes != 1 and devices.gpus(devices.resources(job, runtime)) != 1:
        when = f"for {model} model when using QLoRA"
        yield invalid("spec.trainer.numProcPerNode", processes, f"must be auto or 1 {when}")
        given = trainer.get("resourcesPerNode")
        yield invalid("spec.trainer.resourcesPerNode", given, f"must have gpu resource with value 1 {when}")


def _fixed_settings(args: Sequence[str]) -> Iterator[FieldError]:
    for index, arg in enumerate(args):
        key = arg.partition("=")[0]
        if key in FIXED:
            why = f'must not set immutable config "{key}" in trainer args; it is managed by the runtime'
            yield invalid(f"spec.trainer.args[{index}]", arg, why)


def is_low_rank(args: Sequence[str]) -> bool:
    """LoRA: whether only small matrices beside the model's own are trained."""
    return any("model.lora_attn_modules" in arg for arg in args)


def is_quantized(args: Sequence[str]) -> bool:
    """QLoRA: the same over a quantized model; DoRA turns it off."""
    return _is_on(args, "model.quantize_base") and not _is_on(args, "model.use_dora")


def _is_on(args: Sequence[str], setting: str) -> bool:
    pairs = (arg.partition("=") for arg in args)
    return any(setting in name and value.strip().lower() == "true" for name, _, value in pairs)
