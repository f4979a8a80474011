"""One sound object of every kind the server stores, ready to be created."""

from __future__ import annotations

from tests.builders import a_definition
from tests.pure import samples as rich
from tests.server.routes import Route
from trainshed.kube.objects import JSON, Object, copied

LABELS = {"made-by": "test"}
_CONTAINER = {"name": "main", "image": "example.com/image:1", "command": ["true"]}
_TEMPLATE: Object = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [_CONTAINER]}}
_JOB: Object = {"template": {"spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}}
_HOOK = {
    "name": "hook.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "sideEffects": "None",
    "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
    "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
    "resources": ["no"]}],
}  # fmt: skip
_RUNTIME: Object = {
    "mlPolicy": {"numNodes": 1},
    "template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"template": {"spec": {"containers": [_CONTAINER | {"name": "node"}]}}},
        }},
    ]}},
}  # fmt: skip
_TRIED: Object = {
    "template": {
        "spec": {"containers": [_CONTAINER | {"args": ["${trialParameters.lr}"]}], "restartPolicy": "Never"}
    }
}
_SEARCHED: Object = {
    "objective": {"type": "minimize", "goal": 0.1, "objectiveMetricName": "loss"},
    "algorithm": {"algorithmName": "random"},
    "parameters": [
        {"name": "lr", "parameterType": "double", "feasibleSpace": {"min": "0.1", "max": "0.9"}}
    ],
    "maxTrialCount": 2, "parallelTrialCount": 1,
    "trialTemplate": {
        "primaryContainerName": "main", "trialParameters": [{"name": "lr", "reference": "lr"}],
        "trialSpec": {"apiVersion": "batch/v1", "kind": "Job", "spec": _TRIED},
    },
}  # fmt: skip


def _v1_job(kind: str, container: str, *roles: str) -> Object:
    template = {"spec": {"containers": [_CONTAINER | {"name": container}]}}
    replicas = {role: {"replicas": 1, "restartPolicy": "Never", "template": template} for role in roles}
    field = {"PyTorchJob": "pytorch", "TFJob": "tf", "XGBoostJob": "xgb", "PaddleJob": "paddle"}
    return {f"{field.get(kind, kind.lower().removesuffix('job'))}ReplicaSpecs": replicas}


