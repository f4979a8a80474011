"""Fields of a pod as its own containers read them: environment variables and downwardAPI files; pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from trainshed.kinds.core.resources import parsed
from trainshed.kinds.reading import entries, mapping
from trainshed.kube.objects import Object, dig, text

_ALLOCATABLE_DEFAULT: Final = ("cpu", "memory", "ephemeral-storage")


class UnknownField(Exception):
    pass


def field(pod: Object, path: str, now: Mapping[str, str]) -> str:
    """The value of a field path; `now` holds what only the node knows yet (`status.podIP` …)."""
    if path in now:
        return now[path]
    if path.endswith("']") and "['" in path:
        where, _, key = path[:-2].partition("['")
        if where in ("metadata.annotations", "metadata.labels"):
            return str(dig(pod, *where.split("."), key) or "")
    if path in ("metadata.annotations", "metadata.labels"):
        return formatted(mapping(pod, *path.split(".")))
    if path in ("metadata.name", "metadata.namespace", "metadata.uid", "spec.serviceAccountName"):
        return text(pod, *path.split("."))
    if path in ("spec.nodeName", "spec.host"):
        return text(pod, "spec", "nodeName")
    raise UnknownField(f"unsupported fieldPath: {path}")


def formatted(values: Mapping[str, object]) -> str:
    """A map as the file of a downwardAPI volume shows it: sorted `key="value"` lines."""
    return "\n".join(f"{key}={_quoted(str(values[key]))}" for key in sorted(values))


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def amount(pod: Object, container: Object, ref: Object, allocatable: Mapping[str, str]) -> str:
    """A request or limit in units of a divisor, rounded up; limits nobody set are what the node has."""
    if name := text(ref, "containerName"):
        container = _container_called(pod, name)
    part, _, resource = text(ref, "resource").partition(".")
    if part not in ("limits", "requests") or not resource:
        raise UnknownField(f"unsupported container resource : {text(ref, 'resource')}")
    value = parsed(dig(container, "resources", part, resource))
    if value is None and part == "limits" and resource in _ALLOCATABLE_DEFAULT:
        value = parsed(allocatable.get(resource))
    divisor = parsed(ref.get("divisor")) or Decimal(1)
    return str(math.ceil((value or Decimal(0)) / divisor))


def _container_called(pod: Object, name: str) -> Object:
    for group in ("containers", "initContainers"):
        for container in entries(pod, "spec", group):
            if container.get("name") == name:
                return container
    raise UnknownField(f"container {name} not found")
