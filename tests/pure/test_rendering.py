"""What requests become: the objects of the seed's guides, and those they do not know."""

from __future__ import annotations

import pytest

from tests.pure.rendering_objects import MOMENT, NAME, a_body, rendered, wanted
from trainshed.backend.rendering import naming
from trainshed.kinds.reading import entries
from trainshed.kube.objects import JSON, Object, dig

SMALL = {"num_nodes": 2, "cpu_per_node": 1, "memory_per_node": "1Gi"}
FULL: Object = {
    "image": "pytorch/pytorch:2.2.2",
    "num_nodes": 2,
    "cpu_request": "2",
    "cpu_limit": "4",
    "memory_request": "8Gi",
    "memory_limit": "16Gi",
    "gpu_count": 1,
    "command": "python /workspace/scripts/train.py",
    "env_vars": [{"name": "EPOCHS", "value": "10"}],
    "volumes": [{"name": "data", "pvc": "data-pvc", "mountPath": "/data", "readOnly": True}],
}


def shell(job: Object) -> str:
    first, flag, script = job["spec"]["trainer"]["command"]
    assert (first, flag) == ("bash", "-c")
    return str(script)


def pod(job: Object) -> Object:
    found = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    spec: Object = found["template"]["spec"]["template"]["spec"]
    return spec


def test_names_are_the_users_and_the_moments() -> None:
    assert naming.job_name("user123", MOMENT) == NAME
    assert naming.job_name("user123", MOMENT, 2) == f"{NAME}-2"
    assert naming.code_name(NAME) == f"{NAME}-train-script"


@pytest.mark.parametrize("user", ["User.Name_1", "123", "a" * 63, "-", "ends-with-dash-", "UPPER"])
def test_users_that_make_no_name_get_one_of_their_own(user: str) -> None:
    name = naming.job_name(user, MOMENT, 99)
    assert len(name) <= naming.MOST_NAME
    assert name[0].isalpha()
    assert naming.job_name(user.swapcase() + "x", MOMENT, 99) != name


def test_the_short_form_is_the_seeds_three_objects() -> None:
    found = rendered(a_body(config={**SMALL, "gpu_per_node": 1}))
    assert found.system is not None
    assert found.code is not None
    assert found.system["metadata"]["name"] == "pytorch-pet-setup"
    assert "export RANK=" in found.system["data"]["setup_pytorch_env.sh"]
    assert found.code["data"] == {"train.py": "pass\n"}
    spec = found.trainjob["spec"]
    assert spec["runtimeRef"]["name"] == "pytorch-simple"
    assert spec["trainer"]["numNodes"] == 2
    assert spec["trainer"]["resourcesPerNode"]["limits"] == {
        "cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1",
    }  # fmt: skip
    assert shell(found.trainjob).splitlines() == [
        "source /shared/setup_pytorch_env.sh || exit 1",
        "exec python /workspace/scripts/train.py",
    ]


def test_the_full_form_says_requests_limits_volumes_and_variables() -> None:
    job = rendered(a_body(**FULL)).trainjob
    spec = job["spec"]
    assert spec["runtimeRef"]["name"] == "pytorch-runtime"
    assert spec["trainer"]["image"] == "pytorch/pytorch:2.2.2"
    assert spec["trainer"]["resourcesPerNode"]["requests"] == {
        "cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "1",
    }  # fmt: skip
    assert {"name": "EPOCHS", "value": "10"} in spec["trainer"]["env"]
    claim = {"claimName": "data-pvc", "readOnly": True}
    assert {"name": "data", "persistentVolumeClaim": claim} in pod(job)["volumes"]
    mounts = pod(job)["containers"][0]["volumeMounts"]
    assert {"name": "data", "mountPath": "/data", "readOnly": True} in mounts


