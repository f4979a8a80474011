"""ConfigMaps and Secrets."""

from __future__ import annotations

from base64 import b64encode

import pytest

from tests.pure.samples import an_object, created, faults, faults_of_change
from trainshed.kube.objects import JSON, Object, copied

MEBIBYTE = 1024 * 1024


def a_config(**members: JSON) -> Object:
    return {**an_object("configmaps"), "binaryData": {}, **members}


def a_secret(**members: JSON) -> Object:
    return {**an_object("secrets"), "data": {}, "stringData": {}, **members}


def test_string_data_is_folded_into_data() -> None:
    secret = created("secrets", a_secret(data={"a": "b2xk", "b": "Yg=="}, stringData={"a": "new"}))
    assert secret["data"] == {"a": "bmV3", "b": "Yg=="}
    assert "stringData" not in secret
    assert secret["type"] == "Opaque"


def test_empty_data_is_no_data() -> None:
    assert "data" not in created("configmaps", a_config(data={}))
    assert created("configmaps", a_config(data={"a": None}))["data"] == {"a": ""}


@pytest.mark.parametrize("key", ["a", "A.b-c_d", "tls.crt", "a" * 253])
def test_sound_keys_are_accepted(key: str) -> None:
    assert faults("configmaps", a_config(data={key: "x"})) == []


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "a valid config key must consist of"),
        ("a/b", "a valid config key must consist of"),
        ("a" * 254, "must be no more than 253 characters"),
        (".", "must not be '.'"),
        ("..", "must not be '..'"),
        ("..a", "must not start with '..'"),
    ],
)
def test_other_keys_are_refused(key: str, why: str) -> None:
    found = faults("configmaps", a_config(data={key: "x"}))
    assert any(fault.startswith(f'data[{key}]: Invalid value: "{key}": {why}') for fault in found)


def test_a_key_is_text_or_bytes_not_both() -> None:
    config = a_config(data={"a": "x"}, binaryData={"a": "AAE="})
    assert faults("configmaps", config) == [
        'data[a]: Invalid value: "a": duplicate of key present in binaryData'
    ]


@pytest.mark.parametrize("value", ["not base64!", "AA", "é"])
def test_bytes_must_be_base64(value: str) -> None:
    assert len(faults("configmaps", a_config(binaryData={"b": value}))) == 1
    (fault,) = faults("secrets", a_secret(data={"b": value}))
    assert value not in fault


def test_base64_may_be_wrapped() -> None:
    assert faults("secrets", a_secret(data={"b": "AAEC\nAwQ="})) == []


def test_a_mebibyte_fits_and_no_more() -> None:
    assert faults("configmaps", a_config(data={"a": "x" * MEBIBYTE})) == []
    assert faults("configmaps", a_config(data={"a": "x" * MEBIBYTE, "b": "y"})) == [
        ": Too long: may not be more than 1048576 bytes"
    ]
    big = b64encode(b"x" * (MEBIBYTE + 1)).decode()
    assert faults("secrets", a_secret(data={"a": big})) == [
        "data: Too long: may not be more than 1048576 bytes"
    ]


@pytest.mark.parametrize(
    ("kind", "data", "found"),
    [
        ("kubernetes.io/tls", {}, ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("kubernetes.io/ssh-auth", {}, ["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/basic-auth", {"username": "YQ=="}, []),
        ("kubernetes.io/basic-auth", {}, ["data[username]: Required value", "data[password]: "
         "Required value"]),
        ("kubernetes.io/dockerconfigjson", {}, ["data[.dockerconfigjson]: Required value"]),
        ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "e30="}, []),
        ("kubernetes.io/service-account-token", {},
         ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]),
        ("my.org/own", {}, []),
    ],
)  # fmt: skip
def test_well_known_secrets_hold_what_they_are_for(kind: str, data: Object, found: list[str]) -> None:
    assert faults("secrets", a_secret(type=kind, data=data)) == found


def test_a_broken_docker_configuration_is_not_repeated_in_the_message() -> None:
    (fault,) = faults("secrets", a_secret(type="kubernetes.io/dockercfg", data={".dockercfg": "c2VjcmV0"}))
    assert "<secret contents redacted>" in fault


@pytest.mark.parametrize("resource", ["configmaps", "secrets"])
def test_what_is_immutable_stays(resource: str) -> None:
    old = created(resource, {**an_object(resource), "immutable": True})
    new: Object = copied(old)
    new["data"]["more"] = "AAE="
    why = "Forbidden: field is immutable when `immutable` is set"
    assert faults_of_change(resource, new, old) == [f"data: {why}"]
    free: Object = copied(old)
    del free["immutable"]
    assert faults_of_change(resource, free, old) == [f"immutable: {why}"]


def test_the_type_of_a_secret_never_changes() -> None:
    old = created("secrets", a_secret())
    assert faults_of_change("secrets", {**copied(old), "type": "my.org/own"}, old) == [
        'type: Invalid value: "my.org/own": field is immutable'
    ]
