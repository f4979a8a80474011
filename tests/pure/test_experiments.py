"""Experiments: what Katib's webhooks fill in and refuse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.training_objects import a_worker_template, an_experiment
from trainshed.kinds.katib import defaults, validate
from trainshed.kinds.katib.trials import Surroundings
from trainshed.kube.objects import JSON, Object, copied

DONE = 'status.conditions.#(type=="{}")#|#(status=="True")#'
TEMPLATE = "spec.trialTemplate"


def filled(**spec: JSON) -> Object:
    experiment = an_experiment(**spec)
    defaults.apply(experiment)
    return experiment


def said(experiment: Object, old: Object | None = None, **around: JSON) -> list[str]:
    return [str(error) for error in validate.errors(experiment, old, Surroundings(**around))]


def template(**changes: JSON) -> Object:
    found = {**an_experiment()["spec"]["trialTemplate"], **changes}
    return {key: value for key, value in found.items() if value is not None}


# --- defaults ---------------------------------------------------------------------------------------------


def test_counts_and_policies_have_defaults() -> None:
    spec = filled()["spec"]
    assert (spec["parallelTrialCount"], spec["resumePolicy"]) == (3, "Never")
    assert spec["metricsCollectorSpec"] == {"collector": {"kind": "StdOut"}}
    assert spec["parameters"][0]["feasibleSpace"]["distribution"] == "uniform"
    assert "maxFailedTrialCount" not in spec


def test_what_is_given_stays() -> None:
    kept = {"parallelTrialCount": 0, "resumePolicy": "LongRunning"}
    spec = filled(**kept)["spec"]
    assert {key: spec[key] for key in kept} == kept


@pytest.mark.parametrize(("type", "strategy"), [("minimize", "min"), ("maximize", "max"), ("", "latest")])
def test_every_metric_has_a_strategy_that_follows_the_objective(type: str, strategy: str) -> None:
    objective = {
        "type": type,
        "objectiveMetricName": "loss",
        "additionalMetricNames": ["accuracy", "time"],
        "metricStrategies": [{"name": "time", "value": "latest"}],
    }
    assert filled(objective=objective)["spec"]["objective"]["metricStrategies"] == [
        {"name": "time", "value": "latest"},
        {"name": "loss", "value": strategy},
        {"name": "accuracy", "value": strategy},
    ]


@pytest.mark.parametrize(
    ("kind", "success", "labels"),
    [
        ("Job", "Complete", None),
        ("PyTorchJob", "Succeeded", {"training.kubeflow.org/job-role": "master"}),
        ("TFJob", "Succeeded", {"training.kubeflow.org/job-role": "master"}),
        ("XGBoostJob", "Succeeded", {"training.kubeflow.org/job-role": "master"}),
        ("MPIJob", "Succeeded", {"training.kubeflow.org/job-role": "master"}),
        (
            "TrainJob",
            "Complete",
            {
                "jobset.sigs.k8s.io/replicatedjob-name": "node",
                "batch.kubernetes.io/job-completion-index": "0",
            },
        ),
    ],
)
def test_the_kind_of_a_worker_says_how_it_ends(kind: str, success: str, labels: JSON) -> None:
    found = filled(trialTemplate=template(trialSpec=a_worker_template(kind)))["spec"]["trialTemplate"]
    assert found["successCondition"] == DONE.format(success)
    assert found["failureCondition"] == DONE.format("Failed")
    assert found.get("primaryPodLabels") == labels


def test_workers_of_other_kinds_have_to_say_how_they_end() -> None:
    experiment = filled(trialTemplate=template(trialSpec=a_worker_template("JAXJob")))
    assert "successCondition" not in experiment["spec"]["trialTemplate"]
    assert said(experiment) == [
        f"{TEMPLATE}: Required value: successCondition and failureCondition must be specified"
    ]


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        (
            "File",
            {"fileSystemPath": {"kind": "File", "path": "/var/log/katib/metrics.log", "format": "TEXT"}},
        ),
        ("TensorFlowEvent", {"fileSystemPath": {"kind": "Directory", "path": "/var/log/katib/tfevent/"}}),
        ("PrometheusMetric", {"httpGet": {"path": "/metrics", "port": 8080}}),
        ("Push", None),
        ("Custom", None),
    ],
)
def test_collectors_know_where_metrics_are_by_default(kind: str, source: JSON) -> None:
    found = filled(metricsCollectorSpec={"collector": {"kind": kind}})["spec"]["metricsCollectorSpec"]
    assert found.get("source") == source


def test_an_experiment_without_a_spec_is_left_alone() -> None:
    experiment = {"metadata": {"name": "e"}, "spec": None}
    defaults.apply(experiment)
    assert experiment == {"metadata": {"name": "e"}, "spec": None}


def test_defaults_are_filled_in_once() -> None:
    once = filled()
    again = copied(once)
    defaults.apply(again)
    assert again == once


# --- the whole --------------------------------------------------------------------------------------------


def test_an_experiment_as_users_write_it_is_accepted() -> None:
    assert said(filled()) == []


@pytest.mark.parametrize(
    ("name", "fits"), [("a" * 40, True), ("a" * 41, False), ("1a", False), ("a.b", True)]
)
def test_names_begin_with_a_letter_and_are_short(name: str, fits: bool) -> None:
    experiment = filled() | {"metadata": {"name": name}}
    found = said(experiment)
    assert (found == []) is fits
    if not fits:
        assert found[0].startswith(f'metadata.name: Invalid value: "{name}": name must consist of lower case')
        assert found[0].endswith(" and may not be longer than 40 characters. ")


@pytest.mark.parametrize(
    ("counts", "errors"),
    [
        (
            {"maxFailedTrialCount": -1},
            ["spec.maxFailedTrialCount: Invalid value: -1: should not be less than 0"],
        ),
        (
            {"maxTrialCount": 0, "parallelTrialCount": 0},
            [
                "spec.maxTrialCount: Invalid value: 0: must be greater than 0",
                "spec.parallelTrialCount: Invalid value: 0: must be greater than 0",
            ],
        ),
        (
            {"maxTrialCount": 4, "maxFailedTrialCount": 5},
            [
                "spec.maxFailedTrialCount: Invalid value: 5: "
                "should be less than or equal to spec.maxTrialCount"
            ],
        ),
        (
            {"maxTrialCount": 2},
            ["spec.parallelTrialCount: Invalid value: 3: should be less than or equal to spec.maxTrialCount"],
        ),
        ({"maxTrialCount": None, "maxFailedTrialCount": 5}, []),
    ],
)
def test_counts_fit_each_other(counts: Object, errors: list[str]) -> None:
    assert said(filled(**counts)) == errors


@pytest.mark.parametrize(
    ("objective", "errors"),
    [
        (None, ["spec.objective: Required value: must be specified"]),
        (
            {"type": "improve", "objectiveMetricName": "x"},
            ['spec.objective.type: Invalid value: "improve": must be minimize or maximize'],
        ),
        ({"type": "minimize"}, ["spec.objective.objectiveMetricName: Required value: must be specified"]),
        (
            {"type": "minimize", "objectiveMetricName": "x", "additionalMetricNames": ["x"]},
            [
                'spec.objective.additionalMetricNames: Invalid value: ["x"]: '
                "should not contain spec.objective.objectiveMetricName"
            ],
        ),
    ],
)
def test_an_objective_is_complete_or_nothing_else_is_looked_at(objective: JSON, errors: list[str]) -> None:
    assert said(filled(objective=objective, algorithm=None, trialTemplate=None)) == errors


def test_algorithms_are_those_of_the_default_configuration() -> None:
    assert said(filled(algorithm=None)) == ["spec.algorithm: Required value: must be specified"]
    missing = "failed to find suggestion config for algorithm: {0} in ConfigMap: katib-config"
    why = f"unable to get Suggestion config data for algorithm {{0}}: {missing}"
    assert said(filled(algorithm={"algorithmName": "magic"})) == [
        f'spec.algorithm.algorithmName: Invalid value: "magic": {why.format("magic")}'
    ]
    assert said(filled(algorithm={})) == [
        "spec.algorithm.algorithmName: Required value: must be specified",
        f'spec.algorithm.algorithmName: Invalid value: "": {why.format("")}',
    ]
    for name in validate.ALGORITHMS:
        assert said(filled(algorithm={"algorithmName": name})) == []


def test_early_stopping_is_medianstop() -> None:
    assert said(filled(earlyStopping={"algorithmName": "medianstop"})) == []
    missing = "failed to find early stopping config for algorithm: soon in ConfigMap: katib-config"
    assert said(filled(earlyStopping={"algorithmName": "soon"})) == [
        'spec.earlyStopping.algorithmName: Invalid value: "soon": '
        f"unable to get EarlyStopping config data for algorithm soon: {missing}"
    ]
    assert (
        said(filled(earlyStopping={}))[0]
        == "spec.earlyStopping.algorithmName: Required value: must be specified"
    )


def test_resume_policies_are_known() -> None:
    assert said(filled(resumePolicy="Maybe")) == [
        'spec.resumePolicy: Invalid value: "Maybe": invalid ResumePolicyType'
    ]
    assert said(filled(resumePolicy="FromVolume")) == []


# --- parameters -------------------------------------------------------------------------------------------


def parameter(type: str, **space: JSON) -> list[Object]:
    return [{"name": "lr", "parameterType": type, "feasibleSpace": space}]


FIELD = "spec.parameters[0]"


@pytest.mark.parametrize(
    ("parameters", "errors"),
    [
        (parameter("int", min="1", max="2", step="1"), []),
        (parameter("categorical", list=["a", "b"]), []),
        (parameter("categorical"), []),
        (
            parameter("text", min="1"),
            [f'{FIELD}.parameterType: Invalid value: "text": parameterType: text is not supported'],
        ),
        (
            parameter("int", min="1", max="2", distribution="flat"),
            [
                f'{FIELD}.feasibleSpace.distribution: Invalid value: "flat": '
                "distribution: flat is not supported"
            ],
        ),
        (
            parameter("double", min="1"),
            [
                f"{FIELD}.feasibleSpace.max: Required value: feasibleSpace.max or feasibleSpace.min "
                "must be specified for parameterType: double"
            ],
        ),
        (
            parameter("int", min="1", max="2", list=["1"]),
            [
                f'{FIELD}.feasibleSpace.list: Invalid value: ["1"]: '
                "feasibleSpace.list is not supported for parameterType: int"
            ],
        ),
        (
            parameter("discrete", list=["1"], step="1", distribution="uniform"),
            [
                f"{FIELD}.feasibleSpace: Invalid value: "
                f'{{"list":["1"],"step":"1","distribution":"uniform"}}: '
                "feasibleSpace .max, .min and .step is not supported for parameterType: discrete"
            ],
        ),
    ],
)
def test_parameters_say_what_their_type_needs(parameters: list[Object], errors: list[str]) -> None:
    assert said(filled(parameters=parameters)) == errors


def test_there_is_something_to_search() -> None:
    found = said(filled(parameters=[]))
    assert "spec: Required value: spec.parameters or spec.nasConfig must be specified" in found
    assert said(filled(parameters=[], nasConfig={})) == []


def test_there_is_one_thing_to_search() -> None:
    [text] = said(filled(nasConfig={}))
    assert text.startswith("spec: Invalid value: {")
    assert text.endswith(": only one of spec.parameters and spec.nasConfig can be specified")


# --- the template of trials -------------------------------------------------------------------------------

CONFIG = {"configMapName": "c", "configMapNamespace": "n", "templatePath": "p"}
WRITTEN = "apiVersion: v1\nkind: Thing\nargs: ['${trialParameters.learningRate}']\n"


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        (
            {"primaryContainerName": ""},
            [f"{TEMPLATE}.primaryContainerName: Required value: must be specified"],
        ),
        ({"trialParameters": []}, [f"{TEMPLATE}.trialParameters: Required value: must be specified"]),
        (
            {"trialSpec": None, "successCondition": "s", "failureCondition": "f"},
            [
                f"{TEMPLATE}.TrialSource: Required value: "
                f"{TEMPLATE}.trialSpec or {TEMPLATE}.configMap must be specified"
            ],
        ),
        (
            {"configMap": CONFIG},
            [
                f"{TEMPLATE}: Required value: only one of {TEMPLATE}.trialSpec or "
                f"{TEMPLATE}.configMap can be specified"
            ],
        ),
        (
            {"trialSpec": None, "successCondition": "s", "failureCondition": "f", "configMap": {}},
            [
                f"{TEMPLATE}.configMap: Required value: "
                "configMapName, configMapNamespace and templatePath must be specified"
            ],
        ),
    ],
)
def test_a_template_is_complete(changes: Object, errors: list[str]) -> None:
    assert said(filled(trialTemplate=template(**changes))) == errors


def test_there_is_a_template() -> None:
    assert said(filled(trialTemplate=None)) == [f"{TEMPLATE}: Required value: must be specified"]


def from_config(config: JSON) -> list[str]:
    changes = {"trialSpec": None, "successCondition": "s", "failureCondition": "f", "configMap": CONFIG}
    return said(filled(trialTemplate=template(**changes)), find_config=lambda namespace, name: config)


def test_a_template_may_live_in_a_config_map() -> None:
    assert from_config({"data": {"p": WRITTEN}}) == []
    assert from_config(None) == [
        f'{TEMPLATE}: Invalid value: "": unable to parse {TEMPLATE}: configMap not found: '
        'ConfigMap "c" not found'
    ]
    [text] = from_config({"data": {"q": WRITTEN}})
    assert "unable to find trial template in ConfigMap: TemplatePath: p" in text
    [text] = from_config({"data": {"p": "a: [${trialParameters.learningRate}"}})
    assert text.endswith("to unstructured")


def given_parameters(*given: Object, **changes: JSON) -> list[str]:
    return said(filled(trialTemplate=template(trialParameters=list(given), **changes)))


LEARNING_RATE = {"name": "learningRate", "description": "Learning rate", "reference": "lr"}
LISTED = "[{learningRate Learning rate lr} "


@pytest.mark.parametrize("wrong", [{"name": "x"}, {"reference": "lr"}, {"name": "a{b", "reference": "x"}])
def test_trial_parameters_have_a_name_and_a_reference(wrong: Object) -> None:
    assert given_parameters(LEARNING_RATE, wrong) == [
        f'{TEMPLATE}.trialParameters[1]: Invalid value: "": '
        "name and reference must be specified and name must not contain '{' or '}'"
    ]


def test_trial_parameters_are_told_apart_by_name_and_by_reference() -> None:
    [text] = given_parameters(LEARNING_RATE, {"name": "learningRate", "reference": "x"})
    assert text == (
        f'{TEMPLATE}.trialParameters[1].name: Invalid value: "learningRate": parameter name learningRate '
        f"can't be duplicated in {TEMPLATE}.trialParameters: {LISTED}{{learningRate  x}}]"
    )
    [text] = given_parameters(LEARNING_RATE, {"name": "x", "reference": "lr"})
    assert text == (
        f'{TEMPLATE}.trialParameters[1].reference: Invalid value: "lr": parameter reference lr '
        f"can't be duplicated in {TEMPLATE}.trialParameters: {LISTED}{{x  lr}}]"
    )


def test_trial_parameters_refer_to_parameters() -> None:
    assert given_parameters({"name": "learningRate", "reference": "speed"}) == [
        f'{TEMPLATE}.trialParameters[0].reference: Invalid value: "speed": parameter reference speed '
        "does not exist in spec.parameters: [{lr double {0.1 0.01 []  uniform}}]"
    ]


@pytest.mark.parametrize(
    ("reference", "known"),
    [
        ("${trialSpec.Name}", True),
        ("${trialSpec.Labels[team]}", True),
        ("${trialSpec.Annotations[a/b]}", True),
        ("${trialSpec.Color}", False),
        ("${trialSpec.Colors[x]}", False),
    ],
)
def test_trial_parameters_may_refer_to_the_trial_itself(reference: str, known: bool) -> None:
    assert (given_parameters({"name": "learningRate", "reference": reference}) == []) is known


def test_every_trial_parameter_is_used_in_the_template() -> None:
    [text] = given_parameters(LEARNING_RATE, {"name": "momentum", "reference": "${trialSpec.Name}"})
    assert text.startswith(
        f'{TEMPLATE}.trialParameters[1].name: Invalid value: "momentum": parameter name: momentum '
        f'in spec.trialParameters not found in {TEMPLATE}: {{"apiVersion":"batch/v1",'
    )


def test_every_placeholder_of_the_template_has_a_trial_parameter() -> None:
    worker = a_worker_template(note="${trialParameters.a} ${trialParameters.b}")
    [text] = said(filled(trialTemplate=template(trialSpec=worker, trialParameters=[LEARNING_RATE])))
    assert text == (
        f'{TEMPLATE}: Invalid value: "": parameters: [${{trialParameters.a}} ${{trialParameters.b}}] '
        f"in {TEMPLATE} not found in spec.trialParameters: {LISTED.rstrip()}]"
    )


@pytest.mark.parametrize("name", ["name", "namespace"])
def test_a_template_has_no_name_of_its_own(name: str) -> None:
    worker = a_worker_template(metadata={name: "x"})
    assert said(filled(trialTemplate=template(trialSpec=worker))) == [
        f'{TEMPLATE}: Invalid value: "": metadata.name and metadata.namespace in {TEMPLATE} must be omitted'
    ]


def test_a_template_says_what_it_is() -> None:
    worker = {"kind": "Job", "x": "${trialParameters.learningRate}"}
    assert said(filled(trialTemplate=template(trialSpec=worker))) == [
        f"{TEMPLATE}: Required value: APIVersion and Kind in {TEMPLATE} must be specified"
    ]


def test_a_job_of_a_trial_must_be_a_job() -> None:
    assert said(filled(), job_fault=lambda job: "too odd") == [
        f'{TEMPLATE}: Invalid value: "": invalid {TEMPLATE}: too odd'
    ]
    other = filled(trialTemplate=template(trialSpec=a_worker_template("PyTorchJob")))
    assert said(other, job_fault=lambda job: "too odd") == []


# --- metrics ----------------------------------------------------------------------------------------------

SOURCE = "spec.metricsCollectorSpec.source"
COLLECTOR = "spec.metricsCollectorSpec.collector"


def collecting(kind: str, source: JSON = None, **more: JSON) -> list[str]:
    spec: Object = {"collector": {"kind": kind, **more}}
    return said(filled(metricsCollectorSpec=spec if source is None else {**spec, "source": source}))


@pytest.mark.parametrize("kind", ["StdOut", "Push", "File", "TensorFlowEvent"])
def test_collectors_work_with_their_defaults(kind: str) -> None:
    assert collecting(kind) == []


def test_unknown_collectors_are_refused() -> None:
    assert collecting("None") == [
        f'{COLLECTOR}.kind: Invalid value: "None": invalid metrics collector kind: None'
    ]


def test_a_file_collector_reads_a_file() -> None:
    assert collecting("File", {"fileSystemPath": {"kind": "Directory", "path": "/x"}}) == [
        f"{SOURCE}.fileSystemPath.path: Required value: file path where metrics file exists is required"
    ]
    assert collecting("File", {"fileSystemPath": {"path": "x"}}) == [
        f"{SOURCE}.fileSystemPath.path: Required value: file path where metrics file exists is required"
    ]
    assert collecting("File", {"fileSystemPath": {"format": "CSV"}}) == [
        f"{SOURCE}.fileSystemPath.format: Required value: format of metrics file is "
        "required for metrics collector"
    ]
    assert collecting("File", {"fileSystemPath": {"format": "JSON"}, "filter": {}}) == [
        f'{SOURCE}.filter: Invalid value: "": filter must be nil when format of metrics file is json'
    ]


def test_an_event_collector_reads_a_folder() -> None:
    assert collecting("TensorFlowEvent", {"fileSystemPath": {"path": "x", "format": "TEXT"}}) == [
        f"{SOURCE}: Required value: directory path where tensorflow event files exist is required "
        "by .spec.metricsCollectorSpec.source.fileSystemPath.path",
        f'{SOURCE}.fileSystemPath.format: Invalid value: "TEXT": must be empty',
    ]


def test_prometheus_is_known_but_not_configured() -> None:
    missing = "failed to find metrics collector config for kind: PrometheusMetric in ConfigMap: katib-config"
    first = (
        f'{COLLECTOR}.kind: Invalid value: "PrometheusMetric": '
        f"GetMetricsCollectorConfigData failed: {missing}"
    )
    assert collecting("PrometheusMetric") == [first]
    kind = "for metrics collector kind: PrometheusMetric"
    assert len(collecting("PrometheusMetric", {"httpGet": {"port": True}})) == 2
    assert collecting("PrometheusMetric", {"httpGet": {"port": "web", "path": "x"}}) == [
        first,
        f'{SOURCE}.httpGet.port: Invalid value: "web": must be a positive integer value {kind}',
        f'{SOURCE}.httpGet.path: Invalid value: "x": path is invalid {kind}',
    ]


def test_a_custom_collector_brings_its_container() -> None:
    assert collecting("Custom", customCollector={}) == []
    assert collecting("Custom", {"fileSystemPath": {"path": "x"}}) == [
        f"{COLLECTOR}.customCollector: Required value: metrics collector kind: Custom is required",
        f'{SOURCE}.fileSystemPath: Invalid value: "": .spec.metricsCollectorSpec.source is invalid',
    ]


def test_filters_are_expressions_with_two_groups() -> None:
    formats = ["([a-z]+)=([0-9]+)", "([a-z]+)=x", "(["]
    few, broken = collecting("File", {"filter": {"metricsFormat": formats}})
    field = f"{SOURCE}.filter.metricsFormat"
    assert few == f'{field}: Invalid value: "([a-z]+)=x": two top subexpressions are required'
    assert broken.startswith(f'{field}: Invalid value: "([": invalid filter: error parsing regexp: ')


# --- change -----------------------------------------------------------------------------------------------


def ended(reason: str, resume: str, trials: int = 12) -> Object:
    old = filled(resumePolicy=resume)
    condition = {"type": "Succeeded", "status": "True", "reason": reason}
    return {**old, "status": {"conditions": [condition], "trials": trials}}


def with_counts(experiment: Object, **counts: int) -> Object:
    return {**experiment, "spec": {**experiment["spec"], **counts}}


def test_counts_of_a_running_experiment_may_change() -> None:
    new = with_counts(filled(), maxTrialCount=20, parallelTrialCount=5, maxFailedTrialCount=3)
    assert said(new, filled()) == []


def test_nothing_else_may_change() -> None:
    assert said(filled(algorithm={"algorithmName": "tpe"}), filled()) == [
        "spec: Forbidden: only spec.parallelTrialCount, spec.maxTrialCount and "
        "spec.maxFailedTrialCount are editable"
    ]


def test_an_experiment_grows_beyond_the_trials_it_had() -> None:
    old = {**filled(), "status": {"trials": 12}}
    assert said(with_counts(filled(), parallelTrialCount=2), old) == [
        "spec.maxTrialCount: Invalid value: 12: must be greater than status.trials count"
    ]
    assert said(filled(), old) == []


@pytest.mark.parametrize("resume", ["LongRunning", "FromVolume"])
def test_an_experiment_that_ran_out_of_trials_may_go_on(resume: str) -> None:
    old = ended("ExperimentMaxTrialsReached", resume)
    assert said(with_counts(old, maxTrialCount=20), old) == []


@pytest.mark.parametrize(
    ("reason", "resume"), [("ExperimentMaxTrialsReached", "Never"), ("ExperimentGoalReached", "LongRunning")]
)
def test_other_ends_are_final(reason: str, resume: str) -> None:
    old = ended(reason, resume)
    assert said(with_counts(old, maxTrialCount=20), old) == [
        f'spec.resumePolicy: Invalid value: "{resume}": Experiment can be restarted if it '
        "is in succeeded state "
        "by reaching max trials and spec.resumePolicy = LongRunning or spec.resumePolicy = FromVolume, "
        "when experiment is completed"
    ]


# --- anything ---------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "File", "lr", "double"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "kind",
                    "source",
                    "collector",
                    "feasibleSpace",
                    "trialSpec",
                    "trialParameters",
                    "filter",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
fields = ["objective", "algorithm", "parameters", "trialTemplate", "metricsCollectorSpec", "maxTrialCount"]


@given(st.dictionaries(st.sampled_from(fields), anything), anything)
@settings(deadline=None, max_examples=200)
def test_odd_objects_are_judged_without_a_crash(spec: Object, before: JSON) -> None:
    experiment = {"metadata": {"name": "e"}, "spec": {**filled()["spec"], **spec}}
    defaults.apply(experiment)
    validate.errors(experiment, {"spec": before, "status": before}, Surroundings())
