"""What each framework is told of the topology."""

from __future__ import annotations

import json

import pytest

from tests.pure.merge_objects import (
    a_torch_runtime,
    beside,
    container,
    env,
    job,
    merged,
    pod,
    size,
    wanted,
)
from tests.pure.training_objects import a_replicated_job, a_runtime, built_in
from trainshed.controllers.trainjob.plugins import podgroups
from trainshed.controllers.trainjob.refusals import Refusal
from trainshed.kinds.trainer.runtimes import FRAMEWORK
from trainshed.kube.objects import JSON, Object

INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def requests(**amounts: str) -> Object:
    return {
        "resourcesPerNode": {"requests": {name.replace("_", "."): amount for name, amount in amounts.items()}}
    }


# --- torch ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trainer", "processes"),
    [
        ({}, "1"),
        (requests(cpu="2.5"), "3"),
        (requests(cpu="2500m"), "3"),
        (requests(cpu="0.7"), "1"),
        (requests(cpu="0"), "1"),
        ({"resourcesPerNode": {"limits": {"cpu": "4"}}}, "4"),
        ({"resourcesPerNode": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}}, "2"),
        ({"resourcesPerNode": {"limits": {"nvidia.com/gpu": "2"}}}, "auto"),
        ({"resourcesPerNode": {"limits": {"vendor.example/GPU": "2"}}}, "auto"),
        ({"resourcesPerNode": {"requests": {"cpu": "2"}, "limits": {"nvidia.com/mig-1g.5gb": "1"}}}, "2"),
        ({**requests(cpu="8"), "numProcPerNode": 3}, "3"),
        ({"numProcPerNode": "cpu", "resourcesPerNode": {"limits": {"cpu": "6", "nvidia.com/gpu": "2"}}}, "6"),
        ({"numProcPerNode": "gpu", **requests(cpu="6")}, "gpu"),
        ({"numProcPerNode": "auto", **requests(cpu="6")}, "6"),
    ],
)
def test_processes_per_node_follow_the_resources(trainer: Object, processes: str) -> None:
    assert env(container(merged(trainer=trainer)))["PET_NPROC_PER_NODE"] == processes


def test_the_runtimes_own_number_of_processes_is_of_the_old_dialect() -> None:
    runtime = a_torch_runtime(policy={"torch": {"numProcPerNode": 5}})
    assert env(container(merged(runtime, trainer={})))["PET_NPROC_PER_NODE"] == "5"
    assert env(container(merged(runtime, trainer={"numProcPerNode": 2})))["PET_NPROC_PER_NODE"] == "2"


def test_resources_of_the_trainjob_count_as_a_whole() -> None:
    """Upstream's oddity: the merged container has the runtime's GPUs, yet CPUs are counted."""
    runtime = a_torch_runtime({"resources": {"limits": {"nvidia.com/gpu": "4"}}})
    node = container(merged(runtime, trainer=requests(cpu="2")))
    assert env(node)["PET_NPROC_PER_NODE"] == "2"
    assert node["resources"]["limits"] == {"nvidia.com/gpu": "4"}
    assert env(container(merged(runtime, trainer={})))["PET_NPROC_PER_NODE"] == "auto"


@pytest.mark.parametrize("runtime", ["torch-distributed", "jax-distributed", "xgboost-distributed"])
def test_a_trainjob_without_a_trainer_gets_no_variables_at_all(runtime: str) -> None:
    jobset = merged(runtime)
    assert size(jobset) == (1, 1)
    assert env(container(jobset)) == {}
    assert "ports" not in container(jobset)


def test_other_containers_are_told_where_the_policy_says_so() -> None:
    target = {"jobName": "node", "containerNames": ["check", "twin"]}
    policy = {"torch": {"envInjection": {"targets": [target]}}}
    names = ["node", "twin"]
    made = a_replicated_job(containers=names, ancestor="trainer")
    made["template"]["spec"]["template"]["spec"]["initContainers"] = [
        {"name": name} for name in ("check", "other", "twin")
    ]
    jobset = merged(a_runtime(made, policy=policy), trainer={"numNodes": 2, "command": ["tune", "run"]})
    inits = {found["name"]: found for found in pod(jobset)["initContainers"]}
    told = {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}
    assert set(env(inits["check"])) == told
    assert env(inits["other"]) == env(inits["twin"]) == {}
    assert set(env(container(jobset, "twin"))) == told
    assert set(env(container(jobset))) == told - {"PET_MASTER_ADDR", "PET_MASTER_PORT"}


