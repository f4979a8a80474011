"""What a caller wants to have run, whichever form of the body said it."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainshed.kube.objects import Object

Amounts = tuple[tuple[str, str], ...]
"""Quantities by the name of the resource."""


@dataclass(frozen=True, slots=True)
class Inline:
    """One script: `train.py`."""

    text: str


@dataclass(frozen=True, slots=True)
class Files:
    """Several files, by their relative path."""

    files: tuple[tuple[str, bytes], ...]
    start: str = ""
    """The one that is run when no command is given."""


@dataclass(frozen=True, slots=True)
class Git:
    url: str
    ref: str = ""
    """A branch, a tag or a commit; empty is the default branch."""
    subfolder: str = ""
    secret: str = ""
    """A Secret of the job's namespace with what it takes to read the repository."""


Code = Inline | Files | Git


@dataclass(frozen=True, slots=True)
class Volume:
    name: str
    mount_path: str
    claim: str = ""
    """A PersistentVolumeClaim; empty is a folder that lives as long as the pod."""
    read_only: bool = False
    in_memory: bool = False


@dataclass(frozen=True, slots=True)
class Resources:
    requests: Amounts = ()
    limits: Amounts = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    user: str
    framework: str
    runtime: str
    """Its name; it may be one of the namespace or of the cluster (`runtime_kind`)."""
    runtime_kind: str = "ClusterTrainingRuntime"
    namespace: str = ""
    """Empty: the caller's own."""
    name: str = ""
    """Empty: one is made of the user and the moment."""
    nodes: int = 1
    processes: int | None = None
    """On each node; None is one process, started as the framework likes."""
    code: Code | None = None
    command: str | tuple[str, ...] = ""
    """Shell, or the words of a program; empty is the framework's own."""
    arguments: tuple[str, ...] = ()
    image: str = ""
    env: tuple[tuple[str, str], ...] = ()
    volumes: tuple[Volume, ...] = ()
    resources: Resources = Resources()
    launcher: Resources | None = None
    """Of a launcher that does not compute itself."""
    labels: tuple[tuple[str, str], ...] = ()
    priority_class: str = ""
    retries: int | None = None
    """How often all of it begins anew after a failure; None leaves that to the runtime."""
    ttl_seconds: int | None = None
    suspend: bool = False
    base: Object | None = field(default=None, compare=False)
    """The runtime itself, where `own_runtime.is_needed`."""
    submitted: Object = field(default_factory=dict, compare=False)
    """The request without its code, for running it again."""
