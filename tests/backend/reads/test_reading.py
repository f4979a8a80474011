"""Lists, details, logs and the history of real jobs."""

from __future__ import annotations

import asyncio
import functools
import io
import time
import zipfile
from contextlib import suppress

import httpx
import pytest

from tests.backend import accounts, service
from tests.backend.reads import sse
from tests.backend.reads.conftest import Submit, asked
from tests.backend.service import Backend
from tests.jobs.builders import a_runtime
from tests.jobs.test_recovery import eventually
from trainshed.client.client import Client
from trainshed.jobs.summary import TRAINJOBS
from trainshed.kube import faults
from trainshed.kube.objects import Object

SECONDS = 60.0


def ended(rest: httpx.Client, name: str, namespace: str = "default") -> Object:
    return sse.states_of(rest, name, namespace).to_the_end()


def recorded(rest: httpx.Client, uid: str, claim: str = "completed_at") -> Object:
    """What the history has of a job, once it knows this of it."""
    until = time.monotonic() + SECONDS
    while True:
        answer = rest.get(f"/api/history/{uid}")
        if answer.status_code == 200 and answer.json()[claim]:
            body: Object = answer.json()
            return body
        assert time.monotonic() < until, answer.text
        time.sleep(0.1)


# --- lists --------------------------------------------------------------------------------------------------


@pytest.fixture
def some(backend: Backend, namespace: str) -> list[str]:
    """Names of jobs in a namespace of their own, suspended: they are only there."""

    async def made(client: Client) -> list[str]:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for number in range(12):
            labels = {"trainshed.dev/user": f"user{number % 3}", "stage": "odd" if number % 2 else "even"}
            await client.create(a_suspended(f"job-{number}", labels), namespace)
        return [f"job-{number}" for number in range(12)]

    return asked(backend, made)


def a_suspended(name: str, labels: dict[str, str]) -> Object:
    meta = {"name": name, "labels": {"trainshed.dev/framework": "pytorch", **labels}}
    spec = {"runtimeRef": {"name": "torch-distributed"}, "suspend": True}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": meta,
        "spec": spec,
    }


def listed(rest: httpx.Client, **params: str | int | bool) -> list[Object]:
    """The items of all pages."""
    found, token = [], ""
    while True:
        asked_for = {**params, "continue": token} if token else params
        body = service.ok(rest.get("/api/trainjob", params=asked_for))
        assert set(body) == {"items", "total", "continue"}
        found += body["items"]
        token = body["continue"]
        if not token:
            assert body["total"] == len(found)
            return found


def names(items: list[Object]) -> set[str]:
    return {item["trainjob_name"] for item in items}


def test_jobs_are_listed_newest_first_page_by_page(
    rest: httpx.Client, some: list[str], namespace: str
) -> None:
    until = time.monotonic() + SECONDS
    while len(found := listed(rest, namespace=namespace, limit=5)) < len(some):
        assert time.monotonic() < until
    assert names(found) == set(some)
    created = [item["created_at"] for item in found]
    assert created == sorted(created, reverse=True)
    assert len(listed(rest, all_namespaces=True, name="job-1")) >= 3


def test_filters_choose(rest: httpx.Client, some: list[str], namespace: str) -> None:
    until = time.monotonic() + SECONDS
    while len(listed(rest, namespace=namespace, state="Suspended")) < len(some):
        assert time.monotonic() < until
    for params, count in (
        ({"user_id": "user1"}, 4),
        ({"framework": "pytorch"}, 12),
        ({"framework": "jax"}, 0),
        ({"label_selector": "stage=odd"}, 6),
        ({"label_selector": "stage in (odd),trainshed.dev/user!=user1"}, 4),
        ({"name": "job-1"}, 3),
        ({"state": "Running"}, 12),
        ({"state": "Complete"}, 0),
        ({"state": "suspended"}, 12),
        ({"state": "FAILED"}, 0),
        ({"created_after": "2000-01-01T00:00:00Z"}, 12),
        ({"created_before": "2000-01-01T00:00:00"}, 0),
    ):
        assert len(listed(rest, namespace=namespace, limit=3, **params)) == count, params


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 501}, "limit"),
        ({"label_selector": "a=b=c"}, "label_selector"),
        ({"continue": "nonsense"}, "continue"),
        ({"created_after": "yesterday"}, "created_after"),
        ({"namespace": "../kube-system"}, "namespace"),
        ({"namespace": "a", "all_namespaces": True}, "all_namespaces"),
        ({"state": "broken"}, "state"),
        ({"namspace": "a", "x": 1}, "namspace"),
    ],
)
def test_a_wrong_parameter_is_named(
    rest: httpx.Client, params: dict[str, str | int | bool], field: str
) -> None:
    assert service.problem(rest.get("/api/trainjob", params=params), 422, "invalid")["field"] == field


