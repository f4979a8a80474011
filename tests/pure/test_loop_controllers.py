"""Which keys a change concerns, how long a failure waits, what an event says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trainshed.kube.objects import Object
from trainshed.loop import controller, events, queue
from trainshed.loop.events import Note
from trainshed.loop.keys import Key

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


def a_child(**owner: object) -> Object:
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True, **owner}
    return {"metadata": {"namespace": "n", "name": "pod", "ownerReferences": [job]}}


@pytest.mark.parametrize(
    ("child", "keys"),
    [
        (a_child(), [Key("n", "j")]),
        (a_child(apiVersion="batch/v1beta1"), [Key("n", "j")]),
        (a_child(apiVersion="v1"), []),
        (a_child(kind="CronJob"), []),
        (a_child(controller=False), []),
        ({"metadata": {"namespace": "n", "name": "pod"}}, []),
    ],
)
def test_a_child_concerns_the_object_that_controls_it(child: Object, keys: list[Key]) -> None:
    assert [*controller.owner_keys("Job", "batch")(child)] == keys


def test_an_object_concerns_itself_or_nobody() -> None:
    assert [*controller.own_key(a_child())] == [Key("n", "pod")]
    assert [*controller.no_keys(a_child())] == []
    assert str(Key("n", "pod")) == "n/pod"
    assert str(Key("", "node")) == "node"


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 0.005), (2, 0.01), (5, 0.08), (13, 20.48), (14, 30.0), (99, 30.0)]
)
def test_failures_wait_longer_each_time_up_to_half_a_minute(failures: int, seconds: float) -> None:
    assert queue.wait_after(failures) == pytest.approx(seconds)


def test_an_event_says_who_tells_what_about_whom() -> None:
    meta = {"namespace": "n", "name": "j", "uid": "u", "resourceVersion": "7"}
    about = events.reference({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta})
    note = Note("job-controller", "u", "Normal", "Completed", "Job completed")
    assert events.compose(note, about, "j.1", (NOW, NOW), 2) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "j.1", "namespace": "n"},
        "involvedObject": {"apiVersion": "batch/v1", "kind": "Job", **meta},
        "type": "Normal",
        "reason": "Completed",
        "message": "Job completed",
        "source": {"component": "job-controller"},
        "firstTimestamp": "2026-11-15T12:00:00Z",
        "lastTimestamp": "2026-11-15T12:00:00Z",
        "count": 2,
        "reportingComponent": "job-controller",
        "reportingInstance": "",
    }
