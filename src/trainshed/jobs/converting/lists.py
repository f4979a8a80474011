"""Documents that list others: of all kinds (`List`), or of one (`PyTorchJobList`)."""

from __future__ import annotations

from typing import Final

from trainshed.jobs.converting.findings import Findings
from trainshed.jobs.converting.parcels import says_something
from trainshed.kinds.kubeflow.families import FAMILIES
from trainshed.kinds.reading import mapping, sequence
from trainshed.kinds.trainer.runtime_parts import API_VERSION
from trainshed.kube.objects import JSON, Object, text

_END: Final = "List"
_KINDS: Final = frozenset(family.kind for family in FAMILIES)


def is_list(document: JSON) -> bool:
    kind, version = text(document, "kind"), text(document, "apiVersion")
    return (kind == _END and version == "v1") or _is_old(document) or (kind, version) == _NEW


_NEW: Final = (f"TrainJob{_END}", API_VERSION)


def _is_old(document: JSON) -> bool:
    of = text(document, "kind").removesuffix(_END)
    return of != text(document, "kind") and of in _KINDS and _group(document) == "kubeflow.org"


def _group(document: JSON) -> str:
    return text(document, "apiVersion").partition("/")[0]


def is_readable(document: Object, findings: Findings) -> bool:
    """Are there items, and are they objects? Otherwise that is told."""
    given = document.get("items")
    if given is not None and not isinstance(given, list):
        findings.refused(("items",), "they are no list")
        return False
    for index, item in enumerate(given or ()):
        if not isinstance(item, dict):
            findings.refused(("items", index), "it is no object; the list is left as it is")
    return not findings.found


def items(document: JSON) -> list[JSON]:
    """Those of a list of one kind with that kind, which they need not repeat."""
    given = sequence(document, "items")
    if text(document, "kind") == _END:
        return given
    kind = {"apiVersion": text(document, "apiVersion"), "kind": text(document, "kind").removesuffix(_END)}
    return [{**kind, **item} if isinstance(item, dict) else item for item in given]


def remade(document: Object, made: list[JSON], findings: Findings) -> Object:
    """The list with other items, of all kinds where there was only one before."""
    if not _is_old(document):
        return {**document, "items": made}
    if says_something(mapping(document, "metadata")):
        findings.needless(("metadata",), "the server writes it")
    for name in document.keys() - {"apiVersion", "kind", "metadata", "items"}:
        findings.lost((name,), "a list has no such field")
    return {"apiVersion": "v1", "kind": _END, "items": made}
