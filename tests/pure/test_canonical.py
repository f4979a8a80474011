"""Built-in objects take the shape the real server would store."""

from __future__ import annotations

import pytest

from trainshed.kinds.canonical import quantity, tidy, tidy_part
from trainshed.kube.objects import JSON, Object


def tidied(part: Object, message: str) -> Object:
    tidy_part(part, message)
    return part


def test_nulls_and_empty_members_disappear() -> None:
    spec: Object = {"nodeSelector": {}, "tolerations": [], "nodeName": "", "affinity": None, "containers": []}
    assert tidied(spec, "PodSpec") == {"containers": []}


def test_a_false_that_means_nothing_disappears_and_one_that_says_something_stays() -> None:
    spec = {"hostNetwork": False, "automountServiceAccountToken": False, "containers": []}
    assert tidied(spec, "PodSpec") == {"automountServiceAccountToken": False, "containers": []}


def test_required_members_appear() -> None:
    status = {"name": "c", "ready": True}
    assert tidied(status, "ContainerStatus") == {
        "name": "c", "ready": True, "state": {}, "lastState": {}, "restartCount": 0,
        "image": "", "imageID": "",
    }  # fmt: skip


def test_members_inlined_in_json_are_found() -> None:
    volume = {"name": "v", "secret": {"secretName": "", "optional": False, "items": []}}
    assert tidied(volume, "Volume") == {"name": "v", "secret": {"optional": False}}


def test_amounts_are_written_canonically_wherever_they_are() -> None:
    container: Object = {"name": "c", "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi", "x/y": 2}}}
    assert tidied(container, "Container")["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi", "x/y": "2"}
    }


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05Z"),
        ("2026-01-02T04:04:05.75+01:00", "2026-01-02T03:04:05Z"),
        ("yesterday", "yesterday"),
        ("2026-13-32T03:04:05Z", "2026-13-32T03:04:05Z"),
    ],
)
def test_times_are_kept_in_utc_without_fractions(written: str, stored: str) -> None:
    assert tidied({"lastTransitionTime": written}, "PodCondition")["lastTransitionTime"] == stored


def test_micro_times_keep_six_digits() -> None:
    spec = tidied({"renewTime": "2026-01-02T03:04:05.5+00:00"}, "LeaseSpec")
    assert spec == {"renewTime": "2026-01-02T03:04:05.500000Z"}


def test_an_int_or_string_zero_stays() -> None:
    assert tidied({"maxSurge": 0}, "RollingUpdateDeployment") == {"maxSurge": 0}


def test_the_metadata_of_the_object_itself_is_left_alone() -> None:
    pod: Object = {"metadata": {"managedFields": [], "labels": {}}, "spec": {"containers": []}}
    tidy(pod, "Pod")
    assert pod["metadata"] == {"managedFields": [], "labels": {}}


def test_unknown_members_stay() -> None:
    assert tidied({"containers": [], "novelty": {"a": None}}, "PodSpec")["novelty"] == {"a": None}


@pytest.mark.parametrize("value", ["lots", True, None, [], {"a": 1}])
def test_what_is_no_amount_stays_for_validation_to_name(value: JSON) -> None:
    assert quantity(value) == value