def test_names_of_filters_and_states_that_are_not_known_are_told_with_the_nearest(rest: httpx.Client) -> None:
    for path, params, message, hint in (
        ("/api/trainjob", {"stat": "Failed"}, 'there is no parameter "stat"', 'did you mean "state"?'),
        ("/api/history", {"userId": "a"}, 'there is no parameter "userId"', 'did you mean "user_id"?'),
        ("/api/trainjob/a/logs", {"tial": 1, "zz": 2}, 'there are no parameters "tial", "zz"', "tail"),
        ("/api/trainjob/a/status", {"zz": 2}, 'there is no parameter "zz"', "this route takes: namespace"),
        (
            "/api/trainjob",
            {"state": "completed"},
            "state: must be one of Pending,",
            'did you mean "Complete"?',
        ),
    ):
        told = service.problem(rest.get(path, params=params), 422, "invalid")
        assert str(told["message"]).startswith(message)
        assert hint in told["hint"]


# --- one job ------------------------------------------------------------------------------------------------


def test_a_failed_job_is_shown_with_everything_about_it(
    rest: httpx.Client, submit: Submit, name: str
) -> None:
    submit(name, "echo went wrong >&2; exit 3", nodes=2)
    ended(rest, name)
    found = service.ok(rest.get(f"/api/trainjob/{name}", params={"namespace": "default"}))
    assert (found["state"], found["phase"]) == ("Failed", "Failed")
    assert "exited 3" in found["message"]
    assert found["spec"]["num_nodes"] == 2
    assert found["spec"]["command"][:2] == ["bash", "-c"]
    assert found["omitted"] == []
    assert {pod["worker"] for pod in found["pods"]} == {0, 1}
    codes = [box["exit_code"] for pod in found["pods"] for box in pod["containers"]]
    assert 3 in codes
    assert found["attempts"][0]["failed"] >= 1
    assert found["timings"]["running_at"]
    assert found["timings"]["finished_at"] == found["completed_at"]
    assert found["timings"]["running_seconds"] >= 0
    assert any(event["object"].startswith("Pod/") for event in found["events"])


def test_what_became_of_its_jobs_is_told_to_who_may_list_them(
    backend: Backend, submit: Submit, namespace: str, name: str
) -> None:
    rules = {"trainjobs": ("get", "list"), "events": ("list",), "pods": ("list",)}
    token = asked(backend, lambda client: accounts.made(client, namespace, rules))
    submit(name, "exit 0", namespace)
    with backend.rest() as rest:
        ended(rest, name, namespace)
        shown = functools.partial(told, rest, f"/api/trainjob/{name}?namespace={namespace}")
        eventually(lambda: "Completed" in shown().get("Job", ()), "the end of its Job is told")
    with backend.rest(token) as rest:
        found = told(rest, f"/api/trainjob/{name}")
    assert "Pod" in found
    assert "Job" not in found


def told(rest: httpx.Client, path: str) -> dict[str, set[str]]:
    """The reasons of a job's events by the kind they are about."""
    found: dict[str, set[str]] = {}
    for event in service.ok(rest.get(path))["events"]:
        found.setdefault(event["object"].partition("/")[0], set()).add(event["reason"])
    return found


def test_events_of_a_job_are_found_among_very_many_others(
    backend: Backend, rest: httpx.Client, submit: Submit, namespace: str, name: str
) -> None:
    async def crowd(client: Client) -> None:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        await asyncio.gather(
            *(client.create(an_event(number, namespace), namespace) for number in range(1100))
        )

    asked(backend, crowd)
    uid = submit(name, "exit 0", namespace)["metadata"]["uid"]
    ended(rest, name, namespace)
    found = service.ok(rest.get(f"/api/trainjob/{name}", params={"namespace": namespace}))
    for shown in (found, recorded(rest, uid)):
        assert any(event["object"].startswith("Pod/") for event in shown["events"])


def an_event(number: int, namespace: str) -> Object:
    """Before all others in the alphabet, and about somebody else's pod."""
    about = {"kind": "Pod", "namespace": namespace, "name": "other", "uid": f"other-{number}"}
    meta = {"name": f"a-{number}"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about, "message": "m"}


