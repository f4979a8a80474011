"""Workers and launchers of MPI jobs, and the command line of ssh."""

from __future__ import annotations

import dataclasses

import pytest

from trainshed.kinds.core import entrypoints
from trainshed.kube.objects import Object
from trainshed.runner.mpi import adapting, delivery, kubectl, remote
from trainshed.runner.plan import ContainerPlan, Mount, PodPlan

POD: Object = {
    "spec": {
        "volumes": [
            {"name": "mpi-ssh-auth", "secret": {"items": [{"key": "ssh-privatekey", "path": "id_rsa"}]}},
            {"name": "data", "emptyDir": {}},
        ]
    }
}
CONTAINER: Object = {
    "volumeMounts": [
        {"name": "data", "mountPath": "/data"},
        {"name": "mpi-ssh-auth", "mountPath": "/home/mpiuser/.ssh"},
    ]
}


def a_plan(
    *argv: str, env: dict[str, str] | None = None, root: str = "/", address: str = ""
) -> ContainerPlan:
    pod = PodPlan("u", "ns", "p", "p", address or "10.244.0.5", "/hosts", "/pods/u")
    variables = tuple({"HOME": "/root", **(env or {})}.items())
    return ContainerPlan(pod, "node", 0, argv, variables, "/", (), root, True, "/log", "", "")


def adapted(plan: ContainerPlan, exists: bool = False) -> ContainerPlan:
    return adapting.adapted(plan, POD, CONTAINER, "/lib/mpi", lambda path: exists)


@pytest.mark.parametrize(
    ("arguments", "port"),
    [
        (("-De",), "2222"),
        (("-D", "-p", "22"), "22"),
        (("-D", "-p4444"), "4444"),
        (("-D", "-o", "Port=2022"), "2022"),
        (("-De", "-f", "/home/mpiuser/.sshd_config"), "2222"),
    ],
)
def test_a_worker_listens_with_our_own_program_on_the_port_of_its_sshd(
    arguments: tuple[str, ...], port: str
) -> None:
    found = adapted(a_plan("/usr/sbin/sshd", *arguments)).argv
    assert found == ("python3", "-S", "/lib/mpi/remote.py", "listen", "0.0.0.0", port, "/home/mpiuser/.ssh")


def test_a_worker_that_shares_the_network_listens_on_its_own_address_only() -> None:
    assert adapted(a_plan("sshd", address="127.0.1.9")).argv[4] == "127.0.1.9"


def test_a_launcher_reaches_its_workers_in_the_words_of_open_mpi_4_and_5() -> None:
    given = {
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_set_default_slots": "2",
    }
    env = dict(adapted(a_plan("mpirun", "true", env=given)).env)
    agent = "python3 -S /lib/mpi/remote.py reach /home/mpiuser/.ssh"
    assert env["OMPI_MCA_plm_rsh_agent"] == env["PRTE_MCA_plm_ssh_agent"] == agent
    assert env["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"
    assert env["PRTE_MCA_prte_keep_fqdn_hostnames"] == "true"
    assert env["PRTE_MCA_prte_set_default_slots"] == "2"
    assert env["OMPI_ALLOW_RUN_AS_ROOT"] == env["PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"


def test_what_a_launcher_sets_itself_stays() -> None:
    given = {"OMPI_MCA_orte_default_hostfile": "/h", "OMPI_MCA_plm_rsh_agent": "my-ssh"}
    assert dict(adapted(a_plan("mpirun", env=given)).env)["OMPI_MCA_plm_rsh_agent"] == "my-ssh"


def test_an_open_mpi_inside_an_environment_is_told_where_it_is() -> None:
    plan = a_plan("sshd", env={"VIRTUAL_ENV": "/venv"})
    assert dict(adapted(plan, exists=True).env)["OPAL_PREFIX"] == "/venv"
    assert "OPAL_PREFIX" not in dict(adapted(plan).env)


def test_other_containers_stay_as_they_are() -> None:
    plan = a_plan("python", "train.py")
    assert adapted(plan) is plan


def test_an_image_with_an_sshd_of_its_own_may_use_it() -> None:
    plan = a_plan("/usr/sbin/sshd", root="/images/mpi")
    assert adapted(plan, exists=True) is plan


def test_an_image_without_one_gets_the_program_mounted() -> None:
    found = adapted(a_plan("/usr/sbin/sshd", root="/images/mpi"))
    assert found.argv[2] == "/run/trainshed/mpi/remote.py"
    assert found.mounts == (Mount("/run/trainshed/mpi", "ro-bind", "/lib/mpi"),)


def test_without_a_mounted_key_the_usual_place_is_looked_at() -> None:
    assert adapting.key_folder({}, {}, "/home/ann") == "/home/ann/.ssh"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("host cmd", ("host", 2222, "cmd")),
        ("me@host a b", ("host", 2222, "a b")),
        ("-x -o ConnectionAttempts=10 host a", ("host", 2222, "a")),
        ("-oA=b -p 22 -l me host a -x", ("host", 22, "a -x")),
        ("-p44 -- host a", ("host", 44, "a")),
    ],
)
def test_the_command_line_of_ssh_is_understood(line: str, expected: tuple[str, int, str]) -> None:
    assert remote.parse(line.split()) == expected


# --- MPIJobs, by kubectl ---

