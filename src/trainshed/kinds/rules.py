"""The behaviour of every built-in kind, by `Kind.resource`."""

from __future__ import annotations

from collections.abc import Mapping

from trainshed.kinds.apiextensions import defaults, validate
from trainshed.kinds.apps import workloads
from trainshed.kinds.batch import cronjobs, jobs
from trainshed.kinds.coordination import leases
from trainshed.kinds.core import (
    claims,
    configmaps,
    endpoints,
    events,
    limits,
    namespaces,
    nodes,
    pods,
    quotas,
    secrets,
    serviceaccounts,
    services,
)
from trainshed.kinds.kind import Rules
from trainshed.kinds.rbac import bindings, roles
from trainshed.kinds.scheduling import priorityclasses

_RBAC = "rbac.authorization.k8s.io"

RULES: Mapping[str, Rules] = {
    "configmaps": configmaps.RULES,
    "endpoints": endpoints.RULES,
    "events": events.RULES,
    "events.events.k8s.io": events.RULES_V1,
    "limitranges": limits.RULES,
    "namespaces": namespaces.RULES,
    "nodes": nodes.RULES,
    "persistentvolumeclaims": claims.RULES,
    "pods": pods.RULES,
    "resourcequotas": quotas.RULES,
    "secrets": secrets.RULES,
    "serviceaccounts": serviceaccounts.RULES,
    "services": services.RULES,
    "cronjobs.batch": cronjobs.RULES,
    "jobs.batch": jobs.RULES,
    "leases.coordination.k8s.io": leases.RULES,
    f"roles.{_RBAC}": roles.RULES,
    f"clusterroles.{_RBAC}": roles.CLUSTER_RULES,
    f"rolebindings.{_RBAC}": bindings.RULES,
    f"clusterrolebindings.{_RBAC}": bindings.CLUSTER_RULES,
    "priorityclasses.scheduling.k8s.io": priorityclasses.RULES,
    "customresourcedefinitions.apiextensions.k8s.io": Rules(
        defaults=defaults.defaults,
        on_create=defaults.on_create,
        on_update=defaults.on_update,
        validate=validate.validate,
        validate_status=validate.validate_status,
    ),
    **workloads.RULES,
}
