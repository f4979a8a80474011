"""A definition from elsewhere keeps the fields only our edition knows."""

from __future__ import annotations

from trainshed.kinds.apiextensions.grafting import completed, grafted
from trainshed.kube.objects import Object


def an_object(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


def a_definition(schema: Object) -> Object:
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
NUMBER_OR_WORD: Object = {"x-kubernetes-int-or-string": True}


def test_fields_only_ours_has_are_added_at_every_depth() -> None:
    own = an_object(spec=an_object(old=TEXT, list={"type": "array", "items": an_object(a=TEXT)}))
    ours = an_object(spec=an_object(new=NUMBER, list={"type": "array", "items": an_object(b=TEXT)}))
    spec = grafted(own, ours)["properties"]["spec"]["properties"]
    assert set(spec) == {"old", "new", "list"}
    assert set(spec["list"]["items"]["properties"]) == {"a", "b"}


def test_rules_and_limits_of_the_stored_edition_stay() -> None:
    own = {**an_object(a=TEXT), "required": ["a"], "x-kubernetes-validations": [{"rule": "true"}]}
    assert grafted(own, {**an_object(a=TEXT, b=TEXT), "required": ["b"]})["required"] == ["a"]


def test_a_number_or_word_wins_over_a_number() -> None:
    assert grafted(an_object(n=NUMBER), an_object(n=NUMBER_OR_WORD))["properties"]["n"] == NUMBER_OR_WORD
    assert grafted(an_object(n=NUMBER_OR_WORD), an_object(n=NUMBER))["properties"]["n"] == NUMBER_OR_WORD


def test_only_versions_of_the_same_name_are_completed_and_the_inputs_stay() -> None:
    stored, ours = a_definition(an_object(a=TEXT)), a_definition(an_object(b=TEXT))
    found = completed(stored, ours)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert set(found["properties"]) == {"a", "b"}
    assert stored == a_definition(an_object(a=TEXT))
    ours["spec"]["versions"][0]["name"] = "v2"
    assert completed(stored, ours) == stored


def test_a_definition_completed_by_itself_is_unchanged() -> None:
    stored = a_definition(an_object(a=an_object(b=TEXT), c=NUMBER_OR_WORD))
    assert completed(stored, stored) == stored
