"""What the API server must know of a kind: how it is named, shaped, printed and checked.

Built-in kinds are listed in `builtin.py`; a CustomResourceDefinition becomes the same `Kind` in `custom.py`,
so the machinery above never asks which of the two it is serving (except where upstream differs: `custom`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from trainshed.kinds.readings import Readings
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object
from trainshed.kube.structure import Schema

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; `path` is a JSONPath, used for custom resources only."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    path: str = ""


Cells = Callable[[Object, datetime], Sequence[JSON]]
"""From an object and the present time to one row: as many cells as the kind has columns."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a kind keeps its replica count (`.spec.replicas`), for the scale subresource."""

    spec: tuple[str, ...]
    status: tuple[str, ...]
    selector: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource as discovery lists it; group, version and kind where they differ from the parent's."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """Behaviour of a kind beyond its schema. Objects are the request's private copies: changed in place."""

    defaults: Callable[[Object], None] = lambda obj: None
    status_defaults: Callable[[Object], None] | None = None
    """The same of a status that is written alone; None where `defaults` has to look at it."""
    on_create: Callable[[Object], None] = lambda obj: None
    """What the server itself sets on a new object (phase, finalizers, generated fields), after `defaults`."""
    on_update: Callable[[Object, Object], None] = lambda new, old: None
    """Carries over what a writer may not change, given (new, old)."""
    validate: Callable[[Object, Object | None], list[FieldError]] = lambda new, old: []
    """All faults of the new object; `old` is None on create."""
    validate_status: Callable[[Object, Object], list[FieldError]] = lambda new, old: []
    warnings: Callable[[Object, Object | None], list[str]] = lambda new, old: []
    check_name: Callable[[str], str | None] | None = None
    """Why a name is not acceptable, or None; the default is a DNS-1123 subdomain."""
    always_returns_object_on_delete: bool = False
    has_generation: bool = True


@dataclass(frozen=True, slots=True)
class Dialect:
    """A kind that is another spelling of stored objects (events.k8s.io, other versions of a custom kind)."""

    resource: str
    """The `Kind.resource` the objects are stored under."""
    inward: Callable[[Object], Object]
    """From this kind's spelling to the stored one."""
    outward: Callable[[Object], Object]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    schema: Callable[[], Schema]
    """The compiled schema; made on first call, remembered by the maker."""
    definition: str = ""
    """Name of the schema in OpenAPI documents (`io.k8s.api.core.v1.Pod`)."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    custom: bool = False
    has_status: bool = False
    scale: Scale | None = None
    subresources: tuple[Subresource, ...] = ()
    columns: tuple[Column, ...] = ()
    cells: Cells = lambda obj, now: ()
    field_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Supported field selector keys beyond metadata.name and metadata.namespace, with their paths."""
    rules: Rules = field(default_factory=Rules)
    storage_version: str = ""
    """The version objects are stored in, where it is not this one (custom kinds with several versions)."""
    dialect: Dialect | None = None
    listed_as: str = ""
    """The kind of lists, where a definition names one that is not the kind with `List` behind it."""
    source: Callable[[], Object] | None = None
    """A custom kind's openAPIV3Schema as its definition gives it, read anew at every call."""
    since: int = 0
    """The revision from which on objects of a custom kind are stored in its shape; older ones may not be."""
    readings: Readings = field(default_factory=Readings)
    """How those older ones read in it."""
    edition: str = ""
    """Changes whenever the text of `source` does; part of the content hash in OpenAPI addresses."""

    api_version: str = field(init=False, default="")
    resource: str = field(init=False, default="")
    """`configmaps`, `trainjobs.trainer.kubeflow.org`: the name in messages."""
    stored_as: str = field(init=False, default="")
    """The key of its objects in the store."""
    list_kind: str = field(init=False, default="")

    def __post_init__(self) -> None:
        """Names made of other names, once: every request asks for them several times."""
        resource = f"{self.plural}.{self.group}" if self.group else self.plural
        made = {
            "api_version": f"{self.group}/{self.version}" if self.group else self.version,
            "resource": resource,
            "stored_as": self.dialect.resource if self.dialect else resource,
            "list_kind": self.listed_as or f"{self.kind}List",
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)
