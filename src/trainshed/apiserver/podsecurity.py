"""Pod security at work: a namespace's labels say what its pods must not have."""

from __future__ import annotations

from collections.abc import Mapping

from trainshed.apiserver.admission import Check, Request
from trainshed.apiserver.limits import forbidden
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.core import podsecurity
from trainshed.kinds.core.podsecurity import Standard
from trainshed.kinds.reading import mapping
from trainshed.kube import faults
from trainshed.kube.objects import Object
from trainshed.store.records import Key

_IGNORED = ("status", "binding", "eviction")


def _policy(state: State, namespace: str) -> podsecurity.Policy:
    record = state.store.head(Key("namespaces", "", namespace))
    return podsecurity.policy(record.labels if record else None)


def pod_is_allowed(request: Request) -> None:
    if request.subresource in _IGNORED:
        return
    policy = _policy(request.state, request.namespace)
    if policy == podsecurity.Policy():
        return
    if request.old is not None and not podsecurity.is_looked_at(request.obj, request.old):
        return
    if why := podsecurity.violations(request.obj, policy.enforce):
        raise forbidden(request, f'violates PodSecurity "{policy.enforce}": {why}')
    _warn(request, request.obj, policy.warn)


def template_would_be_allowed(request: Request) -> None:
    """Whoever makes pods later is told now; only the pods themselves are refused."""
    if request.subresource:
        return
    warn = _policy(request.state, request.namespace).warn
    if warn.level != "privileged":
        _warn(request, mapping(request.obj, *podsecurity.TEMPLATES[request.kind.resource]), warn)


def _warn(request: Request, pod: Object, standard: Standard) -> None:
    if why := podsecurity.violations(pod, standard):
        request.warn(f'would violate PodSecurity "{standard}": {why}')


def namespace_says_what_it_wants(request: Request) -> None:
    labels = _labels(request.obj)
    before = _labels(request.old)
    errors = podsecurity.label_errors(labels)
    if errors and (request.old is None or errors != podsecurity.label_errors(before)):
        raise faults.refuse("Namespace", "", request.name, errors)
    old, new = podsecurity.policy(before).enforce, podsecurity.policy(labels).enforce
    stricter = new.strictness > old.strictness or (new.version != old.version and new.strictness)
    if request.old is None or not stricter:
        return
    pods = map(loaded, request.state.store.list("pods", request.name))
    for warning in podsecurity.warnings(request.name, pods, new):
        request.warn(warning)


def _labels(namespace: Object | None) -> Mapping[str, str]:
    return mapping(namespace, "metadata", "labels")


VERDICTS: dict[str, tuple[Check, ...]] = {
    "pods": (pod_is_allowed,),
    "namespaces": (namespace_says_what_it_wants,),
    **dict.fromkeys(podsecurity.TEMPLATES, (template_would_be_allowed,)),
}
