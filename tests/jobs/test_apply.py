"""`trainshed apply` and `delete -f`, and the other commands on jobs of kubeflow.org/v1."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.jobs.builders import a_runtime, a_shell
from tests.jobs.test_recovery import eventually
from tests.jobs.test_v1_walk import a_pytorchjob
from tests.whole import EXAMPLES, Ran, Whole
from trainshed.kube.objects import Object

GANG = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: job, namespace: {place}}}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {{spec: {{containers: [{{name: pytorch, image: any, command: ["true"]}}]}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: code, namespace: {place}}}
data: {{a: "1"}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: {place}}}
"""
LINES = [
    "namespace/{place} {verb}",
    "configmap/code {verb} in namespace {place}",
    "pytorchjob.kubeflow.org/job {verb} in namespace {place}",
]


def a_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def apply(shed: Whole, *words: str, stdin: object = "") -> Ran:
    text = stdin if isinstance(stdin, str) else json.dumps(stdin)
    return shed.run(sys.executable, "-m", "trainshed", "apply", *words, stdin=text)


def test_objects_are_created_configured_or_unchanged_what_others_need_first(shed: Whole, name: str) -> None:
    text = GANG.format(place=name)
    for verb, sent in (("created", text), ("unchanged", text)):
        ran = apply(shed, "-f", "-", stdin=sent)
        assert (ran.code, ran.out.splitlines()) == (
            0,
            [line.format(place=name, verb=verb) for line in LINES],
        ), ran
    again = apply(shed, "-f", "-", stdin=text.replace('a: "1"', 'a: "2"'))
    assert again.out.splitlines()[1] == f"configmap/code configured in namespace {name}"
    shed.kubectl("delete", "ns", name)


def test_a_dry_run_checks_and_changes_nothing(shed: Whole, name: str) -> None:
    ran = apply(shed, "--dry-run", "-f", "-", stdin=GANG.format(place=name))
    assert ran.code == 0, ran
    first, *others = ran.out.splitlines()
    assert first == f"namespace/{name} created (dry run)"
    assert [line.endswith("(dry run, unchecked: its namespace is not there yet)") for line in others] == [
        True
    ] * 2
    assert shed.run("kubectl", "get", "ns", name).code == 1
    ran = apply(shed, "--dry-run", "-f", "-", stdin=a_map(name))
    assert (ran.code, ran.out) == (0, f"configmap/{name} created (dry run)\n")
    assert shed.run("kubectl", "get", "configmap", name).code == 1


def test_one_bad_document_hides_no_other(shed: Whole, tmp_path: Path) -> None:
    documents = [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}",
        "kind: [open",
        "apiVersion: v1\nkind: ConfigMapp\nmetadata: {name: typo}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {}\ndata: {}",
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: 0-bad}\nspec: {tfReplicaSpecs: {}}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}",
    ]
    (tmp_path / "all.yaml").write_text("\n---\n".join(documents))
    ran = apply(shed, "-f", str(tmp_path))
    assert (ran.code, ran.out.splitlines()) == (1, ["configmap/first created", "configmap/last created"])
    said = ran.err.splitlines()
    assert [line.startswith(f"Error: {tmp_path}/all.yaml: ") for line in said] == [True] * 4
    told = "\n".join(sorted(said))
    assert 'configmap/twice: line 15: key "data" already set in map.' in told
    assert "Hint: did you mean ConfigMap of v1?" in told
    assert "it is not YAML: line " in told
    assert 'tfjob.kubeflow.org/0-bad: admission webhook "validator.tfjob' in told


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("namespace", 5, "metadata.namespace must be text, not 5."),
        ("namespace", [], "metadata.namespace must be text, not []."),
        ("namespace", True, "metadata.namespace must be text, not true."),
        ("namespace", "a/b", "metadata.namespace cannot be 'a/b'."),
        ("name", 5, "metadata.name must be text, not 5."),
        ("name", {}, "metadata.name must be text, not {}."),
    ],
)
def test_a_name_or_namespace_that_is_none_hides_no_other_document(
    shed: Whole, name: str, field: str, value: object, said: str
) -> None:
    wrong, good = a_map("wrong"), a_map(name)
    wrong["metadata"][field] = value
    both = json.dumps({"apiVersion": "v1", "kind": "List", "items": [wrong, good]})
    for command, verb in (("apply", "created"), ("delete", "deleted")):
        ran = shed.run(sys.executable, "-m", "trainshed", command, "-f", "-", stdin=both)
        assert (ran.code, ran.out) == (1, f"configmap/{name} {verb}\n"), ran
        [line] = ran.err.splitlines()
        assert line.startswith("Error: standard input: configmap")
        assert line.endswith(f": {said}")


