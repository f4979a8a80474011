"""What is wrong with a CustomResourceDefinition, in the words of the real server."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.pure.definitions_objects import a_definition, a_schema, a_version, an_accepted
from trainshed.kinds import custom
from trainshed.kinds.schemas import Schemas
from trainshed.kube import schema
from trainshed.kube.objects import JSON, Object, copied, decode

SCHEMA = "spec.validation.openAPIV3Schema"


def said(crd: Object, old: Object | None = None) -> list[str]:
    return [str(error) for error in custom.RULES.validate(crd, old)]


def said_of_schema(schema: Object) -> list[str]:
    return said(an_accepted(a_version(schema=schema)))


def said_of_field(field: Object) -> list[str]:
    where = f"{SCHEMA}.properties[spec].properties[f]"
    return [text.replace(where, "f") for text in said_of_schema(a_schema(f=field))]


def test_a_sound_definition_has_no_faults() -> None:
    assert said(an_accepted()) == []


def test_the_training_kinds_own_definitions_are_sound(schemas: Schemas) -> None:
    for shipped in schemas.crds():
        crd = decode(shipped.raw)
        custom.RULES.defaults(crd)
        custom.RULES.on_create(crd)
        assert said(crd) == [], shipped.name


# --- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"metadata__name": "gadgets.example.com"},
            'metadata.name: Invalid value: "gadgets.example.com": must be spec.names.plural+"."+spec.group',
        ),
        ({"spec__scope": ""}, "spec.scope: Required value"),
        (
            {"spec__scope": "Planet"},
            'spec.scope: Unsupported value: "Planet": supported values: "Cluster", "Namespaced"',
        ),
        (
            {"spec__names": {"plural": "widgets", "kind": "Widget", "listKind": "Widget"}},
            'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
        ),
        (
            {"spec__preserveUnknownFields": True},
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
        (
            {"spec__conversion": {"strategy": "Magic"}},
            'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
        ),
        (
            {"spec__conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}},
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        ),
    ],
)
def test_names_and_settings_are_checked(changes: dict[str, JSON], expected: str) -> None:
    assert said(an_accepted(**changes)) == [expected]


def test_a_group_needs_a_dot() -> None:
    found = said(an_accepted(spec__group="example", metadata__name="widgets.example"))
    assert found == ['spec.group: Invalid value: "example": should be a domain with at least one dot']


def test_names_follow_dns() -> None:
    names = {"plural": "Widgets", "kind": "Wid_get", "shortNames": ["W"]}
    found = said(an_accepted(spec__names=names, metadata__name="Widgets.example.com"))
    fields = [text.partition(":")[0] for text in found]
    assert fields[:4] == [
        "spec.names.plural",
        "spec.names.singular",
        "spec.names.kind",
        "spec.names.listKind",
    ]
    assert "spec.names.shortNames[0]" in fields
    assert "may have mixed case, but should otherwise match: a DNS-1035 label must consist of" in found[2]


def test_missing_names_are_required() -> None:
    crd = a_definition(spec__names={}, metadata__name=".example.com")
    custom.RULES.on_create(crd)
    for field in ("plural", "singular", "kind", "listKind"):
        assert f"spec.names.{field}: Required value" in said(crd)


def test_groups_of_kubernetes_itself_need_an_approval() -> None:
    changes = {"spec__group": "x.k8s.io", "metadata__name": "widgets.x.k8s.io"}
    [found] = said(an_accepted(**changes))
    assert found.startswith(
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups"
    )
    for approval in ("unapproved, an experiment", "https://github.com/kubernetes/kubernetes/pull/1"):
        annotations = {"api-approved.kubernetes.io": approval}
        assert said(an_accepted(**changes, metadata__annotations=annotations)) == []
    [found] = said(an_accepted(**changes, metadata__annotations={"api-approved.kubernetes.io": "yes"}))
    assert 'with either a URL or a reason starting with "unapproved"' in found


# --- versions ---------------------------------------------------------------------------------------------


def test_exactly_one_version_is_stored() -> None:
    for flags in ([False, False], [True, True]):
        versions = [a_version(f"v{index}", storage=flag) for index, flag in enumerate(flags, 1)]
        assert any(
            text.startswith("spec.versions: Invalid value: ")
            and text.endswith("must have exactly one version marked as storage version")
            for text in said(an_accepted(*versions))
        )


def test_versions_have_different_names() -> None:
    found = said(an_accepted(a_version("v1"), a_version("v1", storage=False)))
    assert any(text.endswith("must contain unique version names") for text in found)


def test_every_version_has_a_schema() -> None:
    bare = {"name": "v2", "served": True, "storage": False}
    found = said(an_accepted(a_version(), bare))
    assert found == ["spec.versions[1].schema.openAPIV3Schema: Required value: schemas are required"]


def test_a_fault_in_one_of_several_schemas_is_found_at_its_version() -> None:
    bad = a_version("v2", storage=False, schema=a_schema(f={}))
    [found] = said(an_accepted(a_version(), bad))
    assert found.startswith("spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[f].type: ")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (
            {},
            [
                "[0].name: Required value",
                "[0].type: Required value: must be one of",
                "[0].JSONPath: Required value",
            ],
        ),
        (
            {"name": "A", "type": "age", "jsonPath": ".a"},
            ['[0].type: Invalid value: "age": must be one of boolean,'],
        ),
        (
            {"name": "A", "type": "date", "jsonPath": "a"},
            ['[0].JSONPath: Invalid value: "a": must be a simple json path starting with .'],
        ),
        (
            {"name": "A", "type": "date", "jsonPath": ".a["},
            ['[0].JSONPath: Invalid value: ".a[": unrecognized'],
        ),
        (
            {"name": "A", "type": "date", "format": "x", "jsonPath": ".a"},
            ['[0].format: Invalid value: "x": must be one of byte,'],
        ),
    ],
)
def test_printer_columns_are_checked(column: Object, expected: list[str]) -> None:
    found = said(an_accepted(a_version(additionalPrinterColumns=[column])))
    assert len(found) == len(expected)
    for text, start in zip(found, expected, strict=True):
        assert text.startswith(f"spec.additionalPrinterColumns{start}")


def test_scale_paths_lie_where_they_belong() -> None:
    scale = {"specReplicasPath": ".status.n", "labelSelectorPath": "x"}
    assert said(an_accepted(a_version(subresources={"scale": scale}))) == [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": '
        "should be a json path under .spec",
        "spec.subresources.scale.statusReplicasPath: Required value",
        'spec.subresources.scale.labelSelectorPath: Invalid value: "x": '
        "must be a simple json path starting with .",
    ]


def test_selectable_fields_are_simple_fields() -> None:
    fields = [".spec.size", ".spec.size", ".spec.nope", ".metadata.name", ".spec", "x"]
    found = said(an_accepted(a_version(selectableFields=[{"jsonPath": field} for field in fields])))
    assert [text.partition(":")[0] for text in found] == [
        f"spec.selectableFields[{index}].jsonPath" for index in (1, 2, 3, 4, 5)
    ]


def test_a_deprecation_warning_needs_a_deprecated_version() -> None:
    [found] = said(an_accepted(a_version(deprecationWarning="old")))
    assert found.endswith("can only be set for deprecated versions")
    assert said(an_accepted(a_version(deprecated=True, deprecationWarning="old"))) == []


# --- changes ----------------------------------------------------------------------------------------------


def test_what_objects_are_stored_by_cannot_change() -> None:
    old = an_accepted()
    new = copied(old)
    new["spec"]["scope"] = "Cluster"
    new["spec"]["names"] |= {"kind": "Gadget"}
    assert said(new, old) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Gadget": field is immutable',
    ]


def test_a_version_with_stored_objects_cannot_be_dropped() -> None:
    old = an_accepted()
    new = a_definition(a_version("v2"))
    custom.RULES.defaults(new)
    custom.RULES.on_update(new, old)
    assert said(new, old) == ['status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions']


def test_a_schema_that_has_not_changed_is_not_checked_again() -> None:
    old = an_accepted(a_version(schema=a_schema(f={})))
    assert said(old, None) != []
    assert said(copied(old), old) == []


# --- schemas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({}, ["f.type: Required value: must not be empty for specified object fields"]),
        ({"type": "array"}, ["f.items: Required value: must be specified"]),
        (
            {"type": "array", "items": {}},
            ["f.items.type: Required value: must not be empty for specified array items"],
        ),
        (
            {"type": "float"},
            [
                'f.type: Unsupported value: "float": supported values: '
                '"array", "boolean", "integer", "number", "object", "string"'
            ],
        ),
        ({"type": "null"}, ["f.type: Forbidden: type cannot be set to null, use nullable as an alternative"]),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": {"type": "string"},
            },
            ["f.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
        ),
        ({"type": "string", "$ref": "x"}, ["f.$ref: Forbidden: $ref is not supported"]),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            [
                "f.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity "
                "becomes quadratic"
            ],
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            ["f.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            [
                "f.x-kubernetes-list-map-keys: Required value: "
                "must not be empty if x-kubernetes-list-type is map"
            ],
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
            [
                "f.items.properties[name].default: Required value: this property is in "
                "x-kubernetes-list-map-keys, so it must have a default or be a required property"
            ],
        ),
        (
            {"type": "string", "x-kubernetes-list-type": "set"},
            ['f.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified'],
        ),
        (
            {"type": "string", "anyOf": [{"type": "string", "minLength": 1}]},
            ["f.anyOf[0].type: Forbidden: must be empty to be structural"],
        ),
        (
            {"type": "object", "allOf": [{"properties": {"a": {"minLength": 1}}}]},
            ["f.properties[a]: Required value: because it is defined in f.allOf[0].properties[a]"],
        ),
        (
            {"type": "integer", "default": "x"},
            ['f.default: Invalid value: "string": f.default in body must be of type integer: "string"'],
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            [
                "f.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true "
                "without x-kubernetes-preserve-unknown-fields"
            ],
        ),
    ],
)
def test_a_schema_must_be_structural(field: Object, expected: list[str]) -> None:
    assert said_of_field(field) == expected


@pytest.mark.parametrize(
    "field",
    [
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {
            "x-kubernetes-int-or-string": True,
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "^[0-9]+$"}],
        },
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}]},
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        {"type": "string", "pattern": "^[a-z]+$", "default": "x"},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    ],
)
def test_structural_schemas_are_accepted(field: Object) -> None:
    assert said_of_field(field) == []


def test_a_pattern_must_be_a_regular_expression() -> None:
    [found] = said_of_field({"type": "string", "pattern": "["})
    assert found.startswith('f.pattern: Invalid value: "[": must be a valid regular expression, but isn\'t: ')


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"type": "array", "items": {"type": "string"}},
            'type: Invalid value: "array": must be object at the root',
        ),
        ({"nullable": True}, "nullable: Forbidden: nullable cannot be true at the root"),
        (
            {"additionalProperties": {"type": "string"}, "properties": {}},
            "additionalProperties: Forbidden: must not be used at the root",
        ),
    ],
)
def test_the_root_is_a_plain_object(change: Object, expected: str) -> None:
    assert f"{SCHEMA}.{expected}" in said_of_schema(a_schema() | change)


def test_metadata_may_only_be_restricted_by_name() -> None:
    schema = a_schema()
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": {"type": "string"}}}
    assert said_of_schema(schema) == []
    schema["properties"]["metadata"]["properties"]["labels"] = {"type": "object"}
    [found] = said_of_schema(schema)
    assert found.startswith(
        f"{SCHEMA}.properties[metadata]: Forbidden: must not specify anything other than name"
    )


# --- rules ------------------------------------------------------------------------------------------------


def a_ruled(rule: str, **more: JSON) -> Object:
    return {"type": "integer", "x-kubernetes-validations": [{"rule": rule, **more}]}


@pytest.mark.parametrize(
    ("field", "start"),
    [
        (a_ruled(""), "f.x-kubernetes-validations[0].rule: Required value: rule is not specified"),
        (
            a_ruled("self > 0", message="a\nb"),
            'f.x-kubernetes-validations[0].message: Invalid value: "a\nb": message must not contain',
        ),
        (
            a_ruled("self > 0", reason="Because"),
            'f.x-kubernetes-validations[0].reason: Unsupported value: "Because": supported values: ',
        ),
        (a_ruled("self >"), "f.x-kubernetes-validations[0].rule: Invalid value: "),
        (
            a_ruled("self > 0", messageExpression="self"),
            "f.x-kubernetes-validations[0].messageExpression: Invalid value: ",
        ),
        (
            a_ruled("self > 0", optionalOldSelf=True),
            "f.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set",
        ),
    ],
)
def test_rules_are_read_when_the_definition_is_written(field: Object, start: str) -> None:
    [found] = said_of_field(field)
    assert found.startswith(start)


TYPED: Object = {
    "type": "object",
    "properties": {
        "text": {"type": "string"}, "count": {"type": "integer"}, "flag": {"type": "boolean"},
        "texts": {"type": "array", "items": {"type": "string"}}, "any": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "when": {"type": "string", "format": "date-time"},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        "1", "'a'", "[true]", "{'a': true}", "self.count", "self.text", "self", "self.count + 1",
        "-self.count", "size(self.texts)", "self.texts.map(t, t)", "self.flag ? 1 : 2", "self.texts[0]",
        "self.when",
    ],
)  # fmt: skip
def test_a_rule_that_is_no_question_is_refused(rule: str) -> None:
    [found] = said_of_field({**TYPED, "x-kubernetes-validations": [{"rule": rule}]})
    assert found.endswith("cel expression must evaluate to a bool")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("self.text.foo == 1", "type 'string' does not support field selection"),
        ("has(self.count.foo)", "type 'int' does not support field selection"),
        ("self.texts.foo == 1", "type 'list' does not support field selection"),
        ("self.texts.all(t, t.foo == 1)", "type 'string' does not support field selection"),
        ("self.foo == 1", "undefined field 'foo'"),
    ],
)
def test_a_rule_that_looks_for_what_cannot_be_there_is_refused(rule: str, why: str) -> None:
    [found] = said_of_field({**TYPED, "x-kubernetes-validations": [{"rule": rule}]})
    assert why in found


@pytest.mark.parametrize(
    "rule",
    [
        "self.flag", "self.free.a.b", "self.any", "self.any == 1", "self.texts.all(t, t != '')",
        "!has(self.text) || self.text.startsWith('a')", "self.flag ? true : self.count > 1", "dyn(1)",
        "self.when.getFullYear() > 2000", "cel.bind(n, self.count, n > 1)", "self.?text.hasValue()",
    ],
)  # fmt: skip
def test_rules_that_may_be_questions_are_taken(rule: str) -> None:
    assert said_of_field({**TYPED, "x-kubernetes-validations": [{"rule": rule}]}) == []


def test_items_of_plain_lists_have_no_older_selves() -> None:
    item = a_ruled("self >= oldSelf")
    [found] = said_of_field({"type": "array", "items": item})
    assert found.endswith("oldSelf cannot be used on the uncorrelatable portion of the schema within f")
    assert said_of_field(item) == []


# --- oddities ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [[]], {"a": 1}])
def test_odd_values_are_faults_not_crashes(odd: JSON) -> None:
    paths = ("spec", "spec__names", "spec__versions", "spec__conversion", "spec__group", "status", "metadata")
    for path in paths:
        crd = an_accepted()
        custom.RULES.defaults(crd)
        crd = crd | a_definition(**{path: odd})
        assert isinstance(said(crd, an_accepted()), list)
    for field in (
        "properties",
        "items",
        "additionalProperties",
        "allOf",
        "type",
        "x-kubernetes-validations",
        "default",
    ):
        assert isinstance(said_of_field({"type": "object", field: odd}), list)


WORDS = (
    "type", "format", "title", "description", "default", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems",
    "multipleOf", "enum", "maxProperties", "minProperties", "required", "items", "allOf", "oneOf", "anyOf",
    "not", "properties", "additionalProperties", "nullable", "$ref", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations",
)  # fmt: skip
JUNK: tuple[JSON, ...] = (None, 5, 1.5, True, "x", [], [5], [[]], ["x"], {}, {"a": 1}, {"a": {"type": 5}})
NAMED: Object = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def in_a_map(schema: Object) -> Object:
    return {"type": "object", "additionalProperties": schema}


def in_a_list(schema: Object, type: str = "atomic") -> Object:
    return {"type": "array", "items": schema, "x-kubernetes-list-type": type}


def in_a_map_list(schema: Object) -> Object:
    return {**in_a_list(schema, "map"), "x-kubernetes-list-map-keys": ["name"]}


def in_a_branch(schema: Object) -> Object:
    return in_a_list({**NAMED, "allOf": [{"anyOf": [schema]}]})


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "place", [in_a_map, in_a_list, in_a_map_list, in_a_branch, lambda schema: in_a_list(schema, "set")]
)
def test_junk_behind_any_word_below_lists_and_maps_is_a_fault(
    word: str, place: Callable[[Object], Object]
) -> None:
    for junk in JUNK:
        field = place({**NAMED, word: junk})
        if not said_of_field(field):
            node = schema.compile(field)
            values: list[JSON] = [[{"name": "a"}, {"name": 1}], {"a": {"name": "b"}}, [{}], None]
            assert all(isinstance(schema.validate(node, value), list) for value in values)


@pytest.mark.parametrize("odd", [5, 1.5, True])
def test_required_names_of_a_map_list_are_a_list(odd: JSON) -> None:
    found = said_of_field(in_a_map_list({**NAMED, "required": odd}))
    assert found[-1].startswith("f.items.required: Invalid value: ")


def test_a_large_schema_is_checked_in_no_time() -> None:
    wide = {f"f{index}": {"type": "object", "properties": {"a": {"type": "string"}}} for index in range(5000)}
    start = time.perf_counter()
    assert said_of_schema(a_schema(**wide)) == []
    assert time.perf_counter() - start < 5
