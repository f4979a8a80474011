"""What an MPIJob has beside its pods, and what makes them launcher and workers."""

from __future__ import annotations

from tests.pure.v1jobs.v1_objects import a_job, a_pod, told
from tests.pure.v1jobs.v1_world import World, running
from trainshed.controllers.v1jobs import mpi, naming, replicas
from trainshed.controllers.v1jobs.settings import Settings
from trainshed.kinds.kubeflow.families import MPI
from trainshed.kinds.reading import entries
from trainshed.kube.objects import JSON, Object, dig, text

OWNER = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "MPIJob",
    "name": "j",
    "uid": "u1",
    "controller": True,
    "blockOwnerDeletion": True,
}


def an_mpijob(workers: int = 2, launcher: Object | None = None, **spec: JSON) -> Object:
    job = a_job(MPI, spec, Launcher=1, Worker=workers)
    template = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
    template.update(launcher or {})
    return job


def a_worker(index: int, phase: str) -> Object:
    labels = {naming.TYPE: "worker", naming.INDEX: str(index)}
    return {"metadata": {"name": f"j-worker-{index}", "labels": labels}, "status": {"phase": phase}}


def made(job: Object, *pods: Object) -> list[Object]:
    return mpi.objects(job, replicas.read(MPI, job), pods)


def data(job: Object, *pods: Object) -> dict[str, str]:
    found: dict[str, str] = made(job, *pods)[1]["data"]
    return found


def test_account_files_rights_and_binding_come_in_this_order_and_belong_to_the_job() -> None:
    found = made(an_mpijob())
    assert [(text(one, "kind"), text(one, "metadata", "name")) for one in found] == [
        ("ServiceAccount", "j-launcher"),
        ("ConfigMap", "j-config"),
        ("Role", "j-launcher"),
        ("RoleBinding", "j-launcher"),
    ]
    for one in found:
        assert one["metadata"]["labels"] == {"app": "j"}
        assert one["metadata"]["ownerReferences"] == [OWNER]
        assert one["metadata"]["namespace"] == "ns"


def test_a_launcher_may_see_pods_and_run_commands_in_its_workers_only() -> None:
    assert made(an_mpijob(), a_worker(0, "Pending"), a_worker(1, "Running"))[2]["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": [""],
            "resources": ["pods/exec"],
            "verbs": ["create"],
            "resourceNames": ["j-worker-0", "j-worker-1"],
        },
    ]


def test_a_launcher_has_no_rights_in_workers_that_are_not_there_or_about_to_go() -> None:
    leaving = a_worker(1, "Running")
    leaving["metadata"]["deletionTimestamp"] = "2026-11-16T12:00:00Z"
    rules = made(an_mpijob(3), a_worker(0, "Running"), leaving)[2]["rules"]
    assert rules[1]["resourceNames"] == ["j-worker-0"]


def rights(world: World) -> list[str]:
    """Where the launcher may run commands after a pass."""
    found = world.step().rights
    names = [rule.get("resourceNames", []) for rule in entries(found, "rules")]
    return [name for given in names for name in given]


def test_a_launcher_is_made_once_all_its_workers_are_there() -> None:
    world = World(MPI, None, Launcher=1, Worker=2)
    world.step()
    assert world.present() == {"worker-0", "worker-1"}
    assert rights(world) == ["j-worker-0", "j-worker-1"]
    assert world.present() == {"launcher", "worker-0", "worker-1"}


def test_rights_go_before_the_workers_they_are_for() -> None:
    world = running(MPI, Launcher=1, Worker=3).scale("Worker", 2)
    assert rights(world) == ["j-worker-0", "j-worker-1"]
    world.run_policy(suspend=True)
    assert rights(world) == []


def test_rights_go_with_the_workers_of_a_job_that_has_ended() -> None:
    world = running(MPI, Launcher=1, Worker=2).run_policy(cleanPodPolicy="Running").succeed("launcher")
    world.step()
    assert rights(world) == []


def test_without_workers_a_launcher_may_run_commands_nowhere() -> None:
    resources = [rule["resources"] for rule in made(an_mpijob(0))[2]["rules"]]
    assert resources == [["pods"]]


def test_case_44_a_service_account_that_the_launcher_names_is_the_one_that_is_bound() -> None:
    job = an_mpijob(launcher={"serviceAccountName": "mine"})
    account, _, role, binding = made(job)
    assert text(account, "metadata", "name") == "mine"
    assert (text(role, "metadata", "name"), text(binding, "metadata", "name")) == ("j-launcher", "j-launcher")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "mine", "namespace": "ns"}]
    assert binding["roleRef"]["name"] == "j-launcher"
    assert a_pod(MPI, job, "Launcher")["spec"]["serviceAccountName"] == "mine"


def test_case_44_an_account_that_is_there_is_used_whoever_made_it() -> None:
    assert mpi.conflict(an_mpijob(), {"kind": "ServiceAccount", "metadata": {"name": "j-launcher"}}) == ""


def test_case_46_what_somebody_else_made_is_left_alone_in_words() -> None:
    job = an_mpijob()
    theirs = {"metadata": {"name": "j-config"}}
    ours = {"metadata": {"name": "j-config", "ownerReferences": [OWNER]}}
    assert mpi.CONFLICT == "ErrResourceExists"
    assert mpi.conflict(job, theirs, "ConfigMap") == (
        'Resource "j-config" of MPIJobKind "ConfigMap" already exists and is not managed by MPIJob'
    )
    assert mpi.conflict(job, ours, "ConfigMap") == ""


