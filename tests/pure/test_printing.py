"""Rows of `kubectl get`, kind by kind."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.kinds.printing import DEFAULT, PRINTERS
from trainshed.kube.objects import JSON, Object

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
AGE = "5d"
POD_SPEC: Object = {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]}
TEMPLATE: Object = {"metadata": {"labels": {"app": "t"}}, "spec": POD_SPEC}
SELECTOR: Object = {
    "matchLabels": {"b": "2", "a": "1"},
    "matchExpressions": [
        {"key": "c", "operator": "In", "values": ["y", "x"]},
        {"key": "d", "operator": "DoesNotExist"},
        {"key": "e", "operator": "Exists"},
        {"key": "f", "operator": "NotIn", "values": ["z"]},
    ],
}
SELECTED = "a=1,b=2,c in (x,y),!d,e,f notin (z)"


def an_object(**members: JSON) -> Object:
    metadata = {"name": "n", "creationTimestamp": "2026-11-10T12:00:00Z"}
    return {"metadata": metadata | members.pop("metadata", {}), **members}


def row(resource: str, obj: Object) -> list[JSON]:
    return list(PRINTERS[resource].cells(obj, NOW))


CASES: list[tuple[str, Object, list[JSON]]] = [
    ("namespaces", an_object(status={"phase": "Active"}), ["n", "Active", AGE]),
    ("configmaps", an_object(data={"a": "", "b": ""}, binaryData={"c": ""}), ["n", 3, AGE]),
    ("configmaps", an_object(), ["n", 0, AGE]),
    ("secrets", an_object(type="Opaque", data={"a": ""}), ["n", "Opaque", 1, AGE]),
    ("serviceaccounts", an_object(secrets=[{"name": "s"}]), ["n", 1, AGE]),
    (
        "podtemplates",
        an_object(template=TEMPLATE),
        ["n", "a,b", "x:1,y", "app=t"],
    ),
    (
        "resourcequotas",
        an_object(
            status={
                "hard": {"pods": "10", "limits.cpu": "4", "requests.cpu": "2"},
                "used": {"pods": "3", "requests.cpu": "500m"},
            }
        ),
        ["n", AGE, "pods: 3/10, requests.cpu: 500m/2", "limits.cpu: 0/4"],
    ),
    (
        "deployments.apps",
        an_object(
            spec={"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
            status={"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
        ),
        ["n", "1/3", 2, 1, AGE, "a,b", "x:1,y", SELECTED],
    ),
    (
        "replicasets.apps",
        an_object(spec={"replicas": 0, "template": TEMPLATE}, status={"replicas": 1, "readyReplicas": 1}),
        ["n", 0, 1, 1, AGE, "a,b", "x:1,y", "<none>"],
    ),
    (
        "statefulsets.apps",
        an_object(spec={"template": TEMPLATE}, status={"readyReplicas": 1}),
        ["n", "1/1", AGE, "a,b", "x:1,y"],
    ),
    (
        "daemonsets.apps",
        an_object(
            spec={"template": {"spec": POD_SPEC | {"nodeSelector": {"gpu": "yes"}}}, "selector": {}},
            status={"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberReady": 1},
        ),
        ["n", 2, 2, 1, 0, 0, "gpu=yes", AGE, "a,b", "x:1,y", "<none>"],
    ),
    (
        "cronjobs.batch",
        an_object(
            spec={"schedule": "0 * * * *", "suspend": False, "jobTemplate": {"spec": {"template": TEMPLATE}}},
            status={"active": [{}], "lastScheduleTime": "2026-11-15T11:00:00Z"},
        ),
        ["n", "0 * * * *", "<none>", "False", 1, "60m", AGE, "a,b", "x:1,y", "<none>"],
    ),
    (
        "poddisruptionbudgets.policy",
        an_object(spec={"minAvailable": "50%"}, status={"disruptionsAllowed": 2}),
        ["n", "50%", "N/A", 2, AGE],
    ),
    (
        "controllerrevisions.apps",
        an_object(
            revision=4,
            metadata={
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True}
                ]
            },
        ),
        ["n", "statefulset.apps/s", 4, AGE],
    ),
    (
        "endpoints",
        an_object(
            subsets=[{"addresses": [{"ip": f"10.0.0.{n}"} for n in range(4)], "ports": [{"port": 80}]}]
        ),
        ["n", "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 1 more...", AGE],
    ),
    ("endpoints", an_object(), ["n", "<none>", AGE]),
    ("endpoints", an_object(subsets=[{"addresses": [{"ip": "fd00::1"}]}]), ["n", "fd00::1", AGE]),
    (
        "endpointslices.discovery.k8s.io",
        an_object(
            addressType="IPv4",
            ports=[{"port": 80}, {"name": "web"}, {}],
            endpoints=[{"addresses": ["10.0.0.1"]}],
        ),
        ["n", "IPv4", "80,web,*", "10.0.0.1", AGE],
    ),
    (
        "endpointslices.discovery.k8s.io",
        an_object(addressType="IPv4"),
        ["n", "IPv4", "<unset>", "<unset>", AGE],
    ),
    (
        "ingresses.networking.k8s.io",
        an_object(
            spec={"rules": [{"host": f"h{n}"} for n in range(5)], "tls": [{}]},
            status={"loadBalancer": {"ingress": [{"hostname": "lb"}]}},
        ),
        ["n", "<none>", "h0,h1,h2 + 2 more...", "lb", "80, 443", AGE],
    ),
    ("ingresses.networking.k8s.io", an_object(spec={"rules": [{}]}), ["n", "<none>", "*", "", "80", AGE]),
    (
        "ingressclasses.networking.k8s.io",
        an_object(spec={"controller": "c", "parameters": {"kind": "P", "apiGroup": "g.io", "name": "p"}}),
        ["n", "c", "P.g.io/p", AGE],
    ),
    (
        "networkpolicies.networking.k8s.io",
        an_object(spec={"podSelector": {"matchLabels": {"a": "b"}}}),
        ["n", "a=b", AGE],
    ),
    (
        "persistentvolumes",
        an_object(
            spec={
                "capacity": {"storage": "5Gi"},
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "ns", "name": "c"},
                "storageClassName": "fast",
                "volumeMode": "Filesystem",
            },
            status={"phase": "Bound"},
        ),
        ["n", "5Gi", "RWO,RWX", "Retain", "Bound", "ns/c", "fast", "<unset>", "", AGE, "Filesystem"],
    ),
    (
        "persistentvolumeclaims",
        an_object(
            spec={"volumeName": "v", "storageClassName": "fast"},
            status={"phase": "Bound", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]},
        ),
        ["n", "Bound", "v", "5Gi", "RWO", "fast", "<unset>", AGE, "<unset>"],
    ),
    (
        "persistentvolumeclaims",
        an_object(metadata={"deletionTimestamp": "x"}, status={"phase": "Pending"}),
        ["n", "Terminating", "", "", "", "", "<unset>", AGE, "<unset>"],
    ),
    (
        "storageclasses.storage.k8s.io",
        an_object(
            provisioner="p", metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
        ),
        ["n (default)", "p", "Delete", "Immediate", False, AGE],
    ),
    (
        "horizontalpodautoscalers.autoscaling",
        an_object(
            spec={
                "scaleTargetRef": {"kind": "Deployment", "name": "d"},
                "maxReplicas": 9,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {"name": "cpu", "target": {"averageUtilization": 80}},
                    }
                ],
            },
            status={
                "currentReplicas": 2,
                "currentMetrics": [{"type": "Resource", "resource": {"current": {"averageUtilization": 10}}}],
            },
        ),
        ["n", "Deployment/d", "cpu: 10%/80%", "<unset>", 9, 2, AGE],
    ),
    (
        "rolebindings.rbac.authorization.k8s.io",
        an_object(
            roleRef={"kind": "Role", "name": "r"},
            subjects=[
                {"kind": "User", "name": "u"},
                {"kind": "Group", "name": "g"},
                {"kind": "User", "name": "v"},
                {"kind": "ServiceAccount", "namespace": "ns", "name": "s"},
            ],
        ),
        ["n", "Role/r", AGE, "u, v", "g", "ns/s"],
    ),
    ("leases.coordination.k8s.io", an_object(spec={"holderIdentity": "h"}), ["n", "h", AGE]),
    (
        "priorityclasses.scheduling.k8s.io",
        an_object(value=7, globalDefault=True, preemptionPolicy="Never"),
        ["n", 7, True, AGE, "Never"],
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        an_object(webhooks=[{}, {}]),
        ["n", 2, AGE],
    ),
    ("limitranges", an_object(), ["n", "2026-11-10T12:00:00Z"]),
    ("customresourcedefinitions.apiextensions.k8s.io", an_object(), ["n", "2026-11-10T12:00:00Z"]),
]


@pytest.mark.parametrize(("resource", "obj", "expected"), CASES, ids=[case[0] for case in CASES])
def test_a_row_shows_what_kubectl_users_expect(resource: str, obj: Object, expected: list[JSON]) -> None:
    assert row(resource, obj) == expected


# --- nodes ------------------------------------------------------------------------------------------------


def test_a_node_shows_readiness_roles_and_system() -> None:
    node = an_object(
        metadata={
            "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu", "other": "x"}
        },
        spec={"unschedulable": True},
        status={
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.32.4", "osImage": "Debian"},
            "addresses": [
                {"type": "Hostname", "address": "h"},
                {"type": "InternalIP", "address": "10.0.0.1"},
            ],
        },
    )
    shown = ["n", "Ready,SchedulingDisabled", "gpu,worker", AGE, "v1.32.4"]
    assert row("nodes", node) == [*shown, "10.0.0.1", "<none>", "Debian", "<unknown>", "<unknown>"]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], "Unknown"),
        ([{"type": "Ready", "status": "Unknown"}], "NotReady"),
        ([{"type": "Ready", "status": "False"}], "NotReady"),
    ],
)
def test_a_node_without_news_is_unknown(conditions: list[Object], expected: str) -> None:
    assert row("nodes", an_object(status={"conditions": conditions}))[1] == expected


# --- services ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "status", "address"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "NodePort", "externalIPs": ["1.2.3.4", "5.6.7.8"]}, {}, "1.2.3.4,5.6.7.8"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        ({"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}]}}, "9.9.9.9"),
        ({"type": "ExternalName", "externalName": "x.org"}, {}, "x.org"),
        ({}, {}, "<unknown>"),
    ],
)
def test_a_service_shows_where_it_is_reachable(spec: Object, status: Object, address: str) -> None:
    assert row("services", an_object(spec=spec, status=status))[3] == address


def test_a_service_shows_its_ports() -> None:
    ports = [{"port": 80, "protocol": "TCP"}, {"port": 443, "nodePort": 30443, "protocol": "TCP"}]
    spec = {"type": "NodePort", "clusterIPs": ["10.96.0.1"], "ports": ports, "selector": {"a": "b"}}
    shown = row("services", an_object(spec=spec))
    assert shown == ["n", "NodePort", "10.96.0.1", "<none>", "80/TCP,443:30443/TCP", AGE, "a=b"]
    headless = an_object(spec={"type": "ClusterIP", "clusterIPs": ["None"]})
    assert row("services", headless)[2:5] == ["None", "<none>", "<none>"]


# --- jobs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "leaving", "expected"),
    [
        ([], False, "Running"),
        ([{"type": "Complete", "status": "True"}], True, "Complete"),
        (
            [{"type": "Failed", "status": "True"}, {"type": "FailureTarget", "status": "True"}],
            False,
            "Failed",
        ),
        ([{"type": "Suspended", "status": "True"}], True, "Terminating"),
        ([{"type": "Suspended", "status": "True"}], False, "Suspended"),
        ([{"type": "FailureTarget", "status": "True"}], False, "FailureTarget"),
        ([{"type": "Complete", "status": "False"}], False, "Running"),
    ],
)
def test_a_job_says_how_far_it_is(conditions: list[Object], leaving: bool, expected: str) -> None:
    metadata = {"deletionTimestamp": "2026-11-15T12:00:00Z"} if leaving else {}
    assert row("jobs.batch", an_object(metadata=metadata, status={"conditions": conditions}))[1] == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"completions": 5}, "2/5"),
        ({"completions": 0}, "2/0"),
        ({"parallelism": 3}, "2/1 of 3"),
        ({"parallelism": 1}, "2/1"),
        ({}, "2/1"),
    ],
)
def test_a_job_counts_its_completions(spec: Object, expected: str) -> None:
    assert row("jobs.batch", an_object(spec=spec, status={"succeeded": 2}))[2] == expected


def test_a_job_lasts_until_it_is_complete() -> None:
    started = {"startTime": "2026-11-15T11:55:00Z"}
    assert row("jobs.batch", an_object())[3] == ""
    assert row("jobs.batch", an_object(status=started))[3] == "5m"
    done = started | {"completionTime": "2026-11-15T11:56:30Z"}
    assert row("jobs.batch", an_object(status=done))[3] == "90s"


# --- events -----------------------------------------------------------------------------------------------

CORE_EVENT: Object = an_object(
    involvedObject={"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
    type="Normal",
    reason="Pulled",
    message=" done \n",
    firstTimestamp="2026-11-15T11:00:00Z",
    lastTimestamp="2026-11-15T11:59:00Z",
    count=4,
    source={"component": "kubelet", "host": "n1"},
)


def test_an_event_shows_what_happened_to_whom_and_how_often() -> None:
    shown = ["60s", "Normal", "Pulled", "pod/p", "spec.containers{c}", "kubelet, n1", "done", "60m", 4, "n"]
    assert row("events", CORE_EVENT) == shown


def test_an_event_of_the_new_api_shows_the_same() -> None:
    renamed = {
        "involvedObject": "regarding",
        "message": "note",
        "source": "deprecatedSource",
        "count": "deprecatedCount",
        "firstTimestamp": "deprecatedFirstTimestamp",
        "lastTimestamp": "deprecatedLastTimestamp",
    }
    new = {renamed.get(key, key): value for key, value in CORE_EVENT.items()}
    assert row("events.events.k8s.io", new) == row("events", CORE_EVENT)


def test_an_event_series_is_as_old_as_its_last_sight() -> None:
    series = {"count": 9, "lastObservedTime": "2026-11-15T11:59:50.000000Z"}
    event = an_object(eventTime="2026-11-15T11:58:00.000000Z", series=series, reportingComponent="c")
    shown = row("events", event)
    assert (shown[0], shown[5], shown[7], shown[8]) == ("10s", "c", "2m", 9)


def test_an_event_without_count_happened_once() -> None:
    assert row("events", an_object(eventTime="2026-11-15T11:58:00.000000Z"))[8] == 1


# --- all of them ------------------------------------------------------------------------------------------

odd_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "spec",
                    "status",
                    "name",
                    "state",
                    "conditions",
                    "type",
                    "ports",
                    "subsets",
                    "addresses",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=15,
)
odd_objects = st.dictionaries(
    st.sampled_from(["metadata", "spec", "status", "subsets", "ports", "subjects", "series", "data"]),
    odd_values,
)


@pytest.mark.parametrize("resource", sorted(PRINTERS))
@settings(deadline=None, max_examples=30)
@given(odd_objects)
def test_every_printer_fills_its_columns_whatever_the_object(resource: str, obj: Object) -> None:
    printer = PRINTERS[resource]
    assert len(printer.cells(obj, NOW)) == len(printer.columns)


def test_every_printer_marks_the_name_and_describes_its_columns() -> None:
    for printer in (*PRINTERS.values(), DEFAULT):
        assert [column.format for column in printer.columns].count("name") == 1
        assert all(column.description for column in printer.columns)
