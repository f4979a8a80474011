"""The standard roles as data: who may read, edit and administer what, as a real cluster starts out.

Kinds not served yet are listed too: users bind these roles once and expect them to keep their meaning.
"""

from __future__ import annotations

from trainshed.apiserver.access.rules import Rule

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
READ_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

EVENTS = ("", "events.k8s.io")


def on(groups: str | tuple[str, ...], verbs: tuple[str, ...], *resources: str) -> Rule:
    return Rule(
        tuple(sorted(verbs)), (groups,) if isinstance(groups, str) else groups, tuple(sorted(resources))
    )


def at(*urls: str) -> Rule:
    return Rule(("get",), urls=tuple(sorted(urls)))


HEALTH = ("/healthz", "/livez", "/readyz")
PUBLIC = (*HEALTH, "/version", "/version/")
DISCOVERY = (*PUBLIC, "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")
MONITORING = (*HEALTH, *(f"{path}/*" for path in HEALTH), "/metrics", "/metrics/slis")
MONITOR = (at(*MONITORING), on("", ("get",), "nodes/metrics"))
ISSUER = ("/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks",
          "/openid/v1/jwks/")  # fmt: skip

SCALED = ("deployments", "replicasets", "statefulsets")

VIEW = (
    on("", READ, "configmaps", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status", "pods",
       "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services",
       "services/status"),
    on("", READ, "bindings", "limitranges", "namespaces/status", "pods/log", "pods/status",
       "replicationcontrollers/status", "resourcequotas", "resourcequotas/status"),
    # In a namespace this means: this namespace.
    on("", READ, "namespaces"),
    on(EVENTS, READ, "events"),
    on("discovery.k8s.io", READ, "endpointslices"),
    on("apps", READ, "controllerrevisions", "daemonsets", "daemonsets/status", *SCALED,
       *(f"{kind}/{part}" for kind in SCALED for part in ("scale", "status"))),
    on("autoscaling", READ, "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
    on("batch", READ, "cronjobs", "cronjobs/status", "jobs", "jobs/status"),
    on("policy", READ, "poddisruptionbudgets", "poddisruptionbudgets/status"),
    on("networking.k8s.io", READ, "ingresses", "ingresses/status", "networkpolicies"),
)  # fmt: skip

# Reading these is as good as acting as somebody else, so `view` does not have them.
_STREAMS = ("pods/attach", "pods/exec", "pods/portforward", "pods/proxy")

EDIT = (
    on("", READ, *_STREAMS, "secrets", "services/proxy"),
    on("", ("impersonate",), "serviceaccounts"),
    on("", WRITE, "pods", *_STREAMS),
    on("", ("create",), "pods/eviction"),
    on("", WRITE, "configmaps", "persistentvolumeclaims", "replicationcontrollers",
       "replicationcontrollers/scale", "secrets", "serviceaccounts", "services", "services/proxy"),
    on("", ("create",), "serviceaccounts/token"),
    on(EVENTS, WRITE, "events"),
    on("apps", WRITE, "daemonsets", "deployments/rollback", *SCALED, *(f"{kind}/scale" for kind in SCALED)),
    on("autoscaling", WRITE, "horizontalpodautoscalers"),
    on("batch", WRITE, "cronjobs", "jobs"),
    on("policy", WRITE, "poddisruptionbudgets"),
    on("networking.k8s.io", WRITE, "ingresses", "networkpolicies"),
    on("coordination.k8s.io", READ_WRITE, "leases"),
)  # fmt: skip

ADMIN = (
    on("authorization.k8s.io", ("create",), "localsubjectaccessreviews"),
    on("rbac.authorization.k8s.io", READ_WRITE, "rolebindings", "roles"),
)

NODE = (
    on("authentication.k8s.io", ("create",), "tokenreviews"),
    on("authorization.k8s.io", ("create",), "localsubjectaccessreviews", "subjectaccessreviews"),
    on("", READ, "services"),
    on("", ("create", *READ), "nodes"),
    on("", ("patch", "update"), "nodes", "nodes/status"),
    on(EVENTS, ("create", "patch", "update"), "events"),
    on("", ("create", "delete", *READ), "pods"),
    on("", ("patch", "update"), "pods/status"),
    on("", ("create",), "pods/eviction", "serviceaccounts/token"),
    on("", READ, "configmaps", "secrets"),
    on("", ("get",), "endpoints", "persistentvolumeclaims", "persistentvolumes", "serviceaccounts"),
    on("coordination.k8s.io", ("create", "delete", "get", "patch", "update"), "leases"),
)

SCHEDULER = (
    on(EVENTS, ("create", "patch", "update"), "events"),
    on("coordination.k8s.io", ("create",), "leases"),
    Rule(("get", "list", "update", "watch"), ("coordination.k8s.io",), ("leases",), ("kube-scheduler",)),
    on("", READ, "namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "services"),
    on("", ("delete", *READ), "pods"),
    on("", ("create",), "bindings", "pods/binding"),
    on("", ("patch", "update"), "pods/status"),
    on("authentication.k8s.io", ("create",), "tokenreviews"),
    on("authorization.k8s.io", ("create",), "subjectaccessreviews"),
)

BASIC_USER = (
    on("authorization.k8s.io", ("create",), "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    on("authentication.k8s.io", ("create",), "selfsubjectreviews"),
)

DELEGATOR = (
    on("authentication.k8s.io", ("create",), "tokenreviews"),
    on("authorization.k8s.io", ("create",), "subjectaccessreviews"),
)

RUNTIMES = (on("trainer.kubeflow.org", READ, "clustertrainingruntimes"),)

TRAINING = {
    "trainer": ("trainer.kubeflow.org", ("trainingruntimes", "trainjobs")),
    "training": ("kubeflow.org", ("jaxjobs", "mpijobs", "mxjobs", "paddlejobs", "pytorchjobs", "tfjobs",
                                  "xgboostjobs")),
    "katib": ("kubeflow.org", ("experiments", "suggestions", "trials")),
    "jobset": ("jobset.x-k8s.io", ("jobsets",)),
}  # fmt: skip
"""Training kinds by the name of their roles: API group and resources."""
SCALED_JOBS = ("jaxjobs", "paddlejobs", "pytorchjobs")
"""Upstream leaves their scale to an autoscaler; here it is people who scale."""


def training_view(family: str) -> tuple[Rule, ...]:
    group, resources = TRAINING[family]
    return (on(group, READ, *resources, *(f"{resource}/status" for resource in resources)),)


def training_edit(family: str) -> tuple[Rule, ...]:
    group, resources = TRAINING[family]
    return (on(group, READ_WRITE, *resources, *(f"{one}/scale" for one in resources if one in SCALED_JOBS)),)
