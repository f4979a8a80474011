"""`trainshed run` on clusters whose TrainJobs lack fields of ours, as in Trainer 2.0, 2.1 and 2.3."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers, trainers
from tests.places import Place, one_line_error
from tests.servers import Cluster
from trainshed.controllers.trainjob.lifetimes import TTL_ANNOTATION as TTL
from trainshed.kube.objects import Object


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with servers.running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Nothing runs there: all is done in the cluster."""
    (tmp_path / "train.py").write_text("print('hello')")
    return Place(tmp_path / "data")


def run(place: Place, cluster: Cluster, *words: str) -> list[str]:
    script = str(place.root.parent / "train.py")
    return [
        "run",
        script,
        "--framework",
        "plain",
        "--detach",
        "--kubeconfig",
        str(cluster.kubeconfig),
        *words,
    ]


async def found(cluster: Cluster, kind: str, name: str) -> Object | None:
    async with cluster.client() as client:
        return await client.find(kind, name)


def with_fields_gone(cluster: Cluster, *fields: str) -> Object:
    return asyncio.run(trainers.take_away(cluster, *fields))


@pytest.mark.parametrize("fields", [trainers.V2_1, trainers.V2_3, ()], ids=["v2.1", "v2.3", "ours"])
def test_the_code_reaches_the_job_in_the_words_of_the_cluster(
    place: Place, cluster: Cluster, fields: tuple[str, ...]
) -> None:
    name = f"told-{len(fields)}"
    before = with_fields_gone(cluster, *fields)
    try:
        said = place.run(*run(place, cluster, "--name", name, "--ttl", "5"))
    finally:
        asyncio.run(trainers.put_back(cluster, before))
    assert "unknown field" not in said.stderr
    job = asyncio.run(found(cluster, "trainjobs", name))
    assert job is not None
    assert job["metadata"]["annotations"][TTL] == "5"
    if "runtimePatches" in fields:
        pod = job["spec"]["podTemplateOverrides"][0]["spec"]
    else:
        template = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]
        pod = template["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["volumes"][0]["configMap"]["name"] == f"{name}-code"


def test_a_job_that_would_lose_its_code_is_refused_in_one_line(place: Place, cluster: Cluster) -> None:
    before = with_fields_gone(cluster, "runtimePatches", "podTemplateOverrides")
    try:
        done = place.run(*run(place, cluster, "--name", "lost"), code=1, within=place.root.parent)
    finally:
        asyncio.run(trainers.put_back(cluster, before))
    line = one_line_error(done)
    assert "the Kubeflow Trainer of this cluster does not know spec.podTemplateOverrides" in line
    assert "2.1 or newer" in line
    assert asyncio.run(found(cluster, "trainjobs", "lost")) is None
    assert asyncio.run(found(cluster, "configmaps", "lost-code")) is None
