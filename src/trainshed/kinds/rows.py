"""Every built-in kind as Kubernetes 1.32 lists it in discovery, one row each; for `builtin` and `schemas`.

Kinds that no part of Trainshed acts on (Deployments, webhooks, network policies …) are here so that upstream
install manifests apply; they are stored and nothing else. The `proxy` subresources are left out: there is no
network path from the API server into a pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trainshed.kinds.kind import ALL_VERBS, Scale, Subresource

_CREATE: Final = ("create",)
_NO_COLLECTION: Final = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")
_PART: Final = ("get", "patch", "update")

STATUS: Final = Subresource("status", _PART)
SCALE: Final = Subresource("scale", _PART, kind="Scale", group="autoscaling", version="v1")
REPLICAS: Final = Scale(("spec", "replicas"), ("status", "replicas"), ("spec", "selector"))
"""Workloads keep a label selector object in their spec; the scale subresource shows it as text."""

PREFIXES: Final[Mapping[str, str]] = {
    "": "io.k8s.api.core",
    "admissionregistration.k8s.io": "io.k8s.api.admissionregistration",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apps": "io.k8s.api.apps",
    "authentication.k8s.io": "io.k8s.api.authentication",
    "authorization.k8s.io": "io.k8s.api.authorization",
    "autoscaling": "io.k8s.api.autoscaling",
    "batch": "io.k8s.api.batch",
    "coordination.k8s.io": "io.k8s.api.coordination",
    "discovery.k8s.io": "io.k8s.api.discovery",
    "events.k8s.io": "io.k8s.api.events",
    "networking.k8s.io": "io.k8s.api.networking",
    "policy": "io.k8s.api.policy",
    "rbac.authorization.k8s.io": "io.k8s.api.rbac",
    "scheduling.k8s.io": "io.k8s.api.scheduling",
    "storage.k8s.io": "io.k8s.api.storage",
}
"""Each group's part of OpenAPI names; `kubectl explain` prints what follows the last dot of such a name."""


@dataclass(frozen=True, slots=True)
class Row:
    group: str
    kind: str
    plural: str
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    scale: Scale | None = None
    field_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    version: str = "v1"

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def definition(self) -> str:
        return f"{PREFIXES[self.group]}.{self.version}.{self.kind}"


