"""Conversions by REST: text with its comments or objects, and a report of every difference."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.backend import service
from trainshed.backend.models.conversions import MOST_CHARACTERS, MOST_DOCUMENTS
from trainshed.backend.problems import Problem
from trainshed.backend.routes.convert import Turns
from trainshed.jobs.converting import texts
from trainshed.kube.objects import JSON, Object

TEXT = """\
# ours
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: mnist
spec:
  runPolicy: {cleanPodPolicy: All}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: example.com/mnist:1  # pinned
              command: [torchrun, train.py]
---
apiVersion: v1
kind:  ConfigMap   # untouched
metadata: {name: a}
"""


def convert(rest: httpx.Client, body: Object) -> Object:
    return service.ok(rest.post("/api/convert", json=body))


def test_text_is_converted_with_its_comments(rest: httpx.Client) -> None:
    found = convert(rest, {"yaml": TEXT})
    assert found["converted"] == 1
    assert [document["kind"] for document in found["documents"]] == ["TrainJob", "ConfigMap"]
    assert found["yaml"].startswith("# ours\napiVersion: trainer.kubeflow.org/v1alpha1\n")
    assert "image: example.com/mnist:1  # pinned\n" in found["yaml"]
    assert found["yaml"].endswith("kind:  ConfigMap   # untouched\nmetadata: {name: a}\n")
    assert convert(rest, {"yaml": found["yaml"]})["yaml"] == found["yaml"]


def test_the_report_names_each_field_that_is_lost(rest: httpx.Client) -> None:
    report = convert(rest, {"yaml": TEXT})["report"]
    (lost,) = [line for line in report if line["verdict"] == "not carried over"]
    assert lost["object"] == "PyTorchJob/mnist"
    assert lost["field"] == "spec.runPolicy.cleanPodPolicy"
    assert "time to live" in lost["advice"]
    assert "behaves differently" in {line["verdict"] for line in report}


def test_objects_give_the_same_as_text(rest: httpx.Client) -> None:
    text = convert(rest, {"yaml": TEXT})
    given = list(texts.convert(TEXT).given)
    objects = convert(rest, {"documents": given})
    assert (objects["documents"], objects["report"]) == (text["documents"], text["report"])
    assert list(texts.convert(objects["yaml"]).documents) == objects["documents"]


def test_what_cannot_be_converted_stays_and_is_told(rest: httpx.Client) -> None:
    found = convert(rest, {"yaml": "kind: [\n"})
    assert (found["yaml"], found["converted"], found["documents"]) == ("kind: [\n", 0, [])
    (line,) = found["report"]
    assert (line["verdict"], line["object"]) == ("not converted", "yaml")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "yaml"),
        ({"yaml": "a: 1", "documents": []}, "yaml"),
        ({"yaml": 1}, "yaml"),
        ({"documents": [1]}, "documents[0]"),
        ({"documents": [{}] * (MOST_DOCUMENTS + 1)}, "documents"),
        ({"yaml": "#" * (MOST_CHARACTERS + 1)}, "yaml"),
        ({"yml": "a: 1"}, "yml"),
    ],
)
def test_wrong_requests_name_the_field(rest: httpx.Client, body: Object, field: str) -> None:
    assert service.problem(rest.post("/api/convert", json=body), 422, "invalid")["field"] == field


def test_nobody_converts_without_a_token(rest: httpx.Client) -> None:
    answer = rest.post("/api/convert", json={"yaml": TEXT}, headers={"Authorization": "Bearer none"})
    service.problem(answer, 401, "unauthorized")


def test_documents_of_any_shape_are_answered(rest: httpx.Client) -> None:
    specs: list[JSON] = [None, 1, [], {"pytorchReplicaSpecs": 1}, {"pytorchReplicaSpecs": {"Master": []}}]
    for spec in specs:
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": spec}
        found = convert(rest, {"documents": [job]})
        assert (found["converted"], found["documents"]) == (0, [job])
    for odd in ('{"yaml": "\\ud800"}', '{"documents": [{"a": "\\ud800"}]}', '{"documents": [{"a": 1e400}]}'):
        answer = rest.post("/api/convert", content=odd, headers={"Content-Type": "application/json"})
        assert answer.status_code in (200, 422), answer.text


def test_few_words_that_would_become_many_are_refused(rest: httpx.Client) -> None:
    container = {"name": "mxnet", "image": "i"}
    replica = {"replicas": 4000, "template": {"spec": {"containers": [container]}}}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MXJob",
        "metadata": {"name": "many"},
        "spec": {"mxReplicaSpecs": {"Worker": replica}},
    }
    problem = service.problem(rest.post("/api/convert", json={"documents": [job] * 100}), 413, "too_large")
    assert "trainshed convert" in problem["hint"]
    answer = rest.post("/api/convert", json={"yaml": "---\na: 1\n" * (2 * MOST_DOCUMENTS + 1)})
    assert service.problem(answer, 422, "invalid")["field"] == "yaml"


def test_a_field_of_another_request_is_not_what_was_meant(rest: httpx.Client) -> None:
    problem = service.problem(rest.post("/api/convert", json={"manifest": "a"}), 422, "invalid")
    assert 'did you mean "manifest"' not in problem["message"]


async def test_nobody_takes_all_turns() -> None:
    turns = Turns(at_once=1, each=2, patience=0.05)
    async with turns.taken("one"):
        with pytest.raises(Problem) as busy:
            async with turns.taken("another"):
                pass
        assert busy.value.status == 503
        waiting = asyncio.create_task(turns.taken("one").__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(Problem) as many:
            async with turns.taken("one"):
                pass
        assert (many.value.status, many.value.headers["Retry-After"]) == (429, "2")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with turns.taken("another"):
        pass
