"""The bridge from client-side apply, which kubectl crosses and nobody else."""

from __future__ import annotations

import json

import pytest

from tests.pure.ownership_objects import LATER, a_workload, applied, conflict_of, owners, written
from trainshed.kube import last_applied
from trainshed.kube.objects import Object, copied


def client_side(body: Object, *, and_then: Object | None = None) -> Object:
    """An object that client-side apply made, changed by somebody afterwards."""
    annotations = {last_applied.ANNOTATION: json.dumps(body)}
    first = written(
        None,
        {**body, "metadata": {**body["metadata"], "annotations": annotations}},
        "kubectl-client-side-apply",
    )
    if and_then is None:
        return first
    later = {**and_then, "metadata": {**and_then["metadata"], "annotations": annotations}}
    return written(first, later, "editor", now=LATER)


def test_kubectl_takes_over_what_client_side_apply_set() -> None:
    live = client_side(a_workload(replicas=1))
    taken = applied(live, a_workload(replicas=2), "kubectl")
    assert taken["spec"] == {"replicas": 2}
    refreshed = json.loads(taken["metadata"]["annotations"][last_applied.ANNOTATION])
    assert refreshed == a_workload(replicas=2)


def test_kubectl_still_conflicts_over_what_changed_since() -> None:
    live = client_side(a_workload(replicas=1, paused=True), and_then=a_workload(replicas=7, paused=True))
    conflict = conflict_of(live, a_workload(replicas=2, paused=False), "kubectl")
    assert [cause.field for cause in conflict.causes] == [".spec.replicas"]


def test_other_managers_do_not_cross_the_bridge() -> None:
    live = client_side(a_workload(replicas=1))
    assert len(conflict_of(live, a_workload(replicas=2), "argocd").causes) == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"apiVersion": "apps/v0"}', '{"apiVersion": "apps/v1", "x": 1}']
)
def test_an_annotation_that_makes_no_sense_allows_nothing(text: str) -> None:
    live = written(None, a_workload(annotations={last_applied.ANNOTATION: text}, replicas=1))
    assert len(conflict_of(live, a_workload(replicas=2), "kubectl").causes) == 1


def test_an_annotation_too_large_to_keep_is_dropped() -> None:
    live = client_side(a_workload(replicas=1))
    large = a_workload(replicas=1, extra={"text": "x" * last_applied.MOST_BYTES})
    assert last_applied.ANNOTATION not in applied(live, large, "kubectl")["metadata"]["annotations"]


def test_the_annotation_does_not_contain_itself() -> None:
    live = client_side(a_workload(replicas=1))
    body = a_workload(annotations={last_applied.ANNOTATION: "old", "mine": "x"}, replicas=1)
    text = applied(live, body, "kubectl", force=True)["metadata"]["annotations"][last_applied.ANNOTATION]
    assert json.loads(text) == a_workload(annotations={"mine": "x"}, replicas=1)
    assert text.endswith("}\n")


def test_objects_without_the_annotation_do_not_get_one() -> None:
    assert "annotations" not in applied(None, a_workload(replicas=1), "kubectl")["metadata"]


def test_the_whole_migration_of_kubectl_leaves_one_owner() -> None:
    body = a_workload(replicas=1)
    live = client_side(body)
    first = applied(live, body, "kubectl", now=LATER)
    annotation = {last_applied.ANNOTATION: first["metadata"]["annotations"][last_applied.ANNOTATION]}
    second = applied(first, a_workload(annotations=annotation), "kubectl-last-applied", now=LATER)
    # kubectl then takes its client-side entry out of the list with a JSON patch, and applies again.
    migrated = copied(second)
    migrated["metadata"]["managedFields"] = [
        entry for entry in second["metadata"]["managedFields"] if entry["operation"] == "Apply"
    ]
    third = applied(written(second, migrated, "kubectl", now=LATER), body, "kubectl", now=LATER)
    assert list(owners(third)) == [("kubectl", "Apply"), ("kubectl-last-applied", "Apply")]
    assert applied(third, a_workload(paused=True), "kubectl")["spec"] == {"paused": True}
