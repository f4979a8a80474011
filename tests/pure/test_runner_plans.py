"""From a pod to what is to run: commands, environment, limits, identity, names."""

from __future__ import annotations

import pytest

from trainshed.kube.objects import JSON, Object
from trainshed.runner import pod_plan
from trainshed.runner.environment import Sources
from trainshed.runner.images import Environment
from trainshed.runner.plan import ContainerPlan, Limits
from trainshed.runner.pod_plan import CannotPlan, Places, Surroundings

VENV = Environment("/venv", bin="/venv/bin", is_virtual=True)
PLACES = Places("/pods/u1", "/hosts/team", "/logs/0.log", "/pods/u1/end.node.0")
MACHINE = {"PATH": "/usr/bin:/opt/tools", "HOME": "/home/ann", "LANG": "de_DE.UTF-8"}


def a_pod(**spec: JSON) -> Object:
    return {"metadata": {"name": "job-0-abcde", "namespace": "team", "uid": "u1"}, "spec": spec}


def planned(
    container: Object, pod: Object | None = None, chosen: Environment = VENV, **around: JSON
) -> ContainerPlan:
    pod = pod or a_pod()
    shared = pod_plan.pod_plan(pod, "10.0.0.5", PLACES)
    surroundings = Surroundings(chosen, Sources(), inherited=MACHINE, **around)
    named = {"name": "node", "image": "pytorch/pytorch:2.6", "command": ["true"], **container}
    return pod_plan.container_plan(shared, pod, named, 0, PLACES, surroundings)


def refusal(container: Object, pod: Object | None = None) -> tuple[str, str]:
    with pytest.raises(CannotPlan) as refused:
        planned(container, pod)
    return refused.value.reason, refused.value.message


# --- command ---


@pytest.mark.parametrize(
    ("command", "args", "expected"),
    [
        (["python"], [], ("python",)),
        (["python"], ["train.py", "--lr=1"], ("python", "train.py", "--lr=1")),
        (["sh", "-c", "echo $(A) $B"], [], ("sh", "-c", "echo 1 $B")),
        (["echo"], ["$(A)", "$$(A)", "$(NONE)"], ("echo", "1", "$(A)", "$(NONE)")),
    ],
)
def test_command_and_args_are_joined_and_expanded(
    command: list[str], args: list[str], expected: tuple[str, ...]
) -> None:
    env = [{"name": "A", "value": "1"}]
    assert planned({"command": command, "args": args, "env": env}).argv == expected


@pytest.mark.parametrize(("args", "have"), [(["x"], "only args"), ([], "no command")])
def test_without_a_command_the_owner_is_told_to_set_one(args: list[str], have: str) -> None:
    reason, message = refusal({"command": [], "args": args})
    assert reason == "CreateContainerError"
    assert message == (
        f'container "node" has {have}, and image "pytorch/pytorch:2.6" is the local environment /venv, '
        "which has no entry point: set its command"
    )


def test_a_missing_source_of_a_variable_is_a_configuration_error() -> None:
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "k"}}}]
    assert refusal({"env": env}) == ("CreateContainerConfigError", 'configmap "x" not found')


# --- environment ---


def test_programs_of_the_environment_come_first() -> None:
    env = dict(planned({}).env)
    standard = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"
    assert env["PATH"] == f"/venv/bin:/usr/bin:/opt/tools:{standard}"
    assert (env["VIRTUAL_ENV"], env["HOME"], env["LANG"]) == ("/venv", "/home/ann", "de_DE.UTF-8")
    assert env["HOSTNAME"] == "job-0-abcde"


def test_an_unpacked_root_knows_nothing_of_the_machine() -> None:
    plan = planned({}, chosen=Environment("/images/torch", root="/images/torch", bin="/opt/conda/bin"))
    env = dict(plan.env)
    assert plan.root == "/images/torch"
    assert env["PATH"] == "/opt/conda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert env["HOME"] == "/root"
    assert "VIRTUAL_ENV" not in env


def test_what_the_container_declares_wins() -> None:
    env = dict(planned({"env": [{"name": "PATH", "value": "/mine"}, {"name": "HOME", "value": "/h"}]}).env)
    assert (env["PATH"], env["HOME"]) == ("/mine", "/h")


@pytest.mark.parametrize(
    ("devices", "expected"), [(None, None), ((), ""), (("0",), "0"), (("1", "3"), "1,3")]
)
def test_only_the_assigned_gpus_are_visible(devices: tuple[str, ...] | None, expected: str | None) -> None:
    assert dict(planned({}, devices=devices).env).get("CUDA_VISIBLE_DEVICES") == expected


# --- limits and identity ---


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, Limits()),
        ({"requests": {"cpu": "500m"}}, Limits(512)),
        ({"requests": {"cpu": "1m"}}, Limits(2)),
        ({"limits": {"cpu": "2", "memory": "1Gi"}}, Limits(2048, 2.0, 1 << 30)),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "1500m"}}, Limits(1024, 1.5)),
    ],
)
def test_requests_become_shares_and_limits_become_ceilings(resources: Object, expected: Limits) -> None:
    assert planned({"resources": resources}).limits == expected


