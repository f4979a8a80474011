"""What Katib's validating webhook refuses of an Experiment, in its words and its order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainshed.kinds.checks import Errors, same
from trainshed.kinds.katib import collectors, parameters, trials
from trainshed.kinds.katib.trials import Surroundings
from trainshed.kinds.reading import mapping, number, sequence, texts
from trainshed.kube import conditions
from trainshed.kube.faults import FieldError, forbidden, invalid, required
from trainshed.kube.objects import Object, dig, text, without

INJECTION_LABEL = "katib.kubeflow.org/metrics-collector-injection"
ALGORITHMS = (
    "random", "tpe", "grid", "hyperband", "bayesianoptimization", "cmaes", "sobol", "multivariate-tpe",
    "enas", "darts", "pbt",
)  # fmt: skip
"""The algorithms of Katib's default configuration."""
EARLY_STOPPING = ("medianstop",)
RESUME_POLICIES = ("", "Never", "LongRunning", "FromVolume")
_LONGEST_NAME = 40
_FIRST_LETTER = re.compile("[a-z]")
_NAME_WORDS = (
    "name must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
    "end with an alphanumeric character (e.g. 'my-name', or 'abc-123', regex used for validation is "
    "'^[a-z]([-a-z0-9]*[a-z0-9])?)') and may not be longer than 40 characters. "
)
_EDITABLE = ("parallelTrialCount", "maxTrialCount", "maxFailedTrialCount")


def errors(experiment: Object, old: Object | None, around: Surroundings) -> Errors:
    found = [*_name_errors(experiment), *_count_errors(mapping(experiment, "spec"))]
    if old is not None:
        found += _update_errors(mapping(experiment, "spec"), old)
    objective = [*_objective_errors(experiment)]
    return [*found, *(objective or _spec_errors(experiment, around))]


def _spec_errors(experiment: Object, around: Surroundings) -> Iterator[FieldError]:
    yield from _algorithm_errors(experiment)
    yield from _early_stopping_errors(experiment)
    policy = text(experiment, "spec", "resumePolicy")
    if policy not in RESUME_POLICIES:
        yield invalid("spec.resumePolicy", policy, "invalid ResumePolicyType")
    yield from trials.errors(experiment, around)
    yield from parameters.errors(experiment)
    yield from collectors.errors(mapping(experiment, "spec", "metricsCollectorSpec"))


def _name_errors(experiment: Object) -> Iterator[FieldError]:
    """Upstream's expression is not bound to the end of the name, so only the first letter counts."""
    name = text(experiment, "metadata", "name")
    if not _FIRST_LETTER.match(name) or len(name) > _LONGEST_NAME:
        yield invalid("metadata.name", name, _NAME_WORDS)


def _count_errors(spec: Object) -> Iterator[FieldError]:
    most, failed, parallel = (
        number(spec, name) for name in ("maxTrialCount", "maxFailedTrialCount", "parallelTrialCount")
    )
    if failed is not None and failed < 0:
        yield invalid("spec.maxFailedTrialCount", failed, "should not be less than 0")
    if most is not None and most <= 0:
        yield invalid("spec.maxTrialCount", most, "must be greater than 0")
    if parallel is not None and parallel <= 0:
        yield invalid("spec.parallelTrialCount", parallel, "must be greater than 0")
    for name, count in (("maxFailedTrialCount", failed), ("parallelTrialCount", parallel)):
        if most is not None and count is not None and count > most:
            yield invalid(f"spec.{name}", count, "should be less than or equal to spec.maxTrialCount")


def _update_errors(spec: Object, old: Object) -> Iterator[FieldError]:
    before = mapping(old, "spec")
    if same(spec, before):
        return
    if _is_completed(old) and not is_restartable(old):
        when = "if it is in succeeded state by reaching max trials and spec.resumePolicy = LongRunning or"
        why = (
            f"Experiment can be restarted {when} spec.resumePolicy = FromVolume, when experiment is completed"
        )
        yield invalid("spec.resumePolicy", text(spec, "resumePolicy"), why)
    most = number(spec, "maxTrialCount")
    if most is not None and most <= (number(old, "status", "trials") or 0):
        yield invalid("spec.maxTrialCount", most, "must be greater than status.trials count")
    if not same(without(spec, _EDITABLE), without(before, _EDITABLE)):
        why = "only spec.parallelTrialCount, spec.maxTrialCount and spec.maxFailedTrialCount are editable"
        yield forbidden("spec", why)


def _is_completed(experiment: Object) -> bool:
    given = dig(experiment, "status", "conditions")
    return conditions.is_true(given, "Succeeded") or conditions.is_true(given, "Failed")


def is_restartable(experiment: Object) -> bool:
    """An Experiment that ended only because it ran out of trials, and kept what it learned."""
    given = dig(experiment, "status", "conditions")
    succeeded = conditions.find(given, "Succeeded")
    reason = text(succeeded, "reason") if conditions.is_true(given, "Succeeded") else ""
    policy = text(experiment, "spec", "resumePolicy")
    return reason == "ExperimentMaxTrialsReached" and policy in ("LongRunning", "FromVolume")


# --- objective and algorithms -----------------------------------------------------------------------------


def _objective_errors(experiment: Object) -> Iterator[FieldError]:
    field = "spec.objective"
    objective = dig(experiment, "spec", "objective")
    if not isinstance(objective, dict):
        yield required(field, "must be specified")
        return
    if text(objective, "type") not in ("minimize", "maximize"):
        yield invalid(f"{field}.type", text(objective, "type"), "must be minimize or maximize")
    metric = text(objective, "objectiveMetricName")
    if not metric:
        yield required(f"{field}.objectiveMetricName", "must be specified")
    if metric in texts(objective, "additionalMetricNames"):
        others = sequence(objective, "additionalMetricNames")
        why = "should not contain spec.objective.objectiveMetricName"
        yield invalid(f"{field}.additionalMetricNames", others, why)


def _algorithm_errors(experiment: Object) -> Iterator[FieldError]:
    given = dig(experiment, "spec", "algorithm")
    if not isinstance(given, dict):
        yield required("spec.algorithm", "must be specified")
        return
    name, field = text(given, "algorithmName"), "spec.algorithm.algorithmName"
    if not name:
        yield required(field, "must be specified")
    if name not in ALGORITHMS:
        missing = f"failed to find suggestion config for algorithm: {name} in ConfigMap: katib-config"
        yield invalid(field, name, f"unable to get Suggestion config data for algorithm {name}: {missing}")


def _early_stopping_errors(experiment: Object) -> Iterator[FieldError]:
    given = dig(experiment, "spec", "earlyStopping")
    if not isinstance(given, dict):
        return
    name, field = text(given, "algorithmName"), "spec.earlyStopping.algorithmName"
    if not name:
        yield required(field, "must be specified")
    if name not in EARLY_STOPPING:
        missing = f"failed to find early stopping config for algorithm: {name} in ConfigMap: katib-config"
        yield invalid(field, name, f"unable to get EarlyStopping config data for algorithm {name}: {missing}")
