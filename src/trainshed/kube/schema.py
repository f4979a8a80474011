"""Structural schemas: compile them once, then prune, default and validate objects with them.

The door to this subject; behind it: `structure` (nodes), `compiler`, `pruning`, `defaulting`, `validation`.
"""

from __future__ import annotations

from trainshed.kube.compiler import ANYTHING, Compiler, compile
from trainshed.kube.defaulting import default
from trainshed.kube.pruning import prune
from trainshed.kube.structure import MISSING, Limits, ListType, MapType, Missing, Rule, Schema
from trainshed.kube.validation import validate

__all__ = [
    "ANYTHING", "MISSING", "Compiler", "Limits", "ListType", "MapType", "Missing", "Rule", "Schema",
    "compile", "default", "prune", "validate",
]  # fmt: skip