def _labels(*paths: str, **renamed: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Field selector keys; nearly all of them are the field's own path."""
    return {path: tuple(path.split(".")) for path in paths} | renamed


_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_POD_LABELS: Final = _labels(
    "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
    "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName",
)  # fmt: skip
_EVENT_LABELS: Final = _labels(
    *(f"involvedObject.{name}" for name in _REFERENCE), "reason", "reportingComponent", "type",
    source=("source", "component"),
)  # fmt: skip
_NEW_EVENT_LABELS: Final = _labels(
    *(f"regarding.{name}" for name in _REFERENCE), "reason", "reportingController", "type"
)

_POD_PARTS: Final = (
    Subresource("attach", ("create", "get"), kind="PodAttachOptions"),
    Subresource("binding", _CREATE, kind="Binding"),
    Subresource("ephemeralcontainers", _PART),
    Subresource("eviction", _CREATE, kind="Eviction", group="policy", version="v1"),
    Subresource("exec", ("create", "get"), kind="PodExecOptions"),
    Subresource("log", ("get",)),
    Subresource("portforward", ("create", "get"), kind="PodPortForwardOptions"),
    Subresource("resize", _PART),
    STATUS,
)
_TOKEN: Final = Subresource(
    "token", _CREATE, kind="TokenRequest", group="authentication.k8s.io", version="v1"
)
_ALL: Final = ("all",)
_EXTENSIONS: Final = ("api-extensions",)

CORE: Final = (
    Row("", "Binding", "bindings", verbs=_CREATE),
    Row("", "ConfigMap", "configmaps", ("cm",)),
    Row("", "Endpoints", "endpoints", ("ep",)),
    Row("", "Event", "events", ("ev",), field_labels=_EVENT_LABELS),
    Row("", "LimitRange", "limitranges", ("limits",)),
    Row(
        "", "Namespace", "namespaces", ("ns",), namespaced=False, verbs=_NO_COLLECTION,
        subresources=(Subresource("finalize", ("update",)), STATUS), field_labels=_labels("status.phase"),
    ),
    Row(
        "", "Node", "nodes", ("no",), namespaced=False, subresources=(STATUS,),
        field_labels=_labels("spec.unschedulable"),
    ),
    Row("", "PersistentVolumeClaim", "persistentvolumeclaims", ("pvc",), subresources=(STATUS,)),
    Row("", "PersistentVolume", "persistentvolumes", ("pv",), namespaced=False, subresources=(STATUS,)),
    Row(
        "", "Pod", "pods", ("po",), categories=_ALL, subresources=_POD_PARTS, field_labels=_POD_LABELS,
    ),
    Row("", "PodTemplate", "podtemplates"),
    Row(
        "", "ReplicationController", "replicationcontrollers", ("rc",), categories=_ALL,
        subresources=(SCALE, STATUS), scale=REPLICAS, field_labels=_labels("status.replicas"),
    ),
    Row("", "ResourceQuota", "resourcequotas", ("quota",), subresources=(STATUS,)),
    Row("", "Secret", "secrets", field_labels=_labels("type")),
    Row("", "ServiceAccount", "serviceaccounts", ("sa",), subresources=(_TOKEN,)),
    Row("", "Service", "services", ("svc",), categories=_ALL, subresources=(STATUS,)),
)  # fmt: skip

WORKLOADS: Final = (
    Row("apps", "ControllerRevision", "controllerrevisions"),
    Row("apps", "DaemonSet", "daemonsets", ("ds",), categories=_ALL, subresources=(STATUS,)),
    Row(
        "apps", "Deployment", "deployments", ("deploy",), categories=_ALL, subresources=(SCALE, STATUS),
        scale=REPLICAS,
    ),
    Row(
        "apps", "ReplicaSet", "replicasets", ("rs",), categories=_ALL, subresources=(SCALE, STATUS),
        scale=REPLICAS, field_labels=_labels("status.replicas"),
    ),
    Row(
        "apps", "StatefulSet", "statefulsets", ("sts",), categories=_ALL, subresources=(SCALE, STATUS),
        scale=REPLICAS,
    ),
    Row("batch", "CronJob", "cronjobs", ("cj",), categories=_ALL, subresources=(STATUS,)),
    Row(
        "batch", "Job", "jobs", categories=_ALL, subresources=(STATUS,),
        field_labels={"status.successful": ("status", "succeeded")},
    ),
    Row(
        "autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", ("hpa",), categories=_ALL,
        subresources=(STATUS,), version="v2",
    ),
    Row("policy", "PodDisruptionBudget", "poddisruptionbudgets", ("pdb",), subresources=(STATUS,)),
    Row("scheduling.k8s.io", "PriorityClass", "priorityclasses", ("pc",), namespaced=False),
)  # fmt: skip

ACCESS: Final = (
    Row("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", namespaced=False, verbs=_CREATE),
    Row("authentication.k8s.io", "TokenReview", "tokenreviews", namespaced=False, verbs=_CREATE),
    Row("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATE),
    Row(
        "authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False,
        verbs=_CREATE,
    ),
    Row(
        "authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False,
        verbs=_CREATE,
    ),
    Row(
        "authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", namespaced=False,
        verbs=_CREATE,
    ),
    Row("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    Row("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", namespaced=False),
    Row("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
    Row("rbac.authorization.k8s.io", "Role", "roles"),
)  # fmt: skip

CLUSTER: Final = (
    Row(
        "admissionregistration.k8s.io", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
        namespaced=False, categories=_EXTENSIONS,
    ),
    Row(
        "admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
        namespaced=False, categories=_EXTENSIONS,
    ),
    Row(
        "apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", ("crd", "crds"),
        namespaced=False, categories=_EXTENSIONS, subresources=(STATUS,),
    ),
    Row("coordination.k8s.io", "Lease", "leases"),
    Row("discovery.k8s.io", "EndpointSlice", "endpointslices"),
    Row("events.k8s.io", "Event", "events", ("ev",), field_labels=_NEW_EVENT_LABELS),
    Row("networking.k8s.io", "Ingress", "ingresses", ("ing",), subresources=(STATUS,)),
    Row("networking.k8s.io", "NetworkPolicy", "networkpolicies", ("netpol",)),
    Row("storage.k8s.io", "StorageClass", "storageclasses", ("sc",), namespaced=False),
)  # fmt: skip

ROWS: Final = CORE + WORKLOADS + ACCESS + CLUSTER
