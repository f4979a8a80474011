"""Protobuf bodies: what kubectl really sent, and what nobody should send."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.kinds.protobuf import messages as tables
from trainshed.kube import protobuf
from trainshed.kube.faults import BadRequest
from trainshed.kube.objects import JSON, Object

CAPTURED: list[Object] = json.loads((Path(__file__).parent / "data/kubectl-protobuf.json").read_text())
"""Bodies kubectl 1.32 sent, with the JSON that `--dry-run=client -o json` printed for the same commands."""


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def envelope(raw: bytes, kind: str = "Pod", version: str = "v1") -> bytes:
    typed = field(1, version.encode()) + field(2, kind.encode())
    return protobuf.MAGIC + field(1, typed) + field(2, raw)


def decoded(raw: bytes, kind: str = "Pod", version: str = "v1") -> Object:
    return protobuf.decode(envelope(raw, kind, version), tables.messages())


@pytest.mark.parametrize("case", CAPTURED, ids=lambda case: case["command"])
def test_what_kubectl_sent_becomes_the_json_it_would_have_printed(case: Object) -> None:
    assert protobuf.decode(b64decode(case["body"]), tables.messages()) == case["object"]


def test_every_table_names_only_types_that_exist() -> None:
    scalars = {"string", "int32", "int64", "bool", "bytes"}
    scalars |= {"time", "microtime", "quantity", "intorstring", "raw", "strings"}
    fields = tables.messages().fields
    used = {field.type for message in fields.values() for field in message.values()}
    assert used <= scalars | set(fields)
    assert set(tables.messages().kinds.values()) <= set(fields)


def test_negative_numbers_arrive_as_ten_byte_varints() -> None:
    raw = field(2, -5)
    assert decoded(raw, "PriorityClass", "scheduling.k8s.io/v1")["value"] == -5


def test_a_zero_survives_only_where_json_would_show_it() -> None:
    spec = field(4, 0) + field(11, 0) + field(3, b"")  # grace seconds (pointer), host network, restart policy
    assert decoded(field(2, spec))["spec"] == {"terminationGracePeriodSeconds": 0}


def test_delete_options_are_read_in_any_group_version() -> None:
    raw = field(1, 0) + field(2, field(1, b"u-1")) + field(4, b"Background")
    options = decoded(raw, "DeleteOptions", "batch/v1")
    assert options["gracePeriodSeconds"] == 0
    assert options["preconditions"] == {"uid": "u-1"}
    assert options["propagationPolicy"] == "Background"


def test_times_are_written_with_seconds_and_micro_times_with_six_digits() -> None:
    moment = field(1, 1_700_000_000) + field(2, 123_456_789)
    spec = field(1, b"holder") + field(3, moment)
    lease = decoded(field(1, field(8, moment)) + field(2, spec), "Lease", "coordination.k8s.io/v1")
    assert lease["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert lease["spec"]["acquireTime"] == "2023-11-14T22:13:20.123456Z"


def test_an_unset_time_is_absent() -> None:
    assert decoded(field(1, field(1, b"x") + field(8, b"")))["metadata"] == {"name": "x"}


def test_managed_fields_are_embedded_json() -> None:
    entry = field(1, b"kubectl") + field(7, field(1, b'{"f:spec":{}}'))
    (found,) = decoded(field(1, field(17, entry)))["metadata"]["managedFields"]
    assert found == {"manager": "kubectl", "fieldsV1": {"f:spec": {}}}


@pytest.mark.parametrize("packed", [True, False])
def test_repeated_numbers_may_be_packed_or_not(packed: bool) -> None:
    groups = field(4, varint(5) + varint(6)) if packed else field(4, 5) + field(4, 6)
    assert decoded(field(2, field(14, groups)))["spec"]["securityContext"] == {"supplementalGroups": [5, 6]}


def test_extra_user_values_are_lists() -> None:
    entry = field(1, b"team") + field(2, field(1, b"a") + field(1, b"b"))
    review = decoded(field(2, field(5, entry)), "SubjectAccessReview", "authorization.k8s.io/v1")
    assert review["spec"]["extra"] == {"team": ["a", "b"]}


def test_unknown_fields_of_newer_clients_are_skipped() -> None:
    fixed = varint(902 << 3 | 1) + bytes(8) + varint(903 << 3 | 5) + bytes(4)
    newer = field(900, b"future") + field(901, 7) + fixed
    assert decoded(field(1, newer + field(1, b"x")))["metadata"] == {"name": "x"}


def test_the_envelope_may_leave_the_type_to_the_url() -> None:
    body = protobuf.MAGIC + field(2, field(1, field(1, b"x")))
    found = protobuf.decode(body, tables.messages(), api_version="v1", kind="ConfigMap")
    assert found == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}


BROKEN: dict[str, bytes] = {
    "nothing": b"",
    "JSON": b'{"kind":"Pod"}',
    "an unknown kind": envelope(b"", "Teapot"),
    "another encoding inside": envelope(b"") + field(4, b"text/html"),
    "a length beyond the end": envelope(field(1, b"")[:-1] + varint(1 << 40)),
    "a negative length": envelope(b"\x0a" + varint(-1)),
    "a number that never ends": envelope(b"\x08" + b"\xff" * 20),
    "a number cut short": envelope(b"\x08\xff"),
    "field number zero": envelope(b"\x02\x00"),
    "a group": envelope(b"\x0b\x0c"),
    "a number where a message belongs": envelope(field(1, 5)),
    "a text where a number belongs": envelope(field(2, field(4, b"x"))),
    "bytes that are not UTF-8": envelope(field(1, field(1, b"\xff\xfe"))),
    "a time after the year 9999": envelope(field(1, field(8, field(1, 1 << 60)))),
    "broken embedded JSON": envelope(field(1, field(17, field(7, field(1, b"{"))))),
    "deep embedded JSON": envelope(field(1, field(17, field(7, field(1, b"[" * 900 + b"]" * 900))))),
    "very deep embedded JSON": envelope(field(1, field(17, field(7, field(1, b"[" * 90_000))))),
    "half a million fields": envelope(b"\x12\x00" * 500_000),
    "half a million packed numbers": envelope(field(2, field(14, field(4, b"\x00" * 500_000)))),
    "half a million fields in a map entry": envelope(field(1, field(11, b"\x18\x00" * 500_000))),
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_broken_bytes_are_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequest):
        protobuf.decode(body, tables.messages())


def test_tables_that_nest_for_ever_do_not_exhaust_the_stack() -> None:
    endless = protobuf.Messages({"Loop": {1: protobuf.Field("inner", "Loop")}}, {("v1", "Loop"): "Loop"})
    raw = b""
    for _ in range(2_000):
        raw = field(1, raw)
    with pytest.raises(BadRequest, match="nested too deeply"):
        protobuf.decode(envelope(raw, "Loop"), endless)


@settings(deadline=None)
@given(st.binary(max_size=400), st.sampled_from(sorted(tables.messages().kinds)))
def test_any_bytes_give_an_object_or_a_bad_request(raw: bytes, kind: tuple[str, str]) -> None:
    for body in (raw, protobuf.MAGIC + raw, envelope(raw, kind[1], kind[0] or "v1")):
        is_object_or_refused(body)


@settings(deadline=None)
@given(st.sampled_from(CAPTURED), st.integers(0, 10_000), st.integers(0, 255))
def test_a_damaged_body_gives_an_object_or_a_bad_request(case: Object, at: int, byte: int) -> None:
    body = bytearray(b64decode(case["body"]))
    body[at % len(body)] = byte
    is_object_or_refused(bytes(body))
    is_object_or_refused(bytes(body[: at % len(body)]))


def is_object_or_refused(body: bytes) -> None:
    try:
        found: JSON = protobuf.decode(body, tables.messages())
    except BadRequest:
        return
    assert isinstance(found, dict)
    json.dumps(found)
