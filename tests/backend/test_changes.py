"""Runtimes, presets, previews; jobs that wait, go on and run again."""

from __future__ import annotations

import io
import stat
import zipfile

import httpx
import pytest

from tests import waits
from tests.backend import bodies, service
from tests.backend.service import Backend
from tests.backend.test_contract import finished, logs
from trainshed.kube.objects import JSON, Object, dig

QUICK = "import sys; print('said', sys.argv[1:])\n"


def created(rest: httpx.Client, body: Object) -> Object:
    return service.ok(rest.post("/api/trainjob/create", json=body))


def quick(namespace: str, **more: JSON) -> Object:
    return {**bodies.small(namespace, QUICK), "framework": "plain", **more}


def test_runtimes_are_listed_and_shown_with_their_containers(rest: httpx.Client) -> None:
    listed = {found["name"]: found for found in service.ok(rest.get("/api/runtimes"))["items"]}
    assert listed["pytorch-simple"]["policies"] == ["torch"]
    assert listed["horovod-distributed"]["jobs"] == ["node", "launcher"]
    assert listed["horovod-distributed"]["kind"] == "ClusterTrainingRuntime"
    detail = service.ok(rest.get("/api/runtimes/tensorflow-runtime"))
    names = [(found["name"], found["init"]) for found in detail["containers"]]
    assert names == [("tf-config-generator", True), ("git-clone", True), ("node", False)]
    assert dig(detail, "manifest", "metadata", "name") == "tensorflow-runtime"
    service.problem(rest.get("/api/runtimes/none"), 404, "not_found")
    assert service.problem(rest.get("/api/runtimes/A%2FB"), 404, "not_found")


def test_presets_have_names_and_amounts(rest: httpx.Client) -> None:
    found = {preset["name"]: preset for preset in service.ok(rest.get("/api/presets"))["items"]}
    assert found["gpu-small"]["gpus"] == 1
    assert found["cpu-small"]["memory"] == "2Gi"


# --- previews -----------------------------------------------------------------------------------------------


def preview(rest: httpx.Client, body: Object) -> Object:
    return service.ok(rest.post("/api/trainjob/preview", json=body))


def test_a_preview_shows_all_objects_and_where_each_value_comes_from(
    rest: httpx.Client, namespace: str
) -> None:
    found = preview(rest, bodies.small(namespace, config={"num_nodes": 3}, retries=1))
    assert found["runnable"], found["findings"]
    kinds = [made["object"]["kind"] for made in found["objects"]]
    assert kinds == ["ConfigMap", "ConfigMap", "TrainingRuntime", "TrainJob", "JobSet"]
    path = "spec.replicatedJobs[0].template.spec.parallelism"
    assert found["provenance"][path] == "trainer.numNodes"
    assert {"text": "        parallelism: 3", "origin": "trainer.numNodes"} in found["lines"]
    gone = rest.get("/api/trainjob/any/status", params={"namespace": namespace})
    assert gone.status_code == 404  # nothing was made


def test_a_manifest_is_previewed_with_what_is_wrong_in_it(rest: httpx.Client) -> None:
    job: Object = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "by-hand"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNode": 2, "command": ["true"]}},
    }
    found = preview(rest, {"manifest": job})
    assert not found["runnable"]
    assert found["findings"][0]["path"] == "spec.trainer.numNode"
    assert found["objects"][-1]["object"]["kind"] == "JobSet"
    job["spec"] = {"runtimeRef": {"name": "torch-distribute"}}
    answer = rest.post("/api/trainjob/preview", json={"manifest": job})
    told = service.problem(answer, 422, "invalid")
    assert told["field"] == "manifest.spec.runtimeRef.name"
    assert "torch-distributed" in told["hint"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"manifest": {"kind": "Pod"}}, "manifest.kind"),
        ({"manifest": {"kind": "TrainJob"}, "image": "x"}, "image"),
        ({"runtime_manifest": {}}, "runtime_manifest"),
        ({"training_code": "1", "runtime": "none"}, "runtime"),
        ({"training_code": "1", "env_vars": [{"name": "a b"}]}, "env_vars[0].name"),
        ({}, "training_code"),
        ({"training_code": ""}, "training_code"),
        ({"training_code": " \n\t"}, "training_code"),
    ],
)
def test_what_cannot_be_previewed_names_the_field(rest: httpx.Client, body: Object, field: str) -> None:
    answer = rest.post("/api/trainjob/preview", json=body)
    assert service.problem(answer, 422, "invalid")["field"] == field


