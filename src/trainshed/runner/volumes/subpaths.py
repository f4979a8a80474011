"""A path inside a volume: made where it is missing, and never outside the volume."""

from __future__ import annotations

from pathlib import Path

_SHOWN = 80


class Outside(Exception):
    """A subPath that cannot be had; the message says why."""


def ready(volume: str, sub: str) -> str:
    """The real path of a subPath; raises `Outside` when a link leads out of it, or it cannot be made."""
    try:
        return _ready(Path(volume).resolve(), sub)
    except (OSError, ValueError, RuntimeError) as why:
        words = why.strerror if isinstance(why, OSError) else str(why)
        raise Outside(f"subPath {_shown(sub)} cannot be made: {words}") from why


def _ready(root: Path, sub: str) -> str:
    if root.is_file():
        raise Outside(f"subPath {sub} is inside a file")
    path = root / sub
    if not path.resolve().is_relative_to(root):
        raise Outside(f"subPath {sub} leads out of its volume")
    if not path.exists():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
    return str(path.resolve())


def _shown(sub: str) -> str:
    plain = sub.replace("\0", "\\0")
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"