DELIVERY: Object = {
    "name": "kubectl-delivery",
    "image": "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest",
    "env": [{"name": "TARGET_DIR", "value": "/opt/kube"}],
}
LAUNCHER: Object = {
    "volumeMounts": [
        {"name": "mpi-job-kubectl", "mountPath": "/opt/kube"},
        {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
    ]
}
WORKER: Object = {"volumeMounts": [{"name": "mpi-job-config", "mountPath": "/etc/mpi"}]}
LAUNCHED = {
    "OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh",
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/mpi/kubexec.sh",
}


def of_mpijob(plan: ContainerPlan, container: Object, is_foreign: bool = False) -> ContainerPlan:
    return adapting.adapted(
        plan, {}, container, "/lib/mpi", lambda path: False, is_foreign=lambda: is_foreign
    )


@pytest.mark.parametrize(
    "container",
    [
        {**DELIVERY, "command": ["cp"]},
        {**DELIVERY, "env": []},
        {**DELIVERY, "name": "other", "image": "kubectl-delivery-of-mine"},
    ],
)
def test_only_what_leaves_it_to_its_image_to_bring_kubectl_is_stood_in_for(container: Object) -> None:
    assert delivery.completed(container) is container
    assert delivery.completed(DELIVERY)["command"] == ["kubectl-delivery"]
    renamed = {**DELIVERY, "name": "other", "image": "registry.local/kubectl-delivery"}
    assert entrypoints.is_delivery(renamed)


def test_kubectl_is_brought_by_a_script_that_needs_nothing_but_its_target() -> None:
    kubectl, config = Mount("/opt/kube", "bind", "/v/k"), Mount("/etc/mpi", "ro-bind", "/v/c")
    plan = dataclasses.replace(
        a_plan("kubectl-delivery", env={"TARGET_DIR": "/opt/kube"}), mounts=(kubectl, config)
    )
    found = of_mpijob(plan, DELIVERY)
    assert found.argv == ("sh", "/lib/mpi/deliver.sh")
    assert found.mounts == (kubectl, Mount("/lib/mpi", "ro-bind", "/lib/mpi"))
    assert of_mpijob(plan, DELIVERY, is_foreign=True).argv[-1] == "foreign"


def test_a_launcher_of_an_mpijob_is_told_the_same_in_the_words_of_open_mpi_5() -> None:
    env = dict(of_mpijob(a_plan("mpirun", env=LAUNCHED), LAUNCHER).env)
    assert env["PRTE_MCA_plm_ssh_agent"] == env["OMPI_MCA_plm_rsh_agent"] == "/etc/mpi/kubexec.sh"
    assert env["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"
    assert env["OMPI_ALLOW_RUN_AS_ROOT"] == "1"


def test_a_worker_of_an_mpijob_stays_as_it_is() -> None:
    plan = a_plan("sleep", "365d")
    assert of_mpijob(plan, WORKER) == plan


def test_plain_processes_of_an_mpijob_are_told_the_paths_nothing_is_mounted_at() -> None:
    worker = of_mpijob(a_plan("sleep", "365d", address="127.64.0.2"), WORKER)
    assert dict(worker.env)["TRAINSHED_MPI"] == "/etc/mpi"
    launcher = of_mpijob(a_plan("mpirun", "x", address="127.64.0.2", env=LAUNCHED), LAUNCHER)
    env = dict(launcher.env)
    assert launcher.argv == ("sh", "/lib/mpi/plain_launcher.sh", "mpirun", "x")
    assert (env["TRAINSHED_KUBE"], env["TRAINSHED_MPI"]) == ("/opt/kube", "/etc/mpi")
    assert env["PRTE_MCA_plm_ssh_agent"] == env["OMPI_MCA_plm_rsh_agent"] == "sh /lib/mpi/plain_kubexec.sh"
    assert env["I_MPI_HYDRA_BOOTSTRAP_EXEC"] == "sh /lib/mpi/plain_kubexec.sh"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("exec p -- a -b", ("p", ["a", "-b"], "", "", False)),
        ("exec p --container c -- a", ("p", ["a"], "c", "", False)),
        ("exec -i -q -n ns --container=c pod/p -- a", ("p", ["a"], "c", "ns", True)),
        ("exec p ls", ("p", ["ls"], "", "", False)),
    ],
)
def test_the_command_line_of_kubectl_is_understood(line: str, expected: tuple[object, ...]) -> None:
    assert kubectl.parse(line.split()) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("get pods", "only exec is known here"),
        ("exec -t p -- sh", "option -t is not known here"),
        ("exec p", "usage: kubectl exec"),
        ("exec -- a", "usage: kubectl exec"),
    ],
)
def test_what_else_kubectl_can_do_is_turned_down_in_words(line: str, words: str) -> None:
    with pytest.raises(kubectl.Refused, match=words):
        kubectl.parse(line.split())


def test_a_server_that_says_something_else_is_no_success() -> None:
    assert kubectl.status(b"<html>") == kubectl.status(b"[]") == kubectl.Status()


def test_both_sides_mean_the_same_port() -> None:
    assert adapting.PORT == remote.PORT


def test_a_host_has_to_be_named() -> None:
    with pytest.raises(remote.Refused, match="no host was named"):
        remote.parse(["-x"])
