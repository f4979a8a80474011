"""Small valid objects for tests, one line each; keyword arguments end up where a reader expects them."""

from __future__ import annotations

from collections.abc import Mapping

from trainshed.kube.objects import JSON, Object


def metadata(name: str, labels: Mapping[str, str] | None = None, **more: JSON) -> Object:
    return {"name": name, **({"labels": dict(labels)} if labels else {}), **more}


def a_config_map(name: str, data: Mapping[str, str] | None = None, **meta: JSON) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name, **meta),
        "data": dict(data or {}),
    }


def a_secret(name: str, data: Mapping[str, str] | None = None, **meta: JSON) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(name, **meta),
        "stringData": dict(data or {}),
    }


def a_pod_spec(**spec: JSON) -> Object:
    return {"containers": [{"name": "main", "image": "example.com/image:1", "command": ["true"]}], **spec}


def a_pod(name: str, spec: Object | None = None, **meta: JSON) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(name, **meta),
        "spec": spec or a_pod_spec(),
    }


def a_waiting_pod(name: str, spec: Object | None = None, **meta: JSON) -> Object:
    """A pod that no scheduler of any cluster will find a node for, so nobody but the test changes it."""
    nowhere = {"nodeSelector": {"trainshed.example.com/nowhere": "true"}}
    return a_pod(name, (spec or a_pod_spec()) | nowhere, **meta)


def a_job(name: str, spec: Object | None = None, **meta: JSON) -> Object:
    template = {"template": {"spec": a_pod_spec(restartPolicy="Never")}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(name, **meta),
        "spec": spec or template,
    }


def a_service(name: str, **meta: JSON) -> Object:
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(name, **meta), "spec": spec}


def a_lease(name: str, holder: str = "me", **meta: JSON) -> Object:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata(name, **meta),
        "spec": spec,
    }


def a_namespace(name: str, **meta: JSON) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, **meta)}


def a_service_account(name: str, **meta: JSON) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name, **meta)}


def a_train_job(name: str, spec: Object | None = None, **meta: JSON) -> Object:
    runtime = {"runtimeRef": {"name": "torch-distributed"}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata(name, **meta),
        "spec": {**runtime, **(spec or {})},
    }


def owner(obj: Object, **more: JSON) -> Object:
    """An owner reference to an object as the server returned it."""
    meta = obj["metadata"]
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        **more,
    }


def unlocked(obj: Object) -> Object:
    """The object without its resourceVersion, to be written whatever happened in between."""
    meta = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": meta}


def a_definition(plural: str, kind: str, group: str, schema: Object, **version: JSON) -> Object:
    """A CustomResourceDefinition with one version, `v1`."""
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }
