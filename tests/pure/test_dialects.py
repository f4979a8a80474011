"""Which words a Trainer knows, as its OpenAPI document and its refusals tell."""

from __future__ import annotations

import pytest

from trainshed.jobs import dialects
from trainshed.kube import faults
from trainshed.kube.objects import JSON, Object

_KIND = [{"group": "trainer.kubeflow.org", "kind": "TrainJob", "version": "v1alpha1"}]
_SAID = 'TrainJob in version "v1alpha1" cannot be handled as a TrainJob: strict decoding error: '


def a_document(*fields: str, referred: bool = False) -> JSON:
    spec: Object = {"properties": {field: {} for field in fields}}
    job = {"x-kubernetes-group-version-kind": _KIND, "properties": {"spec": spec}}
    if not referred:
        return {"components": {"schemas": {"a": job}}}
    job["properties"] = {"spec": {"allOf": [{"$ref": "#/components/schemas/b"}]}}
    return {"components": {"schemas": {"a": job, "b": spec}}}


@pytest.mark.parametrize("referred", [False, True])
def test_the_fields_of_a_trainjob_tell_the_dialect(referred: bool) -> None:
    old = a_document("suspend", "podTemplateOverrides", referred=referred)
    assert dialects.of_document(old) == "v2.1"
    both = a_document("runtimePatches", "podTemplateOverrides", referred=referred)
    assert dialects.of_document(both) == "v2.2"
    assert dialects.of_document(a_document("runtimePatches", referred=referred)) == "v2.2"


@pytest.mark.parametrize("document", [None, {}, {"components": {"schemas": {"a": {}}}}])
def test_where_nothing_is_told_the_newest_is_taken(document: JSON) -> None:
    assert dialects.of_document(document) == dialects.NEWEST


def test_a_refusal_tells_the_fields_that_are_not_known() -> None:
    both = faults.BadRequest(f'{_SAID}unknown field "spec.a", unknown field "spec.b[0].c"')
    assert dialects.unknown_fields(both) == ["spec.a", "spec.b[0].c"]
    assert dialects.unknown_fields(faults.BadRequest("nothing of the kind")) == []
    assert dialects.unknown_fields(faults.Invalid('unknown field "spec.a"')) == []


def test_many_unknown_fields_are_still_one_line() -> None:
    said = dialects.lacking([f"spec.{letter}" for letter in "abcde"])
    assert "spec.a, spec.b, spec.c and 2 more" in said