def test_an_empty_namespace_is_the_usual_one(shed: Whole, name: str) -> None:
    empty = a_map(name)
    empty["metadata"]["namespace"] = ""
    ran = apply(shed, "-f", "-", stdin=empty)
    assert (ran.code, ran.out) == (0, f"configmap/{name} created\n"), ran


def test_a_refused_field_does_not_work_on_the_terminal(shed: Whole, name: str) -> None:
    ran = apply(shed, "-f", "-", stdin={**a_map(name), "\x1b[31mred\x1b[0m\x07": 1})
    assert ran.code == 1
    assert "red" in ran.err
    assert ran.err.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"numNodes": 2}, 'spec.numNodes: there is no such field; did you mean "spec.trainer.numNodes"?'),
        (
            {"trainer": {"env": [{"name": "A", "valueFrom": {"fieldReff": {}}}]}},
            'spec.trainer.env[0].valueFrom.fieldReff: there is no such field; did you mean "fieldRef"?',
        ),
        (
            {"trainer": {"numNodez": 2, "command": "python train.py"}},
            'spec.trainer.numNodez: there is no such field; did you mean "numNodes"?; spec.trainer.command: '
            'must be of type array: "string"; write it as a list, such as ["python", "train.py"].',
        ),
        (
            {"runtimeRef": {"name": "torch-distribted"}},
            'there is no ClusterTrainingRuntime "torch-distribted"; did you mean "torch-distributed"? Hint: ',
        ),
    ],
)
def test_a_refused_trainjob_is_told_what_was_probably_meant_as_in_a_preview(
    shed: Whole, name: str, changes: Object, said: str
) -> None:
    good = a_shell(name, "true")
    job = {**good, "spec": {**good["spec"], **changes}}
    ran = apply(shed, "-f", "-", stdin=job)
    assert (ran.code, ran.out) == (1, "")
    [line] = ran.err.splitlines()
    assert line.startswith(f"Error: standard input: trainjob.trainer.kubeflow.org/{name}: {said}"), line


def test_a_refused_runtime_is_told_what_was_probably_meant(shed: Whole, name: str) -> None:
    runtime = a_runtime(name)
    runtime["spec"]["mlpolicy"] = runtime["spec"].pop("mlPolicy")
    ran = apply(shed, "-f", "-", stdin=runtime)
    assert ran.code == 1
    assert ran.err.endswith(': spec.mlpolicy: there is no such field; did you mean "mlPolicy"?\n')


@pytest.mark.parametrize("command", ["apply", "delete"])
def test_a_document_without_an_api_version_is_told_which_to_write(shed: Whole, command: str) -> None:
    job = a_shell("bare", "true")
    del job["apiVersion"]
    ran = shed.run(sys.executable, "-m", "trainshed", command, "-f", "-", stdin=json.dumps(job))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "Error: standard input: trainjob/bare: this TrainJob has no apiVersion. "
        "Hint: write apiVersion: trainer.kubeflow.org/v1alpha1.\n"
    )
    ran = apply(shed, "-f", "-", stdin="kind: Widget\nmetadata: {name: x}\n")
    assert ran.err == "Error: standard input: widget/x: this Widget has no apiVersion.\n"


def test_a_later_mpijob_is_told_to_be_converted(shed: Whole) -> None:
    job = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: later}\nspec: {}\n"
    ran = apply(shed, "-f", "-", stdin=job)
    assert ran.code == 1
    assert "Hint: trainshed convert makes a TrainJob of it." in ran.err


def test_what_kubectl_applied_is_gone_on_with_and_what_others_own_is_not(shed: Whole, name: str) -> None:
    shed.apply(a_map(name, a="1"))
    ran = apply(shed, "-f", "-", stdin=a_map(name, a="2"))
    assert (ran.code, ran.out) == (0, f"configmap/{name} configured\n"), ran
    shed.kubectl("patch", "configmap", name, "-p", '{"data": {"a": "3"}}', "--field-manager=somebody")
    ran = apply(shed, "-f", "-", stdin=a_map(name, a="4"))
    assert ran.code == 1
    assert 'conflict with "somebody"' in ran.err
    assert "Hint: --force-conflicts takes these fields over." in ran.err
    ran = apply(shed, "--force-conflicts", "-f", "-", stdin=a_map(name, a="4"))
    assert (ran.code, ran.out) == (0, f"configmap/{name} configured\n"), ran


