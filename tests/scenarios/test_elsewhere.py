"""Commands about a cluster of some kubeconfig: the lines they give to copy lead back there."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests import servers
from tests.builders import a_namespace
from tests.places import Place, one_line_error
from tests.servers import Cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with servers.running(tmp_path_factory.mktemp("cluster")) as found:
        asyncio.run(make_namespace(found))
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Nothing runs there: all is done in the cluster."""
    (tmp_path / "train.py").write_text("print('hello')")
    return Place(tmp_path / "data")


async def make_namespace(cluster: Cluster) -> None:
    async with cluster.client() as client:
        await client.create(a_namespace("far"))


def test_hints_lead_back_to_the_cluster_and_the_namespace(place: Place, cluster: Cluster) -> None:
    there = ("--kubeconfig", str(cluster.kubeconfig), "-n", "far")
    run = ("run", str(place.root.parent / "train.py"), "--name", "train", "--framework", "plain", "--detach")
    said = place.run(*run, *there).stderr.splitlines()[-1]
    assert said.endswith(f" logs -f train {' '.join(there)}")
    here = place.root.parent
    again = one_line_error(place.run(*run, *there, code=1, within=here))
    assert again.endswith(f" delete train {' '.join(there)}.")
    words = ("--name", "other", "--runtime", "absent")
    elsewhere = one_line_error(place.run(*run, *words, *there, code=1, within=here))
    assert elsewhere.endswith(f" runtimes {' '.join(there)}.")


def test_what_is_there_is_listed_in_all_namespaces_of_the_same_cluster(
    place: Place, cluster: Cluster
) -> None:
    name = yaml.safe_load(cluster.kubeconfig.read_text())["current-context"]
    there = ("--kubeconfig", str(cluster.kubeconfig), "--context", name)
    absent = one_line_error(place.run("describe", "absent", *there, "-n", "far", code=1))
    assert absent.endswith(f" get -A {' '.join(there)}.")
    assert place.run("get", "-A", *there).returncode == 0


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_run_before_a_server_that_does_not_answer_ends_with_ctrl_c(place: Place, sign: int) -> None:
    script = str(place.root.parent / "train.py")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        there = ("--kubeconfig", a_kubeconfig(place.root.parent, silent.getsockname()[1]))
        process = place.begin("run", script, "--name", "early", "--framework", "plain", *there)
        try:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(sign)
                _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130, said
    last = said.splitlines()[-1]
    assert "early may be there all the same: see " in last
    assert last.endswith(f" describe early {' '.join(there)}")


def a_kubeconfig(folder: Path, port: int) -> str:
    config = {
        "clusters": [{"name": "silent", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "silent", "context": {"cluster": "silent", "user": "me"}}],
        "users": [{"name": "me", "user": {"token": "mine"}}],
        "current-context": "silent",
    }
    (folder / "silent").write_text(yaml.safe_dump(config))
    return str(folder / "silent")
