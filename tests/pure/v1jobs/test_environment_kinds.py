"""What pods of TFJobs, XGBoostJobs, PaddleJobs, JAXJobs and MXJobs are told."""

from __future__ import annotations

import json

import pytest

from tests.pure.v1jobs.v1_objects import a_job, a_pod, told
from trainshed.controllers.v1jobs import environment, replicas, settings
from trainshed.controllers.v1jobs.environment import CannotFurnish
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.controllers.v1jobs.settings import Settings
from trainshed.kinds.kubeflow.families import JAX, MXNET, PADDLE, TENSORFLOW, XGBOOST, Family
from trainshed.kube.objects import Object, text

# --- TensorFlow ---


def test_a_tfjobs_pods_are_told_the_whole_cluster_and_their_place_in_it() -> None:
    pod = a_pod(TENSORFLOW, a_job(TENSORFLOW, Worker=2, PS=1), "Worker", 1)
    assert told(pod) == {
        "TF_CONFIG": '{"cluster":{"ps":["j-ps-0.ns.svc:2222"],'
        '"worker":["j-worker-0.ns.svc:2222","j-worker-1.ns.svc:2222"]},'
        '"task":{"type":"worker","index":1},"environment":"cloud"}'
    }


def test_every_type_of_a_tfjob_is_listed_by_its_own_name() -> None:
    job = a_job(TENSORFLOW, Chief=1, Evaluator=1, Worker=1)
    config = json.loads(told(a_pod(TENSORFLOW, job, "Evaluator"))["TF_CONFIG"])
    assert list(config["cluster"]) == ["chief", "evaluator", "worker"]
    assert config["task"] == {"type": "evaluator", "index": 0}


@pytest.mark.parametrize(
    ("counts", "is_told"),
    [
        ({"Worker": 1}, False),
        ({"Worker": 1, "PS": 0}, False),
        ({"Worker": 0, "PS": 1}, False),
        ({"Chief": 1, "Worker": 1}, True),
    ],
)
def test_case_23_a_single_replica_is_told_nothing(counts: dict[str, int], is_told: bool) -> None:
    type = next(type for type, count in counts.items() if count)
    assert ("TF_CONFIG" in told(a_pod(TENSORFLOW, a_job(TENSORFLOW, None, **counts), type))) is is_told


def test_only_the_container_that_trains_is_told() -> None:
    job = a_job(TENSORFLOW, Worker=2)
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"].insert(0, {"name": "sidecar"})
    pod = a_pod(TENSORFLOW, job, "Worker")
    assert told(pod, 0) == {}
    assert "TF_CONFIG" in told(pod, 1)


def test_a_cluster_may_have_a_domain() -> None:
    found = settings.read({"CUSTOM_CLUSTER_DOMAIN": "cluster.local"})
    pod = a_pod(TENSORFLOW, a_job(TENSORFLOW, Worker=2), "Worker", settings=found)
    assert "j-worker-0.ns.svc.cluster.local:2222" in told(pod)["TF_CONFIG"]


def test_an_operator_may_use_images_of_its_own() -> None:
    given = {"TRAINSHED_PYTORCH_INIT_IMAGE": "a", "TRAINSHED_MPI_KUBECTL_IMAGE": "b", "HOME": "/root"}
    assert settings.read(given) == Settings("a", "b")
    assert settings.read({}) == Settings()


@pytest.mark.parametrize(
    ("type", "counts", "cluster"),
    [
        ("Worker", {"Worker": 2, "PS": 2}, {"worker": {"1": "W1"}, "ps": ["P0", "P1"]}),
        ("Worker", {"Worker": 2}, {"worker": {"1": "W1"}, "ps": None}),
        ("PS", {"Worker": 2, "PS": 2}, {"worker": {}, "ps": ["P1"]}),
        ("Chief", {"Chief": 2, "Worker": 2}, {"worker": {}, "ps": []}),
    ],
)
def test_where_workers_come_and_go_pods_are_told_what_stays(
    type: str, counts: dict[str, int], cluster: Object
) -> None:
    job = a_job(TENSORFLOW, {"enableDynamicWorker": True}, **counts)
    said = told(a_pod(TENSORFLOW, job, type, 1))["TF_CONFIG"]
    for short, label in (("W", "worker"), ("P", "ps")):
        for index in (0, 1):
            said = said.replace(f"j-{label}-{index}.ns.svc:2222", f"{short}{index}")
    assert json.loads(said) == {"cluster": cluster, "task": {"type": type.lower(), "index": 1}}
    assert said.startswith('{"cluster":{"worker":')


# --- XGBoost ---


@pytest.mark.parametrize(("type", "index", "rank"), [("Master", 0, "0"), ("Worker", 1, "2")])
def test_an_xgboostjobs_pods_are_told_of_master_and_workers(type: str, index: int, rank: str) -> None:
    pod = a_pod(XGBOOST, a_job(XGBOOST, Master=1, Worker=2), type, index)
    assert list(told(pod).items()) == [
        ("MASTER_PORT", "9999"),
        ("MASTER_ADDR", "j-master-0"),
        ("WORLD_SIZE", "3"),
        ("RANK", rank),
        ("PYTHONUNBUFFERED", "1"),
        ("WORKER_PORT", "9999"),
        ("WORKER_ADDRS", "j-worker-0,j-worker-1"),
    ]