def test_a_container_to_be_told_that_is_missing_is_an_error() -> None:
    target = {"jobName": "node", "containerNames": ["none"]}
    runtime = a_torch_runtime(policy={"torch": {"envInjection": {"targets": [target]}}})
    with pytest.raises(Refusal, match='podSet "node" container "none" not found in runtime template'):
        merged(runtime, trainer={})


# --- torchtune --------------------------------------------------------------------------------------------

ONE, MANY = {"numProcPerNode": 1}, {"resourcesPerNode": {"limits": {"nvidia.com/gpu": "4"}}}
LORA, QLORA = "model.lora_attn_modules=[q_proj]", "model.quantize_base=True"
ENDPOINT = "--rdzv_endpoint=t-node-0-0.t:29500"
KEPT = [
    "output_dir=/workspace/output",
    "tokenizer.path=/workspace/model/original/tokenizer.model",
    "checkpointer.checkpoint_dir=/workspace/model",
]


def tune(runtime: str = "torchtune-llama3.2-1b", /, **trainer: JSON) -> list[str]:
    found = built_in("torchtune-llama3.2-1b")
    found["metadata"]["name"] = runtime
    command: list[str] = container(merged(found, trainer={"command": ["tune", "run"], **trainer}))["command"]
    assert command[:2] == ["tune", "run"]
    return command[2:]