def test_a_kind_and_an_object_of_it_come_in_one_command(shed: Whole) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "sheds", "singular": "shed", "kind": "Shed"}
    kind = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "sheds.example.org"},
        "spec": {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    one = {"apiVersion": "example.org/v1", "kind": "Shed", "metadata": {"name": "mine"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [one, kind]}
    ran = apply(shed, "-f", "-", "--dry-run", stdin=listed)
    assert "shed.example.org/mine created (dry run, unchecked: its kind is not there yet)" in ran.out
    ran = apply(shed, "-f", "-", stdin=listed)
    assert (ran.code, ran.out.splitlines()[1]) == (0, "shed.example.org/mine created"), ran
    gone = shed.run(sys.executable, "-m", "trainshed", "delete", "-f", "-", stdin=json.dumps(listed))
    assert [line.rpartition(" ")[2] for line in gone.out.splitlines()] == ["deleted"] * 2


def test_an_object_for_another_namespace_is_refused_in_words(shed: Whole, name: str) -> None:
    ran = apply(shed, "-n", "elsewhere", "-f", "-", stdin=GANG.format(place=name))
    assert ran.code == 1
    assert f"configmap/code: it belongs to namespace {name}, and --namespace says elsewhere." in ran.err
    ran = apply(shed, "-n", "elsewhere", "-f", "-", stdin=a_map(name))
    assert 'there is no namespace "elsewhere". Hint: apply a Namespace of that name too.' in ran.err
    shed.kubectl("delete", "ns", name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name what to read"),
        (("-f", "absent.yaml"), "cannot read absent.yaml"),
        (("-k", "."), "kustomize cannot build .: unable to find one of 'kustomization.yaml'"),
        (("-k", "--help"), "there is no folder --help"),
        (("-f", "https://example.org/a.yaml"), "is not on this machine"),
    ],
)
def test_what_cannot_be_read_at_all_is_wrong_usage(shed: Whole, words: tuple[str, ...], said: str) -> None:
    ran = apply(shed, *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_standard_input_that_is_no_text_is_wrong_usage(shed: Whole, locale: str) -> None:
    command = f"printf 'kind: A\\ndata: \\377\\n' | LC_ALL={locale} {sys.executable} -m trainshed apply -f -"
    ran = shed.run("sh", "-c", command)
    assert (ran.code, ran.out) == (2, "")
    [said] = ran.err.splitlines()
    assert said.startswith(
        "Error: standard input is not text: line 2 has invalid UTF-8 at byte 14. Hint: save"
    )


def test_closed_standard_input_is_wrong_usage(shed: Whole) -> None:
    ran = shed.run("sh", "-c", f"{sys.executable} -m trainshed apply -f - <&-")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Error: standard input is closed. Hint: ")


def test_a_process_substitution_is_applied(shed: Whole, name: str) -> None:
    made = f"<(echo '{json.dumps(a_map(name))}')"
    ran = shed.run("bash", "-c", f"{sys.executable} -m trainshed apply -f {made}")
    assert (ran.code, ran.out) == (0, f"configmap/{name} created\n"), ran


def test_preview_warns_of_keys_that_occur_twice(shed: Whole, tmp_path: Path) -> None:
    job = EXAMPLES / "03-checkpoints" / "recovery" / "trainjob.yaml"
    file = tmp_path / "twice.yaml"
    file.write_text(job.read_text().rstrip() + "\nkind: TrainJob\n")
    ran = shed.trainshed("preview", "-f", str(file), "-f", str(job.with_name("runtime.yaml")))
    assert ran.code == 0, ran
    line = len(file.read_text().splitlines())
    told = f'warning: {file}: line {line}: key "kind" already set in map; the last one counts'
    assert told in ran.err.splitlines()


def test_apply_starts_what_runs_jobs(tmp_path: Path) -> None:
    fresh = Whole(tmp_path)
    fresh.up()  # on a port that is free, which is then remembered
    assert fresh.trainshed("down", seconds=110).code == 0
    try:
        ran = fresh.trainshed("apply", "-k", str(EXAMPLES / "12-v1-kinds" / "mxjob"))
        assert ran.code == 0, f"{ran.err}\n{fresh.logs()}"
        assert ran.err.splitlines()[0].startswith("started https://127.0.0.1:")
        done = fresh.trainshed("logs", "-f", "mxjob", seconds=110)
        assert done.code == 0, done
        assert "[scheduler 0] 3 members: server 0, worker 0, worker 1\n" in done.out
    finally:
        assert fresh.trainshed("down", seconds=110).code == 0


# --- commands on v1 jobs ------------------------------------------------------------------------------------


def test_a_v1_job_is_listed_described_followed_and_deleted_by_kind_and_name(
    shed: Whole, name: str, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    came = "[ $RANK = 1 ] && exec touch /shared/came; until [ -e /shared/came ]; do sleep 0.1; done"
    shed.apply(a_pytorchjob(name, f"echo rank $RANK; {came}", workers=1, shared=tmp_path))
    ran = shed.trainshed("logs", "-f", f"pytorchjob/{name}")
    lines = {line for line in ran.out.splitlines() if "init-pytorch" not in line}
    assert (ran.code, lines) == (0, {"[master 0] rank 0", "[worker 0] rank 1"})
    assert f"pytorchjob/{name}: Complete after " in ran.err
    row = next(line for line in shed.trainshed("get").out.splitlines() if f"pytorchjob/{name} " in line)
    assert row.split()[1:5] == ["Complete", "2", "kubeflow.org/v1", "0"]
    told = shed.trainshed("describe", name).out
    assert re.search(rf"^1 +worker +{name}-worker-0 ", told, re.MULTILINE)
    assert "PyTorchJobSucceeded" in shed.trainshed("events", f"pytorchjob/{name}").out
    assert shed.trainshed("logs", f"pytorchjob/{name}", "--rank", "1").out == "rank 1\n"
    assert shed.trainshed("delete", name).out == f"pytorchjob/{name} deleted\n"
    assert shed.list("pods", f"training.kubeflow.org/job-name={name}") == []
    assert "rank 1" in shed.trainshed("logs", f"pytorchjob/{name}").out, "lines outlive their job"


def test_a_v1_job_is_suspended_and_resumed(shed: Whole, name: str) -> None:
    shed.apply(a_pytorchjob(name, "exec sleep 600"))
    mine = f"training.kubeflow.org/job-name={name}"
    eventually(lambda: "Running" in shed.trainshed("get", name).out, "it runs")
    assert shed.trainshed("suspend", f"pytorchjob/{name}").out == f"pytorchjob/{name} suspended\n"
    eventually(lambda: "Suspended" in shed.trainshed("get", name).out, "it is suspended")
    eventually(lambda: not shed.list("pods", mine), "its pods are gone")
    assert shed.trainshed("suspend", name).out == f"pytorchjob/{name} is already suspended\n"
    assert shed.trainshed("resume", name).out == f"pytorchjob/{name} resumed\n"
    eventually(lambda: "Running" in shed.trainshed("get", name).out, "it runs again")
    shed.trainshed("delete", name)


def test_a_name_that_several_kinds_have_needs_its_kind(shed: Whole, name: str) -> None:
    job = a_pytorchjob(name, "true", suspend=True)
    template = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    other = {"containers": [{**template["spec"]["containers"][0], "name": "jax"}]}
    worker = {"replicas": 1, "template": {"spec": other}}
    jax = {
        **job,
        "kind": "JAXJob",
        "spec": {"runPolicy": {"suspend": True}, "jaxReplicaSpecs": {"Worker": worker}},
    }
    shed.apply(job, jax)
    ran = shed.trainshed("describe", name)
    assert ran.code == 2
    assert (
        f'there are several jobs "{name}": pytorchjob/{name}, jaxjob/{name}. Hint: name the kind too.'
        in ran.err
    )
    assert shed.trainshed("describe", f"jaxjob/{name}").code == 0
    assert shed.trainshed("get", f"tfjob/{name}").err.startswith(f'Error: there is no TFJob "{name}"')
    shed.trainshed("delete", f"jaxjob/{name}", f"pytorchjob/{name}")


def test_who_may_not_see_v1_jobs_sees_trainjobs_all_the_same(shed: Whole, name: str) -> None:
    shed.apply(a_pytorchjob(name, "true", suspend=True))
    shed.kubectl("create", "serviceaccount", name)
    resources = "trainjobs.trainer.kubeflow.org,jobsets.jobset.x-k8s.io,jobs.batch,pods"
    shed.kubectl("create", "role", name, "--verb=get,list,watch", f"--resource={resources}")
    shed.kubectl("create", "rolebinding", name, f"--role={name}", f"--serviceaccount=default:{name}")
    token = shed.kubectl("create", "token", name).strip()
    config = shed.folder / f"{name}.yaml"
    config.write_text(json.dumps(with_token(shed, token)))
    ran = shed.trainshed("get", "--kubeconfig", str(config))
    assert ran.code == 0, ran
    assert name not in ran.out
    ran = shed.trainshed("get", name, "--kubeconfig", str(config))
    assert f'there is no training job "{name}"' in ran.err
    shed.trainshed("delete", f"pytorchjob/{name}")


def with_token(shed: Whole, token: str) -> Object:
    config: Object = json.loads(shed.kubectl("config", "view", "--raw", "-o", "json"))
    for user in config["users"]:
        user["user"] = {"token": token}
    return config


def test_what_the_server_warns_of_is_marked_as_a_warning(shed: Whole, name: str, tmp_path: Path) -> None:
    container = {"name": "c", "image": "any", "resources": {"limits": {"memory": "1500m"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod))
    ran = shed.trainshed("apply", "--dry-run", "-f", str(file))
    assert ran.code == 0, ran
    assert ran.err.startswith("Warning: spec.containers[0].resources.limits[memory]: fractional byte value")
