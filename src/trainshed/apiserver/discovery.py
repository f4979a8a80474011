"""What the API serves, as clients discover it: aggregated documents for kubectl, the old ones for the rest.

Pure functions from the kinds served now; equal kinds give equal bytes, so that a digest can be an ETag.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from trainshed.kinds import release
from trainshed.kinds.kind import Kind, Subresource
from trainshed.kube.objects import Object, encode

_STATUS_VERBS = ("get", "patch", "update")
_GROUP_PRIORITY = {
    "": 18000, "apiregistration.k8s.io": 17900, "apps": 17800, "events.k8s.io": 17750,
    "authentication.k8s.io": 17700, "authorization.k8s.io": 17600, "autoscaling": 17500, "batch": 17400,
    "certificates.k8s.io": 17300, "networking.k8s.io": 17200, "policy": 17100,
    "rbac.authorization.k8s.io": 17000, "storage.k8s.io": 16800, "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600, "coordination.k8s.io": 16500, "node.k8s.io": 16300, "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200, "flowcontrol.apiserver.k8s.io": 16100, "metrics.k8s.io": 100,
}  # fmt: skip
_CUSTOM_PRIORITY = 1000
_STABILITY = {"": 3, "beta": 2, "alpha": 1}
_VERSION = re.compile(r"v([1-9][0-9]{0,8})(?:(alpha|beta)([1-9][0-9]{0,8}))?", re.ASCII)


def version(machine: str = "amd64") -> Object:
    """The answer to `/version`. The minor decides which kubectl talks to us; Python clients need all nine."""
    return {
        "major": release.MAJOR,
        "minor": release.MINOR,
        "gitVersion": f"{release.KUBERNETES}+trainshed",
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "2025-04-22T16:02:58Z",
        "goVersion": "go1.23.6",
        "compiler": "gc",
        "platform": f"linux/{machine}",
    }


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest().upper()[:32]


# --- order ------------------------------------------------------------------------------------------------


def groups(kinds: Sequence[Kind]) -> list[tuple[str, list[tuple[str, list[Kind]]]]]:
    """Groups as a real server orders them, their versions best first, their kinds by name."""
    ordered = sorted(kinds, key=_place)
    return [
        (group, [(name, list(members)) for name, members in groupby(inner, key=lambda kind: kind.version)])
        for group, inner in groupby(ordered, key=lambda kind: kind.group)
    ]


def _place(kind: Kind) -> tuple[int, str, tuple[int, int, int, str], str]:
    priority = _GROUP_PRIORITY.get(kind.group, _CUSTOM_PRIORITY)
    return -priority, kind.group, version_rank(kind.version), kind.plural


def version_rank(name: str) -> tuple[int, int, int, str]:
    """Sorts versions best first: v2, v1, v1beta2, v1beta1, v1alpha1, then anything else by name."""
    found = _VERSION.fullmatch(name)
    if found is None:
        return 0, 0, 0, name
    major, stability, minor = found.groups()
    return -_STABILITY[stability or ""], -int(major), -int(minor or 0), name


def subresources(kind: Kind) -> list[Subresource]:
    """All subresources by name: the listed ones, and those that follow from having a status or a scale."""
    found = {"status": Subresource("status", _STATUS_VERBS)} if kind.has_status else {}
    if kind.scale is not None:
        found["scale"] = Subresource("scale", _STATUS_VERBS, "Scale", "autoscaling", "v1")
    found |= {item.name: item for item in kind.subresources}
    return [found[name] for name in sorted(found)]


# --- aggregated -------------------------------------------------------------------------------------------


def aggregated(kinds: Sequence[Kind], core: bool, beta: bool) -> bytes:
    """The APIGroupDiscoveryList of `/api` (core) or `/apis`."""
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None},
            "versions": [_version(*pair) for pair in found],
        }
        for group, found in groups(kinds)
        if (not group) == core
    ]
    return encode(
        {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{'v2beta1' if beta else 'v2'}",
            "metadata": {},
            "items": items,
        }
    )


def _version(name: str, members: list[Kind]) -> Object:
    resources = [_aggregated_resource(kind) for kind in members]
    return {"version": name, "resources": resources, "freshness": "Current"}


def _aggregated_resource(kind: Kind) -> Object:
    found: Object = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    found |= _naming(kind)
    if inner := subresources(kind):
        found["subresources"] = [_aggregated_subresource(kind, item) for item in inner]
    return found


def _aggregated_subresource(kind: Kind, item: Subresource) -> Object:
    group, version = (item.group, item.version) if item.version else (kind.group, kind.version)
    response = {"group": group, "version": version, "kind": item.kind or kind.kind}
    return {"subresource": item.name, "responseKind": response, "verbs": list(item.verbs)}


# --- the old documents ------------------------------------------------------------------------------------


def api_versions(address: str) -> Object:
    """`/api`; the Python model insists on the address."""
    reachable = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": reachable}


def group_list(kinds: Sequence[Kind]) -> Object:
    """`/apis`."""
    found = [_group(name, [version for version, _ in inner]) for name, inner in groups(kinds) if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(kinds: Sequence[Kind], name: str) -> Object | None:
    """`/apis/<name>`, if anything is served there."""
    versions = sorted({kind.version for kind in kinds if kind.group == name}, key=version_rank)
    if not name or not versions:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, versions)


def resource_list(kinds: Sequence[Kind], group: str, version: str) -> Object | None:
    """`/api/v1` or `/apis/<group>/<version>`, if anything is served there."""
    members = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
    if not members:
        return None
    resources = [entry for kind in sorted(members, key=_place) for entry in _resources(kind)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": members[0].api_version,
        "resources": resources,
    }


def _group(name: str, versions: list[str]) -> Object:
    served = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def _resources(kind: Kind) -> Iterator[Object]:
    shared = {"namespaced": kind.namespaced, "kind": kind.kind}
    yield {"name": kind.plural, "singularName": kind.singular, **shared, "verbs": list(kind.verbs)} | _naming(
        kind
    )
    for item in subresources(kind):
        entry = {
            "name": f"{kind.plural}/{item.name}",
            "singularName": "",
            **shared,
            "verbs": list(item.verbs),
        }
        if item.kind:
            entry["kind"] = item.kind
        if item.version:
            entry |= {"group": item.group, "version": item.version}
        yield entry


def _resource(kind: Kind, name: str, singular: str, verbs: Sequence[str]) -> Object:
    scope = {"namespaced": kind.namespaced, "kind": kind.kind}
    return {"name": name, "singularName": singular, **scope, "verbs": list(verbs)}


def _naming(kind: Kind) -> Object:
    found: Object = {}
    if kind.short_names:
        found["shortNames"] = list(kind.short_names)
    if kind.categories:
        found["categories"] = list(kind.categories)
    return found
