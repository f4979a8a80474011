"""The history by itself: bounded, merged, and closed to a namespace's namesake."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import httpx
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests import waits
from tests.backend import accounts, service
from tests.backend.reads import sse
from tests.backend.reads.conftest import Submit, asked
from tests.backend.reads.test_reading import recorded
from tests.backend.service import Backend
from tests.servers import Cluster
from trainshed.backend import pages, rows
from trainshed.backend.history import archive, births, records
from trainshed.backend.history.records import EventRow, Record
from trainshed.backend.history.store import Bounds, Store
from trainshed.backend.paging import Filter
from trainshed.backend.rows import ContainerRow, PodRow, Row
from trainshed.client.client import Client
from trainshed.jobs.marks import Line
from trainshed.jobs.summary import TRAINJOBS
from trainshed.kube.objects import Object
from trainshed.runner.logs import lines as stamps


def a_row(number: int, finished: str = "", namespace: str = "a") -> Row:
    return Row(
        uid=f"uid-{number}",
        namespace=namespace,
        name=f"job-{number}",
        state="Complete" if finished else "Running",
        phase="Complete" if finished else "Running",
        message="done" if finished else "",
        framework="pytorch",
        user_id="user1",
        runtime="torch-distributed",
        nodes=1,
        created=f"2026-01-01T00:00:{number % 60:02}Z",
        finished=finished,
        labels={},
        revision="1",
    )


def a_pod(number: int, attempt: int, code: int | None) -> PodRow:
    state = "running" if code is None else "terminated"
    box = ContainerRow("node", False, 0, state, exit_code=code, started="2026-01-01T00:00:05Z")
    return PodRow(
        uid=f"pod-{number}",
        namespace="a",
        name=f"pod-{number}",
        job="job",
        jobset_uid="set",
        role="node",
        rank=number,
        attempt=attempt,
        node="here",
        phase="Running",
        reason="",
        message="",
        created="2026-01-01T00:00:00Z",
        containers=(box,),
    )


async def filled(file: Path, count: int, bounds: Bounds) -> Store:
    store = Store(file, bounds)
    for number in range(count):
        row = a_row(number, f"2026-01-02T00:{number // 60:02}:{number % 60:02}Z")
        await store.put(records.entry(row), Record(jobset_uids=(f"set-{number}",), trainjob={"x": "y" * 100}))
    return store


async def test_the_oldest_records_go_and_the_rest_outlives_a_restart(tmp_path: Path) -> None:
    store = await filled(tmp_path / "jobs.db", 30, Bounds(records=10))
    store.close()
    again = Store(tmp_path / "jobs.db", Bounds(records=10))
    page = again.page("a", Filter(), "", 100)
    assert [entry.name for entry in page.rows] == [f"job-{number}" for number in range(29, 19, -1)]
    assert await again.record("uid-3") is None
    record = await again.record("uid-25")
    assert record is not None
    assert again.jobset_uids("uid-25") == {"set-25"}
    again.close()


async def test_records_are_bounded_in_bytes_too(tmp_path: Path) -> None:
    store = await filled(tmp_path / "jobs.db", 50, Bounds(bytes=2_000))
    assert 1 <= store.page(None, Filter(), "", 100).total < 20
    store.close()


async def test_whoever_fills_the_history_pushes_out_only_what_is_their_own(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.db", Bounds(records=20, bytes=20_000))
    for number in range(5):
        await store.put(records.entry(a_row(number, "2026-01-01T00:00:00Z", "quiet")), Record())
    for number in range(100, 200):
        heavy = Record(trainjob={"x": "y" * (number * 10)})
        await store.put(records.entry(a_row(number, "2026-01-02T00:00:00Z", "loud")), heavy)
    assert store.page("quiet", Filter(), "", 100).total == 5
    assert [entry.name for entry in store.named("quiet", "job-3")] == ["job-3"]
    assert 1 <= store.page("loud", Filter(), "", 100).total <= 15
    assert store.page(None, Filter(), "", 100).total <= 20
    store.close()


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.integers(0, 300)), max_size=40))
def test_the_bounds_hold_whatever_is_put_in_and_again(puts: list[tuple[int, str, int]]) -> None:
    async def run() -> None:
        store = Store(Path(":memory:"), Bounds(records=6, bytes=4_000))
        for number, place, size in puts:
            row = a_row(number, f"2026-01-02T00:00:{number:02}Z", place)
            row = msgspec.structs.replace(row, uid=f"{place}-{number}")
            await store.put(records.entry(row), Record(trainjob={"x": "y" * size}))
            counts = [store.page(name, Filter(), "", 100).total for name in "abc"]
            assert sum(counts) == store.page(None, Filter(), "", 100).total <= 6
        store.close()

    asyncio.run(run())


def test_one_record_is_bounded_whatever_its_job_carries() -> None:
    notes = {"annotations": {"a": "b" * 300_000}, "labels": {f"l{n}": "v" for n in range(30_000)}}
    job: Object = {"metadata": {"name": "a", **notes}, "spec": {"x": "y"}, "status": {"conditions": []}}
    assert records.slim(job) == {"metadata": {"name": "a"}, "status": {"conditions": []}}
    pods = tuple(msgspec.structs.replace(a_pod(n, 0, 1), message="m" * 5000) for n in range(1000))
    found = records.bounded(Record(pods=pods, restarts=3))
    assert len(msgspec.json.encode(found)) <= records.MOST_RECORD_BYTES
    assert (found.restarts, found.pods[-1]) == (3, pods[-1])


async def test_pages_of_the_history_show_each_entry_once(tmp_path: Path) -> None:
    store = await filled(tmp_path / "jobs.db", 25, Bounds())
    seen, token = [], ""
    while True:
        page = store.page("a", Filter(), token, 4)
        seen += [entry.uid for entry in page.rows]
        if not (token := page.token):
            break
        # Something ends between two pages: it is newer than all of them.
        await store.put(records.entry(a_row(100 + len(seen), "2026-01-03T00:00:00Z")), Record())
    assert len(seen) == len(set(seen)) == 25
    assert store.page("a", Filter(), "", 1, births.Birth("", "2026-01-01T00:00:20Z").covers).total < 25
    store.close()


async def test_a_job_that_is_there_is_no_history_until_it_ends(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.db")
    await store.begin([a_row(1), a_row(2)])
    assert store.page(None, Filter(), "", 10).total == 0
    assert {row.uid for row in await store.unfinished()} == {"uid-1", "uid-2"}
    await store.put(records.entry(a_row(1), "2026-01-01T01:00:00Z"), Record())
    assert [row.uid for row in await store.unfinished()] == ["uid-2"]
    found = store.find("uid-1")
    assert found is not None
    assert (found.state, found.ended) == ("Deleted", "2026-01-01T01:00:00Z")
    store.close()


def test_two_looks_at_a_job_make_one_record() -> None:
    early = Record(
        ("a",), 0, (a_pod(0, 0, None), a_pod(1, 0, 1)), (EventRow("1", "n", "r", "m", "o"),), {"k": 1}
    )
    late = Record(("b",), 2, (a_pod(0, 0, 7),), (EventRow("2", "n", "r", "m2", "o"),))
    found = records.merged(early, late)
    assert found.jobset_uids == ("a", "b")
    assert found.restarts == 2
    assert {pod.uid: pod.containers[0].exit_code for pod in found.pods} == {"pod-0": 7, "pod-1": 1}
    assert [event.message for event in found.events] == ["m", "m2"]
    assert found.trainjob == {"k": 1}


def test_attempts_say_how_their_workers_ended() -> None:
    found = pages.attempts([a_pod(0, 0, 1), a_pod(1, 0, 143), a_pod(0, 1, None)])
    assert [one["exit_codes"] for one in found] == [{"0": 1, "1": 143}, {"0": None}]
    assert [one["failed"] for one in found] == [2, 0]


def test_archived_lines_can_be_read_as_the_agents() -> None:
    written = archive.written(Line("2026-01-01T00:00:00.5Z", "a b"))
    line = stamps.parse(written.rstrip(b"\n"))
    assert line is not None
    assert (line.stamp, line.text) == (b"2026-01-01T00:00:00.500000000Z", b"a b")


# --- namesakes ----------------------------------------------------------------------------------------------


def a_namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def remove(client: Client, namespace: str) -> None:
    await client.delete("namespaces", namespace)
    await waits.until_gone(client, "namespaces", namespace)


def test_the_history_of_a_former_namespace_is_for_who_sees_all_and_not_for_its_namesake(
    backend: Backend, rest: httpx.Client, submit: Submit, namespace: str, name: str
) -> None:
    asked(backend, lambda client: client.create(a_namespace(namespace)))
    uid = submit(name, "echo of the first; exit 0", namespace)["metadata"]["uid"]
    sse.lines_of(rest, name, namespace).to_the_end()
    recorded(rest, uid)
    asked(backend, lambda client: remove(client, namespace))
    recorded(rest, uid, "deleted_at")
    token = asked(backend, lambda client: accounts.made(client, namespace))
    with backend.rest(token) as heir:
        service.problem(heir.get(f"/api/history/{uid}"), 404, "not_found")
        service.problem(heir.get(f"/api/history/{uid}/logs"), 404, "not_found")
        assert service.ok(heir.get("/api/history"))["items"] == []
        params = {"namespace": namespace, "uid": uid}
        service.problem(heir.get(f"/api/trainjob/{name}/logs/stream", params=params), 404, "not_found")
    for params in ({"all_namespaces": "true"}, {"namespace": namespace}):
        listed = service.ok(rest.get("/api/history", params={**params, "name": name}))["items"]
        assert [one["uid"] for one in listed] == [uid]
    assert service.ok(rest.get(f"/api/history/{uid}"))["deleted_at"]
    parts = service.ok(rest.get(f"/api/history/{uid}/logs"))["parts"]
    assert [part["logs"] for part in parts] == ["of the first\n"]
    past = sse.Follower(rest, f"/api/trainjob/{name}/logs/stream", {"namespace": namespace, "uid": uid})
    assert past.to_the_end()["state"] == "Complete"


def test_two_owners_of_a_name_in_one_second_are_told_apart(
    backend: Backend, plane: Cluster, namespace: str, tmp_path: Path
) -> None:
    token = asked(backend, lambda client: accounts.made(client, namespace))
    birth = asked(backend, lambda client: births.of(client, namespace))
    uids = {"mine": birth.uid, "former": "of another namespace", "unknown": ""}

    async def kept(file: Path) -> None:
        file.parent.mkdir(parents=True)
        store = Store(file)
        for number, (name, uid) in enumerate(uids.items()):
            row = msgspec.structs.replace(
                a_row(number, birth.since, namespace), name=name, created=birth.since, namespace_uid=uid
            )
            await store.put(records.entry(row, birth.since), Record())
        store.close()

    asyncio.run(kept(tmp_path / "kept" / "history" / "jobs.db"))
    with service.serving(tmp_path, plane) as fresh, fresh.rest(token) as owner:
        assert [one["trainjob_name"] for one in service.ok(owner.get("/api/history"))["items"]] == ["mine"]
        service.ok(owner.get("/api/history/uid-0"))
        service.problem(owner.get("/api/history/uid-1"), 404, "not_found")
        service.problem(owner.get("/api/history/uid-2"), 404, "not_found")
        params = {"namespace": namespace, "uid": "uid-1"}
        service.problem(owner.get("/api/trainjob/former/status/stream", params=params), 404, "not_found")


def test_a_job_as_old_as_its_namespace_is_of_it_as_long_as_it_is_there(
    backend: Backend, submit: Submit, namespace: str, name: str
) -> None:
    asked(backend, lambda client: client.create(a_namespace(namespace)))
    job = submit(name, "exit 0", namespace)

    async def found(client: Client, created: str) -> str:
        row = msgspec.structs.replace(rows.row(job), created=created)
        return (await births.placed(client, [row]))[0].namespace_uid

    birth = asked(backend, lambda client: births.of(client, namespace))
    assert asked(backend, lambda client: found(client, birth.since)) == birth.uid
    assert asked(backend, lambda client: found(client, "2001-01-01T00:00:00Z")) == ""
    asked(backend, lambda client: client.delete(TRAINJOBS, name, namespace))
    asked(backend, lambda client: waits.until_gone(client, TRAINJOBS, name, namespace))
    assert asked(backend, lambda client: found(client, birth.since)) == ""
    assert asked(backend, lambda client: found(client, "2999-01-01T00:00:00Z")) == birth.uid


def test_a_job_that_was_deleted_is_recorded_with_its_namespace(
    backend: Backend, rest: httpx.Client, submit: Submit, namespace: str, name: str
) -> None:
    token = asked(backend, lambda client: accounts.made(client, namespace))
    uid = submit(name, "exit 0", namespace)["metadata"]["uid"]
    sse.states_of(rest, name, namespace).to_the_end()
    asked(backend, lambda client: client.delete(TRAINJOBS, name, namespace))
    recorded(rest, uid, "deleted_at")
    with backend.rest(token) as owner:
        assert service.ok(owner.get(f"/api/history/{uid}"))["deleted_at"]


async def test_records_of_an_earlier_version_are_read_and_go_by_time_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.db")
    old = msgspec.json.decode(msgspec.json.encode(records.entry(a_row(5, "2026-01-02T00:00:00Z"))))
    del old["namespace_uid"]
    store.close()
    with sqlite3.connect(tmp_path / "jobs.db") as base:
        base.execute("insert into jobs values (?, ?, ?, ?)", ("uid-5", msgspec.json.encode(old), b"{}", ""))
    base.close()
    again = Store(tmp_path / "jobs.db")
    found = again.find("uid-5")
    assert found is not None
    seconds = ("2026-01-01T00:00:04Z", "2026-01-01T00:00:05Z", "2026-01-01T00:00:06Z")
    assert [births.Birth("new", second).covers(found) for second in seconds] == [True, False, False]
    again.close()
