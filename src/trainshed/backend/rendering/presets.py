"""Named amounts of resources, so that people choose `gpu-small` and not four numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainshed.backend.rendering.wanted import Amounts, Resources
from trainshed.backend.settings import Preset

GPU: Final = "nvidia.com/gpu"

SHIPPED: Final[Mapping[str, Preset]] = {
    "cpu-small": Preset("A first try, or a test", cpu="1", memory="2Gi"),
    "cpu-medium": Preset("Tabular data, small models", cpu="4", memory="16Gi"),
    "cpu-large": Preset("Large data on processors", cpu="16", memory="64Gi"),
    "gpu-small": Preset("One GPU on each node", cpu="4", memory="16Gi", gpus=1),
    "gpu-medium": Preset("Four GPUs on each node", cpu="16", memory="64Gi", gpus=4),
    "gpu-large": Preset("A whole machine of eight GPUs", cpu="32", memory="128Gi", gpus=8),
}


def known(own: Mapping[str, Preset]) -> Mapping[str, Preset]:
    """An installation's own presets, and the shipped ones where it has not taken their name."""
    return {**SHIPPED, **own}


def resources(preset: Preset) -> Resources:
    said = {"cpu": preset.cpu, "memory": preset.memory, GPU: str(preset.gpus or "")}
    amounts: Amounts = tuple((name, amount) for name, amount in said.items() if amount)
    return Resources(amounts, amounts)