def test_attempts_are_told_apart(backend: Backend, rest: httpx.Client, submit: Submit, name: str) -> None:
    runtime = a_runtime(f"again-{name}", {"maxRestarts": 2}, backoffLimit=0, pod={"restartPolicy": "Never"})
    asked(backend, lambda client: client.create(runtime))
    # Time enough to be read: a cluster deletes the pods of an attempt with their lines.
    submit(name, "echo attempt; sleep 1; exit 9", runtime=f"again-{name}")
    follower = sse.lines_of(rest, name)
    assert follower.to_the_end()["state"] == "Failed"
    attempts = [event.data["attempt"] for event in follower.heard if event.name == "lines"]
    assert attempts == [0, 1, 2]
    found = service.ok(rest.get(f"/api/trainjob/{name}", params={"namespace": "default"}))
    assert [one["attempt"] for one in found["attempts"]] == [0, 1, 2]
    assert found["restarts"] == 2


def test_who_may_only_see_the_job_is_shown_only_the_job(
    backend: Backend, submit: Submit, namespace: str, name: str
) -> None:
    rules = {"trainjobs": ("get", "list")}
    token = asked(backend, lambda client: accounts.made(client, namespace, rules))
    submit(name, "exit 0", namespace)
    with backend.rest(token) as rest:
        ended(rest, name, namespace)
        found = service.ok(rest.get(f"/api/trainjob/{name}"))
        assert found["omitted"] == ["events", "jobset", "pods"]
        assert (found["pods"], found["events"], found["attempts"]) == ([], [], [])
        for route in ("logs", "logs?worker=all", "logs/download", "logs/stream"):
            service.problem(rest.get(f"/api/trainjob/{name}/{route}"), 403, "forbidden")
        uid = found["uid"]
        past = recorded(rest, uid)
        assert past["omitted"] == ["events", "jobset", "pods"]
        assert (past["pods"], past["events"], past["attempts"]) == ([], [], [])
        assert past["timings"]["running_at"] is None
        service.problem(rest.get(f"/api/history/{uid}/logs"), 403, "forbidden")
    with backend.rest() as admin:
        whole = recorded(admin, uid)
        assert (len(whole["pods"]), whole["omitted"]) == (1, [])


# --- logs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runtime", "ranks"),
    [("deepspeed-distributed", {"launcher": [0], "node": [1]}), ("horovod-distributed", {"node": [0, 1]})],
)
def test_worker_0_of_a_launched_job_tells_what_its_launcher_does(
    rest: httpx.Client, submit: Submit, name: str, runtime: str, ranks: dict[str, list[int]]
) -> None:
    uid = submit(name, "echo the program", nodes=2, runtime=runtime)["metadata"]["uid"]
    follower = sse.lines_of(rest, name, worker=0)
    follower.to_the_end()
    assert "the program" in follower.lines()
    told = {(event.data["role"], event.data["worker"]) for event in follower.heard if event.name == "lines"}
    assert ("launcher", 0) in told
    assert {worker for _, worker in told} == {0}
    where: dict[str, str | int] = {"namespace": "default"}
    answer = service.ok(rest.get(f"/api/trainjob/{name}/logs", params=where))
    assert answer == {"trainjob_name": name, "worker": 0, "logs": "the program\n"}
    second = service.ok(rest.get(f"/api/trainjob/{name}/logs", params=where | {"worker": 1}))
    assert "the program" not in second["logs"]
    whole = rest.get(f"/api/trainjob/{name}/logs/download", params=where | {"worker": 0}).text
    assert "the program\n" in whole
    assert [part["logs"] for part in recorded_lines(rest, uid, 0) if part["role"] == "launcher"] == [
        "the program\n"
    ]
    detail = service.ok(rest.get(f"/api/trainjob/{name}", params=where))
    for role, wanted in ranks.items():
        assert [pod["worker"] for pod in detail["pods"] if pod["role"] == role] == wanted
    assert set(detail["attempts"][0]["exit_codes"]) == {"0", "1"}


def recorded_lines(rest: httpx.Client, uid: str, worker: int) -> list[Object]:
    recorded(rest, uid)
    parts: list[Object] = service.ok(rest.get(f"/api/history/{uid}/logs", params={"worker": worker}))["parts"]
    return parts