@pytest.mark.parametrize(
    ("trainer", "args", "head"),
    [
        (ONE, [], ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"]),
        (ONE, [LORA], ["lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"]),
        (ONE, [LORA, QLORA], ["lora_finetune_single_device", "--config", "llama3_2/1B_qlora_single_device"]),
        (MANY, [], [ENDPOINT, "full_finetune_distributed", "--config", "llama3_2/1B_full"]),
        (MANY, [LORA], [ENDPOINT, "lora_finetune_distributed", "--config", "llama3_2/1B_lora"]),
        (MANY, [QLORA], [ENDPOINT, "lora_finetune_distributed", "--config", "llama3_2/1B_qlora"]),
        (
            {**MANY, "numNodes": 2},
            [LORA],
            [ENDPOINT, "full_finetune_distributed", "--config", "llama3_2/1B_full_multinode"],
        ),
        (
            {**ONE, "numNodes": 2},
            [],
            [ENDPOINT, "full_finetune_distributed", "--config", "llama3_2/1B_full_multinode"],
        ),
        ({**MANY, **ONE}, [], ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"]),
        (requests(cpu="3"), [], [ENDPOINT, "full_finetune_distributed", "--config", "llama3_2/1B_full"]),
        (
            ONE,
            ["model.quantize_base=False"],
            ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"],
        ),
        (
            ONE,
            [LORA, QLORA, "model.use_dora=True"],
            ["lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"],
        ),
    ],
)
def test_torchtune_gets_recipe_and_configuration(trainer: Object, args: list[str], head: list[str]) -> None:
    assert tune(**trainer, args=args) == [*head, *KEPT]


def test_names_of_runtimes_that_are_not_in_three_parts_tell_no_model() -> None:
    assert tune("mine", **ONE)[:3] == ["full_finetune_single_device", "--config", "_full_single_device"]


def test_torchtune_meets_at_its_own_endpoint_and_keeps_the_arguments() -> None:
    node = container(
        merged("torchtune-llama3.2-1b", trainer={"command": ["tune", "run"], "args": ["epochs=1"]})
    )
    assert not {"PET_MASTER_ADDR", "PET_MASTER_PORT"} & set(env(node))
    assert node["args"] == ["epochs=1"]


# --- elastic ----------------------------------------------------------------------------------------------


def an_elastic_runtime(**policy: int) -> Object:
    return a_torch_runtime(policy={"torch": {"elasticPolicy": policy}})


def test_an_elastic_job_has_a_pod_for_every_node_and_begins_with_the_fewest() -> None:
    jobset = merged(an_elastic_runtime(minNodes=1, maxNodes=3, maxRestarts=5), trainer={"numProcPerNode": 2})
    assert size(jobset) == (3, 3)
    inner = job(jobset)["template"]["spec"]
    assert inner["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}
    assert inner["template"]["metadata"]["annotations"] == {"trainshed.dev/gang-minimum": "1"}
    told = env(container(jobset))
    assert {name: told[name] for name in told if "RDZV" in name or "MAX" in name or "NNODES" in name} == {
        "PET_NNODES": "1:3",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "t-node-0-0.t:29500",
        "PET_RDZV_ID": "t",
        "PET_RDZV_CONF": told["PET_RDZV_CONF"],
        "PET_MAX_RESTARTS": "5",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    assert told["PET_NPROC_PER_NODE"] == "2"
    assert (told["PET_MASTER_ADDR"], told["PET_NODE_RANK"]) == ("t-node-0-0.t", INDEX)


@pytest.mark.parametrize(
    ("policy", "nodes", "wanted_nodes", "pods"),
    [
        ({"minNodes": 2, "maxNodes": 4}, None, "2:4", 4),
        ({"minNodes": 2, "maxNodes": 4}, 3, "2:3", 3),
        ({"minNodes": 2, "maxNodes": 4}, 1, "1:1", 1),
        ({"minNodes": 2}, None, "2:2", 2),
        ({"maxNodes": 3}, None, "1:3", 3),
        ({}, None, "1:1", 1),
        ({}, 4, "1:4", 4),
    ],
)
def test_bounds_that_are_left_out_are_sensible(
    policy: dict[str, int], nodes: int | None, wanted_nodes: str, pods: int
) -> None:
    trainer = {} if nodes is None else {"numNodes": nodes}
    jobset = merged(an_elastic_runtime(**policy), trainer=trainer)
    assert env(container(jobset))["PET_NNODES"] == wanted_nodes
    assert size(jobset) == (pods, pods)


def test_an_elastic_runtime_that_trains_by_itself_needs_no_trainer() -> None:
    assert env(container(merged(an_elastic_runtime(minNodes=1, maxNodes=2))))["PET_NNODES"] == "1:2"


def test_jobs_that_are_not_elastic_have_no_success_policy() -> None:
    inner = job(merged(trainer={"numNodes": 2}))["template"]["spec"]
    assert "successPolicy" not in inner
    assert "metadata" not in inner["template"]


# --- mpi --------------------------------------------------------------------------------------------------


def an_mpi_runtime(**policy: JSON) -> Object:
    jobs = a_replicated_job("node"), a_replicated_job("launcher", ancestor="trainer")
    return a_runtime(*jobs, policy={"mpi": policy})


@pytest.mark.parametrize(
    ("as_node", "nodes", "pods", "hosts"),
    [(True, 10, 9, 10), (True, 1, 1, 2), (True, None, 1, 2), (False, 4, 4, 4), (False, 0, 0, 0)],
)
def test_a_launcher_that_computes_is_one_of_the_nodes(
    as_node: bool, nodes: int | None, pods: int, hosts: int
) -> None:
    trainer = {} if nodes is None else {"numNodes": nodes}
    made = wanted(an_mpi_runtime(runLauncherAsNode=as_node), trainer=trainer)
    assert (size(made.jobset), size(made.jobset, "launcher")) == ((pods, pods), (1, 1))
    assert len(beside(made, "ConfigMap")["data"]["hostfile"].splitlines()) == hosts


@pytest.mark.parametrize(
    ("policy", "trainer", "slots"),
    [
        ({}, {}, 1),
        ({"numProcPerNode": 3}, {}, 3),
        ({"numProcPerNode": 3}, {"numProcPerNode": 2}, 2),
        ({"numProcPerNode": 1}, {"resourcesPerNode": {"limits": {"nvidia.com/gpu": "4"}}}, 4),
        ({"numProcPerNode": 3}, {"resourcesPerNode": {"limits": {"nvidia.com/gpu": "4"}}}, 3),
    ],
)
def test_slots_are_asked_for_or_counted_by_gpus(policy: Object, trainer: Object, slots: int) -> None:
    made = wanted(an_mpi_runtime(**policy), trainer=trainer)
    assert beside(made, "ConfigMap")["data"]["hostfile"] == f"t-node-0-0.t slots={slots}\n"
    launcher = container(made.jobset, inside="launcher")
    assert env(launcher)["OMPI_MCA_orte_set_default_slots"] == str(slots)


def test_hosts_are_found_in_the_templates_subdomain() -> None:
    runtime = an_mpi_runtime()
    runtime["spec"]["template"]["spec"]["network"] = {"subdomain": "sub"}
    assert beside(wanted(runtime), "ConfigMap")["data"]["hostfile"] == "t-node-0-0.sub slots=1\n"


def test_keys_are_mounted_everywhere_and_the_hostfile_in_the_launcher() -> None:
    jobset = merged("deepspeed-distributed", trainer={"numNodes": 2})
    assert [volume["name"] for volume in pod(jobset)["volumes"]] == ["mpi-ssh-auth"]
    assert [volume["name"] for volume in pod(jobset, "launcher")["volumes"]] == [
        "mpi-ssh-auth",
        "mpi-hostfile",
    ]
    secret = pod(jobset)["volumes"][0]["secret"]
    assert (secret["secretName"], secret["defaultMode"]) == ("t-mpi-ssh-auth", 0o400)
    modes = [(item["path"], item["mode"]) for item in secret["items"]]
    assert modes == [("id_rsa", 0o640), ("id_rsa.pub", 0o644), ("authorized_keys", 0o644)]
    launcher = container(jobset, inside="launcher")
    mounts = [(mount["name"], mount["mountPath"]) for mount in launcher["volumeMounts"]]
    assert mounts == [("mpi-ssh-auth", "/home/mpiuser/.ssh"), ("mpi-hostfile", "/etc/mpi")]
    assert env(launcher) == {
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_set_default_slots": "1",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
    }


def test_the_secret_is_asked_for_without_keys() -> None:
    secret = beside(wanted("deepspeed-distributed"), "Secret")
    assert (secret["metadata"]["name"], secret["type"]) == ("t-mpi-ssh-auth", "kubernetes.io/ssh-auth")
    assert "data" not in secret


def test_other_implementations_are_refused() -> None:
    with pytest.raises(Refusal, match="Intel"):
        merged(an_mpi_runtime(mpiImplementation="Intel"))


# --- others -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("had", "trainer", "workers"),
    [
        ({}, {"numNodes": 3}, "3"),
        ({}, {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "4"}}}, "8"),
        ({"limits": {"nvidia.com/gpu": "2"}}, {"numNodes": 2}, "4"),
        ({"limits": {"nvidia.com/gpu": "2"}}, {"numNodes": 2, **requests(cpu="1")}, "2"),
    ],
)
def test_xgboost_counts_a_worker_per_gpu_or_per_node(had: Object, trainer: Object, workers: str) -> None:
    runtime = a_torch_runtime({"resources": had}, policy={"xgboost": {}})
    assert env(container(merged(runtime, trainer=trainer))) == {
        "DMLC_TRACKER_URI": "t-node-0-0.t",
        "DMLC_TRACKER_PORT": "29500",
        "DMLC_TASK_ID": INDEX,
        "DMLC_NUM_WORKER": workers,
    }


def test_jax_is_told_of_processes_and_coordinator() -> None:
    node = container(merged("jax-distributed", trainer={"numNodes": 2, "numProcPerNode": 9}))
    assert env(node) == {
        "JAX_NUM_PROCESSES": "2",
        "JAX_PROCESS_ID": INDEX,
        "JAX_COORDINATOR_ADDRESS": "t-node-0-0.t:29500",
    }
    assert node["ports"] == [{"containerPort": 29500}]


def test_flux_is_refused_in_words() -> None:
    with pytest.raises(Refusal, match="flux policy, which is not supported here"):
        merged(a_torch_runtime(policy={"flux": {}}), trainer={"numNodes": 1})


# --- tensorflow -------------------------------------------------------------------------------------------


def test_tensorflow_learns_the_cluster_from_the_topology() -> None:
    node = container(merged("tensorflow-distributed", trainer={"numNodes": 2}))
    told = env(node)
    names = list(told)
    assert told["JOB_COMPLETION_INDEX"] == INDEX
    # Only what stands further up can be referred to.
    assert names.index("JOB_COMPLETION_INDEX") < names.index("TF_CONFIG")
    expanded = told["TF_CONFIG"].replace("$(JOB_COMPLETION_INDEX)", "1")
    assert json.loads(expanded) == {
        "cluster": {"worker": ["t-node-0-0.t:2222", "t-node-0-1.t:2222"]},
        "task": {"type": "worker", "index": 1},
    }
    assert node["ports"] == [{"containerPort": 2222}]


def test_a_configuration_of_ones_own_is_left_alone() -> None:
    own = {"name": "TF_CONFIG", "value": "{}"}
    by_job = container(merged("tensorflow-distributed", trainer={"env": [own]}))
    runtime = a_torch_runtime({"env": [own]}, policy={})
    runtime["metadata"]["labels"] = {FRAMEWORK: "tensorflow"}
    for node in (by_job, container(merged(runtime, trainer={"numNodes": 2}))):
        assert env(node)["TF_CONFIG"] == "{}"
        assert "ports" not in node


def test_scripts_that_make_the_configuration_know_the_number_of_workers() -> None:
    jobset = merged("tensorflow-runtime", trainer={"numNodes": 3})
    for found in pod(jobset)["initContainers"]:
        assert env(found)["NUM_WORKERS"] == "3"
    mine = {"name": "tf-config-generator", "env": [{"name": "NUM_WORKERS", "value": "9"}]}
    override = {"targetJobs": [{"name": "node"}], "spec": {"initContainers": [mine]}}
    jobset = merged("tensorflow-runtime", trainer={"numNodes": 3}, podTemplateOverrides=[override])
    assert env(container(jobset, "tf-config-generator"))["NUM_WORKERS"] == "9"


def test_only_runtimes_that_say_so_are_of_tensorflow() -> None:
    assert "TF_CONFIG" not in env(container(merged(a_torch_runtime(policy={}), trainer={"numNodes": 2})))


# --- pod groups -------------------------------------------------------------------------------------------


def test_coscheduling_counts_every_pod_and_all_they_request() -> None:
    runtime = built_in("torchtune-llama3.2-1b")
    runtime["spec"]["mlPolicy"]["numNodes"] = 100
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    for found in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        (inside,) = found["template"]["spec"]["template"]["spec"]["containers"]
        inside["resources"] = {"requests": {"cpu": "500m"}}
    made = wanted(runtime)
    group = beside(made, "PodGroup")
    assert group["spec"] == {"minMember": 102, "minResources": {"cpu": "51"}, "scheduleTimeoutSeconds": 60}
    for found in made.jobset["spec"]["replicatedJobs"]:
        labels = found["template"]["spec"]["template"]["metadata"]["labels"]
        assert labels == {"scheduling.x-k8s.io/pod-group": "t"}


def test_volcano_takes_queue_priority_and_topology() -> None:
    runtime = a_torch_runtime(priorityClassName="high")
    topology = {"mode": "soft", "highestTierAllowed": 2}
    runtime["spec"]["podGroupPolicy"] = {"volcano": {"networkTopology": topology}}
    runtime["spec"]["template"]["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": "q"}}
    made = wanted(runtime, trainer={"numNodes": 2, **requests(cpu="1", nvidia_com="1")})
    spec = beside(made, "PodGroup")["spec"]
    assert (spec["minMember"], spec["minResources"]["cpu"]) == (2, "2")
    assert (spec["queue"], spec["priorityClassName"], spec["networkTopology"]) == ("q", "high", topology)
    template = job(made.jobset)["template"]["spec"]["template"]
    assert template["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "t"}


@pytest.mark.parametrize(
    ("given", "total"),
    [
        ({"containers": ["1", "2"]}, "3"),
        ({"containers": ["1"], "initContainers": ["4"]}, "4"),
        ({"containers": ["1"], "sidecars": ["2"]}, "3"),
        ({"containers": ["1"], "sidecars": ["2"], "initContainers": ["4"]}, "6"),
        ({"containers": ["1"], "overhead": {"cpu": "500m"}}, "1500m"),
    ],
)
def test_a_pod_requests_what_it_needs_at_its_most(given: Object, total: str) -> None:
    def asking(amounts: list[str], **more: JSON) -> list[Object]:
        return [{"resources": {"requests": {"cpu": amount}}, **more} for amount in amounts]

    sidecars = asking(given.get("sidecars", []), restartPolicy="Always")
    spec = {
        "containers": asking(given["containers"]),
        "initContainers": sidecars + asking(given.get("initContainers", [])),
        "overhead": given.get("overhead", {}),
    }
    assert podgroups.pod_requests(spec) == {"cpu": total}
