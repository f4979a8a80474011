"""Whatever text is accepted reaches the program as it is: rendered commands are run for real."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.rendering_objects import a_body, outcome, rendered
from trainshed.backend.rendering import scripts
from trainshed.backend.rendering.trainjob import Rendered
from trainshed.backend.rendering.unacceptable import Unacceptable
from trainshed.kinds.reading import entries
from trainshed.kube.objects import Object
from trainshed.runner import environment

TELL = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
NASTY = [
    "$(touch pwned)", "`id`", "$HOME ${PATH} $$ $$(A)", "$(A)", "'\"\\", "a\nb\r\n", "; rm -rf *; #", "..",
    "--flag", "{a: [b, 'c", "\u202e", "é漢字🚀", "-", "", "*", "~", "!x", "x" * 10_000, "$'\\n'", "\t", "\0",
]  # fmt: skip
variables = st.one_of(
    st.sampled_from(
        ["IFS", "PWD", "UID", "HOME", "BASH_ENV", "ENV", "PS1", "A", "B", "SECONDS", "_", "work"]
    ),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}\Z"),
)
texts = st.one_of(
    st.sampled_from(NASTY), st.text(max_size=40), st.text("$()`'\"\\ \nA{}!#&|<>*", max_size=20)
)


def run(found: Rendered, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """The trainer's command as a kubelet would start it, with its folders inside another one."""
    _put(found, folder)
    trainer = found.trainjob["spec"]["trainer"]
    env: dict[str, str] = {}
    for variable in entries(trainer, "env"):
        env[variable["name"]] = environment.expand(variable["value"], env)
    command = [environment.expand(word, env) for word in trainer["command"]]
    command[2] = (
        command[2].replace("/workspace/scripts", f"{folder}/code").replace("/shared/", f"{folder}/shared/")
    )
    base = {"PATH": f"{folder}/bin:/usr/bin:/bin", "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    return subprocess.run(
        command, env={**env, **base}, cwd=folder, capture_output=True, timeout=60, check=False
    )


def _put(found: Rendered, folder: Path) -> None:
    for name in ("code", "shared", "bin"):
        (folder / name).mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    if found.system is not None:
        for file, text in found.system["data"].items():
            (folder / "shared" / file).write_text(text)
    keys = dict((found.code or {}).get("data") or {})
    for item in _items(found.trainjob):
        path = folder / "code" / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(keys.pop(item["key"]).encode())
    for name, text in keys.items():
        (folder / "code" / name).write_bytes(text.encode())


def _items(job: Object) -> list[Object]:
    template = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]
    pod = template["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return [item for volume in pod["volumes"] for item in entries(volume, "configMap", "items")]


@settings(max_examples=25, deadline=None)
@given(
    arguments=st.lists(texts, max_size=3),
    env=st.dictionaries(variables, texts, max_size=3),
    framework=st.sampled_from(["pytorch", "plain"]),
)
def test_arguments_and_variables_arrive_as_they_were_given(
    arguments: list[str], env: dict[str, str], framework: str
) -> None:
    given_variables = [{"name": name, "value": value} for name, value in env.items()]
    body = a_body(
        framework=framework, training_code=TELL, arguments=arguments, env_vars=given_variables, config={}
    )
    found = outcome(body)
    if isinstance(found, Unacceptable):
        assert found.field.startswith(("arguments[", "env_vars["))
        return
    with tempfile.TemporaryDirectory() as place:
        done = run(found, Path(place))
        assert done.returncode == 0, done.stderr
        argv, seen = json.loads(done.stdout.splitlines()[-1])
        assert argv == arguments
        assert {name: seen[name] for name in env} == env
        assert "pwned" not in os.listdir(place)


@settings(max_examples=20, deadline=None)
@given(files=st.dictionaries(texts, texts, min_size=1, max_size=4))
def test_files_arrive_under_their_names_with_their_content(files: dict[str, str]) -> None:
    walk = "import os, json; print(json.dumps({os.path.relpath(os.path.join(a, f)): open(os.path.join(a, f),"
    walk += " newline='').read() for a, _, c in os.walk('.') for f in c}))"
    found = outcome(a_body(framework="plain", training_code=None, files={**files, "train.py": walk}))
    if isinstance(found, Unacceptable):
        assert found.field == "files"
        return
    with tempfile.TemporaryDirectory() as place:
        done = run(found, Path(place))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {**files, "train.py": walk}


@settings(max_examples=15, deadline=None)
@given(code=texts, words=st.lists(texts, min_size=1, max_size=3))
def test_code_and_the_words_of_a_command_arrive(code: str, words: list[str]) -> None:
    tell = "import json, sys; print(json.dumps([open(sys.argv[1], newline='').read(), sys.argv[2:]]))"
    command = ["python", "-c", tell, "/workspace/scripts/train.py", *words]
    found = outcome(a_body(framework="plain", training_code=code, command=command))
    if isinstance(found, Unacceptable):
        assert found.field == "training_code" or found.field.startswith("command[")
        return
    with tempfile.TemporaryDirectory() as place:
        done = run(found, Path(place))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [code, words]


def test_shell_text_is_shell_text_and_is_run_once(tmp_path: Path) -> None:
    command = 'A=$(printf "%s" "it\'s"); echo "$A $$" | sed "s/[0-9][0-9]*$/pid/"\necho "last"'
    done = run(rendered(a_body(command=command)), tmp_path)
    assert done.stdout.decode().splitlines()[1:] == ["it's pid", "last"]


def test_pytorch_is_told_its_rank_and_tensorflow_its_cluster(tmp_path: Path) -> None:
    torch, tensorflow = tmp_path / "torch.sh", tmp_path / "tensorflow.sh"
    torch.write_text(scripts.PYTORCH.content)
    tensorflow.write_text(scripts.TENSORFLOW.content)
    given = {"PET_NODE_RANK": "1", "PET_NNODES": "2", "PET_MASTER_ADDR": "m", "PET_MASTER_PORT": "3"}
    told = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "m", "MASTER_PORT": "3", "LOCAL_RANK": "0"}
    assert told.items() <= _sourced(torch, given).items()
    found = _sourced(
        tensorflow, {"PET_NNODES": "2", "JOBSET_NAME": "j", "JOB_COMPLETION_INDEX": "1", "job": "mine"}
    )
    assert json.loads(found["TF_CONFIG"]) == {
        "cluster": {"worker": ["j-node-0-0.j:2222", "j-node-0-1.j:2222"]},
        "task": {"type": "worker", "index": 1},
    }  # fmt: skip
    assert found["job"] == "mine"


def _sourced(file: Path, env: dict[str, str]) -> dict[str, str]:
    program = shlex.quote("import json, os; print(json.dumps(dict(os.environ)))")
    line = f"source {file} && {sys.executable} -c {program}"
    done = subprocess.run(
        ["bash", "-c", line],
        env={**env, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=30,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("nasty", NASTY)
def test_no_field_takes_text_that_would_break_the_objects(nasty: str) -> None:
    """Works, or names the field: never anything else."""
    for field in ("user_id", "namespace", "name", "image", "runtime", "preset", "priority_class", "command"):
        found = outcome(a_body(**{field: nasty}))
        if isinstance(found, Unacceptable):
            assert found.field == field
        else:
            assert found.trainjob["metadata"]["name"].isascii()
