"""Things nobody should send: names, parameters, patches and bytes that a server meets all the same."""

from __future__ import annotations

from tests.builders import a_config_map
from tests.server.mutations import nested
from trainshed.kube.objects import JSON

NAMES = [
    "",
    ".",
    "..",
    "-",
    "a-",
    "A",
    "a_b",
    "a/b",
    "a b",
    "a" * 254,
    "ß",
    "a\x00",
    "a%2Fb",
    "a\n",
    "*",
    "a..b",
    "${a}",
    "\U0001f600",
]
BAD_READS = [
    "labelSelector=a%20in%20(", "labelSelector==", "labelSelector=a,,b", "labelSelector=%FF",
    "labelSelector=a%3D%3D%3Db", "labelSelector=!",
    "labelSelector=a%20in%20()%20,", "labelSelector=" + "(" * 500, "fieldSelector=spec.nope%3D1",
    "fieldSelector=a", "fieldSelector=%3D",
    "fieldSelector=metadata.name%3Da%2C", "fieldSelector=metadata.name%3D%5C",
    "limit=x", "limit=99999999999999999999",
    "continue=x", "continue=%00", "continue=e30", "continue=bnVsbA", "continue=W10",
    "continue=eyJydiI6MX0", "continue=" + "A" * 4000,
    "resourceVersion=x", "resourceVersion=-1", "resourceVersion=1.5", "resourceVersion=%D9%A1",
    "resourceVersion=" + "9" * 40,
    "resourceVersionMatch=Exact", "resourceVersionMatch=Nope&resourceVersion=1",
    "resourceVersionMatch=Exact&resourceVersion=0",
    "resourceVersionMatch=Exact&resourceVersion=1&continue=x", "sendInitialEvents=true",
    "watch=1&resourceVersion=x",
    "watch=1&sendInitialEvents=true", "watch=1&resourceVersionMatch=Exact",
    "watch=1&fieldSelector=a", "watch=1&labelSelector=a%20in",
    "watch=1&timeoutSeconds=x", "watch=1&timeoutSeconds=9999999999999999999", "includeObject=Nope",
]  # fmt: skip
"""Queries of a list or a watch."""
HARMLESS = {"fieldSelector=metadata.name%3Da%2C"}
"""Those of them that a real server also answers."""
BAD_DELETES: list[JSON] = [
    {"propagationPolicy": "Nope"}, {"propagationPolicy": 3}, {"gracePeriodSeconds": "x"},
    {"gracePeriodSeconds": 1.5},
    {"preconditions": 3}, {"preconditions": {"uid": 3}}, {"dryRun": "All"}, {"dryRun": ["x"]},
    {"orphanDependents": "x"},
    {"orphanDependents": True, "propagationPolicy": "Orphan"}, {"kind": "Pod"},
    {"preconditions": {"uid": "another"}}, [], "x", 3,
]  # fmt: skip
PATCHES: list[tuple[str, JSON]] = [
    ("json-patch+json", {}), ("json-patch+json", [3]), ("json-patch+json", [{}]), ("json-patch+json",
    [{"op": "nope", "path": "/a"}]),
    ("json-patch+json", [{"op": "add", "path": "data"}]), ("json-patch+json", [{"op": "remove",
    "path": "/data/nope"}]),
    ("json-patch+json", [{"op": "test", "path": "/data/a", "value": "other"}]), ("json-patch+json",
    [{"op": "replace", "path": "", "value": 3}]),
    ("json-patch+json", [{"op": "remove", "path": "/metadata"}]), ("json-patch+json", [{"op": "move",
    "from": "/data", "path": "/data/a"}]),
    ("json-patch+json", [{"op": "add", "path": "/metadata/finalizers/7", "value": "x"}]),
    ("json-patch+json", [{"op": "add", "path": "/data/x", "value": nested(70)}]),
    ("json-patch+json", [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001),
    # Doubles the object with every step: thirty of them would be all the memory there is.
    ("json-patch+json", [{"op": "add", "path": "/data", "value": {"a": "x" * 1000}}] + [
        {"op": "copy", "from": "/data", "path": f"/data/{'n' * n}"} for n in range(1, 40)]),
    ("merge-patch+json", []), ("merge-patch+json", 3), ("merge-patch+json", {"data": 3}),
    ("merge-patch+json", {"metadata": None}),
    ("merge-patch+json", {"metadata": {"name": "other"}}), ("merge-patch+json", {"kind": "Secret"}),
    ("merge-patch+json", {"apiVersion": 3}),
    ("merge-patch+json", {"metadata": {"labels": {"a": 3}}}), ("merge-patch+json",
    {"metadata": {"managedFields": 3}}),
    ("merge-patch+json", {"metadata": {"resourceVersion": "1"}}), ("merge-patch+json",
    {"metadata": {"ownerReferences": [{}]}}),
    ("strategic-merge-patch+json", []), ("strategic-merge-patch+json", {"$patch": "nope"}),
    ("strategic-merge-patch+json", {"$patch": "delete"}),
    ("strategic-merge-patch+json", {"data": {"$patch": 3}}), ("strategic-merge-patch+json",
    {"metadata": {"$retainKeys": "x"}}),
    ("strategic-merge-patch+json", {"metadata": {"$setElementOrder/finalizers": 3, "finalizers": ["a/b"]}}),
    ("strategic-merge-patch+json", {"metadata": {"$deleteFromPrimitiveList/finalizers": 3}}),
    ("strategic-merge-patch+json", {"metadata": {"ownerReferences": [3]}}),
    ("apply-patch+yaml", []), ("apply-patch+yaml", 3), ("apply-patch+yaml", {}), ("apply-patch+yaml",
    {"apiVersion": "v1", "kind": "Pod"}),
    ("apply-patch+yaml", {"kind": "ConfigMap"}), ("apply-patch+yaml", {"apiVersion": "v1"}),
    ("apply-patch+yaml", a_config_map("other")), ("apply-patch+yaml", {**a_config_map("p"), "nope": 1}),
    ("apply-patch+yaml", {**a_config_map("p"), "data": []}), ("apply-patch+yaml", a_config_map("p",
    managedFields=[{"manager": "x"}])),
    ("apply-patch+yaml", a_config_map("p", resourceVersion="1")),
    ("nope", {}), ("json", {"data": {"a": "2"}}), ("yaml", {"data": {"a": "2"}}),
]  # fmt: skip
GARBAGE = [
    b"garbage\r\n\r\n", b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00" * 20,
    b"GET /api/\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: a\x00b\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 1e3\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, nope\r\n\r\n",
]  # fmt: skip
