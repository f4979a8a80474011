"""The CustomResourceDefinitions of the training kinds: what they accept, refuse, keep and fill in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from trainshed.kinds.schemas import Schemas
from trainshed.kube import schema
from trainshed.kube.objects import JSON, Object, copied, decode

TRAINER = "trainer.kubeflow.org"


@pytest.fixture(scope="module")
def crds(schemas: Schemas) -> dict[str, Object]:
    return {crd.name: decode(crd.raw) for crd in schemas.crds()}


@pytest.fixture(scope="module")
def compiled(crds: dict[str, Object]) -> dict[str, schema.Schema]:
    return {name: schema.compile(source(crd)) for name, crd in crds.items()}


@pytest.fixture(scope="module")
def trainjob(compiled: dict[str, schema.Schema]) -> schema.Schema:
    return compiled[f"trainjobs.{TRAINER}"]


@pytest.fixture(scope="module")
def runtime(compiled: dict[str, schema.Schema]) -> schema.Schema:
    return compiled[f"clustertrainingruntimes.{TRAINER}"]


def version(crd: Object) -> Object:
    (only,) = crd["spec"]["versions"]
    return dict(only)


def source(crd: Object) -> Object:
    found: Object = version(crd)["schema"]["openAPIV3Schema"]
    return found


def job(**spec: JSON) -> Object:
    return {"metadata": {"name": "job"}, "spec": {"runtimeRef": {"name": "torch"}, **spec}}


def complaints(node: schema.Schema, new: Object, old: Object | None = None) -> list[str]:
    errors = schema.validate(node, new) if old is None else schema.validate(node, new, old)
    # A wrong type or missing field also brings a note that rules were not looked at.
    return [text for text in map(str, errors) if "some validation rules were not checked" not in text]


def settled(node: schema.Schema, obj: Object) -> tuple[Object, list[str]]:
    """The object after pruning and defaulting, and what was pruned."""
    mine = copied(obj)
    unknown = schema.prune(node, mine)
    schema.default(node, mine)
    return mine, unknown


# --- all of them ------------------------------------------------------------------------------------------


def test_the_training_kinds_are_there(crds: dict[str, Object]) -> None:
    legacy = ("pytorchjobs", "tfjobs", "mpijobs", "xgboostjobs", "mxjobs", "paddlejobs", "jaxjobs")
    katib = ("experiments", "suggestions", "trials")
    assert set(crds) == {
        *(f"{name}.{TRAINER}" for name in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")),
        "jobsets.jobset.x-k8s.io",
        *(f"{name}.kubeflow.org" for name in legacy + katib),
    }


def test_every_schema_is_structural(crds: dict[str, Object]) -> None:
    def nodes(node: Object) -> Iterator[Object]:
        yield node
        for child in (
            *node.get("properties", {}).values(),
            node.get("items"),
            node.get("additionalProperties"),
        ):
            if isinstance(child, dict):
                yield from nodes(child)

    for name, crd in crds.items():
        for node in nodes(source(crd)):
            assert not {"$ref", "allOf", "oneOf"} & node.keys(), name
            assert "type" in node or node.get("x-kubernetes-int-or-string") is True, name
            assert not ("properties" in node and "additionalProperties" in node), name
            if node.get("x-kubernetes-list-type") == "map":
                fields, required = node["items"]["properties"], node["items"].get("required", [])
                for key in node["x-kubernetes-list-map-keys"]:
                    assert key in required or "default" in fields[key], (name, key)


def test_only_the_runtimes_have_no_status_subresource(crds: dict[str, Object]) -> None:
    plain = {name for name, crd in crds.items() if "status" not in version(crd).get("subresources", {})}
    assert plain == {f"trainingruntimes.{TRAINER}", f"clustertrainingruntimes.{TRAINER}"}


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        (f"trainjobs.{TRAINER}", ["State", "Age"]),
        ("mpijobs.kubeflow.org", ["Age", "State"]),
        ("pytorchjobs.kubeflow.org", ["State", "Age"]),
        ("jobsets.jobset.x-k8s.io", ["TerminalState", "Restarts", "Completed", "Suspended", "Age"]),
        ("suggestions.kubeflow.org", ["Type", "Status", "Requested", "Assigned", "Age"]),
    ],
)
def test_columns_are_those_of_upstream(crds: dict[str, Object], name: str, columns: list[str]) -> None:
    assert [column["name"] for column in version(crds[name])["additionalPrinterColumns"]] == columns


def test_every_rule_compiles_and_runs(compiled: dict[str, schema.Schema]) -> None:
    for name, node in compiled.items():
        errors = complaints(node, {"metadata": {"name": "x"}}, {"metadata": {"name": "x"}})
        assert not [error for error in errors if "compil" in error], name


# --- TrainJob ---------------------------------------------------------------------------------------------

NEW = job(
    trainer={"numNodes": 2, "numProcPerNode": 4, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}},
    activeDeadlineSeconds=60,
    runtimePatches=[
        {
            "manager": "example.com/me",
            "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
                {"name": "node", "template": {"spec": {"template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"nodeSelector": {"x": "y"}, "containers": [{"name": "node"}],
                             "terminationGracePeriodSeconds": 0},
                }}}}
            ]}}},
        }
    ],
)  # fmt: skip
OLD = job(
    labels={"team": "a"},
    annotations={"note": "b"},
    trainer={"numProcPerNode": "auto"},
    podTemplateOverrides=[
        {
            "targetJobs": [{"name": "node"}],
            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {
                "serviceAccountName": "me",
                "tolerations": [{"key": "gpu", "tolerationSeconds": 5}],
                "volumes": [{"name": "data", "emptyDir": {}}],
                "containers": [{"name": "node", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            },
        }
    ],
)


@pytest.mark.parametrize("manifest", [NEW, OLD], ids=["v2.2", "v2.1"])
def test_both_dialects_are_accepted_and_nothing_of_them_is_lost(
    trainjob: schema.Schema, manifest: Object
) -> None:
    found, unknown = settled(trainjob, manifest)
    assert unknown == []
    assert complaints(trainjob, found) == []
    assert found["spec"].keys() >= manifest["spec"].keys()


def test_defaults_of_a_trainjob(trainjob: schema.Schema) -> None:
    found, _ = settled(trainjob, job())
    assert found["spec"] == {
        "runtimeRef": {"name": "torch", "apiGroup": TRAINER, "kind": "ClusterTrainingRuntime"},
        "suspend": False,
        "managedBy": f"{TRAINER}/trainjob-controller",
    }


@pytest.mark.parametrize("name", ["Job", "1job", "job-", "j.b"])
def test_a_name_that_cannot_be_a_dns_label_is_refused(trainjob: schema.Schema, name: str) -> None:
    (text,) = complaints(trainjob, {**job(), "metadata": {"name": name}})
    assert text.endswith("metadata.name must match RFC 1035 DNS label format")


def test_a_name_may_have_63_characters(trainjob: schema.Schema) -> None:
    assert complaints(trainjob, {**job(), "metadata": {"name": "a" * 63}}) == []
    (text,) = complaints(trainjob, {**job(), "metadata": {"name": "a" * 64}})
    assert text.endswith("metadata.name must be no more than 63 characters")


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"runtimeRef": {"name": ""}}, "spec.runtimeRef.name", "at least 1 chars"),
        ({"managedBy": "me"}, "spec.managedBy", "or kueue.x-k8s.io/multikueue if set"),
        ({"activeDeadlineSeconds": 0}, "spec.activeDeadlineSeconds", "greater than or equal to 1"),
        ({"initializer": {"dataset": {"storageUri": "hf://"}}}, "spec.initializer.dataset.storageUri",
         "storageUri may be empty, or it must be a valid URI (scheme://...)"),
        ({"trainer": {"numProcPerNode": True}}, "spec.trainer.numProcPerNode", "must be of type"),
        ({"podTemplateOverrides": [{}]}, "spec.podTemplateOverrides[0].targetJobs", "Required value"),
    ],
)  # fmt: skip
def test_a_wrong_trainjob_is_refused(trainjob: schema.Schema, spec: Object, field: str, words: str) -> None:
    (text,) = complaints(trainjob, job(**spec))
    assert text.startswith(f"{field}: ")
    assert words in text


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({}, {"runtimeRef": {"name": "other"}}, "spec.runtimeRef"),
        ({"trainer": {"image": "a"}}, {"trainer": {"image": "b"}}, "spec.trainer"),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 6}, "spec.activeDeadlineSeconds"),
    ],
)
def test_what_is_fixed_cannot_change(
    trainjob: schema.Schema, before: Object, after: Object, field: str
) -> None:
    (text,) = complaints(trainjob, job(**after), job(**before))
    assert text.startswith(f"{field}: Invalid value: ")
    assert text.endswith(": field is immutable")


def test_a_job_may_be_suspended_and_given_a_deadline_later(trainjob: schema.Schema) -> None:
    assert complaints(trainjob, job(suspend=True, activeDeadlineSeconds=5), job(suspend=False)) == []


def test_the_status_of_a_trainjob_is_checked(trainjob: schema.Schema) -> None:
    status = {"trainerStatus": {"progressPercentage": 101}}
    texts = complaints(trainjob, {**job(), "status": status})
    assert any("less than or equal to 100" in text for text in texts)
    assert any("lastUpdatedTime is required when trainerStatus is present" in text for text in texts)


# --- runtimes and JobSets ---------------------------------------------------------------------------------


def runtime_with(policy: Object) -> Object:
    return {"metadata": {"name": "r"}, "spec": {"mlPolicy": policy, "template": {"spec": {}}}}


def test_only_one_policy_can_be_configured(runtime: schema.Schema) -> None:
    (text,) = complaints(runtime, runtime_with({"torch": {}, "mpi": {}}))
    assert text == 'spec.mlPolicy: Invalid value: "object": Only one of the policy can be configured'


def test_policies_get_their_defaults(runtime: schema.Schema) -> None:
    found, _ = settled(runtime, runtime_with({"mpi": {}}))
    assert found["spec"]["mlPolicy"]["mpi"] == {
        "mpiImplementation": "OpenMPI",
        "numProcPerNode": 1,
        "runLauncherAsNode": False,
        "sshAuthMountPath": "/root/.ssh",
    }
    assert settled(runtime, runtime_with({"torch": {}}))[0]["spec"]["mlPolicy"] == {"torch": {}}


@pytest.mark.parametrize(("value", "fine"), [("auto", True), (3, True), ("many", False), (0, False)])
def test_the_old_torch_policy_takes_numbers_and_three_words(
    runtime: schema.Schema, value: JSON, fine: bool
) -> None:
    assert (complaints(runtime, runtime_with({"torch": {"numProcPerNode": value}})) == []) is fine


def test_elastic_policy_of_the_old_dialect_excludes_a_number_of_nodes(runtime: schema.Schema) -> None:
    assert complaints(runtime, runtime_with({"torch": {"elasticPolicy": {"minNodes": 1}}})) == []
    (text,) = complaints(runtime, runtime_with({"numNodes": 2, "torch": {"elasticPolicy": {"minNodes": 1}}}))
    assert text.endswith("numNodes should not be set if torch.elasticPolicy is configured")


TEMPLATE: Object = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e/f"]},
    "spec": {"containers": [{"name": "node", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}]},
}


def test_labels_of_embedded_templates_survive(compiled: dict[str, schema.Schema]) -> None:
    inner = {"metadata": {"labels": {"x": "y"}}, "spec": {"template": TEMPLATE}}
    jobset = {"spec": {"replicatedJobs": [{"name": "a", "template": inner}]}}
    found, unknown = settled(compiled["jobsets.jobset.x-k8s.io"], jobset)
    assert unknown == []
    template = found["spec"]["replicatedJobs"][0]["template"]
    assert template["metadata"] == inner["metadata"]
    assert template["spec"]["template"]["metadata"] == TEMPLATE["metadata"]
    policy = {"suspend": False}
    legacy = {"spec": {"pytorchReplicaSpecs": {"Worker": {"template": TEMPLATE}}, "runPolicy": policy}}
    assert settled(compiled["pytorchjobs.kubeflow.org"], legacy) == (legacy, [])


def test_a_jobset_gets_what_its_webhook_would_fill_in_and_a_runtime_does_not(
    compiled: dict[str, schema.Schema], runtime: schema.Schema
) -> None:
    spec = {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": TEMPLATE}}}]}
    found, _ = settled(compiled["jobsets.jobset.x-k8s.io"], {"spec": spec})
    (replicated,) = found["spec"].pop("replicatedJobs")
    assert found["spec"] == {
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "successPolicy": {"operator": "All"},
    }
    assert (replicated["replicas"], replicated["groupName"]) == (1, "default")
    assert replicated["template"]["spec"]["completionMode"] == "Indexed"
    assert replicated["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    kept, _ = settled(runtime, {"spec": {"template": {"spec": spec}}})
    assert kept["spec"]["template"]["spec"].keys() == {"replicatedJobs"}


def test_startup_order_and_dependencies_exclude_each_other(compiled: dict[str, schema.Schema]) -> None:
    jobs = [{"name": "b", "template": {}, "dependsOn": [{"name": "a", "status": "Ready"}]}]
    spec = {"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": jobs}
    texts = complaints(compiled["jobsets.jobset.x-k8s.io"], {"spec": spec})
    assert any(text.endswith("StartupPolicy and DependsOn APIs are mutually exclusive") for text in texts)


# --- kubeflow.org/v1 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plural", "replicas"),
    [
        ("pytorchjobs", "pytorchReplicaSpecs"),
        ("paddlejobs", "paddleReplicaSpecs"),
        ("jaxjobs", "jaxReplicaSpecs"),
    ],
)
def test_three_kinds_can_be_scaled(crds: dict[str, Object], plural: str, replicas: str) -> None:
    scale = version(crds[f"{plural}.kubeflow.org"])["subresources"]["scale"]
    assert scale["specReplicasPath"] == f".spec.{replicas}.Worker.replicas"
    assert scale["labelSelectorPath"] == ".status.replicaStatuses.Worker.selector"


def test_the_map_of_replicas_is_all_a_legacy_job_needs(compiled: dict[str, schema.Schema]) -> None:
    node = compiled["tfjobs.kubeflow.org"]
    assert complaints(node, {"spec": {}}) == ["spec.tfReplicaSpecs: Required value"]
    assert complaints(node, {"spec": {"tfReplicaSpecs": {"Worker": {"restartPolicy": "Whatever"}}}}) == []


def test_nproc_per_node_of_a_pytorchjob_is_a_string(compiled: dict[str, schema.Schema]) -> None:
    node = compiled["pytorchjobs.kubeflow.org"]
    (text,) = complaints(node, {"spec": {"pytorchReplicaSpecs": {}, "nprocPerNode": 2}})
    assert text.startswith("spec.nprocPerNode: Invalid value: ")


def test_case_10_the_queue_of_a_legacy_job_cannot_change(compiled: dict[str, schema.Schema]) -> None:
    def queued(name: str) -> Object:
        policy = {"schedulingPolicy": {"queue": name}}
        return {"spec": {"mxReplicaSpecs": {}, "jobMode": "MXTrain", "runPolicy": policy}}

    (text,) = complaints(compiled["mxjobs.kubeflow.org"], queued("a"), queued("b"))
    assert text.endswith("spec.runPolicy.schedulingPolicy.queue is immutable")


# --- Katib ------------------------------------------------------------------------------------------------


def test_katib_objects_keep_unknown_fields_and_nulls(compiled: dict[str, schema.Schema]) -> None:
    experiment = {
        "spec": {
            "objective": {"type": "maximize", "goal": 1, "objectiveMetricName": "acc", "extra": 1},
            "trialTemplate": {"trialSpec": {"kind": "Job", "spec": {"anything": [1]}}},
            "unknown": {"kept": True},
        },
        "status": {"completionTime": None, "currentOptimalTrial": {"observation": {}}},
    }
    node = compiled["experiments.kubeflow.org"]
    assert settled(node, experiment) == (experiment, [])
    assert complaints(node, experiment) == []
    assert complaints(node, {"spec": {"parallelTrialCount": "three"}})
