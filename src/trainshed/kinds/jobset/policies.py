"""The policies of a JobSet and its coordinator: names they mention must exist, rules must be told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainshed.kinds.jobset.faults import plain
from trainshed.kinds.reading import entries, mapping, number, texts
from trainshed.kube import names
from trainshed.kube.faults import FieldError, shown
from trainshed.kube.objects import Object, dig, text

FAILURE_REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
COORDINATOR = "jobset.sigs.k8s.io/coordinator"
_RULE_NAME = re.compile("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_SINGLE_JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def errors(jobset: Object) -> Iterator[FieldError]:
    known = [text(job, "name") for job in entries(jobset, "spec", "replicatedJobs")]
    for name in texts(jobset, "spec", "successPolicy", "targetReplicatedJobs"):
        if name not in known:
            yield plain(f"invalid replicatedJob name '{name}' does not appear in .spec.ReplicatedJobs")
    yield from _failure_errors(entries(jobset, "spec", "failurePolicy", "rules"), known)
    if isinstance(dig(jobset, "spec", "coordinator"), dict):
        yield from _coordinator_errors(jobset)


# --- failure policy ---------------------------------------------------------------------------------------


def _failure_errors(rules: list[Object], known: list[str]) -> Iterator[FieldError]:
    if any(text(rule, "action") in _SINGLE_JOB_ACTIONS for rule in rules):
        actions = " and ".join(_SINGLE_JOB_ACTIONS)
        gate = "are not allowed when RestartJob feature gate is disabled"
        yield plain(f"{actions} failure policy actions {gate}")
        return
    for rule in rules:
        yield from _rule_name_errors(text(rule, "name"))
        for name in texts(rule, "targetReplicatedJobs"):
            if name not in known:
                where = "in failure policy does not appear in .spec.ReplicatedJobs"
                yield plain(f"invalid replicatedJob name '{name}' {where}")
        for reason in texts(rule, "onJobFailureReasons"):
            if reason not in FAILURE_REASONS:
                where = "in failure policy is not a recognized job failure reason"
                yield plain(f"invalid job failure reason '{reason}' {where}")
    yield from _repeated_names([text(rule, "name") for rule in rules])


def _rule_name_errors(name: str) -> Iterator[FieldError]:
    if not 1 <= len(name) <= 128:
        size = "must be at least 1 characters long and at most 128 characters long"
        yield plain(f"invalid failure policy rule name of length {len(name)}, the rule name {size}")
    if not _RULE_NAME.fullmatch(name):
        yield plain(
            f"invalid failure policy rule name '{name}', a failure policy rule name must start with an "
            "alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', "
            "and must end with an alphanumeric character or '_'"
        )


def _repeated_names(given: list[str]) -> Iterator[FieldError]:
    for name in dict.fromkeys(given):
        places = [str(index) for index, other in enumerate(given) if other == name]
        if len(places) > 1:
            indices = f"rules with indices [{' '.join(places)}]"
            yield plain(f"rule names are not unique, {indices} all have the same name '{name}'")


# --- coordinator ------------------------------------------------------------------------------------------


def _coordinator_errors(jobset: Object) -> Iterator[FieldError]:
    why = _wrong_coordinator(jobset, mapping(jobset, "spec", "coordinator"))
    if why:
        yield plain(why)
    endpoint = coordinator_endpoint(jobset)
    wrong = names.label_value(endpoint)
    if wrong:
        hint = "(long JobSet / ReplicatedJob / SubDomain name?)"
        label = f"label value {shown(endpoint)} for coordinator label {shown(COORDINATOR)}"
        yield plain(f"spec will lead to invalid {label} {hint}: {wrong}")


def _wrong_coordinator(jobset: Object, given: Object) -> str:
    name, job_index, pod_index = (
        text(given, "replicatedJob"),
        _index(given, "jobIndex"),
        _index(given, "podIndex"),
    )
    jobs = entries(jobset, "spec", "replicatedJobs")
    job = next((found for found in jobs if text(found, "name") == name), None)
    if job is None:
        return f"coordinator replicatedJob {name} does not exist"
    replicas = number(job, "replicas")
    if not 0 <= job_index < (1 if replicas is None else replicas):
        return f"coordinator job index {job_index} is invalid for replicatedJob {name}"
    completions = number(job, "template", "spec", "completions")
    if completions is None or text(job, "template", "spec", "completionMode") != "Indexed":
        return "job for coordinator pod must be indexed completion mode, and completions number must be set"
    if not 0 <= pod_index < completions:
        return f"coordinator pod index {pod_index} is invalid for replicatedJob {name} job index {job_index}"
    return ""


def coordinator_endpoint(jobset: Object) -> str:
    """Where the coordinator's pod is reached: host name and subdomain."""
    given, name = mapping(jobset, "spec", "coordinator"), text(jobset, "metadata", "name")
    host = f"{name}-{text(given, 'replicatedJob')}-{_index(given, 'jobIndex')}-{_index(given, 'podIndex')}"
    return f"{host}.{text(jobset, 'spec', 'network', 'subdomain') or name}"


def _index(given: Object, name: str) -> int:
    return number(given, name) or 0
