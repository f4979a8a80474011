"""Each framework that is installed here trains by REST, from the request to Complete."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.backend import bodies, service
from tests.backend.service import Backend
from tests.backend.test_contract import finished, logs
from trainshed.backend.models.examples import FULL
from trainshed.kube.objects import Object

EXAMPLES = Path(__file__).parents[2] / "examples"


def created(rest: httpx.Client, body: Object) -> Object:
    return service.ok(rest.post("/api/trainjob/create", json=body))


def completed(rest: httpx.Client, job: Object) -> None:
    found = finished(rest, job)
    assert found["state"] == "Complete", f"{found}\n{logs(rest, job, 0)}"


def a_body(namespace: str, framework: str, code: str, **more: object) -> Object:
    return {**bodies.small(namespace, code), "framework": framework, "config": {"num_nodes": 2}, **more}


async def claims(backend: Backend, namespace: str, *names: str) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Mi"}}}
    async with backend.client(namespace) as client:
        await client.create(space)
        for name in names:
            claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
            await client.create({"apiVersion": "v1", **claim}, namespace)


@pytest.mark.parametrize(
    ("framework", "expected"),
    [
        ("pytorch", ["rank 0 of 2: sum 3", "rank 1 of 2: sum 3"]),
        ("tensorflow", ["worker 0 of 2: sum 2", "worker 1 of 2: sum 2"]),
    ],
)
async def test_the_full_form_runs_with_its_volumes_and_variables(
    backend: Backend, rest: httpx.Client, namespace: str, framework: str, expected: list[str]
) -> None:
    await claims(backend, namespace, "user123-dataset-pvc", "user123-models-pvc")
    check = "import os\nassert os.environ['EPOCHS'] == '10'\nopen('/models/m', 'a').write('x')\n"
    check += (
        "try:\n    open('/data/d', 'w')\nexcept OSError:\n    pass\nelse:\n    raise SystemExit('writable')\n"
    )
    code = check + (bodies.TORCH if framework == "pytorch" else bodies.TENSORFLOW)
    changes = {"framework": framework, "gpu_count": 0}
    job = created(rest, {**FULL, "namespace": namespace, "training_code": code, **changes})
    completed(rest, job)
    for worker, line in enumerate(expected):
        assert line in logs(rest, job, worker)


@pytest.mark.parametrize(
    ("framework", "folder", "expected"),
    [("jax", "05-jax", "process 1 of 2"), ("xgboost", "06-xgboost", "worker 1 of 2")],
)
def test_a_framework_finds_its_other_nodes(
    rest: httpx.Client, namespace: str, framework: str, folder: str, expected: str
) -> None:
    code = (EXAMPLES / folder / "train.py").read_text()
    job = created(rest, a_body(namespace, framework, code))
    completed(rest, job)
    assert expected in logs(rest, job, 1)


@pytest.mark.parametrize("framework", ["mpi", "horovod"])
def test_a_launcher_starts_processes_on_all_nodes_with_the_users_variables(
    rest: httpx.Client, namespace: str, framework: str
) -> None:
    code = "import os\nfrom mpi4py import MPI\nw = MPI.COMM_WORLD\n"
    code += "print(f\"{w.Get_rank()} of {w.Get_size()} says {os.environ['WORD']}\", flush=True)\n"
    more: Object = {"env_vars": [{"name": "WORD", "value": "a $(b) 'c'"}], "processes_per_node": 2}
    if framework == "horovod":
        more |= {"launcher": {"cpu": "100m", "memory": "64Mi"}, "image": "my/horovod:1"}
    job = created(rest, a_body(namespace, framework, code, **more))
    completed(rest, job)
    said = logs(rest, job, 0)
    for rank in range(4):
        assert f"{rank} of 4 says a $(b) 'c'" in said


def test_several_processes_on_each_node_have_ranks_of_their_own(rest: httpx.Client, namespace: str) -> None:
    names = "('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE')"
    code = f"import os\nline = ' '.join(os.environ[name] for name in {names})\n"
    code += "os.write(1, f'I am {line}\\n'.encode())\n"  # whole, though others write beside it
    job = created(rest, a_body(namespace, "pytorch", code, processes_per_node=2))
    completed(rest, job)
    for worker in (0, 1):
        said = logs(rest, job, worker)
        for local in (0, 1):
            assert f"I am {2 * worker + local} 4 {local} 2" in said


DOLLARS = "$$ ${local_rank} $local_rank $(A) $"
TELL = "import os, sys\nos.write(1, f'told {sys.argv[1:]}\\n'.encode())\n"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"arguments": [DOLLARS, "--", "-x"]}, f"told {[DOLLARS, '--', '-x']}"),
        ({"command": ["python", "-c", TELL, DOLLARS], "arguments": ["$$"]}, f"told {[DOLLARS, '$$']}"),
        ({"command": "A=3; echo \"told $A $(echo '$$') ${A}\" '${local_rank}'"}, "told 3 $$ 3 ${local_rank}"),
    ],
    ids=["arguments", "words", "text"],
)
def test_torchrun_hands_on_what_was_given_as_it_is(
    rest: httpx.Client, namespace: str, given: Object, told: str
) -> None:
    body = a_body(namespace, "pytorch", TELL, processes_per_node=2, config={"num_nodes": 1}, **given)
    job = created(rest, body)
    completed(rest, job)
    assert logs(rest, job, 0).count(told) == 2


def test_a_program_finds_each_of_its_files_once_and_nothing_else(rest: httpx.Client, namespace: str) -> None:
    walk = "import os\nprint('found', sorted(os.path.join(a, f) for a, _, fs in os.walk('.') for f in fs))\n"
    files = {"train.py": walk, "lib/data.py": "", ".hidden": ""}
    body = a_body(namespace, "plain", "", files=files, config={"num_nodes": 1})
    del body["training_code"]
    job = created(rest, body)
    completed(rest, job)
    assert "found ['./.hidden', './lib/data.py', './train.py']" in logs(rest, job, 0)


@pytest.mark.parametrize("framework", ["plain", "pytorch", "tensorflow"])
async def test_code_comes_from_git_by_a_commit_and_a_subfolder(
    backend: Backend, rest: httpx.Client, namespace: str, framework: str
) -> None:
    """The repository lies on a volume: pods here have no way out."""
    await claims(backend, namespace, "repositories")
    volumes = [{"name": "repositories", "pvc": "repositories", "mountPath": "/repositories"}]
    make = """set -e; mkdir -p /repositories/a/src; cd /repositories/a; git init -q
    git config user.name a; git config user.email a@example.com
    echo 'import os, sys; print("first", os.path.basename(os.getcwd()), sys.argv[1:])' > src/train.py
    git add .; git commit -qm one; git rev-parse HEAD; echo 'exit(1)' > src/train.py; git commit -qam two"""
    alone = {"num_nodes": 1}  # two would write one repository
    first = created(rest, a_body(namespace, "plain", "", command=make, volumes=volumes, config=alone))
    completed(rest, first)
    commit = logs(rest, first, 0).split()[-1]
    git = {"url": "file:///repositories/a", "ref": commit, "subfolder": "src"}
    body = a_body(namespace, framework, "", git=git, volumes=volumes, arguments=["it's"])
    del body["training_code"], body["config"]  # the full form's runtimes clone before the program starts
    second = created(rest, body)
    completed(rest, second)
    assert 'first src ["it\'s"]' in logs(rest, second, 0)
