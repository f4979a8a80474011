"""What Katib's mutating webhook fills into an Experiment, on create and on update."""

from __future__ import annotations

from trainshed.kinds.reading import child, entries, fill, mapping, texts
from trainshed.kube.objects import JSON, Object, dig, text

_PARALLEL_TRIALS = 3
_CONDITION = 'status.conditions.#(type=="{}")#|#(status=="True")#'
_SUCCESS = {
    "Job": "Complete",
    "TrainJob": "Complete",
    "TFJob": "Succeeded",
    "PyTorchJob": "Succeeded",
    "XGBoostJob": "Succeeded",
    "MPIJob": "Succeeded",
}
"""The condition that means success, by the kind of a trial's worker; other kinds have to say it."""
_TRAINJOB_LABELS = {
    "jobset.sigs.k8s.io/replicatedjob-name": "node",
    "batch.kubernetes.io/job-completion-index": "0",
}
_OPERATOR_LABELS = {"training.kubeflow.org/job-role": "master"}
_STRATEGIES = {"minimize": "min", "maximize": "max"}


def apply(experiment: Object) -> None:
    spec = experiment.get("spec")
    if not isinstance(spec, dict):
        return
    if spec.get("parallelTrialCount") is None:
        spec["parallelTrialCount"] = _PARALLEL_TRIALS
    fill(spec, resumePolicy="Never")
    _default_objective(spec.get("objective"))
    _default_template(spec.get("trialTemplate"))
    _default_collector(child_or_new(spec, "metricsCollectorSpec"))
    for parameter in entries(spec, "parameters"):
        space = child_or_new(parameter, "feasibleSpace")
        _find_choices(space)
        fill(space, distribution="uniform")


def child_or_new(target: Object, name: str) -> Object:
    """As `reading.child`, where null is as good as absent."""
    if target.get(name) is None:
        target.pop(name, None)
    return child(target, name)


def _find_choices(space: Object) -> None:
    """`search.categorical` of the SDK puts them where the distribution belongs (kubeflow/katib#2625)."""
    if isinstance(space.get("distribution"), list):
        choices = space.pop("distribution")
        fill(space, list=choices)


def _default_objective(objective: JSON) -> None:
    """Every metric gets a strategy; those given stay, in front."""
    if not isinstance(objective, dict):
        return
    given = entries(objective, "metricStrategies")
    named = {text(strategy, "name") for strategy in given}
    wanted = [text(objective, "objectiveMetricName"), *texts(objective, "additionalMetricNames")]
    value = _STRATEGIES.get(text(objective, "type"), "latest")
    missing = [name for name in dict.fromkeys(wanted) if name not in named]
    if missing:
        objective["metricStrategies"] = [*given, *({"name": name, "value": value} for name in missing)]


def _default_template(template: JSON) -> None:
    if not isinstance(template, dict):
        return
    if not template.get("trialParameters"):
        # Upstream reads and writes the object with types that have no empty lists.
        template.pop("trialParameters", None)
    kind = text(template, "trialSpec", "kind")
    if kind not in _SUCCESS:
        return
    fill(template, successCondition=_CONDITION.format(_SUCCESS[kind]))
    fill(template, failureCondition=_CONDITION.format("Failed"))
    if kind != "Job" and not mapping(template, "primaryPodLabels"):
        template["primaryPodLabels"] = dict(_TRAINJOB_LABELS if kind == "TrainJob" else _OPERATOR_LABELS)


def _default_collector(collector: Object) -> None:
    if dig(collector, "collector") is None:
        collector["collector"] = {"kind": "StdOut"}
    match text(collector, "collector", "kind"):
        case "File":
            path = child_or_new(child_or_new(collector, "source"), "fileSystemPath")
            fill(path, kind="File", path="/var/log/katib/metrics.log", format="TEXT")
        case "TensorFlowEvent":
            path = child_or_new(child_or_new(collector, "source"), "fileSystemPath")
            fill(path, kind="Directory", path="/var/log/katib/tfevent/")
        case "PrometheusMetric":
            address = child_or_new(child_or_new(collector, "source"), "httpGet")
            fill(address, path="/metrics")
            if address.get("port") in (None, 0, "0"):
                address["port"] = 8080
