"""Jobs: defaults, the generated selector, and what may change."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.batch import jobspecs
from trainshed.kinds.canonical import tidy, tidy_part
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import podspecs
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, is_true, mapping, number
from trainshed.kube import names, selectors
from trainshed.kube.faults import Fault, FieldError, invalid, required
from trainshed.kube.objects import Object, copied, dig, metadata, text

_UID: Final = "batch.kubernetes.io/controller-uid"
_UIDS: Final = ("controller-uid", _UID)
_NAMES: Final = ("job-name", "batch.kubernetes.io/job-name")
_TEMPLATE_META: Final = "spec.template.metadata"
_FIXED: Final = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_COUNTERS: Final = ("active", "succeeded", "failed", "ready", "terminating")


def defaults(job: Object) -> None:
    tidy(job, "Job")
    spec = child(job, "spec")
    jobspecs.defaults(spec)
    labels = dig(spec, "template", "metadata", "labels")
    if labels and not dig(job, "metadata", "labels"):
        metadata(job)["labels"] = copied(labels)


def status_defaults(status: Object) -> None:
    tidy_part(status, "JobStatus")


def prepare(job: Object) -> None:
    """Pods of this job are told from others by its uid, unless the writer chose a selector."""
    job["status"] = {}
    spec = child(job, "spec")
    if is_true(spec, "manualSelector"):
        return
    uid, name = text(job, "metadata", "uid"), text(job, "metadata", "name")
    labels = child(child(child(spec, "template"), "metadata"), "labels")
    shares_labels = mapping(job, "metadata", "labels") == labels
    for key in _NAMES:
        labels.setdefault(key, name)
    for key in _UIDS:
        labels.setdefault(key, uid)
    if shares_labels:
        metadata(job)["labels"] = copied(labels)
    child(child(spec, "selector"), "matchLabels").setdefault(_UID, uid)


def warnings(job: Object, old: Object | None) -> list[str]:
    if old is not None and checks.same(job.get("spec"), old.get("spec")):
        return []
    found = podspecs.warnings("spec.template.spec", dig(job, "spec", "template", "spec"))
    why = names.dns_label(text(job, "metadata", "name"))
    if old is None and why:
        lead = (
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior"
        )
        found.insert(0, f"{lead}; a DNS label is recommended: [{why}]")
    return found


# --- validation -------------------------------------------------------------------------------------------


def errors(job: Object, old: Object | None) -> Errors:
    spec = mapping(job, "spec")
    found = _generated(job, spec) + jobspecs.errors("spec", spec)
    found += _selector(spec) + _hostnames(job, spec)
    return found if old is None else found + _changes(spec, mapping(old, "spec"), old)


def _generated(job: Object, spec: Object) -> Errors:
    """Whoever lets the server choose the selector must not have set its labels to something else."""
    if is_true(spec, "manualSelector") or not isinstance(spec.get("selector"), dict):
        return []
    uid, name = text(job, "metadata", "uid"), text(job, "metadata", "name")
    expected = dict.fromkeys(_UIDS, uid) | dict.fromkeys(_NAMES, name)
    labels = mapping(spec, "template", "metadata", "labels")
    found = [] if uid else [required("metadata.uid")]
    for key, value in expected.items():
        field, why = f"{_TEMPLATE_META}.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            found.append(required(field, why))
        elif labels[key] != value:
            found.append(invalid(field, labels, why))
    if not _matches(spec, expected):
        found.append(invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return found


def _selector(spec: Object) -> Errors:
    if not isinstance(spec.get("selector"), dict):
        return [required("spec.selector")]
    found = checks.label_selector("spec.selector", spec["selector"])
    labels = mapping(spec, "template", "metadata", "labels")
    if not _matches(spec, labels):
        why = "`selector` does not match template `labels`"
        found.append(invalid(f"{_TEMPLATE_META}.labels", labels, why))
    return found


def _matches(spec: Object, labels: Object) -> bool:
    """Whether the selector selects the labels; a broken selector is reported elsewhere."""
    try:
        return selectors.from_object(spec["selector"]).matches(labels)
    except (Fault, ValueError, TypeError, AttributeError):
        return True


def _hostnames(job: Object, spec: Object) -> Errors:
    completions, name = number(spec, "completions") or 0, text(job, "metadata", "name")
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return []
    last = f"{name}-{completions - 1}"
    why = f"will not able to create pod with invalid DNS label: {last}"
    return [invalid("metadata.name", name, why)] if names.dns_label(last) else []


def status_errors(job: Object, old: Object) -> Errors:
    found: Errors = []
    for name in _COUNTERS:
        found += checks.not_negative(f"status.{name}", dig(job, "status", name))
    return found


# --- change -----------------------------------------------------------------------------------------------


def _changes(spec: Object, old: Object, job: Object) -> Errors:
    found = _completions(spec, old)
    found += checks.immutable("spec.selector", spec.get("selector"), old.get("selector"))
    found += _template(spec, old, job)
    for name in _FIXED:
        found += checks.immutable(f"spec.{name}", spec.get(name), old.get(name))
    return found


def _completions(spec: Object, old: Object) -> list[FieldError]:
    """Only an Indexed job may grow or shrink, and only together with its parallelism."""
    new, before, field = spec.get("completions"), old.get("completions"), "spec.completions"
    if spec.get("completionMode") != "Indexed":
        return checks.immutable(field, new, before)
    if new is None or new == before or new == spec.get("parallelism"):
        return []
    return [invalid(field, new, "can only be modified in tandem with spec.parallelism")]


def _template(spec: Object, old: Object, job: Object) -> Errors:
    new, before = mapping(spec, "template"), mapping(old, "template")
    if is_true(old, "suspend") and not dig(job, "status", "startTime"):
        before = _with_new_directives(new, copied(before))
    return checks.immutable("spec.template", new, before)


def _with_new_directives(new: Object, before: Object) -> Object:
    """A suspended job that never started may still be told where to run (queueing systems count on it)."""
    for name in ("labels", "annotations"):
        child(before, "metadata")[name] = dig(new, "metadata", name)
    inner = child(before, "spec")
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        inner[name] = dig(new, "spec", name)
    affinity = dig(new, "spec", "affinity", "nodeAffinity")
    inner["affinity"] = {**mapping(inner, "affinity"), "nodeAffinity": affinity}
    return before


RULES = Rules(
    defaults=defaults, status_defaults=status_defaults, on_create=prepare,
    validate=errors, validate_status=status_errors, warnings=warnings,
)  # fmt: skip
