"""What a container has to say of its program where images are not pulled, and so have no entry points."""

from __future__ import annotations

from typing import Final

from trainshed.kinds.reading import entries, texts
from trainshed.kube.objects import Object, text

DELIVERY: Final = "kubectl-delivery"


def lack(container: Object) -> str:
    """`no command` or `only args`; empty for a container that can be started."""
    if texts(container, "command") or is_delivery(container):
        return ""
    return "only args" if texts(container, "args") else "no command"


def is_delivery(container: Object) -> bool:
    """Whether it brings kubectl to a launcher and leaves it to its image how; it is stood in for."""
    is_known = text(container, "name") == DELIVERY or f"/{DELIVERY}:" in f"/{text(container, 'image')}:"
    has_target = any(text(variable, "name") == "TARGET_DIR" for variable in entries(container, "env"))
    return is_known and has_target and not texts(container, "command")
