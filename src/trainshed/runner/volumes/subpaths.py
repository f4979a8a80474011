"""A path inside a volume: made where it is missing, and never outside the volume."""

from __future__ import annotations

from pathlib import Path


class Outside(Exception):
    pass


def ready(volume: str, sub: str) -> str:
    """The real path of a subPath; raises `Outside` when a link in the volume leads out of it."""
    root = Path(volume).resolve()
    if root.is_file():
        raise Outside(f"subPath {sub} is inside a file")
    path = root / sub
    if not path.resolve().is_relative_to(root):
        raise Outside(f"subPath {sub} leads out of its volume")
    if not path.exists():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
    return str(path.resolve())