def test_manifests_of_any_shape_are_answered(rest: httpx.Client) -> None:
    specs: list[JSON] = [None, 1, [], {"runtimeRef": 1}, {"runtimeRef": {"name": "../x"}}, {"trainer": "x"}]
    for spec in specs:
        body = {"manifest": {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": spec}}
        answer = rest.post("/api/trainjob/preview", json=body)
        assert answer.status_code in (200, 422), answer.text
    for text in ('"\\ud800"', '["\\ud800"]', '{"\\ud800": 1}', "1e400", "NaN", "9" * 400):
        odd = f'{{"manifest": {{"kind": "TrainJob", "metadata": {text}}}}}'
        headers = {"Content-Type": "application/json"}
        answer = rest.post("/api/trainjob/preview", content=odd, headers=headers)
        assert answer.status_code in (200, 422), answer.text


# --- waiting and running again ------------------------------------------------------------------------------


def test_a_job_waits_goes_on_and_runs_again_with_changes(rest: httpx.Client, namespace: str) -> None:
    job = created(rest, quick(namespace, suspend=True, arguments=["1"], name="first"))
    place = {"namespace": namespace}
    again = service.ok(rest.post("/api/trainjob/first/suspend", params=place))
    assert again == {"status": "success", "trainjob_name": "first", "namespace": namespace, "suspended": True}
    assert not service.ok(rest.post("/api/trainjob/first/resume", params=place))["suspended"]
    assert finished(rest, job)["state"] == "Complete"
    service.problem(rest.post("/api/trainjob/first/suspend", params=place), 409, "conflict")

    changes: Object = {
        "arguments": ["2"],
        "env_vars": [{"name": "A", "value": "b"}],
        "config": {"num_nodes": 2},
    }
    second = service.ok(rest.post("/api/trainjob/first/rerun", params=place, json=changes))
    assert second["trainjob_name"] != "first"
    assert finished(rest, second)["state"] == "Complete"
    assert logs(rest, second, 1) == "said ['2']\n"
    assert logs(rest, job, 0) == "said ['1']\n"

    code: Object = {"training_code": None, "files": {"main.py": "print('other')", "a/b.txt": "x"}}
    third = service.ok(rest.post(f"/api/trainjob/{second['trainjob_name']}/rerun", params=place, json=code))
    same = service.ok(rest.post(f"/api/trainjob/{third['trainjob_name']}/rerun", params=place, json={}))
    for one in (third, same):
        assert finished(rest, one)["state"] == "Complete"
        assert logs(rest, one, 1) == "other\n"


def test_a_rerun_names_what_is_wrong_with_its_changes(rest: httpx.Client, namespace: str) -> None:
    created(rest, quick(namespace, suspend=True, name="first"))
    place = {"namespace": namespace}
    for changes, field in (
        ({"retries": -1}, "retries"),
        ({"what": 1}, "what"),
        ({"user_id": "a b"}, "user_id"),
    ):
        answer = rest.post("/api/trainjob/first/rerun", params=place, json=changes)
        assert service.problem(answer, 422, "invalid")["field"] == field
    service.problem(rest.post("/api/trainjob/none/rerun", params=place, json={}), 404, "not_found")


FULL: Object = {"config": None, "num_nodes": 2, "cpu_request": "100m", "cpu_limit": "100m", "gpu_count": 0}


@pytest.mark.parametrize(
    ("first", "changes", "said"),
    [
        ({}, None, {"num_nodes": 1, "cpu": "100m", "memory": "64Mi"}),
        ({}, {"num_nodes": 2}, {"num_nodes": 2, "cpu": "100m", "memory": "64Mi"}),
        ({}, {"cpu_limit": "200m", "num_nodes": 3}, {"num_nodes": 3, "cpu": "200m", "memory": "64Mi"}),
        (FULL, {"config": {"num_nodes": 1}}, {"num_nodes": 1, "cpu": "100m"}),
        (FULL, {"config": {"cpu_per_node": "50m", "num_nodes": 1}}, {"num_nodes": 1, "cpu": "50m"}),
        ({"config": None}, {"num_nodes": 2}, {"num_nodes": 2}),
    ],
)
def test_a_rerun_takes_changes_in_either_form(
    rest: httpx.Client, namespace: str, first: Object, changes: Object | None, said: Object
) -> None:
    """A body may be left out; the runtime stays the same."""
    place = {"namespace": namespace}
    created(rest, bodies.small(namespace, suspend=True, name="first", **first))
    changes = None if changes is None else {**changes, "suspend": True}
    again = service.ok(rest.post("/api/trainjob/first/rerun", params=place, json=changes))
    before, after = (
        service.ok(rest.get(f"/api/trainjob/{name}", params=place))["spec"]
        for name in ("first", again["trainjob_name"])
    )
    assert after["runtime"] == before["runtime"]
    found = {"num_nodes": after["num_nodes"], **after["resources_per_node"].get("limits", {})}
    assert found == said


def test_a_rerun_that_says_a_thing_in_both_forms_is_refused(rest: httpx.Client, namespace: str) -> None:
    created(rest, quick(namespace, suspend=True, name="first"))
    both: Object = {"num_nodes": 1, "config": {"num_nodes": 2}}
    answer = rest.post("/api/trainjob/first/rerun", params={"namespace": namespace}, json=both)
    assert service.problem(answer, 422, "invalid")["field"] == "num_nodes"
    odd: Object = {"num_nodes": 0}
    answer = rest.post("/api/trainjob/first/rerun", params={"namespace": namespace}, json=odd)
    assert service.problem(answer, 422, "invalid")["field"] == "config.num_nodes"


async def test_retries_begin_the_job_anew_and_its_runtime_goes_with_it(
    backend: Backend, rest: httpx.Client, namespace: str
) -> None:
    job = created(rest, quick(namespace, training_code="raise SystemExit(3)\n", retries=1))
    assert finished(rest, job)["state"] == "Failed"
    name = job["trainjob_name"]
    async with backend.client(namespace) as client:
        jobset = await client.get("jobsets.jobset.x-k8s.io", name, namespace)
        assert dig(jobset, "status", "restarts") == 1
        await client.delete("trainjobs.trainer.kubeflow.org", name, namespace)
        await waits.until_gone(client, "trainingruntimes.trainer.kubeflow.org", name, namespace)


# --- archives -----------------------------------------------------------------------------------------------


def archive(*entries: tuple[str, str], link: str = "") -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in entries:
            made.writestr(name, text)
        if link:
            entry = zipfile.ZipInfo("link")
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            made.writestr(entry, link)
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (archive(("../train.py", "")), 422),
        (archive(("/train.py", "")), 422),
        (archive(("a\\..\\train.py", ""), ("x/train.py", "")), 422),
        (archive(("train.py", ""), link="/etc/passwd"), 422),
        (archive(("train.py", "0" * 5_000_000)), 413),
        (archive(*[(f"{number}.py", "") for number in range(3000)]), 413),
        (archive(("train.py", ""), ("train.py/x", "")), 422),
        (archive(("train.py", "ab"))[:-30], 422),
        (b"PK", 422),
        (archive(), 422),
    ],
)
def test_archives_that_are_no_code_are_refused(
    rest: httpx.Client, namespace: str, data: bytes, status: int
) -> None:
    said = f'{{"user_id": "user123", "namespace": "{namespace}"}}'
    answer = rest.post("/api/trainjob/upload", data={"request": said}, files={"archive": ("a.zip", data)})
    assert service.problem(answer, status, "invalid" if status == 422 else "too_large")["field"] == "archive"


def test_code_beside_an_archive_is_refused_by_the_name_of_its_part(
    rest: httpx.Client, namespace: str
) -> None:
    said = f'{{"user_id": "user123", "namespace": "{namespace}", "training_code": "pass"}}'
    packed = archive(("train.py", "pass"))
    answer = rest.post("/api/trainjob/upload", data={"request": said}, files={"archive": ("a.zip", packed)})
    assert service.problem(answer, 422, "invalid")["field"] == "archive"
