"""Marks of ours on pods that belong together."""

from __future__ import annotations

from typing import Final

MINIMUM: Final = "trainshed.dev/gang-minimum"
"""Annotation: how many of its gang a pod has to have with it before it may start."""
