"""Changes to a request in whichever form: the short one with its `config`, or the full one; pure.

A request keeps its form, since the runtime it gets by default depends on that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from trainshed.backend.rendering.frameworks import FRAMEWORKS
from trainshed.kube import patches
from trainshed.kube.objects import JSON, Object

FULL: Final = ("num_nodes", "cpu_request", "cpu_limit", "memory_request", "memory_limit", "gpu_count")
"""Fields of the full form that `config` says too."""
_FLAT: Final[Mapping[str, tuple[str, ...]]] = {
    "num_nodes": ("num_nodes",),
    "gpu_per_node": ("gpu_count",),
    "cpu_per_node": ("cpu_request", "cpu_limit"),
    "memory_per_node": ("memory_request", "memory_limit"),
}
_SHORT: Final = {"num_nodes": "num_nodes", "gpu_count": "gpu_per_node"}


def changed(before: Object, changes: Object) -> Object:
    """The earlier body with changes laid over it; what is said in the other form counts as in its own."""
    flat = [name for name in FULL if name in changes]
    config = changes.get("config")
    if is_full(before) and isinstance(config, dict) and not flat:
        changes = _without(changes, "config") | _flattened(config)
    elif not is_full(before) and flat and "config" not in changes:
        before, changes = _met(before, changes, flat)
    found: Object = patches.merge(before, changes)
    return found


def is_full(body: Object) -> bool:
    said = ("image", *FULL)
    return body.get("config") is None and any(body.get(name) not in (None, "") for name in said)


def _met(before: Object, changes: Object, flat: Sequence[str]) -> tuple[Object, Object]:
    """Numbers become those of `config`; requests and limits, which it has not, make the earlier body full."""
    if all(name in _SHORT for name in flat):
        config = {_SHORT[name]: changes[name] for name in flat}
        return before, {**_without(changes, *flat), "config": config}
    said = before.get("config")
    full = _without(before, "config") | _flattened(said if isinstance(said, dict) else {})
    return {**_default_runtime(before, changes), **full}, changes


def _default_runtime(before: Object, changes: Object) -> Object:
    framework = FRAMEWORKS.get(str(changes.get("framework") or before.get("framework") or "pytorch"))
    if framework is None or any(body.get(name) for body in (before, changes) for name in ("runtime", "git")):
        return {}
    return {"runtime": framework.runtime_for(full=False)}


def _flattened(config: Object) -> Object:
    """Fields that are none of `config` are left to be complained about."""
    known = {name: value for key, value in config.items() for name in _FLAT.get(key, ())}
    strange = {key: value for key, value in config.items() if key not in _FLAT}
    return {**known, "config": strange} if strange else known


def _without(body: Object, *names: str) -> dict[str, JSON]:
    return {name: value for name, value in body.items() if name not in names}
