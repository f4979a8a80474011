"""What the garbage collector must not be talked into."""

from __future__ import annotations

import secrets

from tests.builders import a_config_map, owner
from tests.server.asking import made, until_gone
from tests.server.wire import Wire
from trainshed.kube.objects import Object

FOREGROUND = {"propagationPolicy": "Foreground"}


def test_nobody_in_another_namespace_makes_an_owner_wait(wire: Wire, space: str) -> None:
    mine, theirs = (f"/api/v1/namespaces/{name}/configmaps" for name in (space, "default"))
    parent = made(wire, mine, a_config_map("parent"))
    name = f"foreign-{secrets.token_hex(4)}"
    claim: Object = {
        "ownerReferences": [owner(parent, blockOwnerDeletion=True)],
        "finalizers": ["example.com/hold"],
    }
    made(wire, theirs, a_config_map(name, **claim))
    assert wire.ask("DELETE", f"{mine}/parent", FOREGROUND).code == 200
    until_gone(wire, f"{mine}/parent")
    freed = {"metadata": {"finalizers": None}}
    wire.ask("PATCH", f"{theirs}/{name}", freed, "application/merge-patch+json")
