"""What clients accept and send, header by header."""

from __future__ import annotations

import pytest

from trainshed.apiserver import negotiation
from trainshed.apiserver.negotiation import Wanted
from trainshed.kube import faults
from trainshed.kube.objects import Object

KUBECTL_TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
PARTIAL = (
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)
DISCOVERY = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", Wanted("json")),
        ("*/*", Wanted("json")),
        ("application/json", Wanted("json")),
        ("application/json, */*", Wanted("json")),
        ("application/vnd.kubernetes.protobuf,application/json", Wanted("json")),
        ("application/vnd.kubernetes.protobuf, */*", Wanted("json")),
        (KUBECTL_TABLE, Wanted("table", "v1")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Wanted("table", "v1beta1")),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Wanted("json")),
        ("application/json;as=Table;v=v1;g=other.io,application/json", Wanted("json")),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Wanted("partial", "v1")),
        (PARTIAL, Wanted("partial-list", "v1")),
        ("application/yaml", Wanted("yaml")),
        ("application/yaml;q=0.5,application/json;q=0.9", Wanted("json")),
        ("text/html,application/*;q=0.1", Wanted("json")),
        ("APPLICATION/JSON; charset=utf-8", Wanted("json")),
    ],
)
def test_the_first_form_we_can_write_is_chosen(accept: str, wanted: Wanted) -> None:
    assert negotiation.answer_form(accept) == wanted


@pytest.mark.parametrize(
    "accept", ["text/html", "application/vnd.kubernetes.protobuf", "application/json;q=0", "x"]
)
def test_nothing_acceptable_is_refused(accept: str) -> None:
    with pytest.raises(
        faults.NotAcceptable, match="only the following media types are accepted: application/json"
    ):
        negotiation.answer_form(accept)


def test_streams_are_json_only() -> None:
    assert negotiation.answer_form(KUBECTL_TABLE, streaming=True) == Wanted("table", "v1")
    with pytest.raises(faults.NotAcceptable):
        negotiation.answer_form("application/yaml", streaming=True)


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        (DISCOVERY, "v2"),
        (DISCOVERY.split(",", 1)[1], "v2beta1"),
        ("application/json," + DISCOVERY, ""),
        ("application/json", ""),
        ("", ""),
        ("*/*", ""),
    ],
)
def test_aggregated_discovery_goes_to_those_who_ask_first_for_it(accept: str, version: str) -> None:
    assert negotiation.discovery_version(accept) == version


def test_the_type_of_an_aggregated_answer_is_spelled_exactly_as_kubectl_compares_it() -> None:
    expected = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert negotiation.DISCOVERY_TYPES["v2"] == expected


# --- bodies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type", ["", "application/json", "application/json; charset=utf-8", "Application/JSON"]
)
def test_json_is_assumed_where_no_type_is_given(content_type: str) -> None:
    assert negotiation.decode_body(b'{"a":[1,null]}', content_type) == {"a": [1, None]}


def test_yaml_bodies_are_read_as_yaml_even_if_they_look_like_json() -> None:
    for body in (b"a: 2024-01-01\n", b'{"a": "2024-01-01"}', b"{a: 2024-01-01}"):
        assert negotiation.decode_body(body, "application/yaml") == {"a": "2024-01-01"}


def test_protobuf_is_left_to_its_decoder() -> None:
    def decode(data: bytes) -> Object:
        return {"size": len(data)}

    kind = "application/vnd.kubernetes.protobuf"
    assert negotiation.decode_body(b"k8s\0", kind, protobuf=decode) == {"size": 4}
    with pytest.raises(faults.UnsupportedMediaType):
        negotiation.decode_body(b"k8s\0", kind)


@pytest.mark.parametrize("content_type", ["text/plain", "application/cbor", "application/json-patch+json"])
def test_other_types_are_refused(content_type: str) -> None:
    message = (
        "the body of the request was in an unknown format - accepted media types include: application/json"
    )
    with pytest.raises(faults.UnsupportedMediaType, match=message):
        negotiation.decode_body(b"{}", content_type)


def test_repeated_fields_are_worded_as_strict_decoding_errors() -> None:
    said: list[str] = []
    body = b'{"spec":{"a":1,"a":2}}'
    assert negotiation.decode_body(body, "", duplicates=said) == {"spec": {"a": 2}}
    assert said == ['duplicate field "spec.a"']


@pytest.mark.parametrize(
    ("body", "content_type", "why"),
    [
        (b"", "", "unexpected end of JSON input (<empty>)"),
        (b'{"a":', "", 'unexpected end of JSON input ({"a":)'),
        (b"[1]", "", "json: cannot unmarshal array into Go value of type struct (5b315d)"),
        (b'"x"', "", "json: cannot unmarshal string into Go value of type struct (227822)"),
        (b"a: [", "application/yaml", "yaml: line 2: did not find expected node content (613a205b)"),
    ],
)
def test_unreadable_bodies_are_bad_requests_that_quote_their_start(
    body: bytes, content_type: str, why: str
) -> None:
    with pytest.raises(faults.BadRequest) as caught:
        negotiation.decode_body(body, content_type, kind="Pod")
    head = "the object provided is unrecognized (must be of type Pod): "
    assert caught.value.message == f"{head}couldn't get version/kind; json parse error: {why}"


def test_a_body_that_nests_too_deeply_is_a_bad_request() -> None:
    with pytest.raises(faults.BadRequest, match="exceeded max depth"):
        negotiation.decode_body(b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "")


# --- patches ----------------------------------------------------------------------------------------------


def test_custom_kinds_take_no_strategic_patches() -> None:
    strategic = "application/strategic-merge-patch+json"
    assert negotiation.patch_form(strategic, custom=False) == "strategic"
    with pytest.raises(faults.UnsupportedMediaType) as caught:
        negotiation.patch_form(strategic, custom=True)
    assert caught.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


@pytest.mark.parametrize("content_type", ["", "application/json", "text/plain"])
def test_a_patch_must_say_what_it_is(content_type: str) -> None:
    with pytest.raises(faults.UnsupportedMediaType):
        negotiation.patch_form(content_type, custom=False)


def test_apply_patches_may_be_json_or_yaml() -> None:
    assert (
        negotiation.decode_patch(b'{"a":1}', "apply")
        == negotiation.decode_patch(b"a: 1", "apply")
        == {"a": 1}
    )


def test_json_patches_are_lists_and_merge_patches_objects() -> None:
    assert negotiation.decode_patch(b"[]", "json") == []
    wrong: list[tuple[bytes, negotiation.PatchForm]] = [
        (b"{}", "json"),
        (b"[]", "merge"),
        (b"3", "strategic"),
        (b"- a", "apply"),
        (b"{", "merge"),
    ]
    for body, form in wrong:
        with pytest.raises(faults.BadRequest, match="error decoding patch"):
            negotiation.decode_patch(body, form)
