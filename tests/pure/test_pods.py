"""Pods: defaults, what the server sets, and what it refuses."""

from __future__ import annotations

import pytest

from tests.pure.samples import a_container, a_pod, created, faults
from trainshed.kinds.core import images
from trainshed.kinds.rules import RULES
from trainshed.kube.objects import JSON, Object


def test_a_small_pod_gets_the_defaults_of_a_real_cluster() -> None:
    pod = created("pods", a_pod())
    assert pod["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "busybox:1.36",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1", "IfNotPresent"),
        ("registry:5000/busybox", "Always"),
        ("registry:5000/busybox:1", "IfNotPresent"),
        ("busybox@sha256:" + "0" * 64, "IfNotPresent"),
        ("busybox:latest@sha256:" + "0" * 64, "Always"),
        ("", "IfNotPresent"),
    ],
)
def test_an_image_is_pulled_each_time_only_when_it_may_have_moved(image: str, policy: str) -> None:
    assert images.pull_policy(image) == policy


def test_requests_follow_limits() -> None:
    pod = created(
        "pods", a_pod(resources={"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}})
    )
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_on_the_host_network_ports_are_host_ports() -> None:
    pod = created("pods", a_pod(spec={"hostNetwork": True}, ports=[{"containerPort": 80}]))
    assert pod["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]


def test_the_service_account_is_shown_under_its_older_name_too() -> None:
    spec = created("pods", a_pod(spec={"serviceAccountName": "bot"}))["spec"]
    assert (spec["serviceAccount"], spec["serviceAccountName"]) == ("bot", "bot")


def test_probes_and_hooks_are_filled_in() -> None:
    probe = created("pods", a_pod(livenessProbe={"httpGet": {"port": 80}}))["spec"]["containers"][0]
    assert probe["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
    }  # fmt: skip


def test_volumes_are_filled_in() -> None:
    volumes: list[Object] = [
        {"name": "a"},
        {"name": "b", "configMap": {"name": "c"}},
        {"name": "c", "hostPath": {"path": "/x"}},
        {"name": "d", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "e", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    found = created("pods", a_pod(spec={"volumes": volumes}))["spec"]["volumes"]
    assert found[0] == {"name": "a", "emptyDir": {}}
    assert found[1]["configMap"]["defaultMode"] == 420
    assert found[2]["hostPath"]["type"] == ""
    assert found[3]["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] == 3600
    assert found[4]["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"] == "v1"


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_from_the_amounts(resources: Object, quality: str) -> None:
    assert created("pods", a_pod(resources=resources))["status"]["qosClass"] == quality


def test_a_gated_pod_says_why_it_is_not_scheduled() -> None:
    pod = created("pods", a_pod(spec={"schedulingGates": [{"name": "wait"}]}))
    assert pod["status"]["conditions"][0]["reason"] == "SchedulingGated"


CONTAINER_FAULTS: list[tuple[Object, str]] = [
    ({"image": ""}, "spec.containers[0].image: Required value"),
    ({"image": " x"}, 'spec.containers[0].image: Invalid value: " x": must not have leading or '
     'trailing whitespace'),
    ({"name": ""}, "spec.containers[0].name: Required value"),
    ({"name": "a.b"}, 'spec.containers[0].name: Invalid value: "a.b": must not contain dots'),
    ({"imagePullPolicy": "Maybe"},
     'spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": '
     'supported values: "Always", "IfNotPresent", "Never"'),
    ({"restartPolicy": "Always"},
     "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers"),
    ({"env": [{"name": ""}]}, "spec.containers[0].env[0].name: Required value"),
    ({"env": [{"name": "A=B"}]},
     'spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name must consist '
     "only of printable ASCII characters other than '='"),
    ({"env": [{"name": "A", "valueFrom": {}}]},
     'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, '
     "`resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"),
    ({"env": [{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
     'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is '
     'not empty'),
    ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}}]},
     'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.nope": '
     "error converting fieldPath: field label not supported: spec.nope"),
    ({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}}]},
     'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": '
     "only divisor's values 1m and 1 are supported with the cpu resource"),
    ({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "s"}}}]},
     "spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Required value"),
    ({"envFrom": [{}]},
     'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'),
    ({"ports": [{"containerPort": 70000}]},
     "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, "
     "inclusive"),
    ({"ports": [{}]}, "spec.containers[0].ports[0].containerPort: Required value"),
    ({"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
     'spec.containers[0].ports[1].name: Duplicate value: "a"'),
    ({"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]},
     'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//9"'),
    ({"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
     'spec.containers[0].volumeMounts[0].name: Not found: "v"'),
    ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
     'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu '
     'limit of 1'),
    ({"resources": {"requests": {"nvidia.com/gpu": "1"}}},
     "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable "
     "resources"),
    ({"resources": {"limits": {"cpu": "lots"}}},
     'spec.containers[0].resources.limits[cpu]: Invalid value: "lots": quantities must match the regular '
     "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ({"resources": {"limits": {"cpu": "-1"}}},
     'spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
    ({"resources": {"limits": {"gpu": "1"}}},
     'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": '
     "must be a standard resource type or fully qualified"),
    ({"resources": {"limits": {"nvidia.com/gpu": "500m"}}},
     'spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer'),
    ({"livenessProbe": {}}, "spec.containers[0].livenessProbe: Required value: must specify a handler type"),
    ({"livenessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}},
     "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"),
    ({"livenessProbe": {"exec": {"command": ["a"]}, "successThreshold": 2}},
     "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"),
    ({"readinessProbe": {"exec": {}}}, "spec.containers[0].readinessProbe.exec.command: Required value"),
    ({"securityContext": {"runAsUser": -1}},
     "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and "
     "2147483647, inclusive"),
]  # fmt: skip


@pytest.mark.parametrize(("container", "fault"), CONTAINER_FAULTS)
def test_a_container_is_refused_with_the_words_of_a_real_cluster(container: Object, fault: str) -> None:
    assert fault in faults("pods", a_pod(**container))


SPEC_FAULTS: list[tuple[Object, str]] = [
    ({"containers": []}, "spec.containers: Required value"),
    ({"containers": [a_container(), a_container()]}, 'spec.containers[1].name: Duplicate value: "main"'),
    ({"initContainers": [a_container()]}, 'spec.initContainers[0].name: Duplicate value: "main"'),
    ({"initContainers": [a_container(name="i", livenessProbe={"exec": {"command": ["a"]}})]},
     "spec.initContainers[0].livenessProbe: Forbidden: "
     "may not be set for init containers without restartPolicy=Always"),
    ({"ephemeralContainers": [a_container(name="e")]}, "spec.ephemeralContainers: Forbidden: cannot "
     "be set on create"),
    ({"restartPolicy": "Sometimes"},
     'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'),
    ({"volumes": [{"name": "v"}, {"name": "v"}]}, 'spec.volumes[1].name: Duplicate value: "v"'),
    ({"volumes": [{"name": "v", "emptyDir": {}, "configMap": {"name": "c"}}]},
     "spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type"),
    ({"volumes": [{"name": "v", "secret": {}}]}, "spec.volumes[0].secret.secretName: Required value"),
    ({"volumes": [{"name": "v", "configMap": {"name": "c", "defaultMode": 4096}}]},
     "spec.volumes[0].configMap.defaultMode: Invalid value: 4096: "
     "must be a number between 0 and 0777 (octal), both inclusive"),
    ({"volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "../p"}]}}]},
     'spec.volumes[0].configMap.items[0].path: Invalid value: "../p": must not contain \'..\''),
    ({"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "-1"}}]},
     "spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"),
    ({"tolerations": [{"value": "x"}]},
     'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, '
     'which means "match all values and all keys"'),
    ({"nodeSelector": {"a": "b c"}}, "spec.nodeSelector: Invalid value: "),
    ({"topologySpreadConstraints": [
        {"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
     "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"),
    ({"dnsPolicy": "None"}, "spec.dnsConfig: Required value: must provide `dnsConfig` when "
     "`dnsPolicy` is None"),
    ({"hostname": "a.b"}, 'spec.hostname: Invalid value: "a.b": must not contain dots'),
    ({"activeDeadlineSeconds": 0},
     "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"),
    ({"nodeName": "n", "schedulingGates": [{"name": "g"}]},
     "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"),
    ({"hostAliases": [{"ip": "home"}]},
     'spec.hostAliases[0].ip: Invalid value: "home": must be a valid IP address, (e.g. 10.9.8.7 or '
     '2001:db8::ffff)'),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "fault"), SPEC_FAULTS)
def test_a_pod_spec_is_refused_with_the_words_of_a_real_cluster(spec: Object, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults("pods", a_pod(spec=spec)))


def test_all_faults_are_named_at_once() -> None:
    found = faults("pods", a_pod(spec={"restartPolicy": "x", "dnsPolicy": "y"}, image="", name=""))
    assert len(found) == 4


@pytest.mark.parametrize(
    ("container", "warning"),
    [
        ({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
         'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when '
         'using apply'),
        ({"resources": {"limits": {"memory": "500m"}}},
         'spec.containers[0].resources.limits[memory]: fractional byte value "500m" is invalid, must '
         'be an integer'),
    ],
)  # fmt: skip
def test_odd_but_legal_pods_are_warned_about(container: dict[str, JSON], warning: str) -> None:
    pod = created("pods", a_pod(**container))
    assert warning in RULES["pods"].warnings(pod, None)
    assert RULES["pods"].warnings(pod, pod) == []


def test_a_variable_that_builds_on_an_earlier_one_is_not_warned_about() -> None:
    env = [{"name": "PATH", "value": "/a"}, {"name": "PATH", "value": "$(PATH):/b"}]
    assert RULES["pods"].warnings(created("pods", a_pod(env=env)), None) == []


def test_a_name_that_makes_an_odd_host_name_is_warned_about() -> None:
    pod = a_pod()
    pod["metadata"]["name"] = "a.b"
    (warning,) = RULES["pods"].warnings(created("pods", pod), None)
    assert warning.endswith("a DNS label is recommended: [must not contain dots]")
