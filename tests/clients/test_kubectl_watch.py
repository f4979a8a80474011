"""kubectl get -w, wait and events: what arrives while the command runs."""

from __future__ import annotations

import pytest

from tests.clients.console import Console

EVENTS = """
    apiVersion: v1
    kind: Event
    metadata: {name: ev1}
    involvedObject: {apiVersion: v1, kind: Pod, name: p1, namespace: NS}
    reason: Started
    message: it started
    type: Normal
    count: 3
    firstTimestamp: "2026-01-01T00:00:00Z"
    lastTimestamp: "2026-01-01T00:05:00Z"
    source: {component: kubelet, host: n1}
    ---
    apiVersion: v1
    kind: Event
    metadata: {name: ev2}
    involvedObject: {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: tj, namespace: NS}
    reason: Failed
    message: it failed
    type: Warning
    source: {component: trainer}
"""


@pytest.fixture
def events(console: Console) -> Console:
    console.write(events_yaml=EVENTS)
    console.says("kubectl create -f events.yaml")
    return console


class TestWatch:
    def test_rows_arrive_as_they_happen(self, console: Console) -> None:
        console.says("kubectl create secret generic first")
        with console.watching("kubectl get secret -w") as watching:
            watching.shows("NAME TYPE DATA AGE", "first Opaque 0 AGE")
            console.says("kubectl create secret generic second --from-literal=a=1")
            console.says("kubectl delete secret first")
            watching.shows(
                "NAME TYPE DATA AGE",
                "first Opaque 0 AGE",
                "second Opaque 1 AGE",
                "first Opaque 0 AGE",
            )

    def test_events_name_what_happened(self, console: Console) -> None:
        console.says("kubectl create sa first")
        with console.watching("kubectl get sa first -w --output-watch-events") as watching:
            watching.shows("EVENT NAME SECRETS AGE", "ADDED first 0 AGE")
            console.says("kubectl label sa first x=y")
            console.says("kubectl delete sa first")
            watching.shows(
                "EVENT NAME SECRETS AGE",
                "ADDED first 0 AGE",
                "MODIFIED first 0 AGE",
                "DELETED first 0 AGE",
            )

    def test_objects_enter_and_leave_a_selection(self, console: Console) -> None:
        console.says("kubectl create sa second")
        console.says("kubectl label sa default w=1")
        seen = ["EVENT NAME SECRETS AGE", "ADDED default 0 AGE"]
        with console.watching("kubectl get sa -l w=1 -w --output-watch-events") as watching:
            watching.shows(*seen)
            console.says("kubectl label sa second w=1")
            console.says("kubectl label sa default w=2 --overwrite")
            watching.shows(*seen, "ADDED second 0 AGE", "DELETED default 0 AGE")


class TestWait:
    def test_for_conditions_fields_and_absence(self, console: Console) -> None:
        console.says("kubectl run p --image=nginx")
        status = '{"status":{"conditions":[{"type":"X","status":"True"}]}}'
        console.says(f"kubectl patch pod p --subresource=status -p '{status}'")
        console.plays(r"""
            $ kubectl wait --for=condition=X pod/p --timeout=30s
            pod/p condition met
            $ kubectl wait --for=jsonpath='{.status.phase}'=Pending pod/p --timeout=30s
            pod/p condition met
            $ kubectl wait --for=create pod/p --timeout=30s
            pod/p condition met
            $ kubectl wait --for=delete pod/nosuch --timeout=30s
        """)

    def test_ends_when_the_change_comes(self, console: Console) -> None:
        console.says("kubectl create cm app")
        with console.watching("kubectl wait --for=jsonpath={.data.done}=yes cm/app --timeout=30s") as waiting:
            console.says("""kubectl patch cm app -p '{"data":{"done":"yes"}}'""")
            waiting.shows("configmap/app condition met")

    def test_gives_up_in_time(self, console: Console) -> None:
        console.says("kubectl create cm app")
        console.plays(r"""
            ! kubectl wait --for=jsonpath='{.data.q}'=2 cm/app --timeout=1s
            error: timed out waiting for the condition on configmaps/app
            ! kubectl wait --for=condition=X pod/nosuch --timeout=1s
            Error from server (NotFound): pods "nosuch" not found
        """)


class TestEvents:
    def test_in_tables(self, events: Console) -> None:
        events.plays(r"""
            $ kubectl get events --sort-by=.metadata.name
            LAST SEEN   TYPE      REASON    OBJECT        MESSAGE
            AGE         Normal    Started   pod/p1        it started
            <unknown>   Warning   Failed    trainjob/tj   it failed
            $ kubectl get events --field-selector reason=Failed -o name
            event/ev2
            $ kubectl get ev --field-selector type!=Normal -o name
            event/ev2
            Warning: short name "ev" could also match lower priority resource events.events.k8s.io
        """)

    def test_by_the_command_of_their_own(self, events: Console) -> None:
        events.plays(r"""
            $ kubectl events --for pod/p1
            LAST SEEN                   TYPE     REASON    OBJECT   MESSAGE
            AGE (x3 over AGE)           Normal   Started   Pod/p1   it started
            $ kubectl events --types=Warning --no-headers
            <unknown>   Warning   Failed   TrainJob/tj   it failed
        """)

    def test_arrive_while_watching(self, console: Console) -> None:
        console.write(events_yaml=EVENTS)
        with console.watching("kubectl events -w --no-headers") as watching:
            console.says("kubectl create -f events.yaml")
            watching.shows(
                "AGE (x3 over AGE) Normal Started Pod/p1 it started",
                "<unknown> Warning Failed TrainJob/tj it failed",
            )

    def test_are_the_same_in_both_groups(self, events: Console) -> None:
        events.plays(r"""
            $ kubectl get events.v1.events.k8s.io ev1 -o jsonpath='{.regarding.name} {.note} \
            {.deprecatedCount}'
            p1 it started 3
        """)
