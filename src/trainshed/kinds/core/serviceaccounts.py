"""ServiceAccounts."""

from __future__ import annotations

from trainshed.kinds.canonical import tidy
from trainshed.kinds.kind import Rules
from trainshed.kube.objects import Object


def defaults(account: Object) -> None:
    tidy(account, "ServiceAccount")


RULES = Rules(defaults=defaults, always_returns_object_on_delete=True, has_generation=False)
