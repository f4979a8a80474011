"""What a path may name: rights are decided by the path, so it must not lead anywhere else."""

from __future__ import annotations

import json
import secrets

import pytest

from tests.builders import a_config_map
from tests.server.asking import made
from tests.server.wire import Wire
from trainshed.kube.objects import Object

RBAC = "rbac.authorization.k8s.io"
EVERYTHING: Object = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


@pytest.fixture
def user() -> dict[str, str]:
    """Headers by which the administrator acts as somebody without any right."""
    return {"Impersonate-User": f"u-{secrets.token_hex(4)}"}


def grant(wire: Wire, space: str, user: dict[str, str], rule: Object) -> None:
    base = f"/apis/{RBAC}/v1/namespaces/{space}"
    made(wire, f"{base}/roles", {"metadata": {"name": "some"}, "rules": [rule]})
    subject = {"kind": "User", "apiGroup": RBAC, "name": user["Impersonate-User"]}
    role = {"apiGroup": RBAC, "kind": "Role", "name": "some"}
    made(wire, f"{base}/rolebindings", {"metadata": {"name": "some"}, "roleRef": role, "subjects": [subject]})


class TestWithRightsInOneNamespace:
    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_no_other_namespace_is_reached_through_it(
        self, wire: Wire, space: str, user: dict[str, str], method: str
    ) -> None:
        grant(wire, space, user, EVERYTHING)
        assert wire.ask(method, f"/api/v1/namespaces/{space}/namespaces/kubeflow", headers=user).code == 404
        assert wire.ask("GET", "/api/v1/namespaces/kubeflow").object()["status"]["phase"] == "Active"

    def test_namespaces_are_not_listed_through_it(self, wire: Wire, space: str, user: dict[str, str]) -> None:
        grant(wire, space, user, EVERYTHING)
        assert wire.ask("GET", f"/api/v1/namespaces/{space}/namespaces", headers=user).code == 404

    def test_that_namespace_itself_is_reached(self, wire: Wire, space: str, user: dict[str, str]) -> None:
        grant(wire, space, user, EVERYTHING)
        assert wire.ask("GET", f"/api/v1/namespaces/{space}", headers=user).code == 200


def test_a_watch_of_one_named_object_shows_no_other(wire: Wire, space: str, user: dict[str, str]) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": ["watch"]}
    grant(wire, space, user, rule)
    for name in ("mine", "other"):
        made(wire, f"/api/v1/namespaces/{space}/configmaps", a_config_map(name))
    path = f"/api/v1/watch/namespaces/{space}/configmaps"
    seen = wire.ask("GET", f"{path}/mine?timeoutSeconds=1", headers=user).text.splitlines()
    assert [json.loads(line)["object"]["metadata"]["name"] for line in seen] == ["mine"]
    assert wire.ask("GET", f"{path}/other?timeoutSeconds=1", headers=user).code == 403


def test_objects_of_all_namespaces_are_not_deleted_at_once(wire: Wire) -> None:
    assert wire.ask("DELETE", "/api/v1/configmaps?labelSelector=no%3Dsuch").code == 405


def test_nothing_lies_behind_a_subresource(wire: Wire, space: str) -> None:
    assert wire.ask("GET", f"/api/v1/namespaces/{space}/status").code == 200
    assert wire.ask("GET", f"/api/v1/namespaces/{space}/status/more").code == 404
