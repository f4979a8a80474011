"""What a TrainJob changes in its runtime's pods: `runtimePatches` and, in v2.1, `podTemplateOverrides`.

Both are checked against the runtime as it is stored. (Upstream checks after merging the changes in, when a
container that never existed has already been added; see docs/quirks.md.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from trainshed.kinds import dns
from trainshed.kinds.checks import Errors, same
from trainshed.kinds.reading import entries, is_true, mapping, number, sequence
from trainshed.kinds.trainer import templates
from trainshed.kube.faults import FieldError, forbidden, invalid
from trainshed.kube.objects import Object, dig, text

_OWN = (templates.DATASET, templates.MODEL, templates.NODE)
"""Containers whose environment the TrainJob sets elsewhere, in `trainer` and `initializer`."""


class Change(NamedTuple):
    """What one entry asks of the pods of one replicated job."""

    job: str
    pod: Object


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How one of the two fields speaks of jobs and of being changed."""

    name: str
    unknown_job: str
    suspended: str

    @property
    def field(self) -> str:
        return f"spec.{self.name}"

    @property
    def title(self) -> str:
        return self.name[0].upper() + self.name[1:]


_PATCHES = _Dialect("runtimePatches", "replicated job", "suspended before or after the update")
_OVERRIDES = _Dialect("podTemplateOverrides", "targetJob", "suspended")


def errors(job: Object, runtime: Object) -> Errors:
    """Changes of jobs and containers the runtime does not have, and of environments set elsewhere."""
    found: Errors = []
    for patch in entries(job, "spec", _PATCHES.name):
        found += dns.domain_prefixed_path("spec.runtimePatches.manager", patch.get("manager"))
        found += _misfits(_PATCHES, job, _patched(patch), runtime)
    for override in entries(job, "spec", _OVERRIDES.name):
        found += _misfits(_OVERRIDES, job, _overridden(override), runtime)
    return found


def changes(job: Object) -> Iterator[Change]:
    """Every change of either dialect, in order."""
    for patch in entries(job, "spec", _PATCHES.name):
        yield from _patched(patch)
    for override in entries(job, "spec", _OVERRIDES.name):
        yield from _overridden(override)


def _patched(patch: Object) -> Iterator[Change]:
    for job in entries(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
        yield Change(text(job, "name"), templates.pod(job))


def _overridden(override: Object) -> Iterator[Change]:
    for target in entries(override, "targetJobs"):
        yield Change(text(target, "name"), mapping(override, "spec"))


def _misfits(dialect: _Dialect, job: Object, changes: Iterator[Change], runtime: Object) -> Errors:
    given = sequence(job, "spec", dialect.name)
    reasons = (why for change in changes for why in _reasons(dialect, change, runtime))
    return [invalid(dialect.field, given, why) for why in reasons]


def _reasons(dialect: _Dialect, change: Change, runtime: Object) -> Iterator[str]:
    target = templates.job(runtime, change.job)
    if target is None:
        known = _known("job", change.job, dialect, templates.job_names(runtime))
        yield f"must not have {dialect.unknown_job} that doesn't exist in the runtime job template: {known}"
        return
    yield from _unknown_containers(dialect, "initContainer", change, target)
    yield from _unknown_containers(dialect, "container", change, target)
    for container in entries(change.pod, "containers"):
        if text(container, "name") in _OWN and sequence(container, "env"):
            yield f"must not have envs for the {', '.join(_OWN)} containers"


def _unknown_containers(dialect: _Dialect, word: str, change: Change, target: Object) -> Iterator[str]:
    existing = templates.container_names(target)
    for container in entries(change.pod, f"{word}s"):
        name = text(container, "name")
        if name not in existing:
            known = _known(word, name, dialect, existing)
            yield f"must not have {word} that doesn't exist in the runtime job {change.job}: {known}"


def _known(word: str, wrong: str, dialect: _Dialect, existing: list[str]) -> str:
    """Our own addition to upstream's words: what was meant is usually one of the names that exist."""
    listed = ", ".join(f'"{name}"' for name in existing) or "none"
    return f'{word} "{wrong}" in {dialect.name} does not exist in the runtime; it has {listed}'


# --- change over time -------------------------------------------------------------------------------------


def update_errors(job: Object, old: Object, jobset: Object | None) -> Errors:
    """Pods of a running job are not changed under its feet."""
    return [*_frozen(_PATCHES, job, old, jobset), *_frozen(_OVERRIDES, job, old, jobset)]


def _frozen(dialect: _Dialect, job: Object, old: Object, jobset: Object | None) -> Iterator[FieldError]:
    if same(dig(job, "spec", dialect.name), dig(old, "spec", dialect.name)):
        return
    if not is_true(job, "spec", "suspend") and not is_true(old, "spec", "suspend"):
        why = f"{dialect.title} can only be modified when the TrainJob is {dialect.suspended}"
        yield forbidden(dialect.field, why)
        return
    for status in entries(jobset, "status", "replicatedJobsStatus"):
        if (number(status, "active") or 0) > 0:
            busy = f"when the JobSet's ReplicatedJob {text(status, 'name')} is still active"
            yield forbidden(dialect.field, f"{dialect.title} cannot be modified {busy}")
