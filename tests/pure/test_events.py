"""Events in both spellings."""

from __future__ import annotations

import pytest

from tests.pure.samples import an_event, an_object, created, faults, faults_of_change
from trainshed.kinds.core.event_dialects import to_core, to_events_v1
from trainshed.kube.objects import JSON, Object, copied

V1 = "events.events.k8s.io"
MOMENT = "2026-01-02T03:04:05.000000Z"


def test_a_core_event_reads_as_an_event_of_the_newer_group() -> None:
    event = an_event(source={"component": "scheduler"}, count=2, firstTimestamp="2026-01-02T03:04:05Z")
    found = to_events_v1(event)
    assert (found["apiVersion"], found["kind"]) == ("events.k8s.io/v1", "Event")
    assert found["regarding"] == event["involvedObject"]
    assert (found["note"], found["reason"], found["deprecatedCount"]) == ("made it", "Made", 2)
    assert found["deprecatedSource"] == {"component": "scheduler"}
    assert found["eventTime"] is None
    assert "message" not in found


def test_going_there_and_back_changes_nothing() -> None:
    event = created("events", an_event(eventTime=MOMENT, series={"count": 3, "lastObservedTime": MOMENT}))
    assert to_core(to_events_v1(event)) == event
    newer = created(V1, an_object(V1))
    assert to_events_v1(to_core(newer)) == newer


def test_an_event_shows_who_reported_it_even_if_nobody_said() -> None:
    event = created("events", an_event())
    assert (event["source"], event["reportingComponent"], event["reportingInstance"]) == ({}, "", "")


@pytest.mark.parametrize(
    ("home", "involved", "is_sound"),
    [("lab", "lab", True), ("lab", "den", False), ("default", "", True), ("lab", "", False)],
)
def test_an_event_lives_where_its_object_lives(home: str, involved: str, is_sound: bool) -> None:
    event = an_event()
    event["metadata"]["namespace"] = home
    event["involvedObject"]["namespace"] = involved
    fault = f'involvedObject.namespace: Invalid value: "{involved}": does not match event.namespace'
    assert faults("events", event) == ([] if is_sound else [fault])


def test_an_event_with_a_time_says_who_did_what() -> None:
    event = an_event(eventTime=MOMENT)
    assert faults("events", event) == [
        "reportingComponent: Required value",
        'reportingComponent: Invalid value: "": name part must be non-empty',
        "reportingInstance: Required value",
        "action: Required value",
    ]


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"eventTime": None}, "eventTime: Required value"),
        ({"type": "Odd"}, 'type: Invalid value: "": has invalid value: Odd'),
        ({"deprecatedCount": 1}, 'count: Invalid value: "": needs to be unset'),
        ({"note": "x" * 1025}, 'message: Invalid value: "": can have at most 1024 characters'),
        ({"series": {"count": 1}}, 'series.count: Invalid value: "": should be at least 2'),
        ({"reportingController": ""}, "reportingController: Required value"),
    ],
)
def test_the_newer_group_asks_for_more(members: dict[str, JSON], fault: str) -> None:
    assert fault in faults(V1, {**an_object(V1), **members})


def test_in_the_newer_group_only_the_series_changes() -> None:
    old = created(V1, an_object(V1))
    new: Object = {**copied(old), "series": {"count": 2, "lastObservedTime": MOMENT}}
    assert faults_of_change(V1, copied(new), old) == []
    assert faults_of_change(V1, {**new, "reason": "Else"}, old) == [
        'reason: Invalid value: "Else": field is immutable'
    ]
