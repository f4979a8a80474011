"""Variables of a container: order, references, sources that are missing, and texts that refer to them."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube.objects import JSON, Object
from trainshed.runner import environment
from trainshed.runner.environment import Reference, Sources, TooLong, Unresolved

SETTINGS: Object = {"data": {"MODE": "fast", "level": "3"}}
PASSWORD: Object = {"data": {"token": base64.b64encode(b"s3cret").decode()}}


def a_pod(**spec: JSON) -> Object:
    return {
        "metadata": {"name": "p", "namespace": "team", "uid": "u1", "labels": {"app": "x"}},
        "spec": {"nodeName": "n1", **spec},
    }


def variables(
    *env: Object, env_from: list[Object] | None = None, services: dict[str, str] | None = None, **more: JSON
) -> dict[str, str]:
    objects: dict[Reference, Object | None] = {
        ("configmaps", "settings"): SETTINGS,
        ("secrets", "password"): PASSWORD,
    }
    sources = Sources(objects, {"status.podIP": "10.0.0.7"}, {"cpu": "8", "memory": "16Gi"}, services or {})
    return environment.variables(a_pod(), {"env": list(env), "envFrom": env_from or [], **more}, sources)


def source(kind: str, **ref: JSON) -> Object:
    return {"name": "X", "valueFrom": {kind: ref}}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("$(A)", "1"),
        ("$(A)$(B)", "12"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A and ${A}", "$A and ${A}"),
        ("$(A", "$(A"),
        ("cost: 5$", "cost: 5$"),
        ("$()", "$()"),
    ],
)
def test_references_are_replaced_where_the_name_is_known(template: str, expected: str) -> None:
    assert environment.expand(template, {"A": "1", "B": "2"}) == expected


@given(st.text(alphabet="abc $()", max_size=20))
def test_text_survives_when_its_dollar_signs_are_doubled(plain: str) -> None:
    assert environment.expand(plain.replace("$", "$$"), {"a": "x", "": "y"}) == plain


def test_a_variable_sees_only_those_declared_before_it() -> None:
    found = variables(
        {"name": "EARLY", "value": "$(LATE)"},
        {"name": "LATE", "value": "now"},
        {"name": "AFTER", "value": "$(LATE)"},
    )
    assert found == {"EARLY": "$(LATE)", "LATE": "now", "AFTER": "now"}


def test_whole_configmaps_come_first_and_can_be_prefixed_and_built_upon() -> None:
    from_map = {"prefix": "A_", "configMapRef": {"name": "settings"}}
    found = variables({"name": "MODE", "value": "$(A_MODE)er"}, env_from=[from_map])
    assert found == {"A_MODE": "fast", "A_level": "3", "MODE": "faster"}


def test_env_replaces_what_env_from_brought() -> None:
    found = variables({"name": "MODE", "value": "slow"}, env_from=[{"configMapRef": {"name": "settings"}}])
    assert found == {"MODE": "slow", "level": "3"}


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        (source("fieldRef", fieldPath="metadata.name"), "p"),
        (source("fieldRef", fieldPath="metadata.labels['app']"), "x"),
        (source("fieldRef", fieldPath="metadata.annotations['none']"), ""),
        (source("fieldRef", fieldPath="spec.nodeName"), "n1"),
        (source("fieldRef", fieldPath="status.podIP"), "10.0.0.7"),
        (source("resourceFieldRef", resource="limits.cpu"), "2"),
        (source("resourceFieldRef", resource="limits.cpu", divisor="1m"), "1500"),
        (source("resourceFieldRef", resource="limits.memory", divisor="1Mi"), "16384"),
        (source("resourceFieldRef", resource="requests.memory"), "0"),
        (source("configMapKeyRef", name="settings", key="level"), "3"),
        (source("secretKeyRef", name="password", key="token"), "s3cret"),
    ],
)
def test_values_come_from_where_they_are_said_to(variable: Object, expected: str) -> None:
    assert variables(variable, resources={"limits": {"cpu": "1500m"}}) == {"X": expected}


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        (source("configMapKeyRef", name="nope", key="a"), 'configmap "nope" not found'),
        (
            source("configMapKeyRef", name="settings", key="a"),
            "couldn't find key a in ConfigMap team/settings",
        ),
        (source("secretKeyRef", name="nope", key="a"), 'secret "nope" not found'),
        (source("secretKeyRef", name="password", key="a"), "couldn't find key a in Secret team/password"),
        (source("fieldRef", fieldPath="spec.containers"), "unsupported fieldPath: spec.containers"),
    ],
)
def test_what_is_missing_is_said_in_the_words_of_a_real_node(variable: Object, why: str) -> None:
    with pytest.raises(Unresolved) as refusal:
        variables(variable)
    assert str(refusal.value) == why


def test_optional_sources_may_be_missing_and_leave_the_variable_out() -> None:
    found = variables(
        source("configMapKeyRef", name="nope", key="a", optional=True),
        source("secretKeyRef", name="password", key="a", optional=True),
        env_from=[{"secretRef": {"name": "nope", "optional": True}}],
    )
    assert found == {}


def test_a_missing_source_of_all_variables_is_named() -> None:
    with pytest.raises(Unresolved, match='configmap "gone" not found'):
        variables(env_from=[{"configMapRef": {"name": "gone"}}])


def test_variables_of_services_can_be_referred_to_and_are_hidden_by_declared_ones() -> None:
    services = {"DB_SERVICE_HOST": "10.0.0.9", "DB_SERVICE_PORT": "5432"}
    found = variables(
        {"name": "URL", "value": "http://$(DB_SERVICE_HOST)"},
        {"name": "DB_SERVICE_PORT", "value": "1"},
        services=services,
    )
    assert found == {"URL": "http://10.0.0.9", "DB_SERVICE_PORT": "1", "DB_SERVICE_HOST": "10.0.0.9"}


def test_everything_to_be_fetched_is_named() -> None:
    container: Object = {
        "env": [source("configMapKeyRef", name="a", key="k"), source("secretKeyRef", name="b", key="k")],
        "envFrom": [{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "d"}}],
    }
    wanted = {("configmaps", "a"), ("secrets", "b"), ("configmaps", "c"), ("secrets", "d")}
    assert set(environment.references(container)) == wanted


# --- sizes ---


def test_references_to_references_do_not_grow_without_bounds() -> None:
    env: list[Object] = [{"name": "A0", "value": "x" * 10}]
    env += [{"name": f"A{i}", "value": f"$(A{i - 1})" * 10} for i in range(1, 10)]
    with pytest.raises(TooLong, match="becomes longer than 131071 bytes"):
        variables(*env)


def test_a_text_counts_by_its_bytes() -> None:
    assert len(environment.expand("$(A)", {"A": "x" * 131071})) == 131071
    with pytest.raises(TooLong):
        environment.expand("$(A)", {"A": "\u00e4" * 65536})


def test_all_variables_together_have_a_limit() -> None:
    with pytest.raises(TooLong, match="may have 2097152 bytes in all"):
        variables(*({"name": f"A{i}", "value": "x" * 100_000} for i in range(21)))
