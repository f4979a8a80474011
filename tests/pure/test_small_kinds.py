"""Kinds with few rules: namespaces, nodes, claims, quotas, limits, endpoints, leases, priorities, apps."""

from __future__ import annotations

import pytest

from tests.pure.samples import a_claim, an_object, created, faults, faults_of_change
from trainshed.kinds.core import namespaces
from trainshed.kinds.rules import RULES
from trainshed.kube.objects import JSON, Object, copied, plant

PRIORITIES = "priorityclasses.scheduling.k8s.io"
LEASES = "leases.coordination.k8s.io"


def changed(resource: str, value: JSON, *path: str) -> Object:
    obj = an_object(resource)
    plant(obj, value, *path)
    return obj


# --- namespaces -------------------------------------------------------------------------------------------


def test_a_new_namespace_is_active_labelled_and_held_by_its_finalizer() -> None:
    namespace = created("namespaces", an_object("namespaces"))
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "sample"}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    assert namespace["status"] == {"phase": "Active"}


def test_an_ordinary_update_leaves_the_finalizers_alone() -> None:
    old = created("namespaces", an_object("namespaces"))
    new = changed("namespaces", [], "spec", "finalizers")
    assert faults_of_change("namespaces", new, old) == []
    assert new["spec"] == {"finalizers": ["kubernetes"]}


def test_finalizers_of_a_namespace_are_known_or_qualified() -> None:
    namespace = changed("namespaces", ["mine", "my.org/mine"], "spec", "finalizers")
    assert [str(error) for error in namespaces.finalizer_errors(namespace)] == [
        'spec.finalizers: Invalid value: "mine": '
        "name is neither a standard finalizer name nor is it fully qualified"
    ]


@pytest.mark.parametrize(
    ("deleted", "phase", "is_sound"),
    [
        (None, "Active", True),
        (None, "Terminating", False),
        ("t", "Terminating", True),
        ("t", "Active", False),
    ],
)
def test_the_phase_of_a_namespace_follows_its_deletion(
    deleted: str | None, phase: str, is_sound: bool
) -> None:
    old = changed("namespaces", deleted, "metadata", "deletionTimestamp")
    new = {**old, "status": {"phase": phase}}
    assert (RULES["namespaces"].validate_status(new, old) == []) is is_sound


# --- nodes ------------------------------------------------------------------------------------------------


def test_what_a_node_has_may_be_used_unless_told_otherwise() -> None:
    status = created("nodes", an_object("nodes"))["status"]
    assert status["allocatable"] == {"cpu": "4", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("value", "path", "fault"),
    [
        ([{"key": "a"}], ("spec", "taints"), "metadata.taints[0].effect: Required value"),
        ([{"key": "a", "effect": "NoSchedule"}] * 2, ("spec", "taints"), "metadata.taints[1]: "
         "Duplicate value: "),
        ({"cpu": "-1"}, ("status", "capacity"),
         'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'),
        ({"nvidia.com/gpu": "0.5"}, ("status", "capacity"),
         'status.capacity.nvidia.com/gpu: Invalid value: "500m": must be an integer'),
        (["x"], ("spec", "podCIDRs"), 'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value'),
    ],
)  # fmt: skip
def test_a_node_is_refused_with_the_words_of_a_real_cluster(
    value: JSON, path: tuple[str, ...], fault: str
) -> None:
    assert any(found.startswith(fault) for found in faults("nodes", changed("nodes", value, *path)))


def test_a_node_keeps_its_provider_id() -> None:
    old = created("nodes", changed("nodes", "a", "spec", "providerID"))
    new: Object = copied(old)
    new["spec"]["providerID"] = "b"
    assert faults_of_change("nodes", new, old) == [
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'
    ]


# --- claims -----------------------------------------------------------------------------------------------


def test_a_claim_waits_for_a_file_system() -> None:
    claim = created("persistentvolumeclaims", a_claim())
    assert claim["spec"]["volumeMode"] == "Filesystem"
    assert claim["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"accessModes": []}, "spec.accessModes: Required value: at least 1 access mode is required"),
        ({"accessModes": ["Any"]}, 'spec.accessModes: Unsupported value: "Any"'),
        ({"accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]},
         "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"),
        ({"resources": {}}, "spec.resources[storage]: Required value"),
        ({"resources": {"requests": {"storage": "0"}}},
         'spec.resources[storage]: Invalid value: "0": must be greater than zero'),
        ({"volumeMode": "Tape"},
         'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'),
    ],
)  # fmt: skip
def test_a_claim_is_refused_with_the_words_of_a_real_cluster(spec: dict[str, JSON], fault: str) -> None:
    assert any(found.startswith(fault) for found in faults("persistentvolumeclaims", a_claim(**spec)))


def test_a_claim_is_bound_once_and_then_only_grows() -> None:
    resource = "persistentvolumeclaims"
    waiting = created(resource, a_claim())
    bound: Object = copied(waiting)
    bound["spec"]["volumeName"] = "pv-1"
    assert faults_of_change(resource, copied(bound), waiting) == []
    bound["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    grown, shrunk, moved = copied(bound), copied(bound), copied(bound)
    grown["spec"]["resources"]["requests"]["storage"] = "2Gi"
    shrunk["spec"]["resources"]["requests"]["storage"] = "1Mi"
    moved["spec"]["volumeName"] = "pv-2"
    assert faults_of_change(resource, grown, bound) == []
    assert faults_of_change(resource, shrunk, bound) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]
    (fault,) = faults_of_change(resource, moved, bound)
    assert fault.startswith("spec: Forbidden: spec is immutable after creation except resources.requests")