def test_a_master_alone_is_told_of_no_workers() -> None:
    assert list(told(a_pod(XGBOOST, a_job(XGBOOST, Master=1), "Master"))) == [
        "MASTER_PORT", "MASTER_ADDR", "WORLD_SIZE", "RANK", "PYTHONUNBUFFERED",
    ]  # fmt: skip


# --- Paddle ---


def test_a_collective_paddlejob_meets_at_its_first_worker() -> None:
    job = a_job(PADDLE, Worker=2)
    first, second = a_pod(PADDLE, job, "Worker"), a_pod(PADDLE, job, "Worker", 1)
    assert list(told(first).items()) == [
        ("PYTHONUNBUFFERED", "1"),
        ("PADDLE_JOB_ID", "j"),
        ("PADDLE_NNODES", "2"),
        ("POD_IP_DUMMY", ""),
        ("PADDLE_MASTER", "$(POD_IP_DUMMY):36543"),
    ]
    own = {"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert own in first["spec"]["containers"][0]["env"]
    assert told(second)["PADDLE_MASTER"] == "j-worker-0:36543"
    assert "POD_IP_DUMMY" not in told(second)


def test_parameter_servers_of_paddle_meet_at_the_first_master() -> None:
    job = a_job(PADDLE, Master=2, Worker=1)
    first, second, worker = (
        told(a_pod(PADDLE, job, type, index)) for type, index in (("Master", 0), ("Master", 1), ("Worker", 0))
    )
    assert first["PADDLE_MASTER"] == "$(POD_IP_DUMMY):36543"
    assert second["PADDLE_MASTER"] == worker["PADDLE_MASTER"] == "j-master-0:36543"
    assert [list(one)[-1] for one in (first, second, worker)] == [
        "PADDLE_SERVER_NUM", "PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM",
    ]  # fmt: skip
    assert first["PADDLE_SERVER_NUM"] == worker["PADDLE_TRAINER_NUM"] == "1"


# --- JAX ---


def test_a_jaxjobs_pods_are_told_who_coordinates() -> None:
    assert list(told(a_pod(JAX, a_job(JAX, Worker=3), "Worker", 2)).items()) == [
        ("PYTHONUNBUFFERED", "1"),
        ("COORDINATOR_PORT", "6666"),
        ("COORDINATOR_ADDRESS", "j-worker-0"),
        ("NUM_PROCESSES", "3"),
        ("PROCESS_ID", "2"),
    ]


@pytest.mark.parametrize(
    ("family", "counts", "words"),
    [
        (JAX, {"Worker": 1}, "default container port is not exposed"),
        (MXNET, {"Worker": 1}, "failed to found the port"),
        (XGBOOST, {"Master": 1}, "failed to found the port"),
    ],
)
def test_case_42_without_the_named_port_it_is_said_what_is_missing(
    family: Family, counts: dict[str, int], words: str
) -> None:
    job = a_job(family, None, **counts)
    bare = tuple(
        Replica(one.type, one.count, one.policy, one.template, None, True)
        for one in replicas.read(family, job)
    )
    with pytest.raises(CannotFurnish, match=words):
        environment.furnish(job, family, bare, bare[0], 0, {"spec": {"containers": [{}]}})


# --- MXNet ---


def test_an_mxjobs_pods_are_told_all_of_it_twice() -> None:
    job = a_job(MXNET, Scheduler=1, Server=2, Worker=1)
    template = job["spec"]["mxReplicaSpecs"]["Server"]["template"]
    template["metadata"] = {"annotations": {"tuner-server-key": "k"}}
    found = told(a_pod(MXNET, job, "Worker"))
    assert json.loads(found.pop("MX_CONFIG")) == {
        "cluster": {
            "scheduler": [{"url": "j-scheduler-0", "port": 9091}],
            "server": [{"url": "j-server-0", "port": 9091}, {"url": "j-server-1", "port": 9091}],
            "worker": [{"url": "j-worker-0", "port": 9091}],
        },
        "labels": {"scheduler": "", "server": "k", "worker": ""},
        "task": {"type": "worker", "index": 0},
    }
    assert list(found.items()) == [
        ("DMLC_PS_ROOT_PORT", "9091"),
        ("DMLC_PS_ROOT_URI", "j-scheduler-0"),
        ("DMLC_NUM_SERVER", "2"),
        ("DMLC_NUM_WORKER", "1"),
        ("DMLC_ROLE", "worker"),
        ("DMLC_USE_KUBERNETES", "1"),
        ("DMLC_WORKER_ID", "0"),
    ]


def test_only_workers_of_mxnet_have_a_number_and_nobody_needs_a_scheduler() -> None:
    found = told(a_pod(MXNET, a_job(MXNET, Server=1, Worker=1), "Server"))
    assert (found["DMLC_PS_ROOT_PORT"], found["DMLC_PS_ROOT_URI"]) == ("0", "")
    assert "DMLC_WORKER_ID" not in found


def test_a_pod_never_shares_its_variables_with_another() -> None:
    job = a_job(JAX, Worker=2)
    first, second = a_pod(JAX, job, "Worker"), a_pod(JAX, job, "Worker", 1)
    first["spec"]["containers"][0]["env"][0]["value"] = "changed"
    assert text(second["spec"]["containers"][0]["env"][0], "value") == "1"
