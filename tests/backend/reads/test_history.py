"""The history by itself: bounded, merged, and closed to a namespace's namesake."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests import waits
from tests.backend import service
from tests.backend.reads import sse
from tests.backend.reads.conftest import Submit, asked
from tests.backend.reads.test_reading import recorded
from tests.backend.service import Backend
from trainshed.backend import pages
from trainshed.backend.history import archive, records
from trainshed.backend.history.records import EventRow, Record
from trainshed.backend.history.store import Bounds, Store
from trainshed.backend.joblines.marks import Line
from trainshed.backend.paging import Filter
from trainshed.backend.rows import ContainerRow, PodRow, Row
from trainshed.client.client import Client
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
    assert store.page("a", Filter(), "", 1, since="2026-01-01T00:00:20Z").total < 25
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


def test_a_namespace_with_the_name_of_a_former_one_does_not_see_its_history(
    backend: Backend, rest: httpx.Client, submit: Submit, namespace: str, name: str
) -> None:
    async def make(client: Client) -> Object:
        return await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})

    async def remove(client: Client) -> None:
        await client.delete("namespaces", namespace)
        await waits.until_gone(client, "namespaces", namespace)

    asked(backend, make)
    uid = submit(name, "echo of the first; exit 0", namespace)["metadata"]["uid"]
    sse.lines_of(rest, name, namespace).to_the_end()
    recorded(rest, uid)
    asked(backend, remove)
    recorded(rest, uid, "deleted_at")
    asked(backend, make)
    service.problem(rest.get(f"/api/history/{uid}"), 404, "not_found")
    service.problem(rest.get(f"/api/history/{uid}/logs"), 404, "not_found")
    assert service.ok(rest.get("/api/history", params={"namespace": namespace}))["items"] == []
    params = {"namespace": namespace, "uid": uid}
    service.problem(rest.get(f"/api/trainjob/{name}/logs/stream", params=params), 404, "not_found")
