"""What a backend may be told: limits, places for its files, presets; one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Preset:
    """Numbers with a name that a request may ask for instead; what a request says itself wins."""

    description: str = ""
    num_nodes: int | None = None
    cpu: str = ""
    memory: str = ""
    gpus: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    create_namespaces: bool = True
    """Make a namespace that is missing, where the caller may; else a missing one is a 404."""
    max_code_bytes: int = 900 * 1024
    """A ConfigMap holds 1 MiB at most, names and metadata included."""
    max_body_bytes: int = 4 << 20
    max_upload_bytes: int = 32 << 20
    rate_per_second: float = 50.0
    rate_burst: int = 100
    data: Path | None = None
    """Where history is kept; None keeps none beyond this process."""
    kept_logs: Path | None = None
    """The node agent's folder of logs, where it runs on this machine."""
    operator_socket: Path | None = None
    """Where the operator on this machine tells of its reconciles."""
    access_log: Path | None = None
    """Where each request leaves a line; None is the standard error."""
    presets: Mapping[str, Preset] = field(default_factory=lambda: MappingProxyType({}))
    sweep_seconds: float = 60.0
    orphan_seconds: float = 60.0
    """A code ConfigMap without a job is left alone for this long: its request may still be under way."""
    grace_seconds: float = 10.0
    """How long requests under way may take to end after the service was asked to."""
