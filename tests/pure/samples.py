"""One sound object of every kind that has rules, for tests to take apart."""

from __future__ import annotations

from trainshed.kinds.rules import RULES
from trainshed.kube.objects import JSON, Object, copied


def a_container(**members: JSON) -> Object:
    return {"name": "main", "image": "busybox:1.36", **members}


def a_pod(*, spec: Object | None = None, **container: JSON) -> Object:
    return _object("v1", "Pod", spec={"containers": [a_container(**container)], **(spec or {})})


def a_job(*, container: Object | None = None, pod: Object | None = None, **spec: JSON) -> Object:
    inner = {"restartPolicy": "Never", "containers": [a_container(**(container or {}))], **(pod or {})}
    return _object("batch/v1", "Job", spec={"template": {"spec": inner}, **spec})


def a_service(**spec: JSON) -> Object:
    return _object("v1", "Service", spec={"ports": [{"port": 80}], "selector": {"app": "web"}, **spec})


def a_claim(**spec: JSON) -> Object:
    sound = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return _object("v1", "PersistentVolumeClaim", spec={**sound, **spec})


def an_event(**members: JSON) -> Object:
    about = {"kind": "Pod", "name": "p", "namespace": "lab"}
    return _object("v1", "Event", involvedObject=about, reason="Made", message="made it", **members)


def a_workload(kind: str) -> Object:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [a_container()]}}
    return _object("apps/v1", kind, spec={"selector": {"matchLabels": {"app": "web"}}, "template": template})


def an_object(resource: str) -> Object:
    """A fresh copy of the sample of a resource (`pods`, `jobs.batch`)."""
    found: Object = copied(_SAMPLES[resource])
    return found


def created(resource: str, obj: Object) -> Object:
    """The object as the server would store it, if it is sound."""
    RULES[resource].defaults(obj)
    RULES[resource].on_create(obj)
    return obj


def faults(resource: str, obj: Object) -> list[str]:
    """What the server would say to a new object."""
    return [str(error) for error in RULES[resource].validate(created(resource, obj), None)]


def faults_of_change(resource: str, new: Object, old: Object) -> list[str]:
    """What the server would say to an update of a stored object."""
    RULES[resource].defaults(new)
    RULES[resource].on_update(new, old)
    return [str(error) for error in RULES[resource].validate(new, old)]


def _object(api_version: str, kind: str, **members: JSON) -> Object:
    metadata = {"name": "sample", "namespace": "lab", "uid": "uid-1"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}


_RBAC = "rbac.authorization.k8s.io"
_RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_ROLE_REF = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "view"}
_SUBJECTS = [{"kind": "User", "name": "alice"}, {"kind": "ServiceAccount", "name": "bot", "namespace": "lab"}]
_RICH_POD: Object = {
    "securityContext": {
        "runAsUser": 1000,
        "supplementalGroups": [5],
        "sysctls": [{"name": "a", "value": "1"}],
    },
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "dnsConfig": {"nameservers": ["10.0.0.1"], "searches": ["lab.local"]},
    "hostAliases": [{"ip": "10.0.0.2", "hostnames": ["db"]}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                ]
            }
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        },
    },
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
    "volumes": [
        {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "config", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
        {
            "name": "mixed",
            "projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "c"}}]},
        },
        {"name": "claim", "ephemeral": {"volumeClaimTemplate": {"spec": a_claim()["spec"]}}},
    ],
    "initContainers": [a_container(name="before", restartPolicy="Always")],
}
_RICH_CONTAINER: Object = {
    "env": [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
    ],
    "envFrom": [{"secretRef": {"name": "s"}}],
    "ports": [{"containerPort": 80, "name": "web"}],
    "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "nvidia.com/gpu": 1}},
    "livenessProbe": {"httpGet": {"port": "web", "httpHeaders": [{"name": "X-A", "value": "b"}]}},
    "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch", "subPath": "a"}],
}
_SAMPLES: dict[str, Object] = {
    "configmaps": _object("v1", "ConfigMap", data={"a": "1"}, binaryData={"b": "AAE="}),
    "endpoints": _object(
        "v1", "Endpoints", subsets=[{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]
    ),
    "events": an_event(),
    "events.events.k8s.io": _object(
        "events.k8s.io/v1", "Event", eventTime="2026-01-02T03:04:05.000000Z", type="Normal", reason="Made",
        action="Making", reportingController="lab.example/maker", reportingInstance="maker-0", note="made it",
        regarding={"kind": "Pod", "name": "p", "namespace": "lab"},
    ),
    "limitranges": _object(
        "v1", "LimitRange",
        spec={"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}]}
    ),
    "namespaces": _object("v1", "Namespace"),
    "nodes": _object(
        "v1", "Node", spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        status={"capacity": {"cpu": "4", "nvidia.com/gpu": "1"}},
    ),
    "persistentvolumeclaims": a_claim(),
    "pods": a_pod(spec=_RICH_POD, **_RICH_CONTAINER),
    "resourcequotas": _object(
        "v1", "ResourceQuota", spec={"hard": {"pods": 3, "requests.nvidia.com/gpu": "2"}}
    ),
    "secrets": _object("v1", "Secret", data={"a": "AAE="}, stringData={"b": "plain"}),
    "serviceaccounts": _object("v1", "ServiceAccount", secrets=[{"name": "s"}]),
    "services": a_service(),
    "cronjobs.batch": _object(
        "batch/v1", "CronJob", spec={"schedule": "*/5 * * * *", "jobTemplate": {"spec": a_job()["spec"]}}
    ),
    "jobs.batch": a_job(
        podFailurePolicy={"rules": [
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}}]},
        completionMode="Indexed", completions=2, parallelism=2,
        successPolicy={"rules": [{"succeededCount": 1}]},
    ),
    "leases.coordination.k8s.io": _object(
        "coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "a", "leaseDurationSeconds": 40}
    ),
    f"roles.{_RBAC}": _object(f"{_RBAC}/v1", "Role", rules=[_RULE]),
    f"clusterroles.{_RBAC}": _object(f"{_RBAC}/v1", "ClusterRole", rules=[_RULE]),
    f"rolebindings.{_RBAC}": _object(f"{_RBAC}/v1", "RoleBinding", roleRef=_ROLE_REF, subjects=_SUBJECTS),
    f"clusterrolebindings.{_RBAC}": _object(
        f"{_RBAC}/v1", "ClusterRoleBinding", roleRef=_ROLE_REF, subjects=_SUBJECTS
    ),
    "priorityclasses.scheduling.k8s.io": _object("scheduling.k8s.io/v1", "PriorityClass", value=5),
    "deployments.apps": a_workload("Deployment"),
    "replicasets.apps": a_workload("ReplicaSet"),
    "statefulsets.apps": a_workload("StatefulSet"),
    "daemonsets.apps": a_workload("DaemonSet"),
}  # fmt: skip
RESOURCES = sorted(_SAMPLES)
