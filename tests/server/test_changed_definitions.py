"""Custom objects whose definition changes while they are written: whatever comes later has the new shape."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.builders import a_definition
from tests.server.asking import made
from tests.server.wire import Wire
from tests.servers import Cluster
from trainshed.apiserver import assembly, definitions, rendering, writes
from trainshed.apiserver.app import Application
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.kind import Kind
from trainshed.kube.objects import JSON, Object, encode
from trainshed.store.records import Key, Record

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WRITER = writes.Writer("test", writes.SYSTEM)
WIDGETS = "widgets.example.com"


def running(folder: Path) -> AbstractAsyncContextManager[Application]:
    return assembly.running(folder / "data", folder / "cache", "127.0.0.1", "https://127.0.0.1:1")


@asynccontextmanager
async def defined(folder: Path) -> AsyncIterator[State]:
    """A server that knows widgets, which hold anything called former."""
    async with running(folder) as application:
        crd = a_definition("widgets", "Widget", "example.com", a_shape(former={"type": "string"}))
        await writes.insert(application.state, kind_of(application.state, definitions.RESOURCE), crd, WRITER)
        yield application.state


def a_shape(**fields: JSON) -> Object:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


NEW_SHAPE = a_shape(size={"type": "integer", "default": 7})


def kind_of(state: State, resource: str = WIDGETS) -> Kind:
    found = state.registry.stored(resource)
    assert found is not None
    return found


def definition(state: State) -> Record:
    found = state.store.head(Key(definitions.RESOURCE, "", WIDGETS))
    assert found is not None
    return found


def begin_change(state: State, crd: Object) -> asyncio.Future[Record]:
    return writes.begin_replace(state, kind_of(state, definitions.RESOURCE), definition(state), crd, WRITER)


def reshaped(state: State) -> Object:
    """The definition with another schema."""
    crd = loaded(definition(state))
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = NEW_SHAPE
    return crd


def begin_widget(state: State, kind: Kind, name: str = "some") -> asyncio.Future[Record]:
    return writes.begin_insert(
        state, kind, {"metadata": {"name": name}, "spec": {"former": "x"}}, WRITER, "default"
    )


async def test_what_comes_in_by_a_kind_of_before_is_stored_in_the_new_shape(tmp_path: Path) -> None:
    async with defined(tmp_path) as state:
        before = kind_of(state)
        await begin_change(state, reshaped(state))
        record = await begin_widget(state, before)
        assert loaded(record)["spec"] == {"size": 7}


async def test_what_comes_in_by_another_version_is_stored_in_the_shape_of_the_stored_one(
    tmp_path: Path,
) -> None:
    async with defined(tmp_path) as state:
        crd = loaded(definition(state))
        first = crd["spec"]["versions"][0]
        second = {**first, "name": "v2", "storage": False, "schema": {"openAPIV3Schema": NEW_SHAPE}}
        crd["spec"]["versions"].append(second)
        await begin_change(state, crd)
        other = state.registry.find("example.com", "v2", "widgets")
        assert other is not None
        inserted = {"metadata": {"name": "some"}, "spec": {"size": 3, "former": "x"}}
        record = await writes.insert(state, other, inserted, WRITER, "default")
        assert loaded(record)["apiVersion"] == "example.com/v1"
        assert loaded(record)["spec"] == {"former": "x"}


async def test_what_was_on_its_way_reads_in_the_new_shape(tmp_path: Path) -> None:
    async with defined(tmp_path) as state:
        changing = begin_change(state, reshaped(state))
        coming = begin_widget(state, kind_of(state))
        assert (await changing).revision < (await coming).revision
        record = state.store.head(coming.result().key)
        assert record is not None
        assert rendering.spoken(kind_of(state), record)["spec"] == {"size": 7}
        watcher = state.store.watch(WIDGETS, None, coming.result().revision)
        await watcher.next(10.0)  # written again in it
    async with running(tmp_path) as application:
        [record] = application.state.store.list(WIDGETS)
        assert loaded(record)["spec"] == {"size": 7}
        assert rendering.is_current(kind_of(application.state), record)


async def test_what_was_on_its_way_at_a_kill_is_written_again_after_the_next_start(tmp_path: Path) -> None:
    async with defined(tmp_path) as state:
        changing, coming = begin_change(state, reshaped(state)), begin_widget(state, kind_of(state))
        await asyncio.gather(changing, coming)
        key, revision = coming.result().key, coming.result().revision
        assert state.store.head(key) == coming.result(), "nobody has written it again yet"
        shutil.copytree(tmp_path / "data", tmp_path / "killed" / "data")
    async with running(tmp_path / "killed") as application:
        watcher = application.state.store.watch(WIDGETS, None, revision)
        await watcher.next(10.0)
        [record] = application.state.store.list(WIDGETS)
        assert loaded(record)["spec"] == {"size": 7}


async def test_a_deletion_on_its_way_is_told_in_the_new_shape(tmp_path: Path) -> None:
    async with defined(tmp_path) as state:
        record = await begin_widget(state, kind_of(state))
        changing = begin_change(state, reshaped(state))
        going = writes.begin_removal(state, kind_of(state), record, loaded(record))
        assert (await changing).revision < (await going).revision
        assert rendering.spoken(kind_of(state), going.result())["spec"] == {"size": 7}


async def test_what_was_found_out_holds_until_the_shape_changes(tmp_path: Path) -> None:
    async with defined(tmp_path) as state:
        record = await begin_widget(state, kind_of(state))
        await begin_change(state, reshaped(state))
        rendering.shown(kind_of(state), record)
        remembered = rendering.shown(kind_of(state), record)
        noted = loaded(definition(state))
        noted["metadata"]["annotations"] = {"a": "b"}
        await begin_change(state, noted)
        assert rendering.shown(kind_of(state), record) is remembered
        again = reshaped(state)
        again["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = a_shape()
        await begin_change(state, again)
        assert b"size" not in rendering.shown(kind_of(state), record)


async def test_what_is_written_again_is_not_remembered_as_it_was(tmp_path: Path) -> None:
    async with defined(tmp_path) as state:
        record = await begin_widget(state, kind_of(state))
        await begin_change(state, reshaped(state))
        rendering.shown(kind_of(state), record)
        assert len(kind_of(state).readings) == 1
        await writes.put_as_is(state, kind_of(state), record, loaded(record))
        assert len(kind_of(state).readings) == 0


@pytest.mark.parametrize(
    ("change", "code"), [("shape", 422), ("end", 404)], ids=["another-shape", "no-longer-served"]
)
def test_a_slow_body_is_judged_by_what_is_served_when_it_is_there(
    wire: Wire, space: str, provoked: Cluster, change: str, code: int
) -> None:
    group = f"g{secrets.token_hex(3)}.example.com"
    crd = made(wire, DEFINITIONS, a_definition("widgets", "Widget", group, a_shape(size={"type": "integer"})))
    path = f"/apis/{group}/v1/namespaces/{space}/widgets"
    made(wire, path, {"metadata": {"name": "first"}, "spec": {"size": 1}})
    body = encode({"metadata": {"name": "some"}, "spec": {"size": 1}})
    with Wire(provoked.config()) as slow:
        begin_post(slow, path, len(body))
        version = crd["spec"]["versions"][0]
        version["served"] = change != "end"
        version["schema"]["openAPIV3Schema"] = a_shape(size={"type": "integer", "minimum": 5})
        assert wire.ask("PUT", f"{DEFINITIONS}/widgets.{group}", crd).code == 200
        slow.send(body)
        assert slow.reply("POST").code == code
    wire.ask("DELETE", f"{DEFINITIONS}/widgets.{group}")


def begin_post(wire: Wire, path: str, size: int) -> None:
    """Send the head of a request, until the server waits for its body."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {wire.token}\r\n"
    head += f"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {size}\r\n\r\n"
    wire.send(head.encode())
    said = b""
    while not said.endswith(b"\r\n\r\n"):
        piece = wire.socket.recv(1000)
        assert piece, said
        said += piece
    assert said.startswith(b"HTTP/1.1 100 ")
