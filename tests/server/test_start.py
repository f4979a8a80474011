"""A server must start again, whatever its users made of what it ships."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.builders import a_config_map, a_definition
from trainshed.apiserver import assembly, definitions, removal, rendering, writes
from trainshed.apiserver.app import Application
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.kind import Kind
from trainshed.kube import faults, schema
from trainshed.kube.objects import JSON, Object, copied, decode
from trainshed.store.records import Key, Record

WRITER = writes.Writer("test", writes.SYSTEM)
RUNTIMES = "clustertrainingruntimes.trainer.kubeflow.org"


def running(folder: Path) -> AbstractAsyncContextManager[Application]:
    return assembly.running(folder / "data", folder / "cache", "127.0.0.1", "https://127.0.0.1:1")


def found(state: State, resource: str, name: str) -> tuple[Kind, Record]:
    kind, record = state.registry.stored(resource), state.store.head(Key(resource, "", name))
    assert kind is not None
    assert record is not None
    return kind, record


def the_version(crd: Object) -> Object:
    version: Object = crd["spec"]["versions"][0]
    return version


async def change_definition(state: State, *, served: bool) -> None:
    """No longer served, or in a way that no shipped runtime fits."""
    kind, record = found(state, definitions.RESOURCE, RUNTIMES)
    crd = loaded(record)
    if served:
        shape = the_version(crd)["schema"]["openAPIV3Schema"]
        shape["required"] = [*shape.get("required", ()), "more"]
        shape["properties"]["more"] = {"type": "string"}
    the_version(crd)["served"] = served
    await writes.replace(state, kind, record, crd, WRITER)


async def test_with_a_namespace_of_ours_that_is_leaving(tmp_path: Path) -> None:
    async with running(tmp_path) as application:
        state = application.state
        kind = state.registry.stored("configmaps")
        assert kind is not None
        held = a_config_map("held", finalizers=["example.com/hold"])
        await writes.insert(state, kind, held, WRITER, "kubeflow-system")
        await removal.remove(state, *found(state, "namespaces", "kubeflow-system"), removal.Options())
        watcher = state.store.watch("configmaps", "kubeflow-system", 0)
        while state.store.count("configmaps", "kubeflow-system") > 1:
            assert await watcher.next(10.0), "the namespace is not emptied"
    async with running(tmp_path) as application:
        assert application.state.head("namespaces", "", "kubeflow-system")


@pytest.mark.parametrize("served", [False, True], ids=["unserved", "changed"])
async def test_with_another_definition_of_runtimes(tmp_path: Path, served: bool) -> None:
    async with running(tmp_path) as application:
        state = application.state
        await removal.remove(state, *found(state, RUNTIMES, "torch-distributed"), removal.Options())
        await change_definition(state, served=served)
    async with running(tmp_path) as application:
        assert application.state.head(RUNTIMES, "", "torch-distributed") is None


def assert_shaped(kind: Kind, obj: Object) -> None:
    shaped = copied(obj)
    schema.prune(kind.schema(), shaped)
    schema.default(kind.schema(), shaped)
    assert shaped == obj


async def test_what_ships_would_pass_the_checks_it_is_spared(tmp_path: Path) -> None:
    async with running(tmp_path) as application:
        state = application.state
        for resource in state.store.resources():
            kind = state.registry.stored(resource)
            assert kind is not None
            for record in state.store.list(resource):
                again = loaded(record)
                assert_shaped(kind, again)
                del again["metadata"]["resourceVersion"]
                with pytest.raises(faults.AlreadyExists):
                    writes.begin_insert(state, kind, again, WRITER, record.key.namespace)


async def test_objects_older_than_their_schema_are_read_in_its_shape_again(tmp_path: Path) -> None:
    group = "example.com"
    key = Key(f"widgets.{group}", "default", "old")
    async with running(tmp_path) as application:
        state = application.state
        kind = state.registry.stored(definitions.RESOURCE)
        assert kind is not None
        crd = await writes.insert(state, kind, a_definition("widgets", "Widget", group, _shape()), WRITER)
        widgets = state.registry.stored(key.resource)
        assert widgets is not None
        await writes.insert(state, widgets, {"metadata": {"name": "old"}, "spec": {}}, WRITER, "default")
        changed = loaded(crd)
        the_version(changed)["schema"]["openAPIV3Schema"] = _shape(size={"type": "integer", "default": 7})
        await writes.replace(state, kind, crd, changed, WRITER)
    async with running(tmp_path) as application:
        state = application.state
        widgets, record = state.registry.stored(key.resource), state.store.head(key)
        assert widgets is not None
        assert record is not None
        assert loaded(record)["spec"] == {}
        assert rendering.spoken(widgets, record)["spec"] == {"size": 7}
        [listed], _ = rendering.items(widgets, [record])
        assert decode(listed)["spec"] == {"size": 7}
        # A change of the server's own: from now on the stored bytes are what is read.
        written = await writes.put_as_is(state, widgets, record, loaded(record))
        assert rendering.is_current(widgets, written)
        assert loaded(written)["spec"] == {"size": 7}


def _shape(**fields: JSON) -> Object:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
