"""A program that was to be in the image: the verdict says where to name it."""

from __future__ import annotations

import pytest

from tests.pure.pod_objects import a_pod, ended
from trainshed.kinds.core import podstates
from trainshed.kube.objects import Object

HINT = "(the image's own files are not here: see contents under [images] in docs/processes.md)"
PYTHON = "python: can't open file '/opt/pytorch-mnist/mnist.py': [Errno 2] No such file or directory"


def said(message: str, *, image: str = "environment:///venv", mounted: str = "") -> str:
    pod: Object = ended(a_pod(), message, code=2)
    pod["status"]["containerStatuses"][0]["imageID"] = image
    if mounted:
        pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "code", "mountPath": mounted}]
    found = podstates.bad_end(pod)
    return found.how if found else ""


@pytest.mark.parametrize(
    "line",
    [
        PYTHON,
        "bash: line 1: /opt/run.sh: No such file or directory",
        "sh: 1: /opt/run.sh: not found",
        'exec: "/opt/run.sh": no such file or directory',
    ],
)
def test_a_missing_program_comes_with_a_hint(line: str) -> None:
    assert said(line) == f"exited 2: {line} {HINT}"


@pytest.mark.parametrize(
    "line",
    [
        "python: can't open file 'mnist.py': [Errno 2] No such file or directory",
        "python: can't open file '/tmp/code/mnist.py': [Errno 2] No such file or directory",
        "python: can't open file '/opt/mnist.py': [Errno 13] Permission denied",
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.csv'",
    ],
)
def test_other_complaints_have_none(line: str) -> None:
    assert said(line) == f"exited 2: {line}"


@pytest.mark.parametrize(("folder", "is_hinted"), [("/opt/pytorch-mnist/", False), ("/opt/pytorch", True)])
def test_what_was_to_come_from_a_volume_has_none(folder: str, is_hinted: bool) -> None:
    assert (HINT in said(PYTHON, mounted=folder)) is is_hinted


def test_on_a_cluster_the_image_is_what_it_is() -> None:
    assert said(PYTHON, image="docker.io/kubeflow/mnist@sha256:1") == f"exited 2: {PYTHON}"
