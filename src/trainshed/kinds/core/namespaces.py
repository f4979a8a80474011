"""Namespaces."""

from __future__ import annotations

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, mapping, texts
from trainshed.kube import names
from trainshed.kube.faults import invalid
from trainshed.kube.objects import Object, metadata, text

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


def defaults(namespace: Object) -> None:
    tidy(namespace, "Namespace")
    if name := text(namespace, "metadata", "name"):
        child(metadata(namespace), "labels")[NAME_LABEL] = name


def prepare(namespace: Object) -> None:
    """A new namespace is active and held by the finalizer that empties it first."""
    defaults(namespace)  # once more: a generated name is known only now
    spec = child(namespace, "spec")
    spec["finalizers"] = list(dict.fromkeys([*texts(spec, "finalizers"), FINALIZER]))
    namespace["status"] = {"phase": "Active"}


def keep(namespace: Object, old: Object) -> None:
    """Finalizers change through the finalize subresource only."""
    namespace["spec"] = {**mapping(namespace, "spec"), **mapping(old, "spec")}


def errors(namespace: Object, old: Object | None) -> Errors:
    return finalizer_errors(namespace) if old is None else []


def finalizer_errors(namespace: Object) -> Errors:
    """Also for the finalize subresource."""
    found: Errors = []
    for name in texts(namespace, "spec", "finalizers"):
        found += checks.qualified("spec.finalizers", name)
        if "/" not in name and name not in (FINALIZER, "orphan", "foregroundDeletion"):
            why = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(invalid("spec.finalizers", name, why))
    return found


def status_errors(namespace: Object, old: Object) -> Errors:
    phase = text(namespace, "status", "phase")
    if text(old, "metadata", "deletionTimestamp"):
        wanted, why = "Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty"
    else:
        wanted, why = "Active", "may only be 'Active' if `deletionTimestamp` is empty"
    return [] if phase == wanted else [invalid("status.Phase", phase, why)]


RULES = Rules(
    defaults=defaults, on_create=prepare, on_update=keep, validate=errors, validate_status=status_errors,
    check_name=names.dns_label, has_generation=False,
)  # fmt: skip
