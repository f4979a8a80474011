"""What holds for every request: both dialects mean the same, rendering repeats itself, servers accept it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.rendering_objects import a_body, effective_runtime, rendered
from trainshed.backend.rendering import recall
from trainshed.controllers.trainjob import shapes
from trainshed.controllers.trainjob.preview import preview
from trainshed.jobs.dialects import Dialect
from trainshed.kinds.kind import Kind
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import Object, encode

FRAMEWORKS = ("pytorch", "tensorflow", "jax", "xgboost", "mpi", "deepspeed", "horovod", "plain")
_GIT = {"url": "https://example.com/a.git", "ref": "main", "subfolder": "x", "secret": "keys"}
_VOLUMES = [
    {"name": "data", "pvc": "p", "mountPath": "/data"},
    {"name": "shm", "mountPath": "/dev/shm", "memory": True},
]
_ENV = [{"name": "A", "value": "$(B) '\n"}, {"name": "B", "value": "2"}]
_SHARES: list[Object] = [
    {"config": {"num_nodes": 2, "cpu_per_node": 1, "gpu_per_node": 1}},
    {"num_nodes": 3, "cpu_request": "500m", "memory_limit": "1Gi", "image": "my/image:1"},
    {"preset": "gpu-small"},
]


@st.composite
def bodies(draw: st.DrawFn) -> Object:
    framework = draw(st.sampled_from(FRAMEWORKS))
    body = a_body(framework=framework, **draw(st.sampled_from(_SHARES)))
    code = draw(st.sampled_from([{}, {"files": {"main.py": "", "a/b.py": "1"}}, {"git": _GIT}]))
    if code:
        body = {**{key: value for key, value in body.items() if key != "training_code"}, **code}
    options: Object = {
        "env_vars": _ENV, "volumes": _VOLUMES, "arguments": ["a", "b c"], "retries": 1, "suspend": True,
        "priority_class": "high", "ttl_seconds_after_finished": 5, "labels": {"team": "a"}, "name": "my-job",
    }  # fmt: skip
    body |= {name: options[name] for name in draw(st.sets(st.sampled_from(sorted(options))))}
    if framework in ("mpi", "deepspeed", "horovod") and draw(st.booleans()):
        body |= {"launcher": {"cpu": "100m"}, "processes_per_node": 2}
    return body


@settings(max_examples=60, deadline=None)
@given(body=bodies())
def test_both_dialects_become_the_same_pods_and_nothing_keeps_them_from_running(body: Object) -> None:
    old, new = rendered(body, "v2.1"), rendered(body, "v2.2")
    assert "podTemplateOverrides" in old.trainjob["spec"]
    assert "runtimePatches" in new.trainjob["spec"]
    runtime = effective_runtime(body, new)
    found = preview(new.trainjob, runtime)
    assert found.jobset == preview(old.trainjob, runtime).jobset
    assert [lint for lint in found.warnings if lint.severity == "error"] == []


@settings(max_examples=40, deadline=None)
@given(body=bodies())
def test_rendering_the_same_request_gives_the_same_bytes(body: Object) -> None:
    first, second = rendered(body), rendered(dict(reversed(body.items())))
    for one, other in zip(_objects(first), _objects(second), strict=True):
        assert encode(one) == encode(other)


@settings(max_examples=40, deadline=None)
@given(body=bodies())
def test_what_was_asked_for_can_be_read_back(body: Object) -> None:
    found = rendered(body)
    kept = recall.request(found.trainjob)
    assert kept == {key: value for key, value in body.items() if key not in ("training_code", "files")}
    if found.code is not None and "git" not in body:
        files = {path: text.decode() for path, text in recall.files(found.trainjob, found.code).items()}
        assert files == body.get("files", {"train.py": body.get("training_code")})
        assert recall.is_one_script(found.trainjob) == ("training_code" in body)


@pytest.fixture(scope="module")
def known(schemas: Schemas) -> Mapping[str, Kind]:
    return shapes.kinds(schemas)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("share", _SHARES)
def test_the_servers_schemas_accept_what_is_rendered(
    framework: str, share: Object, known: Mapping[str, Kind]
) -> None:
    body = a_body(framework=framework, env_vars=_ENV, volumes=_VOLUMES, retries=1, **share)
    for dialect in get_args(Dialect):
        found = rendered(body, dialect)
        for obj in (found.runtime, found.trainjob):
            assert obj is None or shapes.checked(obj, known)[1] == []


def _objects(found: object) -> list[Object]:
    parts = (getattr(found, name) for name in ("system", "code", "runtime", "trainjob"))
    return [obj for obj in parts if obj is not None]
