"""Pods: what the server adds to them, and the little that may change once they exist."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy, tidy_part
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import containers, placement, podspecs, resources
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, entries, fill, mapping, number, sequence
from trainshed.kube import names
from trainshed.kube.faults import forbidden, invalid
from trainshed.kube.objects import JSON, Object, copied, dig, text

_FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED_TERMS: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def defaults(pod: Object) -> None:
    tidy(pod, "Pod")
    spec = child(pod, "spec")
    podspecs.defaults(spec)
    containers.default_requests(spec)
    fill(spec, enableServiceLinks=True)
    if spec.get("hostNetwork") is True:
        containers.default_host_ports(spec)


def status_defaults(status: Object) -> None:
    tidy_part(status, "PodStatus")


def prepare(pod: Object) -> None:
    """A new pod waits; its quality of service is settled now and never changes."""
    spec = mapping(pod, "spec")
    pod["status"] = {"phase": "Pending"}
    settle_quality(pod)
    if sequence(spec, "schedulingGates"):
        why = "Scheduling is blocked due to non-empty scheduling gates"
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": why}
        pod["status"]["conditions"] = [gated]


def settle_quality(pod: Object) -> None:
    every = entries(pod, "spec", "containers") + entries(pod, "spec", "initContainers")
    child(pod, "status")["qosClass"] = resources.quality_of_service(every)


_CRITICAL = "scheduler.alpha.kubernetes.io/critical-pod"


def warnings(pod: Object, old: Object | None) -> list[str]:
    if old is not None:
        return []
    found = podspecs.warnings("spec", mapping(pod, "spec"))
    if why := names.dns_label(text(pod, "metadata", "name")):
        lead = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior"
        found.insert(0, f"{lead}; a DNS label is recommended: [{why}]")
    if _CRITICAL in mapping(pod, "metadata", "annotations"):
        why = 'non-functional in v1.16+; use the "priorityClassName" field instead'
        found.append(f"metadata.annotations[{_CRITICAL}]: {why}")
    return found


def errors(pod: Object, old: Object | None) -> Errors:
    spec = mapping(pod, "spec")
    if old is not None and spec == old.get("spec"):
        return []  # looked at when it was made; nearly every pod is changed only around its spec
    found = podspecs.errors("spec", spec, is_pod=True, pod_name=text(pod, "metadata", "name"))
    found += _tokens(spec)
    return found + (_on_create(spec) if old is None else _on_change(spec, mapping(old, "spec")))


def _tokens(spec: Object) -> Errors:
    if text(spec, "serviceAccountName"):
        return []
    why = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"spec.volumes[{index}].projected.sources[{at}].serviceAccountToken", why)
        for index, volume in enumerate(entries(spec, "volumes"))
        for at, source in enumerate(entries(volume, "projected", "sources"))
        if source.get("serviceAccountToken") is not None
    ]


def _on_create(spec: Object) -> Errors:
    found: Errors = []
    if sequence(spec, "ephemeralContainers"):
        found.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if text(spec, "nodeName") and sequence(spec, "schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        found.append(forbidden("spec.nodeName", why))
    return found


# --- change -----------------------------------------------------------------------------------------------


def _on_change(spec: Object, old: Object) -> Errors:
    for name in ("containers", "initContainers"):
        if len(sequence(spec, name)) != len(sequence(old, name)):
            return [forbidden(f"spec.{name}", "pod updates may not add or remove containers")]
    found = _deadline(spec, old)
    found += placement.only_added_tolerations("spec.tolerations", spec, old)
    found += placement.only_removed_gates("spec.schedulingGates", spec, old)
    rest = _with_old_values(spec, old)
    if sequence(old, "schedulingGates"):
        found += _gated_changes(rest, old)
    return found if checks.same(rest, old) else [*found, forbidden("spec", _FIXED)]


def _deadline(spec: Object, old: Object) -> Errors:
    field = "spec.activeDeadlineSeconds"
    new, before = number(spec, "activeDeadlineSeconds"), number(old, "activeDeadlineSeconds")
    if before is None:
        return []
    if new is None:
        return [invalid(field, None, "must not update from a positive integer to nil value")]
    return [invalid(field, new, "must be less than or equal to previous value")] if new > before else []


def _with_old_values(spec: Object, old: Object) -> Object:
    """The new spec with every field that may change set back: what still differs may not."""
    rest: Object = copied(spec)
    for name in ("containers", "initContainers"):
        for container, before in zip(entries(rest, name), entries(old, name), strict=True):
            container["image"] = before.get("image")
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        rest[name] = old.get(name)
    grace = "terminationGracePeriodSeconds"
    if (number(old, grace) or 0) < 0 and rest.get(grace) == 1:
        rest[grace] = old.get(grace)
    return rest


def _gated_changes(rest: Object, old: Object) -> Errors:
    """A pod held by gates may still be aimed more narrowly; what is allowed is set back in `rest`."""
    found: Errors = []
    selector, before = mapping(rest, "nodeSelector"), mapping(old, "nodeSelector")
    if any(selector.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.append(invalid("spec.nodeSelector", selector, why))
    rest["nodeSelector"] = before
    found += _narrower(rest, old)
    affinity = {**mapping(rest, "affinity"), "nodeAffinity": dig(old, "affinity", "nodeAffinity")}
    rest["affinity"] = affinity
    return found


def _narrower(rest: Object, old: Object) -> Errors:
    path = ("affinity", "nodeAffinity", _REQUIRED_TERMS, "nodeSelectorTerms")
    field, terms, before = f"spec.{'.'.join(path)}", entries(rest, *path), entries(old, *path)
    if before and len(before) != len(terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(field, terms, why)]
    why = "only additions are allowed (no mutations or deletions)"
    return [
        invalid(f"{field}[{index}]", term, why)
        for index, (term, earlier) in enumerate(zip(terms, before, strict=False))
        if not _only_adds(term, earlier)
    ]


def _only_adds(term: Object, before: Object) -> bool:
    lists = ("matchExpressions", "matchFields")
    if not any(sequence(before, name) for name in lists):
        return not any(sequence(term, name) for name in lists)
    return all(_starts_with(sequence(term, name), sequence(before, name)) for name in lists)


def _starts_with(longer: list[JSON], start: list[JSON]) -> bool:
    return checks.same(longer[: len(start)], start)


RULES = Rules(
    defaults=defaults, status_defaults=status_defaults, on_create=prepare, validate=errors, warnings=warnings,
    always_returns_object_on_delete=True, has_generation=False,
)  # fmt: skip
