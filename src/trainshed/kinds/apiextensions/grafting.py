"""Two editions of one definition served as one: what the stored one lacks is taken from ours.

Kubeflow's manuals tell users to apply the CRDs of the version they follow. Without this, a v2.1 edition laid
over ours would take away the fields of v2.2 and later, and the other way round; so both stay accepted.
"""

from __future__ import annotations

from trainshed.kinds.reading import entries
from trainshed.kube.objects import JSON, Object, dig, text

_ANY_NUMBER = "x-kubernetes-int-or-string"


def completed(crd: Object, ours: Object) -> Object:
    """The definition with the fields that only our edition has; its own rules and limits stay as they are."""
    known = {
        text(version, "name"): dig(version, "schema", "openAPIV3Schema")
        for version in entries(ours, "spec", "versions")
    }
    versions = [
        _version(version, known.get(text(version, "name"))) for version in entries(crd, "spec", "versions")
    ]
    return {**crd, "spec": {**crd["spec"], "versions": versions}}


def _version(version: Object, ours: JSON) -> Object:
    own = dig(version, "schema", "openAPIV3Schema")
    if not isinstance(own, dict) or not isinstance(ours, dict):
        return version
    return {**version, "schema": {**version["schema"], "openAPIV3Schema": grafted(own, ours)}}


def grafted(own: Object, ours: Object) -> Object:
    """One schema that accepts what either does, as far as fields go."""
    if ours.get(_ANY_NUMBER) and not own.get(_ANY_NUMBER):
        return ours  # a number in one edition, a number or a word in the other
    result = dict(own)
    if isinstance(own.get("properties"), dict) or isinstance(ours.get("properties"), dict):
        result["properties"] = _properties(own.get("properties") or {}, ours.get("properties") or {})
    for inner in ("items", "additionalProperties"):
        if isinstance(own.get(inner), dict) and isinstance(ours.get(inner), dict):
            result[inner] = grafted(own[inner], ours[inner])
    return result


def _properties(own: Object, ours: Object) -> Object:
    shared = {name: grafted(node, ours[name]) if name in ours else node for name, node in own.items()}
    return shared | {name: node for name, node in ours.items() if name not in own}