def test_parts_of_logs_are_read(rest: httpx.Client, submit: Submit, name: str) -> None:
    submit(name, "for i in 1 2 3; do echo line $i; done; exit 0", nodes=2)
    ended(rest, name)

    def read(**params: str | int | bool) -> Object:
        return service.ok(rest.get(f"/api/trainjob/{name}/logs", params={"namespace": "default", **params}))

    assert read() == {"trainjob_name": name, "worker": 0, "logs": "line 1\nline 2\nline 3\n"}
    assert read(worker=1, tail=1)["logs"] == "line 3\n"
    assert read(limit_bytes=15)["logs"] == "line 2\nline 3\n"
    assert read(timestamps=True)["logs"][4] == "-"
    assert read(since_seconds=86400)["logs"].count("\n") == 3
    assert read(since_time="2999-01-01T00:00:00Z")["logs"] == ""
    assert read(attempt=0)["logs"].count("\n") == 3
    every = read(worker="all")
    assert every["worker"] == "all"
    assert [part["worker"] for part in every["parts"]] == [0, 1]
    assert every["logs"].startswith("[0] line 1\n[0] line 2\n")
    download = f"/api/trainjob/{name}/logs/download"
    text = rest.get(download, params={"namespace": "default"}).text
    assert rest.get(download, params={"namespace": "default", "worker": "all"}).text == text
    assert text.count("line 2\n") == 2
    packed = rest.get(
        f"/api/trainjob/{name}/logs/download", params={"namespace": "default", "format": "zip"}
    ).content
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert [archive.read(file) for file in archive.namelist()] == [b"line 1\nline 2\nline 3\n"] * 2


def test_every_route_of_lines_takes_one_worker_or_all(rest: httpx.Client, submit: Submit, name: str) -> None:
    uid = submit(name, "echo here; exit 0", nodes=2)["metadata"]["uid"]
    assert sse.lines_of(rest, name, worker="all").to_the_end()["state"] == "Complete"
    recorded(rest, uid)
    lines_kept(rest, uid)
    here = f"/api/trainjob/{name}/logs?namespace=default"
    for path in (here, here.replace("?", "/stream?"), f"/api/history/{uid}/logs?"):
        told = service.problem(rest.get(f"{path}&worker=9"), 404, "not_found")
        assert (told["field"], told["message"]) == ("worker", "worker: the job has 2 workers, 0 to 1")
        for wrong in ("-1", "some", "1.5", "%D9%A1"):
            told = service.problem(rest.get(f"{path}&worker={wrong}"), 422, "invalid")
            assert told["message"] == "worker: must be a number from 0 on, or all"
    parts = service.ok(rest.get(f"/api/history/{uid}/logs", params={"worker": "all"}))["parts"]
    assert [part["worker"] for part in parts] == [0, 1]


@pytest.mark.parametrize(
    ("params", "status", "field"),
    [
        ({"worker": 7}, 404, "worker"),
        ({"worker": -1}, 422, "worker"),
        ({"worker": "some"}, 422, "worker"),
        ({"previous": True}, 404, "previous"),
        ({"attempt": 5}, 404, "attempt"),
        ({"tail": -1}, 422, "tail"),
        ({"since_seconds": 0}, 422, "since_seconds"),
        ({"since_seconds": 5, "since_time": "2026-01-01T00:00:00Z"}, 422, "since_time"),
        ({"limit_bytes": 0}, 422, "limit_bytes"),
    ],
)
def test_wrong_wishes_about_logs_are_named(
    backend: Backend, rest: httpx.Client, quiet: str, params: dict[str, str | int], status: int, field: str
) -> None:
    answer = rest.get(f"/api/trainjob/{quiet}/logs", params={"namespace": "default", **params})
    found = service.problem(answer, status, "not_found" if status == 404 else "invalid")
    assert str(found["field"]).startswith(field)


@pytest.fixture(scope="session")
def quiet(backend: Backend) -> str:
    """A job that says nothing."""
    with suppress(faults.AlreadyExists):
        asked(backend, lambda client: client.create(a_suspended("quiet", {}), "default"))
    return "quiet"


# --- history ------------------------------------------------------------------------------------------------


def test_a_deleted_job_stays_in_the_history_with_its_lines(
    rest: httpx.Client, submit: Submit, name: str
) -> None:
    uid = submit(name, "echo remember me; exit 0", nodes=2)["metadata"]["uid"]
    ended(rest, name)
    recorded(rest, uid)
    lines_kept(rest, uid)
    service.ok(rest.delete(f"/api/trainjob/{name}", params={"namespace": "default"}))
    found = recorded(rest, uid, "deleted_at")
    assert (found["state"], found["trainjob_name"]) == ("Complete", name)
    assert found["timings"]["finished_at"]
    assert [box["exit_code"] for pod in found["pods"] for box in pod["containers"]] == [0, 0]
    assert found["events"]
    parts = service.ok(rest.get(f"/api/history/{uid}/logs"))["parts"]
    assert [(part["worker"], part["logs"]) for part in parts] == [(0, "remember me\n"), (1, "remember me\n")]
    items = service.ok(rest.get("/api/history", params={"namespace": "default", "name": name}))["items"]
    assert [item["uid"] for item in items] == [uid]
    service.problem(rest.get(f"/api/trainjob/{name}", params={"namespace": "default"}), 404, "not_found")