_OTHERS: dict[str, Object] = {
    "persistentvolumes": {"spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}},
    "podtemplates": {"template": _TEMPLATE},
    "replicationcontrollers": {"spec": {"replicas": 1, "selector": {"app": "web"}, "template": _TEMPLATE}},
    "ingresses.networking.k8s.io": {"spec": {
        "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}},
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": {"webhooks": [_HOOK]},
    "validatingwebhookconfigurations.admissionregistration.k8s.io": {"webhooks": [_HOOK]},
    "controllerrevisions.apps": {"revision": 1, "data": {"any": "thing"}},
    "horizontalpodautoscalers.autoscaling": {"spec": {
        "maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}},
    "endpointslices.discovery.k8s.io": {
        "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]},
    "networkpolicies.networking.k8s.io": {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}},
    "poddisruptionbudgets.policy": {"spec": {
        "minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}},
    "storageclasses.storage.k8s.io": {"provisioner": "example.com/none"},
    "jobsets.jobset.x-k8s.io": {"spec": {"replicatedJobs": [{"name": "a", "template": {"spec": _JOB}}]}},
    "trainjobs.trainer.kubeflow.org": {"spec": {
        "runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2, "command": ["true"]}}},
    "trainingruntimes.trainer.kubeflow.org": {"spec": _RUNTIME},
    "clustertrainingruntimes.trainer.kubeflow.org": {"spec": _RUNTIME},
    "experiments.kubeflow.org": {"spec": _SEARCHED},
    "suggestions.kubeflow.org": {"spec": {"algorithm": {"algorithmName": "random"}, "requests": 1}},
    "trials.kubeflow.org": {"spec": {
        "objective": _SEARCHED["objective"], "parameterAssignments": [{"name": "lr", "value": "0.5"}],
        "primaryContainerName": "main", "runSpec": {"apiVersion": "batch/v1", "kind": "Job", "spec": _JOB}}},
    "pytorchjobs.kubeflow.org": {"spec": _v1_job("PyTorchJob", "pytorch", "Master", "Worker")},
    "tfjobs.kubeflow.org": {"spec": _v1_job("TFJob", "tensorflow", "Chief", "Worker")},
    "mpijobs.kubeflow.org": {"spec": _v1_job("MPIJob", "mpi", "Launcher", "Worker")},
    "mxjobs.kubeflow.org": {"spec": {
        "jobMode": "MXTrain", **_v1_job("MXJob", "mxnet", "Scheduler", "Server", "Worker")}},
    "xgboostjobs.kubeflow.org": {"spec": _v1_job("XGBoostJob", "xgboost", "Master", "Worker")},
    "paddlejobs.kubeflow.org": {"spec": _v1_job("PaddleJob", "paddle", "Worker")},
    "jaxjobs.kubeflow.org": {"spec": _v1_job("JAXJob", "jax", "Worker")},
}  # fmt: skip
_UID = "00000000-0000-0000-0000-000000000000"
_ATTRIBUTES = {
    "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods", "name": "a"},
    "user": "alice", "groups": ["a"], "uid": "u", "extra": {"a": ["b"]},
}  # fmt: skip
_ANSWERED: dict[str, Object] = {
    "Binding": {"target": {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": _UID}},
    "Eviction": {"deleteOptions": {
        "gracePeriodSeconds": 0, "preconditions": {"uid": _UID}, "dryRun": ["All"],
        "propagationPolicy": "Orphan"}},
    "Scale": {"spec": {"replicas": 2}},
    "TokenRequest": {"spec": {
        "audiences": ["a"], "expirationSeconds": 3600,
        "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "victim", "uid": _UID}}},
    "TokenReview": {"spec": {"token": "a.b.c", "audiences": ["a"]}},
    "SelfSubjectReview": {},
    "SubjectAccessReview": {"spec": _ATTRIBUTES},
    "SelfSubjectAccessReview": {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/version"}}},
    "LocalSubjectAccessReview": {"spec": _ATTRIBUTES},
    "SelfSubjectRulesReview": {"spec": {"namespace": "default"}},
}  # fmt: skip
"""What is sent to be answered and not stored, by kind."""
_GADGET: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 3, "minimum": 0},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}


def sample(route: Route, name: str) -> Object:
    """A new object for a route's collection, labelled so that all of them can be found again."""
    if route.plural == "customresourcedefinitions":
        # Its name follows from its content: each its own group.
        group = f"{name}.example.com"
        body = a_definition("gadgets", "Gadget", group, _GADGET, subresources={"status": {}})
    else:
        found = _OTHERS.get(route.resource)
        if found is None and route.resource not in rich.RESOURCES:
            raise AssertionError(f"{route.resource} is served but has no sample here")
        body = rich.an_object(route.resource) if found is None else copied(found)
    meta: Object = {"labels": dict(LABELS)}
    meta["name"] = body["metadata"]["name"] if route.plural == "customresourcedefinitions" else name
    return body | {"apiVersion": route.api_version, "kind": route.kind, "metadata": meta}


def answered(route: Route, name: str) -> Object | None:
    """The sample of something that is only answered; None for kinds that are stored."""
    found = _ANSWERED.get(route.kind)
    if found is None:
        return None
    group = {"Scale": "autoscaling/v1", "Eviction": "policy/v1", "TokenRequest": "authentication.k8s.io/v1"}
    version = group.get(route.kind, route.api_version)
    whole: Object = copied(found)
    return whole | {"apiVersion": version, "kind": route.kind, "metadata": {"name": name}}


def in_namespace(obj: Object, namespace: str) -> Object:
    """The sample with its inner mentions of a namespace turned to the one it is created in."""
    for field in ("involvedObject", "regarding"):
        if field in obj:
            obj[field]["namespace"] = namespace
    return obj


def kept(verbs: tuple[str, ...]) -> bool:
    """Whether objects of such a route are stored: reviews and bindings are only answered."""
    return {"create", "get", "update"} <= set(verbs)


def pieces(value: JSON, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of everything inside a value, outermost first."""
    found = [path]
    for index, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        found += pieces(inner, (*path, index))
    return found
