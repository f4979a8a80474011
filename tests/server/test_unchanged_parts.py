"""Writes that change one part of an object: the others are not looked at again, and that must not show."""

from __future__ import annotations

from tests.builders import a_config_map, a_job, a_waiting_pod, owner
from tests.server.asking import made, until_gone
from tests.server.wire import Wire
from trainshed.kube.objects import Object

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def of(space: str, plural: str, group: str = "api/v1") -> str:
    return f"/{group}/namespaces/{space}/{plural}"


def test_a_status_sent_with_the_object_around_it_says_what_is_unknown_there(wire: Wire, space: str) -> None:
    jobs = of(space, "jobs", "apis/batch/v1")
    job = made(wire, jobs, a_job("known"))
    job["spec"]["template"]["spec"]["nonsense"] = 1
    reply = wire.ask("PUT", f"{jobs}/known/status", job)
    assert (reply.code, "spec.template.spec.nonsense" in str(reply.headers)) == (200, True)
    job["status"]["nonsense"] = 1
    reply = wire.ask("PUT", f"{jobs}/known/status?fieldValidation=Strict", job)
    assert reply.code == 400
    assert "status.nonsense" in reply.text


def test_a_value_that_only_python_takes_for_the_stored_one_is_refused(wire: Wire, space: str) -> None:
    pods = of(space, "pods")
    pod = made(wire, pods, a_waiting_pod("typed"))
    pod["spec"]["enableServiceLinks"] = 1
    for path in (f"{pods}/typed", f"{pods}/typed/status"):
        reply = wire.ask("PUT", path, pod)
        assert reply.code == (200 if path.endswith("status") else 400), reply.text
    assert wire.ask("GET", f"{pods}/typed").object()["spec"]["enableServiceLinks"] is True


def test_a_status_patch_tidies_up_what_the_binding_left(wire: Wire, space: str) -> None:
    pods = of(space, "pods")
    made(wire, pods, a_waiting_pod("bound"))
    target = {"apiVersion": "v1", "kind": "Node", "name": "nowhere"}
    binding: Object = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "bound"}, "target": target}
    made(wire, f"{pods}/bound/binding", binding)
    before = wire.ask("GET", f"{pods}/bound").object()["status"]["conditions"]
    assert [condition["lastProbeTime"] for condition in before] == [None]
    changed = wire.ask("PATCH", f"{pods}/bound/status", {"status": {"message": "hello"}}, STRATEGIC).object()
    assert "lastProbeTime" not in changed["status"]["conditions"][0]
    assert changed["status"]["message"] == "hello"


def test_a_patch_may_take_a_whole_part_away_and_leaves_the_rest(wire: Wire, space: str) -> None:
    maps = of(space, "configmaps")
    obj = a_config_map("parts", {"a": "1"}) | {"binaryData": {"b": "Yg=="}}
    made(wire, maps, obj)
    after = wire.ask("PATCH", f"{maps}/parts", {"data": None}, MERGE).object()
    assert "data" not in after
    assert after["binaryData"] == {"b": "Yg=="}
    after = wire.ask("PATCH", f"{maps}/parts", {"data": {"c": "3"}, "binaryData": None}, STRATEGIC).object()
    assert "binaryData" not in after
    assert after["data"] == {"c": "3"}


def test_a_directive_beside_the_parts_concerns_all_of_them(wire: Wire, space: str) -> None:
    maps = of(space, "configmaps")
    made(wire, maps, a_config_map("retained", {"a": "1"}))
    retain = {"$retainKeys": ["apiVersion", "kind", "metadata"], "metadata": {"labels": {"x": "y"}}}
    after = wire.ask("PATCH", f"{maps}/retained", retain, STRATEGIC).object()
    assert "data" not in after
    assert after["metadata"]["labels"] == {"x": "y"}


def test_a_refused_patch_leaves_nothing_behind(wire: Wire, space: str) -> None:
    pods = of(space, "pods")
    made(wire, pods, a_waiting_pod("kept"))
    before = wire.ask("GET", f"{pods}/kept").body
    wrong = {"metadata": {"labels": {"a": "b"}}, "spec": {"hostNetwork": True}}
    assert wire.ask("PATCH", f"{pods}/kept", wrong, STRATEGIC).code == 422
    assert wire.ask("GET", f"{pods}/kept").body == before


def test_an_owner_renamed_under_its_uid_holds_no_more(wire: Wire, space: str) -> None:
    maps = of(space, "configmaps")
    parent = made(wire, maps, a_config_map("parent"))
    made(wire, maps, a_config_map("child", ownerReferences=[owner(parent)]))
    renamed = {"metadata": {"ownerReferences": [owner(parent, name="another")]}}
    assert wire.ask("PATCH", f"{maps}/child", renamed, MERGE).code == 200
    until_gone(wire, f"{maps}/child")
