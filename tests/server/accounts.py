"""Service accounts and their tokens."""

from __future__ import annotations

from tests.builders import a_service_account
from tests.server.wire import Wire
from trainshed.kube.objects import JSON


def token_for(wire: Wire, space: str, name: str = "bot", **spec: JSON) -> str:
    """A token of a service account, which is made if it is missing."""
    wire.ask("POST", f"/api/v1/namespaces/{space}/serviceaccounts", a_service_account(name))
    body = {"spec": {"audiences": [], "expirationSeconds": 3600, **spec}}
    made = wire.ask("POST", f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token", body)
    assert made.code == 201, made.text
    return str(made.object()["status"]["token"])