def test_tensorflow_learns_its_workers_from_a_script_or_from_the_runtimes_container() -> None:
    short = rendered(a_body(framework="tensorflow", config=SMALL))
    assert short.system is not None
    assert short.system["metadata"]["name"] == "tensorflow-tf-config-generator"
    assert {"name": "PET_NNODES", "value": "2"} in short.trainjob["spec"]["trainer"]["env"]
    full = rendered(a_body(framework="tensorflow", num_nodes=3))
    assert full.system is None
    assert shell(full.trainjob).startswith("source /shared-env/tf_config.env")
    (generator,) = pod(full.trainjob)["initContainers"]
    assert {"name": "PET_NNODES", "value": "3"} in generator["env"]


def test_several_processes_of_pytorch_are_started_by_torchrun() -> None:
    body = a_body(config=SMALL, processes_per_node=2, arguments=["--lr", "0.1 2"])
    job = rendered(body).trainjob
    assert shell(job).endswith("exec torchrun /workspace/scripts/train.py --lr '0.1 2'")
    assert job["spec"]["trainer"]["numProcPerNode"] == 2
    text = rendered(a_body(num_nodes=2, processes_per_node=2, command="cd /x; python 'a b.py'")).trainjob
    assert "exec torchrun --no-python bash -c 'cd /x; python '\"'\"'a b.py'\"'\"''" in shell(text)
    own = rendered(a_body(num_nodes=2, processes_per_node=2, command="torchrun x.py")).trainjob
    assert shell(own).endswith("\ntorchrun x.py")


def test_processes_may_be_as_many_as_gpus() -> None:
    assert wanted(a_body(gpu_count=4, processes_per_node="auto")).processes == 4
    assert wanted(a_body(processes_per_node="auto")).processes == 1


@pytest.mark.parametrize(
    ("framework", "runtime", "start"),
    [
        ("jax", "jax-distributed", "exec python3 /workspace/scripts/train.py"),
        ("xgboost", "xgboost-distributed", "exec python /workspace/scripts/train.py"),
        ("mpi", "deepspeed-distributed", "exec mpirun python /workspace/scripts/train.py"),
        ("deepspeed", "deepspeed-distributed", "exec mpirun python /workspace/scripts/train.py"),
        ("plain", "torch-distributed", "exec python /workspace/scripts/train.py"),
    ],
)
def test_every_framework_has_its_runtime_and_its_way_to_start(
    framework: str, runtime: str, start: str
) -> None:
    job = rendered(a_body(framework=framework, config=SMALL)).trainjob
    assert job["spec"]["runtimeRef"]["name"] == runtime
    assert shell(job) == start


