"""What may change on a pod that exists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pure.samples import a_container, a_pod, created, faults_of_change
from trainshed.kube.objects import JSON, Object, copied

Change = Callable[[Object], JSON]
FIXED = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"


def after(change: Change, **spec: JSON) -> list[str]:
    old = created("pods", a_pod(spec=spec))
    new: Object = copied(old)
    change(new["spec"])
    return faults_of_change("pods", new, old)


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec["containers"][0].update(image="busybox:2"),
        lambda spec: spec.update(activeDeadlineSeconds=60),
        lambda spec: spec.update(tolerations=[{"key": "a", "operator": "Exists"}]),
        lambda spec: spec.update(hostNetwork=False),
        lambda spec: spec.update(nodeSelector={}),
    ],
)
def test_a_few_fields_of_a_pod_may_change(change: Change) -> None:
    assert after(change) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec["containers"][0].update(command=["x"]),
        lambda spec: spec["containers"][0].update(env=[{"name": "A"}]),
        lambda spec: spec.update(nodeName="elsewhere"),
        lambda spec: spec.update(nodeSelector={"a": "b"}),
        lambda spec: spec.update(terminationGracePeriodSeconds=1),
        lambda spec: spec.update(automountServiceAccountToken=False),
    ],
)
def test_everything_else_may_not(change: Change) -> None:
    (fault,) = after(change)
    assert fault.startswith(FIXED)


def test_containers_are_neither_added_nor_removed() -> None:
    found = after(lambda spec: spec["containers"].append(a_container(name="more")))
    assert found == ["spec.containers: Forbidden: pod updates may not add or remove containers"]


def test_tolerations_are_only_added_but_may_last_longer() -> None:
    had = [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}]
    longer = [{**had[0], "tolerationSeconds": 9}]
    assert after(lambda spec: spec.update(tolerations=longer), tolerations=had) == []
    assert after(lambda spec: spec.update(tolerations=[]), tolerations=had) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    ]


def test_a_deadline_only_comes_nearer() -> None:
    assert after(lambda spec: spec.update(activeDeadlineSeconds=5), activeDeadlineSeconds=9) == []
    assert after(lambda spec: spec.update(activeDeadlineSeconds=9), activeDeadlineSeconds=5) == [
        "spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"
    ]
    assert after(lambda spec: spec.pop("activeDeadlineSeconds"), activeDeadlineSeconds=5) == [
        "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to "
        "nil value"
    ]


def test_a_negative_grace_period_may_be_mended() -> None:
    grace = {"terminationGracePeriodSeconds": -1}
    assert after(lambda spec: spec.update(terminationGracePeriodSeconds=1), **grace) == []


GATED: Object = {"schedulingGates": [{"name": "wait"}], "nodeSelector": {"a": "b"}}


def test_gates_are_only_removed() -> None:
    assert after(lambda spec: spec.pop("schedulingGates"), **GATED) == []
    assert after(lambda spec: spec["schedulingGates"].append({"name": "more"}), **GATED) == [
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling "
        "gate 'more'"
    ]


def test_a_gated_pod_may_be_aimed_more_narrowly() -> None:
    wanted = "requiredDuringSchedulingIgnoredDuringExecution"
    expression = {"key": "zone", "operator": "In", "values": ["x"]}
    terms = {wanted: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    assert after(lambda spec: spec["nodeSelector"].update(c="d"), **GATED) == []
    assert after(lambda spec: spec.update(affinity={"nodeAffinity": terms}), **GATED) == []


def test_a_gated_pod_may_not_be_aimed_elsewhere() -> None:
    (fault,) = after(lambda spec: spec.update(nodeSelector={"a": "z"}), **GATED)
    assert fault.endswith("only additions to spec.nodeSelector are allowed (no mutations or deletions)")


def test_terms_of_a_gated_pod_only_grow() -> None:
    wanted = "requiredDuringSchedulingIgnoredDuringExecution"
    first = {"key": "zone", "operator": "Exists"}
    more = {"key": "gpu", "operator": "Exists"}

    def aimed(*expressions: Object) -> Object:
        terms = [{"matchExpressions": list(expressions)}]
        return {"nodeAffinity": {wanted: {"nodeSelectorTerms": terms}}}

    old = {**GATED, "affinity": aimed(first)}
    assert after(lambda spec: spec.update(affinity=aimed(first, more)), **old) == []
    (fault,) = after(lambda spec: spec.update(affinity=aimed(more)), **old)
    assert fault.endswith("only additions are allowed (no mutations or deletions)")