def test_the_containers_identity_counts_more_than_the_pods() -> None:
    pod = a_pod(securityContext={"runAsUser": 1000, "runAsGroup": 2000})
    plan = planned({"securityContext": {"runAsUser": 0}}, pod)
    assert (plan.user, plan.group) == (0, 2000)
    assert (planned({}).user, planned({}).group) == (None, None)


def test_root_is_refused_where_the_pod_says_so() -> None:
    reason, message = refusal({"securityContext": {"runAsUser": 0, "runAsNonRoot": True}})
    assert reason == "CreateContainerConfigError"
    assert message.startswith("container's runAsUser breaks non-root policy")


def test_root_is_refused_where_nobody_is_asked_for_and_the_agent_is_root() -> None:
    careful: Object = {"securityContext": {"runAsNonRoot": True}}
    with pytest.raises(CannotPlan, match="container has runAsNonRoot and image will run as root") as refused:
        planned(careful, agent=0)
    assert refused.value.reason == "CreateContainerConfigError"
    assert planned(careful, agent=1000).user is None
    assert planned({"securityContext": {"runAsNonRoot": True, "runAsUser": 7}}, agent=0).user == 7


def test_a_read_only_root_and_a_terminal_are_passed_on() -> None:
    plan = planned({"securityContext": {"readOnlyRootFilesystem": True}, "tty": True, "stdin": True})
    assert (plan.writable, plan.tty, plan.stdin) == (False, True, True)
    assert planned({}).writable


def test_the_termination_message_lies_where_it_was_asked_for() -> None:
    assert planned({}).termination_path == "/dev/termination-log"
    assert planned({"terminationMessagePath": "/tmp/last"}).termination_path == "/tmp/last"


# --- pod ---


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "job-0-abcde"),
        ({"hostname": "job-0"}, "job-0"),
        ({"hostname": "job-0", "subdomain": "job"}, "job-0"),
        (
            {"hostname": "job-0", "subdomain": "job", "setHostnameAsFQDN": True},
            "job-0.job.team.svc.cluster.local",
        ),
    ],
)
def test_a_pod_has_a_host_name_of_its_own(spec: Object, expected: str) -> None:
    assert pod_plan.pod_plan(a_pod(**spec), "10.0.0.5", PLACES).hostname == expected


def test_a_long_name_is_cut_to_what_a_host_name_may_have() -> None:
    pod = a_pod() | {"metadata": {"name": "a" * 62 + "-bcd", "namespace": "team", "uid": "u"}}
    assert pod_plan.pod_plan(pod, "", PLACES).hostname == "a" * 62


@pytest.mark.parametrize(
    ("meta", "spec", "expected"),
    [
        ({}, {}, 30),
        ({}, {"terminationGracePeriodSeconds": 5}, 5),
        ({"deletionGracePeriodSeconds": 1}, {"terminationGracePeriodSeconds": 5}, 1),
        ({}, {"terminationGracePeriodSeconds": -3}, 0),
    ],
)
def test_the_deletion_says_how_much_time_is_left(meta: Object, spec: Object, expected: int) -> None:
    assert pod_plan.grace_of({"metadata": meta, "spec": spec}) == expected


@pytest.mark.parametrize(("template", "expected"), [("$(A)/x", "1/x"), ("plain", "plain")])
def test_a_path_in_a_volume_may_be_built_from_variables(template: str, expected: str) -> None:
    assert pod_plan.expanded({}, {"A": "1"}, template) == expected


@pytest.mark.parametrize("template", ["$(NONE)", "../up", "/abs", "a/../../b"])
def test_a_path_in_a_volume_stays_inside(template: str) -> None:
    with pytest.raises(CannotPlan):
        pod_plan.expanded({}, {"A": "1"}, template)


# --- texts no program can be started with ---


@pytest.mark.parametrize(
    ("container", "field"),
    [
        ({"command": ["a\0b"]}, "command"),
        ({"args": ["a\0b"]}, "args"),
        ({"workingDir": "/a\0b"}, "workingDir"),
        ({"terminationMessagePath": "/a\0b"}, "terminationMessagePath"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/a\0b"}]}, "volumeMounts mountPath"),
        ({"volumeMounts": [{"name": "v", "subPath": "a\0b"}]}, "volumeMounts subPath"),
        ({"env": [{"name": "A", "value": "a\0b"}]}, "environment variable 'A'"),
        ({"env": [{"name": "A\0", "value": "b"}]}, "environment variable 'A\\x00'"),
    ],
)
def test_a_zero_byte_is_refused_in_words(container: Object, field: str) -> None:
    why = f'container "node": {field} has a NUL byte in it'
    assert refusal(container) == ("CreateContainerError", why)


def test_a_zero_byte_from_a_variable_is_no_sub_path() -> None:
    with pytest.raises(CannotPlan, match="NUL byte"):
        pod_plan.expanded({"name": "node"}, {"A": "a\0b"}, "$(A)")


def test_arguments_have_a_limit() -> None:
    env = [{"name": "A", "value": "x" * 1000}]
    reason, message = refusal({"env": env, "args": ["$(A)" * 200]})
    assert reason == "CreateContainerError"
    assert message.startswith('container "node": ')
    assert message.endswith("becomes longer than 131071 bytes")
    assert refusal({"env": env, "args": ["$(A)" * 100] * 30})[0] == "CreateContainerError"
