"""From class names in API packages to names in OpenAPI documents: V1Lease → io.k8s.api.coordination…Lease."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from trainshed.kinds.rows import PREFIXES

CORE: Final = "io.k8s.api.core.v1"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"

_FULL: Final[Mapping[str, str]] = {
    "IoK8sApiCoreV1": CORE,
    "IoK8sApiBatchV1": "io.k8s.api.batch.v1",
    "IoK8sApiAutoscalingV2": "io.k8s.api.autoscaling.v2",
    "IoK8sApimachineryPkgApisMetaV1": META,
    "IoK8sApimachineryPkgApiResource": QUANTITY.rpartition(".")[0],
    "IoK8sApimachineryPkgUtilIntstr": INT_OR_STRING.rpartition(".")[0],
    "IoK8sApimachineryPkgRuntime": RAW_EXTENSION.rpartition(".")[0],
    "K8sIoApiAutoscalingV2": "io.k8s.api.autoscaling.v2",
}
"""Prefixes of classes that carry their whole OpenAPI name."""

_GROUPS: Final[Mapping[str, str]] = {
    f"{prefix.rpartition('.')[2].capitalize()}V1": f"{prefix}.v1" for prefix in PREFIXES.values()
}
"""Prefixes in `kubernetes` where two groups have a model of one name: CoreV1Event, EventsV1Event."""

_VERSION: Final = re.compile(r"^V\d+((alpha|beta)\d+)?(?=[A-Z])")


def full(name: str) -> str:
    """The OpenAPI name of a class that carries it; empty for any other class."""
    found = next((prefix for prefix in _FULL if name.startswith(prefix)), "")
    return f"{_FULL[found]}.{name.removeprefix(found)}" if found else ""


def carriers(definition: str) -> list[str]:
    """The classes that may carry a definition's whole OpenAPI name."""
    home, _, short = definition.rpartition(".")
    return [prefix + short for prefix, place in _FULL.items() if place == home]


def grouped(name: str) -> str:
    """The OpenAPI name of a class of the `kubernetes` package that says its group; else empty."""
    found = next((prefix for prefix in _GROUPS if name.startswith(prefix)), "")
    return f"{_GROUPS[found]}.{name.removeprefix(found)}" if found else ""


def short(name: str) -> str:
    """A class name without its version: V1Foo, V1beta1Foo → Foo."""
    return _VERSION.sub("", name)


def candidates(definition: str) -> tuple[str, str]:
    """The classes of the `kubernetes` package that may hold a definition."""
    home, _, short = definition.rpartition(".")
    group, _, version = home.rpartition(".")
    marked = f"{group.rpartition('.')[2].capitalize()}{version.capitalize()}{short}"
    return marked, f"{version.capitalize()}{short}"