def test_case_47_the_hostfile_lists_all_workers_and_the_script_those_that_run() -> None:
    pods = [a_worker(10, "Running"), a_worker(1, "Running"), a_worker(0, "Pending")]
    found = data(an_mpijob(slotsPerWorker=4), *pods)
    assert found["hostfile"] == "j-worker-0 slots=4\nj-worker-1 slots=4\n"
    assert found["discover_hosts.sh"] == "#!/bin/sh\necho j-worker-1:4\necho j-worker-10:4"


def test_workers_have_one_slot_unless_more_are_given() -> None:
    assert data(an_mpijob(1))["hostfile"] == "j-worker-0 slots=1\n"
    assert data(an_mpijob(1))["discover_hosts.sh"] == "#!/bin/sh"


def test_a_launcher_with_a_gpu_takes_part() -> None:
    resources = {"limits": {"nvidia.com/gpu": 1}}
    job = an_mpijob(1, {"containers": [{"name": "mpi", "image": "i", "resources": resources}]})
    found = data(job, a_worker(0, "Running"))
    assert found["hostfile"] == "j-launcher slots=1\nj-worker-0 slots=1\n"
    assert found["discover_hosts.sh"] == "#!/bin/sh\necho j-launcher:1\n\necho j-worker-0:1"
    assert "NVIDIA_VISIBLE_DEVICES" not in told(a_pod(MPI, job, "Launcher"))


def test_commands_reach_a_worker_by_kubectl() -> None:
    assert data(an_mpijob())["kubexec.sh"] == (
        '#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n/opt/kube/kubectl exec ${POD_NAME} -- /bin/sh -c "$*"'
    )
    assert "exec ${POD_NAME} --container main -- " in data(an_mpijob(mainContainer="main"))["kubexec.sh"]


def test_a_launcher_gets_kubectl_the_files_and_the_words_of_each_mpi() -> None:
    pod = a_pod(MPI, an_mpijob(), "Launcher", settings=Settings(kubectl_image="k"))
    spec = pod["spec"]
    assert spec["serviceAccountName"] == "j-launcher"
    assert list(told(pod).items()) == [
        ("OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh"),
        ("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"),
        ("NVIDIA_VISIBLE_DEVICES", ""),
        ("NVIDIA_DRIVER_CAPABILITIES", ""),
        ("I_MPI_HYDRA_BOOTSTRAP", "rsh"),
        ("I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh"),
    ]
    mounts = [
        {"name": "mpi-job-kubectl", "mountPath": "/opt/kube"},
        {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
    ]
    assert spec["containers"][0]["volumeMounts"] == mounts
    amounts = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
    assert spec["initContainers"] == [
        {
            "name": "kubectl-delivery",
            "image": "k",
            "imagePullPolicy": "IfNotPresent",
            "env": [{"name": "TARGET_DIR", "value": "/opt/kube"}, {"name": "NAMESPACE", "value": "ns"}],
            "volumeMounts": mounts,
            "resources": {"limits": amounts, "requests": amounts},
        }
    ]
    items = [
        {"key": "kubexec.sh", "path": "kubexec.sh", "mode": 0o555},
        {"key": "hostfile", "path": "hostfile", "mode": 0o444},
        {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
    ]
    assert spec["volumes"] == [
        {"name": "mpi-job-kubectl", "emptyDir": {}},
        {"name": "mpi-job-config", "configMap": {"name": "j-config", "items": items}},
    ]


def test_case_43_what_a_user_says_to_intel_mpi_stays_and_the_rest_is_added() -> None:
    env = [{"name": "I_MPI_HYDRA_BOOTSTRAP", "value": "ssh"}]
    job = an_mpijob(1, {"containers": [{"name": "mpi", "image": "i", "env": env}]})
    found = told(a_pod(MPI, job, "Launcher"))
    assert found["I_MPI_HYDRA_BOOTSTRAP"] == "ssh"
    assert found["I_MPI_HYDRA_BOOTSTRAP_EXEC"] == "/etc/mpi/kubexec.sh"


def test_a_worker_sleeps_with_the_script_at_hand_and_is_told_nothing() -> None:
    pod = a_pod(MPI, an_mpijob(), "Worker", 1)
    container = entries(pod, "spec", "containers")[0]
    assert (container["command"], container["args"]) == (["sleep"], ["365d"])
    assert container["volumeMounts"] == [{"name": "mpi-job-config", "mountPath": "/etc/mpi"}]
    assert dig(pod, "spec", "initContainers") is None
    assert "env" not in container
    items = [{"key": "kubexec.sh", "path": "kubexec.sh", "mode": 0o555}]
    assert pod["spec"]["volumes"] == [
        {"name": "mpi-job-config", "configMap": {"name": "j-config", "items": items}}
    ]


def test_a_worker_with_a_command_runs_it() -> None:
    job = an_mpijob()
    container = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["command"] = ["/usr/sbin/sshd"]
    found = a_pod(MPI, job, "Worker")["spec"]["containers"][0]
    assert found["command"] == ["/usr/sbin/sshd"]
    assert "args" not in found


def test_the_container_that_commands_run_in_has_the_script_as_well() -> None:
    job = an_mpijob(mainContainer="main")
    containers = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    containers += [{"name": "beside", "image": "i"}, {"name": "main", "image": "i"}]
    found = a_pod(MPI, job, "Worker")["spec"]["containers"]
    assert ["volumeMounts" in one for one in found] == [True, False, True]
    assert [one.get("command") for one in found] == [["sleep"], None, None]
