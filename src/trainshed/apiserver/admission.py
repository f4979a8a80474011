"""What must hold between an object and the rest of the cluster before it is stored: ordered checks.

Upstream calls these admission plugins and webhooks. Each may fill in the object, warn, or refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from trainshed.apiserver.access.identity import Identity
from trainshed.apiserver.state import State
from trainshed.kinds.core import tokenvolumes
from trainshed.kinds.kind import Kind
from trainshed.kinds.scheduling import priorityclasses
from trainshed.kube import faults, lifecycle, names
from trainshed.kube.objects import Object, decode, metadata
from trainshed.store.records import Key


class Request(msgspec.Struct, frozen=True):
    state: State
    kind: Kind
    operation: Literal["CREATE", "UPDATE"]
    obj: Object
    old: Object | None
    namespace: str
    name: str
    user: Identity
    dry_run: bool
    warn: Callable[[str], None]
    subresource: str = ""


Check = Callable[[Request], None]


def admit(request: Request) -> None:
    for check in request.state.checks.get(request.kind.resource, ()):
        check(request)
    if request.operation == "CREATE" and request.namespace:
        namespace_takes_new_content(request)


def judge(request: Request) -> None:
    """What upstream leaves to validating webhooks: they see only objects that are valid by themselves."""
    for verdict in request.state.verdicts.get(request.kind.resource, ()):
        verdict(request)
    if request.namespace and request.state.quotas is not None:
        request.state.quotas.check(request)


def namespace_takes_new_content(request: Request) -> None:
    record = request.state.store.head(Key("namespaces", "", request.namespace))
    if record is None:
        missing = f'namespaces "{request.namespace}" not found'
        raise faults.NotFound(missing, name=request.namespace, kind="namespaces")
    if b'"deletionTimestamp"' in record.value and lifecycle.is_leaving(decode(record.value)):
        raise _terminating(request)


def _terminating(request: Request) -> faults.Forbidden:
    why = f"unable to create new content in namespace {request.namespace} because it is being terminated"
    gone = f"namespace {request.namespace} is being terminated"
    cause = faults.Cause(faults.NAMESPACE_TERMINATING, gone, "metadata.namespace")
    message = f'{request.kind.resource} "{request.name}" is forbidden: {why}'
    return faults.Forbidden(
        message, name=request.name, group=request.kind.group, kind=request.kind.plural, causes=[cause]
    )


# --- pods -------------------------------------------------------------------------------------------------


def pod_has_a_service_account(request: Request) -> None:
    spec = request.obj.get("spec")
    if request.operation != "CREATE" or not isinstance(spec, dict):
        return
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    if name != "default" and request.state.head("serviceaccounts", request.namespace, name) is None:
        why = (
            f'error looking up service account {request.namespace}/{name}: serviceaccount "{name}" not found'
        )
        message = f'pods "{request.name}" is forbidden: {why}'
        raise faults.Forbidden(message, name=request.name, kind="pods")


def pod_can_reach_the_api(request: Request) -> None:
    spec = request.obj.get("spec")
    if request.operation != "CREATE" or not isinstance(spec, dict):
        return
    account = request.state.head("serviceaccounts", request.namespace, spec["serviceAccountName"])
    if tokenvolumes.is_wanted(spec, account):
        tokenvolumes.mount(spec, names.generate(tokenvolumes.PREFIX, request.state.random))


def pod_has_a_priority(request: Request) -> None:
    spec = request.obj.get("spec")
    if request.operation != "CREATE" or not isinstance(spec, dict):
        return
    name = spec.get("priorityClassName") or ""
    found = _priority_class(request, name)
    if name and found is None:
        message = f'pods "{request.name}" is forbidden: no PriorityClass with name {name} was found'
        raise faults.Forbidden(message, name=request.name, kind="pods")
    if found is not None and not name:
        spec["priorityClassName"] = metadata(found)["name"]
    spec["priority"] = int((found or {}).get("value") or 0)
    spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy") or "PreemptLowerPriority")


def _priority_class(request: Request, name: str) -> Object | None:
    resource = "priorityclasses.scheduling.k8s.io"
    if name:
        if name in priorityclasses.SYSTEM:
            return {"metadata": {"name": name}, "value": priorityclasses.SYSTEM[name]}
        return request.state.get(resource, "", name)
    classes = (decode(record.value) for record in request.state.store.list(resource, None))
    return next((found for found in classes if found.get("globalDefault")), None)


def pod_tolerates_short_outages(request: Request) -> None:
    spec = request.obj.get("spec")
    if request.operation != "CREATE" or not isinstance(spec, dict):
        return
    given = spec.get("tolerations")
    given = given if isinstance(given, list) else []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_covers(toleration, key) for toleration in given):
            given = [
                *given,
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ]
    spec["tolerations"] = given


def _covers(toleration: Object, key: str) -> bool:
    if not isinstance(toleration, dict):
        return False
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


CHECKS: dict[str, tuple[Check, ...]] = {
    "pods": (
        pod_has_a_service_account,
        pod_can_reach_the_api,
        pod_has_a_priority,
        pod_tolerates_short_outages,
    ),
}
"""The built-in kinds' checks; other groups' are added where the server is put together."""
