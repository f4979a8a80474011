"""Nothing of a text vanishes: keys said twice, documents behind dots, line ends; none takes long."""

from __future__ import annotations

import json
import re
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.converting import simulated
from trainshed.jobs.converting import texts, trees
from trainshed.jobs.converting.budgets import Budget, TooMuch
from trainshed.kube.documents import read_yaml, write_yaml

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: demo
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: a:1
              command: [torchrun, train.py]
"""
OTHER = "kind:   ConfigMap   # odd   spaces\n"


def test_a_key_that_is_there_twice_is_told_of() -> None:
    twice = JOB.replace("a:1", "a:1\n              image: b:2")
    made = texts.convert(f"---\n{OTHER}---\n{twice}", "jobs.yaml")
    assert made.converted == 1
    (lost,) = [finding for finding in made.findings if finding.verdict == "not carried over"]
    assert (lost.object, lost.field) == ("jobs.yaml", "image")
    assert lost.why.startswith("line 18: ")


def test_a_key_that_is_there_twice_in_json_is_told_of() -> None:
    written = json.dumps(read_yaml(JOB.encode())).replace('"image": "a:1"', '"image": "a:1", "image": "b:2"')
    lost = [finding.field for finding in texts.convert(written).findings if "twice" in finding.why]
    assert lost == ["spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].image"]


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_any_key_that_is_there_twice_is_told_of(seed: int) -> None:
    random = Random(seed)
    lines = write_yaml(random.choice(simulated.manifests())).decode().splitlines()
    at = random.choice([index for index, line in enumerate(lines) if re.fullmatch(r" *\w+: [\w./-]+", line)])
    before = texts.convert("\n".join(lines))
    found = texts.convert("\n".join([*lines[: at + 1], lines[at], *lines[at + 1 :]]))
    told = [finding for finding in found.findings if "twice" in finding.why]
    assert [finding.field for finding in told] == [lines[at].split(":")[0].strip()] * before.converted


def test_documents_that_are_left_alone_are_not_complained_about() -> None:
    text = "kind: ConfigMap\na: 1\na: 2\n"
    assert (texts.convert(text).text, texts.convert(text).findings) == (text, ())


@pytest.mark.parametrize("between", ["...\n", "...\n---\n", "... # end\n", "---\n...\n---\n"])
def test_a_document_behind_dots_is_there_as_well(between: str) -> None:
    made = texts.convert(JOB + between + OTHER)
    assert [document["kind"] for document in made.documents] == ["TrainJob", "ConfigMap"]
    assert made.text.endswith(OTHER)
    again = texts.convert(made.text)
    assert (again.documents, again.text) == (made.documents, made.text)
    made = texts.convert(OTHER + between + JOB)
    assert [document["kind"] for document in made.documents] == ["ConfigMap", "TrainJob"]
    assert texts.convert(made.text).documents == made.documents


def test_a_header_is_no_fault() -> None:
    made = texts.convert(f"%YAML 1.1\n---\n{JOB}")
    assert made.text.startswith("%YAML 1.1\n---\napiVersion: trainer")
    assert "not converted" not in {finding.verdict for finding in made.findings}
    both = trees.joined([made, made])
    assert [document["kind"] for document in texts.convert(both).documents] == ["TrainJob"] * 2


def test_faults_name_the_line_of_the_whole_text() -> None:
    (told,) = texts.convert(f"{OTHER}---\n{OTHER}---\na: [\n").findings
    assert "line 6" in told.why


def test_line_ends_stay_what_they_are() -> None:
    text = f"{OTHER}---\n{JOB}".replace("\n", "\r\n")
    made = texts.convert(text).text
    assert made.startswith(OTHER.replace("\n", "\r\n"))
    assert made.count("\n") == made.count("\r\n")


# --- how much it may be -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"---\n{JOB.replace('demo', f'demo-{number}')}# {number}\n" * 3 for number in range(150)),
        JOB + "".join(f"# {number}\n" for number in range(25_000)),
        JOB.replace(
            "[torchrun, train.py]", "\n" + "".join(f"  - a{n}  # {n}\n" for n in range(5000))
        ).replace("\n  - a", "\n              - a"),
        JOB.replace("[torchrun, train.py]", "\n              - |\n" + "                a\n" * 9000 + "# end"),
        "---\na\n" * 40_000,
        JOB + "".join(f"key{number}: 1\n" for number in range(20_000)),
    ],
    ids=["documents", "comments", "items", "lines", "pieces", "unknown"],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    texts.convert(text)
    assert time.process_time() - began < 15


@pytest.mark.parametrize(
    "text",
    [
        f"a: &a {'x' * 10_000}\nb: [{', '.join(['*a'] * 1000)}]\n",
        JOB.replace("replicas: 1", "replicas: 4000")
        .replace(
            "            - name",
            "            - name: b\n              image: x\n" * 10 + "            - name",
        )
        .replace("PyTorchJob", "MXJob")
        .replace("pytorchReplicaSpecs", "mxReplicaSpecs"),
    ],
)
def test_few_words_that_ask_for_much_exceed_a_budget(text: str) -> None:
    with pytest.raises(TooMuch):
        texts.convert(text, budget=Budget(1_000_000))


def test_a_usual_text_is_within_a_budget() -> None:
    assert texts.convert(JOB, budget=Budget(10_000)).converted == 1
