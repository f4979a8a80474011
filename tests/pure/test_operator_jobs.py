"""PyTorchJob and its relatives: what the Training Operator's webhooks and controllers refuse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.training_objects import a_replica
from trainshed.kinds.kubeflow import late_checks, validate
from trainshed.kinds.kubeflow.families import (
    FAMILIES,
    JAX,
    MPI,
    MXNET,
    PADDLE,
    PYTORCH,
    TENSORFLOW,
    XGBOOST,
    Family,
)
from trainshed.kube.objects import JSON, Object, dig

CHECKED = [PYTORCH, TENSORFLOW, XGBOOST, PADDLE, JAX]
by_kind = pytest.mark.parametrize("family", CHECKED, ids=lambda family: family.kind)


def first_type(family: Family) -> str:
    return family.types[0]


def a_job(family: Family = PYTORCH, replicas: JSON = None, **spec: JSON) -> Object:
    given = {first_type(family): a_replica(family.container)} if replicas is None else replicas
    return {"metadata": {"name": "job"}, "spec": {family.replicas: given, **spec}}


def said(family: Family, job: Object, old: Object | None = None) -> list[str]:
    return [str(error) for error in validate.errors(family, job, old)]


def without_image(replica: Object) -> Object:
    del dig(replica, "template", "spec")["containers"][0]["image"]
    return replica


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
def test_a_plain_job_is_accepted(family: Family) -> None:
    assert said(family, a_job(family)) == []
    assert late_checks.fault(family, a_job(family)) == ""


def test_the_webhooks_are_called_after_their_kinds() -> None:
    assert PYTORCH.webhook == "validator.pytorchjob.training-operator.kubeflow.org"
    assert PYTORCH.resource == "pytorchjobs.kubeflow.org"


@by_kind
def test_case_01_a_name_is_a_label(family: Family) -> None:
    job = a_job(family) | {"metadata": {"name": "1st"}}
    [text] = said(family, job)
    assert text.startswith(
        'metadata.name: Invalid value: "1st": should match: a DNS-1035 label must consist of'
    )


@by_kind
def test_both_faults_of_a_name_are_told(family: Family) -> None:
    [text] = said(family, a_job(family) | {"metadata": {"name": "1" * 64}})
    assert ": should match: must be no more than 63 characters,a DNS-1035 label must" in text


@by_kind
def test_a_job_has_replicas(family: Family) -> None:
    found = said(family, {"metadata": {"name": "job"}, "spec": {family.replicas: None}})
    assert found[0] == f"spec.{family.replicas}: Required value: must be required"


@by_kind
def test_case_04_only_known_replica_types_are_accepted(family: Family) -> None:
    known = {first_type(family): a_replica(family.container)}
    found = said(family, a_job(family, {**known, "worker": a_replica(family.container)}))
    supported = ", ".join(f'"{name}"' for name in family.types)
    wrong = f'spec.{family.replicas}[worker]: Unsupported value: "worker": supported values: {supported}'
    assert found == ([] if family is TENSORFLOW else [wrong])


@by_kind
def test_case_03_a_replica_has_containers(family: Family) -> None:
    type = first_type(family)
    field = f"spec.{family.replicas}[{type}].template.spec.containers"
    name = '"paddle"' if family is PADDLE else family.container
    assert said(family, a_job(family, {type: {"replicas": 1, "template": {"spec": {"containers": []}}}})) == [
        f"{field}: Required value: must be specified",
        f"{field}: Required value: must have at least one container with name {name}",
    ]


@by_kind
def test_one_container_has_the_name_of_the_framework(family: Family) -> None:
    type = first_type(family)
    name = '"paddle"' if family is PADDLE else family.container
    assert said(family, a_job(family, {type: a_replica("main")})) == [
        f"spec.{family.replicas}[{type}].template.spec.containers: Required value: "
        f"must have at least one container with name {name}"
    ]


@by_kind
def test_every_container_has_an_image(family: Family) -> None:
    type = first_type(family)
    assert said(family, a_job(family, {type: without_image(a_replica(family.container))})) == [
        f"spec.{family.replicas}[{type}].template.spec.containers[0].image: Required value: must be required"
    ]


@pytest.mark.parametrize("family", [PYTORCH, XGBOOST], ids=lambda family: family.kind)
@pytest.mark.parametrize("replicas", [None, 0, 2])
def test_case_02_there_is_one_master_and_it_is_said_so(family: Family, replicas: JSON) -> None:
    master = a_replica(family.container, replicas=replicas)
    assert said(family, a_job(family, {"Master": master})) == [
        f"spec.{family.replicas}[Master].replicas: Forbidden: must be 1"
    ]


def test_paddle_may_have_several_masters() -> None:
    assert said(PADDLE, a_job(PADDLE, {"Master": a_replica("paddle", replicas=2)})) == []


def test_case_07_a_pytorch_job_has_workers_or_does_not_mention_them() -> None:
    workers = {"Worker": a_replica(replicas=0)}
    assert said(PYTORCH, a_job(PYTORCH, workers)) == [
        "spec.pytorchReplicaSpecs[Worker].replicas: Forbidden: must be at least 1"
    ]
    assert said(PYTORCH, a_job(PYTORCH, {"Worker": a_replica(replicas=None)})) == []


def test_an_xgboost_job_has_a_master() -> None:
    assert said(XGBOOST, a_job(XGBOOST, {"Worker": a_replica("xgboost")})) == [
        "spec.xgbReplicaSpecs[Master]: Required value: must be present"
    ]


def test_a_tensorflow_job_has_one_chief() -> None:
    both = {"Chief": a_replica("tensorflow"), "Master": a_replica("tensorflow")}
    assert said(TENSORFLOW, a_job(TENSORFLOW, both)) == [
        "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"
    ]


def test_elastic_training_needs_workers() -> None:
    assert said(PYTORCH, a_job(elasticPolicy={})) == [
        "spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is used"
    ]
    assert said(PYTORCH, a_job(replicas={"Worker": a_replica()}, elasticPolicy={})) == []


def test_processes_per_node_are_said_once() -> None:
    job = a_job(replicas={"Worker": a_replica()}, elasticPolicy={"nProcPerNode": 2}, nprocPerNode="2")
    assert said(PYTORCH, job) == [
        "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode"
    ]
    assert validate.warnings(PYTORCH, job) == [
        "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead"
    ]
    assert validate.warnings(PYTORCH, a_job()) == []


@pytest.mark.parametrize("family", [PYTORCH, TENSORFLOW, XGBOOST, PADDLE], ids=lambda family: family.kind)
@pytest.mark.parametrize("manager", ["someone", ""])
def test_case_11_a_job_is_managed_by_one_of_two(family: Family, manager: str) -> None:
    assert said(family, a_job(family, runPolicy={"managedBy": manager})) == [
        f'spec.runPolicy.managedBy: Unsupported value: "{manager}": supported values: '
        '"kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"'
    ]
    assert said(family, a_job(family, runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"})) == []


def test_the_manager_of_a_jax_job_is_nobody_s_business() -> None:
    assert said(JAX, a_job(JAX, runPolicy={"managedBy": "someone"}), a_job(JAX)) == []


@pytest.mark.parametrize("family", [PYTORCH, TENSORFLOW, XGBOOST, PADDLE], ids=lambda family: family.kind)
def test_the_manager_of_a_job_stays(family: Family) -> None:
    managed = a_job(family, runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"})
    assert said(family, managed, a_job(family)) == [
        'spec.runPolicy.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable'
    ]
    assert said(family, a_job(family), managed) == [
        "spec.runPolicy.managedBy: Invalid value: null: field is immutable"
    ]
    assert said(family, managed, managed) == []


def test_mxjobs_are_on_their_way_out() -> None:
    [text] = validate.warnings(MXNET, a_job(MXNET))
    assert text.startswith("MXJob is deprecated, and the MXJob will be removed in the release v1.9.0.")
    assert text.endswith("issues/1996 for more details")


# --- what controllers find --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replicas", "why"),
    [
        (5, "MPIReplicaSpecs is not valid"),
        ({"Launcher": {}}, "MPIReplicaSpecs is not valid: containers definition expected in Launcher"),
        ({"Boss": a_replica("mpi")}, "MPIReplicaType is Boss but must be one of [Launcher Worker]"),
        (
            {"Launcher": without_image(a_replica("mpi"))},
            "MPIReplicaSpec is not valid: Image is undefined in the container of Launcher",
        ),
        (
            {"Launcher": a_replica("")},
            "MPIReplicaSpec is not valid: ImageName is undefined in the container of Launcher",
        ),
        (
            {"Launcher": a_replica("mpi", replicas=2)},
            "MPIReplicaSpec is not valid: There must be only 1 launcher replica",
        ),
        ({"Launcher": a_replica("any", replicas=None)}, ""),
        ({"Worker": a_replica("mpi")}, "MPIReplicaSpec is not valid: Master ReplicaSpec must be present"),
    ],
)
def test_case_12_mpi_jobs_are_checked_by_their_controller(replicas: JSON, why: str) -> None:
    assert late_checks.fault(MPI, a_job(MPI, replicas)) == why


@pytest.mark.parametrize(
    "replicas",
    [5, {"Worker": {}}, {"Worker": a_replica("main")}, {"Worker": without_image(a_replica("mxnet"))}],
)
def test_mxnet_jobs_are_checked_by_their_controller(replicas: JSON) -> None:
    assert late_checks.fault(MXNET, a_job(MXNET, replicas)) == "MXJobSpec is not valid"


def test_the_name_of_an_mxnet_job_is_a_label() -> None:
    text = late_checks.fault(MXNET, a_job(MXNET) | {"metadata": {"name": "1"}})
    assert text.startswith("MXJob name is invalid: [a DNS-1035 label must")


# --- anything ---------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.integers(-1, 2) | st.sampled_from(["", "Master", "pytorch"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["Master", "Worker", "template", "spec", "containers", "name", "replicas", "nProcPerNode"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.sampled_from(FAMILIES), anything, anything, anything)
@settings(deadline=None, max_examples=200)
def test_odd_objects_are_judged_without_a_crash(
    family: Family, replicas: JSON, policy: JSON, elastic: JSON
) -> None:
    job = {
        "metadata": {"name": "x"},
        "spec": {family.replicas: replicas, "runPolicy": policy, "elasticPolicy": elastic},
    }
    assert all(str(error) for error in validate.errors(family, job, {"spec": policy}))
    validate.warnings(family, job)
    late_checks.fault(family, job)


# --- sizes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "count", "why"),
    [
        ({"minReplicas": 2, "maxReplicas": 4}, 4, []),
        ({"minReplicas": 2, "maxReplicas": 4}, 5, ["maxReplicas, which is 4"]),
        ({"minReplicas": 2, "maxReplicas": 4}, 1, ["minReplicas, which is 2"]),
        ({"minReplicas": 2}, 9, []),
        ({"maxReplicas": 4}, 1, []),
        ({}, 9, []),
        (None, 9, []),
    ],
)
def test_an_elastic_job_stays_within_the_bounds_it_names(policy: JSON, count: int, why: list[str]) -> None:
    old = a_job(replicas={"Worker": a_replica("pytorch", replicas=3)}, elasticPolicy=policy)
    new = a_job(replicas={"Worker": a_replica("pytorch", replicas=count)}, elasticPolicy=policy)
    found = [str(error) for error in validate.size_errors(PYTORCH, new, old)]
    assert [text.partition("spec.elasticPolicy.")[2] for text in found] == why
    assert validate.size_errors(PYTORCH, new, None) == [], "a new job is taken as upstream takes it"
    assert validate.size_errors(PYTORCH, new, new) == [], "and goes on being written as it is"