def test_horovod_gives_launcher_and_workers_their_own_share() -> None:
    body = a_body(
        framework="horovod", image="my/horovod:1", launcher={"cpu": "1", "memory": "2Gi"},
        env_vars=[{"name": "A", "value": "b"}], config={**SMALL, "gpu_per_node": 2},
    )  # fmt: skip
    found = rendered(body)
    assert found.runtime is not None
    assert found.trainjob["spec"]["runtimeRef"]["kind"] == "TrainingRuntime"
    assert found.trainjob["spec"]["runtimeRef"]["name"] == NAME
    assert found.trainjob["spec"]["trainer"]["resourcesPerNode"]["limits"] == {"cpu": "1", "memory": "2Gi"}
    assert dig(found.runtime, "spec", "mlPolicy", "mpi", "runLauncherAsNode") is False
    jobs = {job["name"]: job for job in entries(found.runtime, "spec", "template", "spec", "replicatedJobs")}
    (worker,) = jobs["node"]["template"]["spec"]["template"]["spec"]["containers"]
    assert worker["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert worker["env"] == [{"name": "A", "value": "b"}]
    assert worker["image"] == "my/horovod:1"
    assert "mpirun -x A python" in shell(found.trainjob)


def test_retries_and_priority_make_a_runtime_of_the_jobs_own() -> None:
    found = rendered(a_body(config=SMALL, retries=2, priority_class="high"))
    assert found.runtime is not None
    assert dig(found.runtime, "spec", "template", "spec", "failurePolicy") == {"maxRestarts": 2}
    (job,) = entries(found.runtime, "spec", "template", "spec", "replicatedJobs")
    assert job["template"]["spec"]["backoffLimit"] == 0
    assert job["template"]["spec"]["template"]["spec"]["priorityClassName"] == "high"
    assert rendered(a_body(config=SMALL)).runtime is None


def test_git_uses_the_runtimes_container_where_it_has_one() -> None:
    git = {"url": "https://example.com/a.git", "ref": "v1", "subfolder": "x/y", "secret": "keys"}
    found = rendered(a_body(training_code=None, git=git))
    assert found.code is None
    assert shell(found.trainjob).splitlines()[1:] == [
        "cd /workspace/scripts/x/y || exit 1", "exec python train.py",
    ]  # fmt: skip
    (clone,) = pod(found.trainjob)["initContainers"]
    assert clone["name"] == "git-clone"
    assert {"name": "GIT_SYNC_BRANCH", "value": "v1"} in clone["env"]
    assert clone["volumeMounts"][0]["mountPath"] == "/git-credentials"
    secret = {"secretName": "keys", "defaultMode": 0o444}
    assert {"name": "git-credentials", "secret": secret} in pod(found.trainjob)["volumes"]


def test_git_is_cloned_by_the_command_elsewhere_and_on_every_node_of_mpi() -> None:
    git = {"url": "git@example.com:a.git"}
    plain = rendered(a_body(training_code=None, git=git, framework="jax"))
    assert plain.code is not None
    assert "git fetch" in plain.code["data"]["git_clone.sh"]
    assert shell(plain.trainjob).startswith(
        "bash /workspace/git/git_clone.sh || exit 1\ncd /workspace/scripts"
    )
    mpi = shell(rendered(a_body(training_code=None, git=git, framework="mpi")).trainjob)
    assert "mpirun --map-by ppr:1:node -x GIT_SYNC_REPO" in mpi


def test_files_keep_their_folders_and_the_obvious_one_is_run() -> None:
    found = rendered(a_body(training_code=None, files={"main.py": "1", "pkg/a.py": "2", "ü.txt": "3"}))
    assert found.code is not None
    volume = next(one for one in pod(found.trainjob)["volumes"] if one["name"] == "train-script")
    paths = {item["path"]: item["key"] for item in volume["configMap"]["items"]}
    assert {path: found.code["data"][key] for path, key in paths.items()} == {
        "main.py": "1", "pkg/a.py": "2", "ü.txt": "3",
    }  # fmt: skip
    assert shell(found.trainjob).endswith("exec python main.py")


def test_presets_fill_in_what_a_request_leaves_open() -> None:
    given = dict(wanted(a_body(preset="gpu-small", cpu_limit="8")).resources.limits)
    assert given == {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "1"}
    without = dict(wanted(a_body(preset="gpu-small", gpu_count=0)).resources.limits)
    assert "nvidia.com/gpu" not in without


def test_the_request_is_kept_on_the_job_without_its_code() -> None:
    job = rendered(a_body(config=SMALL, suspend=True, ttl_seconds_after_finished=60)).trainjob
    annotations = job["metadata"]["annotations"]
    assert "pass" not in annotations["trainshed.dev/request"]
    assert '"num_nodes":2' in annotations["trainshed.dev/request"]
    assert annotations["trainshed.dev/ttl-seconds-after-finished"] == "60"
    assert job["spec"]["suspend"] is True


@pytest.mark.parametrize("command", [["python", "a b.py"], "echo $(date) $$ `x`"])
def test_commands_are_words_or_shell_text(command: JSON) -> None:
    script = shell(rendered(a_body(framework="plain", command=command)).trainjob)
    expected = "exec python 'a b.py'" if isinstance(command, list) else "echo $$(date) $$$ `x`"
    assert script == expected