def lines_kept(rest: httpx.Client, uid: str) -> None:
    """Wait until the lines are kept: they are copied behind everybody's back."""
    until = time.monotonic() + SECONDS
    while len(service.ok(rest.get(f"/api/history/{uid}/logs"))["parts"]) < 2:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_job_deleted_while_it_ran_is_in_the_history_too(
    rest: httpx.Client, submit: Submit, name: str
) -> None:
    uid = submit(name, "sleep 600")["metadata"]["uid"]
    with sse.states_of(rest, name).connected() as events:
        next(event for event in events if event.data["phase"] == "Running")
    service.ok(rest.delete(f"/api/trainjob/{name}", params={"namespace": "default"}))
    found = recorded(rest, uid, "deleted_at")
    assert (found["state"], found["completed_at"]) == ("Deleted", None)


def test_what_vanished_while_the_service_was_away_is_in_the_history(
    backend: Backend, submit: Submit, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with service.serving(tmp_path_factory.mktemp("absent"), backend.cluster) as other, other.rest() as rest:
        uid = submit(name, "sleep 600")["metadata"]["uid"]
        with sse.states_of(rest, name).connected() as events:
            next(event for event in events if event.data["phase"] == "Running")
        other.kill()
        asked(backend, lambda client: client.delete(TRAINJOBS, name, "default"))
        other.start()
        assert recorded(rest, uid, "deleted_at")["state"] == "Deleted"


# --- strangers ----------------------------------------------------------------------------------------------

ROUTES = (
    "/api/trainjob?namespace={namespace}",
    "/api/trainjob?all_namespaces=true",
    "/api/trainjob/{name}?namespace={namespace}",
    "/api/trainjob/{name}/logs?namespace={namespace}",
    "/api/trainjob/{name}/logs?namespace={namespace}&worker=all",
    "/api/trainjob/{name}/logs/download?namespace={namespace}",
    "/api/trainjob/{name}/logs/download?namespace={namespace}&format=zip",
    "/api/trainjob/{name}/logs/stream?namespace={namespace}",
    "/api/trainjob/{name}/logs/stream?namespace={namespace}&uid={uid}",
    "/api/trainjob/{name}/status/stream?namespace={namespace}",
    "/api/history?namespace={namespace}",
    "/api/history?all_namespaces=true",
    "/api/history/{uid}",
    "/api/history/{uid}/logs",
    # In their own namespace under the other's name and uid.
    "/api/trainjob/{name}?namespace={own}",
    "/api/trainjob/{name}/logs/stream?namespace={own}&uid={uid}",
    "/api/trainjob/{name}/status/stream?namespace={own}&uid={uid}",
)


def test_a_stranger_sees_nothing_by_any_route(
    backend: Backend, rest: httpx.Client, submit: Submit, namespace: str, name: str
) -> None:
    own = f"{namespace}-own"
    token = asked(backend, lambda client: accounts.made(client, own))
    asked(backend, lambda client: accounts.made(client, namespace))
    uid = submit(name, "echo top secret; exit 0", namespace)["metadata"]["uid"]
    ended(rest, name, namespace)
    recorded(rest, uid)
    sse.lines_of(rest, name, namespace).to_the_end()
    with backend.rest(token) as stranger:
        for route in ROUTES:
            answer = stranger.get(route.format(namespace=namespace, name=name, uid=uid, own=own))
            assert answer.status_code in (403, 404), f"{route}: {answer.status_code} {answer.text}"
            assert "secret" not in answer.text
        assert service.ok(stranger.get("/api/trainjob"))["items"] == []
        assert service.ok(stranger.get("/api/history"))["items"] == []


def test_without_a_token_nothing_is_shown(backend: Backend, name: str) -> None:
    with backend.rest("") as nobody:
        for route in ROUTES:
            answer = nobody.get(route.format(namespace="default", name=name, uid="x", own="default"))
            service.problem(answer, 401, "unauthorized")
