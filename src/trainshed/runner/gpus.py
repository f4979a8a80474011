"""Which GPUs a container may see; pure. Devices are given whole, and who asked for none sees none.

With relaxed requests a pod may ask for more than there are: then it shares what there is, least used first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from trainshed.kinds.reading import entries, mapping
from trainshed.kube import quantities
from trainshed.kube.objects import Object, text

RESOURCE = "nvidia.com/gpu"
VISIBLE = "CUDA_VISIBLE_DEVICES"

Assignment = Mapping[str, tuple[str, ...]]
"""The devices of each container of a pod, by its name."""


def wanted(container: Object) -> int:
    """How many devices a container asks for, whoever makes them."""
    for part in ("limits", "requests"):
        for name, amount in mapping(container, "resources", part).items():
            if name == RESOURCE or name.endswith("/gpu"):
                return _count(amount)
    return 0


def _count(amount: object) -> int:
    try:
        return max(0, quantities.whole(str(amount)))
    except ValueError:
        return 0


def assign(pod: Object, devices: Iterable[str], in_use: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Devices for every container; init containers share those of the main ones, as they run before them."""
    usage = Counter({device: 0 for device in devices})
    usage.update(device for device in in_use if device in usage)
    order = list(usage)
    found: dict[str, tuple[str, ...]] = {}
    for container in entries(pod, "spec", "containers"):
        found[text(container, "name")] = taken = _least_used(usage, order, wanted(container))
        usage.update(taken)
    together = tuple(dict.fromkeys(device for taken in found.values() for device in taken))
    for container in entries(pod, "spec", "initContainers"):
        count = wanted(container)
        more = _least_used(usage, order, max(0, count - len(together)))
        found[text(container, "name")] = (*together, *(one for one in more if one not in together))[:count]
    return found


def _least_used(usage: Mapping[str, int], order: list[str], count: int) -> tuple[str, ...]:
    chosen = sorted(order, key=lambda device: (usage[device], order.index(device)))[:count]
    return tuple(sorted(chosen, key=order.index))


def variables(devices: tuple[str, ...] | None) -> dict[str, str]:
    """What hides the others' devices; None on machines without any, where there is nothing to hide."""
    return {} if devices is None else {VISIBLE: ",".join(devices)}
