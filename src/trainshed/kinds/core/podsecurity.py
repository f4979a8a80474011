"""The Pod Security Standards: what a pod must not have at each level, in the real server's words; pure.

Levels come from labels of the namespace. Only the newest edition of the rules is kept: a pinned version is
shown in messages and otherwise read as `latest`.
https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from trainshed.kinds.core import podsecurity_rules as rules
from trainshed.kinds.core.podsecurity_rules import Rule
from trainshed.kinds.reading import mapping
from trainshed.kube.faults import FieldError, invalid
from trainshed.kube.objects import Object

PREFIX: Final = "pod-security.kubernetes.io/"
LEVELS: Final = ("privileged", "baseline", "restricted")
_VERSION: Final = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")
_TEMPLATE: Final = ("spec", "template")
TEMPLATES: Final = {
    "podtemplates": ("template",),
    "replicationcontrollers": _TEMPLATE,
    "replicasets.apps": _TEMPLATE,
    "deployments.apps": _TEMPLATE,
    "statefulsets.apps": _TEMPLATE,
    "daemonsets.apps": _TEMPLATE,
    "jobs.batch": _TEMPLATE,
    "cronjobs.batch": ("spec", "jobTemplate", *_TEMPLATE),
}
"""Kinds whose pods are looked at beforehand, to warn, and where they keep them."""


@dataclass(frozen=True, slots=True)
class Standard:
    level: str = "privileged"
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    @property
    def strictness(self) -> int:
        return LEVELS.index(self.level)


@dataclass(frozen=True, slots=True)
class Policy:
    enforce: Standard = Standard()
    warn: Standard = Standard()


def policy(labels: Mapping[str, str] | None) -> Policy:
    """What the labels of a namespace ask for; what cannot be read is enforced at its strictest."""
    given = labels or {}
    level = given.get(f"{PREFIX}enforce", "privileged")
    enforce = Standard(level if level in LEVELS else "restricted", _version(given, "enforce"))
    said = given.get(f"{PREFIX}warn")
    if said is None:
        # Whoever enforces wants to be warned as well; not where the label cannot be read.
        said = level if level in LEVELS else "privileged"
        version = _version(given, "warn") if f"{PREFIX}warn-version" in given else enforce.version
        return Policy(enforce, Standard(said, version))
    return Policy(enforce, Standard(said if said in LEVELS else "privileged", _version(given, "warn")))


def _version(labels: Mapping[str, str], mode: str) -> str:
    found = labels.get(f"{PREFIX}{mode}-version", "latest")
    return found if _VERSION.fullmatch(found) else "latest"


def label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    found: list[FieldError] = []
    for mode in ("enforce", "audit", "warn"):
        level, version = f"{PREFIX}{mode}", f"{PREFIX}{mode}-version"
        if level in labels and labels[level] not in LEVELS:
            why = f"must be one of {', '.join(LEVELS)}"
            found.append(invalid(f"metadata.labels[{level}]", labels[level], why))
        if version in labels and not _VERSION.fullmatch(labels[version]):
            why = 'must be "latest" or "v1.x"'
            found.append(invalid(f"metadata.labels[{version}]", labels[version], why))
    return found


def violations(pod: Object, standard: Standard) -> str:
    """Everything about a pod (or a template) the standard forbids; nothing if it may be."""
    meta, spec = mapping(pod, "metadata"), mapping(pod, "spec")
    found = (rule(meta, spec) for rule in _RULES[standard.level])
    return ", ".join(f"{each.reason} ({each.detail})" for each in found if each is not None)


def is_looked_at(new: Object, old: Object) -> bool:
    """Whether a change of a pod may matter: only other images and more containers do."""
    return _images(new) != _images(old)


def _images(pod: Object) -> list[tuple[object, object]]:
    return [(each.get("name"), each.get("image")) for each in rules.containers(mapping(pod, "spec"))]


def warnings(namespace: str, pods: Iterable[Object], standard: Standard) -> list[str]:
    """What to tell whoever raises the level of a namespace in which pods run."""
    by_fault: dict[str, list[str]] = {}
    for pod in pods:
        meta, spec = mapping(pod, "metadata"), mapping(pod, "spec")
        faults = [found.reason for rule in _RULES[standard.level] if (found := rule(meta, spec))]
        if faults:
            by_fault.setdefault(", ".join(faults), []).append(str(meta.get("name")))
    if not by_fault:
        return []
    lead = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"'
    return [lead, *sorted(f"{_listed(names)}: {faults}" for faults, names in by_fault.items())]


def _listed(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"


_BASELINE: Final[tuple[Rule, ...]] = (
    rules.app_armor, rules.default_capabilities, rules.host_namespaces, rules.host_paths, rules.host_ports,
    rules.probe_hosts, rules.privileged, rules.proc_mounts_outside_user_namespaces, rules.se_linux,
    rules.seccomp, rules.sysctls, rules.host_processes,
)  # fmt: skip
_OVERRIDDEN: Final[frozenset[Callable[..., object]]] = frozenset(
    (rules.default_capabilities, rules.host_paths, rules.seccomp, rules.proc_mounts_outside_user_namespaces)
)
_RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "privileged": (),
    "baseline": _BASELINE,
    "restricted": (
        *(rule for rule in _BASELINE if rule not in _OVERRIDDEN),
        rules.privilege_escalation, rules.no_capabilities, rules.proc_mounts, rules.plain_volumes,
        rules.run_as_non_root, rules.run_as_user, rules.seccomp_is_set,
    ),
}  # fmt: skip
