"""Sound requests taken apart: wrong types at every depth, broken bytes, odd queries and media types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from urllib.parse import quote

import yaml

from tests.server.samples import pieces
from trainshed.kube.objects import JSON, Object, copied, encode

Path = tuple[str | int, ...]


def nested(levels: int) -> JSON:
    value: JSON = []
    for _ in range(levels):
        value = {"a": [value]}
    return value


ODD_VALUES: Sequence[JSON] = (
    None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 1.5, 1e308, -0.0, 10**40, "",
    "x", "0", "-1",
    "1Gi", "9" * 400, "1e999999999", "true", "x" * 70_000, "a b", "A_b", "-", "..", "a/b/c", "\x00", "\x7f",
    "\u2028", "ß", "😀",
    "2026-01-02T03:04:05Z", "0001-01-01T00:00:00Z", "10000-13-45T99:99:99Z", "not a time", "%s%n", "${x}",
    "$(x)", "[", "(?<a>", "a" * 64,
    [], [None], [[]], [0, "a"], ["", ""], [{}], [{}, {}], [{"name": "a"}, {"name": "a"}], {}, {"": None},
    {"a": None}, {"a": {"b": []}},
    {"$patch": "delete"}, {"$patch": 3}, [{"$patch": "replace"}], {"matchLabels": 3}, {"name": 3},
    {"x" * 300: "y"}, nested(20), nested(60),
)  # fmt: skip
ODD_KEYS = ("", "a", "name", "namespace", "uid", "$patch", "$retainKeys", "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "metadata", "spec", "status", "managedFields", "f:a", "~1", "a.b", "a/b", "\x00", "ß", "__proto__",
    "x" * 300)  # fmt: skip
BODY_TYPES = ("application/json", "application/json", "application/json", "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;charset=utf-8", "text/plain", "application/cbor", "", "x", "/",
    "application/json;;;=", "multipart/form-data")  # fmt: skip
PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml")  # fmt: skip
ACCEPTS = ("application/json", "*/*", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf", "application/json;as=Nothing;v=v9;g=x", "text/html", ";;;",
    "a/b;q=x", "," * 50)  # fmt: skip
QUERY_VALUES = ("", "0", "1", "-1", "true", "false", "All", "x", "a=b", "a==b,c!=d", "a in (b,c)",
    "a notin (", "!a", "in in in", "=,=", "%", "%zz",
    "%00", "%ff%fe", "ß", "9" * 30, "1e3", " 1", "\u0661", "Strict", "Ignore", "NotOlderThan", "Exact",
    "metadata.name=victim", "spec.nope=1",
    "status.phase=Running", "metadata.name", "a" * 5000,
    "eyJ2IjoidHJhaW5zaGVkL3YxIiwicnYiOi0xLCJhZnRlciI6WyIiLCIiXX0", "e30", "bnVsbA", "W10",
    "Foreground", "Orphan", "Background", "99999999999", "None", "Metadata", "Object")  # fmt: skip
QUERY_NAMES = ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion",
    "resourceVersionMatch", "watch", "timeoutSeconds",
    "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation", "force",
    "gracePeriodSeconds",
    "propagationPolicy", "orphanDependents", "includeObject", "pretty", "timeout", "container", "tailLines",
    "sinceTime", "sinceSeconds",
    "limitBytes", "follow", "previous", "command", "stdin", "ports", "nope")  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """A request, written so that a failure can be read and repeated."""

    method: str
    target: str
    body: bytes = b""
    type: str = "application/json"
    accept: str = "application/json"

    def __str__(self) -> str:
        shown = self.body if len(self.body) < 600 else self.body[:600] + b"..."
        return f"{self.method} {self.target[:300]} as {self.type!r}, accepting {self.accept!r}: {shown!r}"


def odd_object(random: Random, sound: Object) -> Object:
    """The object with up to three places made wrong."""
    obj: Object = copied(sound)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        _spoil(random, obj)
    return obj


def _spoil(random: Random, obj: Object) -> None:
    path = random.choice(pieces(obj)[1:] or [("spec",)])
    holder: JSON = obj
    for step in path[:-1]:
        holder = holder[step]
    match random.randrange(5):
        case 0:
            del holder[path[-1]]
        case 1 if isinstance(holder, dict):
            holder[random.choice(ODD_KEYS)] = holder.pop(path[-1])
        case 2 if isinstance(holder, list):
            holder.append(copied(holder[int(path[-1])]))
        case 3 if isinstance(holder, dict):
            holder[random.choice(ODD_KEYS)] = odd_value(random)
        case _:
            holder[path[-1]] = odd_value(random)


def odd_value(random: Random) -> JSON:
    return copied(random.choice(ODD_VALUES))


def odd_bytes(random: Random, data: bytes) -> bytes:
    """The text broken as a bad line or a bad program would break it."""
    if not data:
        return random.choice((b"{", b"null", b"\x00", b"[]", b'"', b"k8s\x00"))
    at = random.randrange(len(data))
    ways: Sequence[Callable[[], bytes]] = (
        lambda: data[:at],
        lambda: data[:at] + bytes([random.randrange(256)]) + data[at + 1 :],
        lambda: (
            data[:at]
            + random.choice((b"\xff", b"\\ud800", b"\x00", b"{", b"}", b'"', b",", b"\xef\xbb\xbf"))
            + data[at:]
        ),
        lambda: data + random.choice((b"x", b"{}", b"\n---\n", b"\x00", b"]")),
        lambda: b"k8s\x00" + data[at : at + 200],
        lambda: data.replace(b'"name":', b'"name":"twice","name":', 1),
        lambda: random.choice(
            (b"null", b"[]", b"3", b'"x"', b"true", b" ", b"{}", b"NaN", b"[" * 5000, b'{"a":' * 5000)
        ),
    )
    return random.choice(ways)()


def pointer(path: Path) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def odd_patch(random: Random, sound: Object, form: str) -> JSON:
    if form == "application/json-patch+json":
        return [_operation(random, sound) for _ in range(random.choice((1, 1, 2, 5)))]
    whole = odd_object(random, sound)
    if form == "application/apply-patch+yaml" or random.random() < 0.3:
        return whole
    kept = random.sample(sorted(whole), k=random.randrange(1, len(whole) + 1)) if whole else []
    return {key: whole[key] for key in kept}


def _operation(random: Random, sound: Object) -> JSON:
    path = pointer(random.choice(pieces(sound)))
    odd = random.choice(
        (
            "",
            "/",
            path + "/-",
            path + "/0",
            path + "/99999999999",
            path + "/01",
            path + "/~2",
            "no-slash",
            3,
            None,
        )
    )
    name = random.choice(("add", "remove", "replace", "move", "copy", "test", "nope", 3, None))
    found: Object = {"op": name, "path": path if random.random() < 0.7 else odd, "value": odd_value(random)}
    found["from"] = pointer(random.choice(pieces(sound)))
    for key in list(found):
        if random.random() < 0.05:
            del found[key]
    return found if random.random() < 0.97 else odd_value(random)


def odd_query(random: Random) -> str:
    pairs = []
    for _ in range(random.choice((0, 0, 1, 1, 2, 4))):
        # Escaped as it should be, or thrown into the target nearly as it is.
        safe = "%" if random.random() < 0.9 else "%=,&;?"
        pairs.append(f"{random.choice(QUERY_NAMES)}={quote(random.choice(QUERY_VALUES), safe=safe)}")
    return "?" + "&".join(pairs) if pairs else ""


def written(random: Random, value: JSON, type: str) -> bytes:
    """A body in the form its type announces, most of the time."""
    data = encode(value)
    if "yaml" in type and random.random() < 0.5:
        return yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass")
    return odd_bytes(random, data) if random.random() < 0.15 else data