# --- quotas and limits ------------------------------------------------------------------------------------


def test_amounts_of_a_quota_are_text() -> None:
    assert created("resourcequotas", an_object("resourcequotas"))["spec"]["hard"]["pods"] == "3"


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"hard": {"pods": "1.5"}}, 'spec.hard[pods]: Invalid value: "1500m": must be an integer'),
        ({"hard": {"storage": "1"}}, 'spec.hard[storage]: Invalid value: "storage": must be a '
         'standard resource'),
        ({"hard": {"magic": "1"}},
         'spec.hard[magic]: Invalid value: "magic": must be a standard resource type or fully qualified'),
        ({"scopes": ["Odd"]}, 'spec.scopes: Invalid value: ["Odd"]: unsupported scope'),
        ({"scopes": ["BestEffort", "NotBestEffort"], "hard": {"pods": "1"}},
         'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'),
        ({"scopes": ["BestEffort"], "hard": {"cpu": "1"}},
         'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
         "spec.scopeSelector.matchExpressions.values: Required value"),
    ],
)  # fmt: skip
def test_a_quota_is_refused_with_the_words_of_a_real_cluster(spec: Object, fault: str) -> None:
    quota = changed("resourcequotas", spec, "spec")
    assert any(found.startswith(fault) for found in faults("resourcequotas", quota))


def test_the_scopes_of_a_quota_never_change() -> None:
    old = created("resourcequotas", changed("resourcequotas", {"hard": {"pods": 1}}, "spec"))
    new: Object = copied(old)
    new["spec"]["scopes"] = ["BestEffort"]
    assert faults_of_change("resourcequotas", new, old) == [
        'spec.scopes: Invalid value: ["BestEffort"]: field is immutable'
    ]


def test_container_limits_default_to_the_most_and_requests_to_limits() -> None:
    (item,) = created("limitranges", an_object("limitranges"))["spec"]["limits"]
    assert (item["default"], item["defaultRequest"]) == ({"cpu": "2"}, {"cpu": "2"})


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        ({"type": "Room"}, 'spec.limits[0].type: Invalid value: "Room": must be a standard limit type'),
        ({"type": "Container", "min": {"cpu": "3"}, "max": {"cpu": "2"}},
         'spec.limits[0].min[cpu]: Invalid value: "3": min value 3 is greater than max value 2'),
        ({"type": "Pod", "default": {"cpu": "1"}},
         "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"),
        ({"type": "PersistentVolumeClaim"}, "spec.limits[0].limits: Required value: either minimum "
         "or maximum"),
        ({"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}},
         'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'),
    ],
)  # fmt: skip
def test_a_limit_is_refused_with_the_words_of_a_real_cluster(item: Object, fault: str) -> None:
    limits = changed("limitranges", [item], "spec", "limits")
    assert any(found.startswith(fault) for found in faults("limitranges", limits))


# --- endpoints, leases, priorities ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subset", "fault"),
    [
        ({}, "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"),
        ({"addresses": [{"ip": "127.0.0.1"}]}, 'subsets[0].addresses[0].ip: Invalid value: '
         '"127.0.0.1": may not'),
        ({"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}, {"port": 2}]},
         "subsets[0].ports[0].name: Required value"),
    ],
)  # fmt: skip
def test_endpoints_are_refused_with_the_words_of_a_real_cluster(subset: Object, fault: str) -> None:
    endpoints = changed("endpoints", [subset], "subsets")
    assert any(found.startswith(fault) for found in faults("endpoints", endpoints))


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"),
        ({"leaseTransitions": -1},
         "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"),
        ({"preferredHolder": "a"},
         "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"),
    ],
)  # fmt: skip
def test_a_lease_is_refused_with_the_words_of_a_real_cluster(spec: Object, fault: str) -> None:
    assert faults(LEASES, changed(LEASES, spec, "spec")) == [fault]


def test_a_priority_nobody_gave_a_value_is_zero_and_preempts() -> None:
    priority = an_object(PRIORITIES)
    del priority["value"]
    stored = created(PRIORITIES, priority)
    assert (stored["value"], stored["preemptionPolicy"]) == (0, "PreemptLowerPriority")


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("high", 1_000_000_001,
         "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"),
        ("system-mine", 1, "metadata.name: Forbidden: priority class names with 'system-' prefix are "
         "reserved"),
        ("system-node-critical", 2_000_001_000, ""),
    ],
)  # fmt: skip
def test_the_highest_priorities_are_the_systems_own(name: str, value: int, fault: str) -> None:
    found = faults(PRIORITIES, {**changed(PRIORITIES, name, "metadata", "name"), "value": value})
    assert [text[: len(fault)] for text in found] == ([fault] if fault else [])


def test_a_priority_never_changes() -> None:
    old = created(PRIORITIES, an_object(PRIORITIES))
    assert faults_of_change(PRIORITIES, {**copied(old), "value": 6, "preemptionPolicy": "Never"}, old) == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]


# --- apps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "defaults"),
    [
        ("deployments.apps",
         {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
          "strategy": {
              "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}}),
        ("replicasets.apps", {"replicas": 1}),
        ("statefulsets.apps",
         {"replicas": 1, "podManagementPolicy": "OrderedReady",
          "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}}),
        ("daemonsets.apps",
         {"updateStrategy": {
             "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}}),
    ],
)  # fmt: skip
def test_workloads_get_the_defaults_of_a_real_cluster(resource: str, defaults: Object) -> None:
    spec = created(resource, an_object(resource))["spec"]
    assert {name: spec[name] for name in defaults} == defaults
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
