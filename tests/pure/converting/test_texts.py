"""Whole texts: comments keep their field, other documents every byte."""

from __future__ import annotations

import json
import re
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pure.converting.simulated import MANIFESTS
from trainshed.jobs.converting import comments, texts, writing
from trainshed.kube.documents import read_yaml
from trainshed.kube.objects import JSON

SAMPLE = dedent("""\
    # Copyright: the team
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata:
      name: demo  # keep this name
    spec:
      # how it runs
      runPolicy:
        cleanPodPolicy: Running  # gone with v1
        # five minutes
        ttlSecondsAfterFinished: 300
      pytorchReplicaSpecs:
        Master:
          replicas: 1   # one leads
          restartPolicy: OnFailure
          template:
            spec:
              # only here
              nodeSelector:
                pool: gpu
                # zone: a
              containers:
                - name: pytorch
                  image: example.com/a:1  # pinned
                  command: [bash, -c]
                  args:
                    # what is run
                    - |
                      # no comment
                      echo "# none either"
    # the end
    ---
    # 한국어 ☃ 🚂
    kind:   ConfigMap   # odd   spaces
    data: {a: "#1"}
    """)


def test_comments_stay_with_their_fields() -> None:
    made = texts.convert(SAMPLE).text
    for expected in (
        "# Copyright: the team\n",
        "  name: demo  # keep this name\n",
        "    # five minutes\n    trainshed.dev/ttl-seconds-after-finished: '300'\n",
        "    numNodes: 1  # one leads\n",
        "    image: example.com/a:1  # pinned\n",
        "    # what is run\n    - |\n      # no comment\n",
        "  # only here\n                    nodeSelector:\n",
        "pool: gpu\n                      # zone: a\n# the end\n---\n",
    ):
        assert expected in made


def test_comments_of_fields_that_are_gone_stand_on_top() -> None:
    made = texts.convert(SAMPLE).text
    assert made.startswith(
        "# Copyright: the team\n"
        "# spec.runPolicy: how it runs\n"
        "# spec.runPolicy.cleanPodPolicy: gone with v1\n"
        "apiVersion: trainer.kubeflow.org/v1alpha1\n"
    )


def test_other_documents_keep_every_byte() -> None:
    made = texts.convert(SAMPLE)
    assert made.text.endswith(SAMPLE[SAMPLE.index("---\n# 한국어") :])
    assert made.converted == 1


def test_texts_convert_once() -> None:
    for text in (SAMPLE, *(file.read_text() for file in sorted(MANIFESTS.glob("*.yaml")))):
        once = texts.convert(text)
        assert once.converted
        twice = texts.convert(once.text)
        assert (twice.text, twice.converted) == (once.text, 0)
        assert twice.documents == once.documents


@given(st.lists(st.integers(0, SAMPLE.index("---\n")), min_size=1, max_size=6, unique=True))
def test_no_comment_is_lost_wherever_it_stands(places: list[int]) -> None:
    lines = SAMPLE[: SAMPLE.index("---\n")].splitlines()
    script = next(index for index, line in enumerate(lines) if line.endswith("- |"))
    for number, place in enumerate(places):
        at = place % (script + 1)
        indent = " " * (place % 7 * 2)
        if place % 2:
            lines[at] += f"  # mark-{number}-" if "#" not in lines[at] else f" mark-{number}-"
        else:
            lines.insert(at, f"{indent}# mark-{number}-")
            script += 1
    made = texts.convert("\n".join(lines) + "\n").text
    assert sorted(re.findall(r"mark-(\d+)-", made)) == sorted(map(str, range(len(places))))
    assert texts.convert(made).converted == 0


# --- odd texts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "\n", "# only words\n", "---\n", "---\n---\n", "%YAML 1.1\n---\na: 1\n"]
)
def test_texts_without_objects_stay(text: str) -> None:
    assert texts.convert(text).text == text


def test_what_is_no_yaml_stays_and_is_told_with_its_line() -> None:
    text = "kind: A\n---\n{{- if .Values.on }}\nkind: C\n{{- end }}\n---\nkind: B\n"
    found = texts.convert(text, "chart.yaml")
    assert found.text == text
    (told,) = found.findings
    assert told.line.startswith("not converted: chart.yaml: it is not YAML: line 3: ")
    assert "helm template" in told.line


def test_a_list_stays_one_and_its_items_are_converted() -> None:
    job = read_yaml(SAMPLE.encode())
    listed = {"apiVersion": "v1", "kind": "List", "items": [{"kind": "Service", "apiVersion": "v1"}, job]}
    found = texts.convert(writing_of(listed))
    (document,) = found.documents
    assert [item["kind"] for item in document["items"]] == ["Service", "TrainJob"]
    assert texts.convert(found.text).converted == 0


def test_json_stays_json() -> None:
    job = read_yaml(SAMPLE.encode())
    assert json.loads(texts.convert(json.dumps(job)).text)["kind"] == "TrainJob"
    job["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "Never"
    made = json.loads(texts.convert(json.dumps(job)).text)
    assert [item["kind"] for item in made["items"]] == ["TrainingRuntime", "TrainJob"]


def test_windows_line_ends_and_missing_ones_are_fine() -> None:
    made = texts.convert(SAMPLE.replace("\n", "\r\n").rstrip("\r\n"))
    assert made.converted == 1
    assert read_yaml(made.text.encode())["kind"] == "TrainJob"


# --- writing ------------------------------------------------------------------------------------------------

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | st.text(max_size=12)
)
LINES = st.lists(st.text("ab #:-\t'\"{[&*!|>%@`é☃", max_size=8), min_size=1, max_size=4).map("\n".join)
VALUES = st.recursive(
    SCALARS | LINES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(LINES | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=15,
)


def writing_of(value: JSON) -> str:
    return "".join(f"{line.text}\n" for line in writing.lines(value))


@given(VALUES)
def test_what_is_written_is_read_back(value: JSON) -> None:
    assert read_yaml(writing_of(value).encode()) == value


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), VALUES, min_size=1, max_size=3))
def test_marks_within_texts_are_no_comments(value: JSON) -> None:
    assert comments.read(writing_of(value)) == []
