"""One request on its way through the API: who asks what of which kind."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from trainshed.apiserver.access.identity import Attributes, Identity
from trainshed.apiserver.requests import Request, Target
from trainshed.apiserver.state import State
from trainshed.kinds.kind import Kind
from trainshed.kube import faults
from trainshed.store.records import Key


class Call(msgspec.Struct):
    state: State
    request: Request
    target: Target
    kind: Kind
    user: Identity
    authorize: Callable[[Attributes], None]

    @property
    def key(self) -> Key:
        return Key(self.kind.stored_as, self.namespace, self.target.name)

    @property
    def namespace(self) -> str:
        """The namespace objects of this call live in; empty for cluster-scoped kinds."""
        return self.target.namespace if self.kind.namespaced else ""

    @property
    def dry_run(self) -> bool:
        return bool(self.request.raw_query and self.request.query.all("dryRun"))

    def require(self, verb: str) -> None:
        """Refuse the call unless its user may do this to its target, too."""
        target = self.target
        self.authorize(
            Attributes(
                self.user, verb, target.group, target.version, target.plural, target.subresource,
                target.namespace, target.name,
            )
        )  # fmt: skip

    def warn(self, text: str) -> None:
        self.request.warnings.append(text)

    def not_found(self) -> faults.NotFound:
        return not_found(self.kind, self.target.name)


def not_found(kind: Kind, name: str) -> faults.NotFound:
    return faults.NotFound(
        f'{kind.resource} "{name}" not found', name=name, group=kind.group, kind=kind.plural
    )


def already_exists(kind: Kind, name: str) -> faults.AlreadyExists:
    message = f'{kind.resource} "{name}" already exists'
    return faults.AlreadyExists(message, name=name, group=kind.group, kind=kind.plural)


def conflict(kind: Kind, name: str, why: str = "") -> faults.Conflict:
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return faults.Conflict(message, name=name, group=kind.group, kind=kind.plural)
