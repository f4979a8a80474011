"""Nothing a manifest may hold makes a conversion fail, and none takes long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.converting import simulated
from tests.pure.converting.test_accounts import unaccounted
from trainshed.jobs.converting import cases, texts
from trainshed.jobs.converting.converting import convert
from trainshed.jobs.converting.parcels import Path
from trainshed.kube.documents import write_yaml
from trainshed.kube.objects import JSON, Object, copied

OLD = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "t"},
    "spec": {
        "labels": {"a": "b"},
        "trainer": {"numProcPerNode": "4"},
        "podTemplateOverrides": [
            {
                "targetJobs": [{"name": "node"}],
                "spec": {"containers": [{"name": "node", "env": [{"name": "a"}]}]},
            }
        ],
    },
}
JOBS = [*simulated.manifests(), OLD]
JUNK: list[JSON] = [
    None, True, 0, -1, 10**19, 1.5, "", "x", "$(A)", [], {}, ["a"], [None], [{}], [[]], {"a": None},
    {"name": 1}, [{"name": None}], {"a": {"b": []}},
]  # fmt: skip


def places(value: JSON, path: Path = ()) -> Iterator[Path]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def spoilt(random: Random) -> Object:
    job: Object = copied(random.choice(JOBS))
    for _ in range(random.choice((1, 1, 2, 4))):
        found = list(places(job))
        if found:
            *above, last = random.choice(found)
            holder: JSON = job
            for step in above:
                holder = holder[step]
            holder[last] = copied(random.choice(JUNK))
    return job


@settings(max_examples=250)
@given(seed=st.integers(0, 2**32))
def test_junk_anywhere_is_survived(seed: int) -> None:
    job = spoilt(Random(seed))
    found = convert([job])
    assert convert(found.documents).converted == 0
    if found.converted and job["kind"] != "TrainJob":
        assert list(unaccounted(job, found, simulated.family_of(job))) == []
    assert texts.convert(write_yaml(job).decode()).converted == found.converted
    cases.cases([job])


def test_a_job_of_more_pods_than_anybody_has_is_refused() -> None:
    job: Object = copied(JOBS[0])
    next(iter(job["spec"]["tfReplicaSpecs"].values()))["replicas"] = 10**9
    (told,) = [finding for finding in convert([job]).findings if finding.verdict == "not converted"]
    assert "more than 4096" in told.why


def test_many_comments_and_pods_take_no_longer_than_seconds() -> None:
    job: Object = copied(JOBS[0])
    job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 2000
    text = write_yaml(job).decode() + "".join(f"# {number}\n" for number in range(3000))
    began = time.process_time()
    found = texts.convert(text)
    assert found.converted == 1
    assert "# 2999\n" in found.text
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    "word", ["a", "a=", "if ", " ", "\n", " \n", "#", "\n #", "\\\n", "${", "${a", "/", "python ", "-m "]
)
def test_a_script_of_a_million_letters_is_read_once(word: str) -> None:
    """Looking at all of it from each of its letters would take hours."""
    job: Object = copied(next(job for job in JOBS if job["metadata"]["name"] == "torchrun"))
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        (container,) = replica["template"]["spec"]["containers"]
        container |= {"command": ["bash", "-c", f"x{word * (2**20 // len(word))}!"], "args": []}
    assert convert([job]).converted == 1
