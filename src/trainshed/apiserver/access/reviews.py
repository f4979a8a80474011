"""The review kinds: questions about access, answered in the object that asks. Nothing is stored.

Each function takes the request's object and returns the answered one; raises a `Fault` for a bad question.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from trainshed.apiserver.access import rules
from trainshed.apiserver.access.authentication import Authenticator
from trainshed.apiserver.access.identity import Attributes, Identity
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.access.rules import Rule
from trainshed.apiserver.access.tokens import ISSUER, Rejected
from trainshed.kube import ages, faults
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object, dig, text, without

AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"


def self_subject_access(request: Object, user: Identity, authorizer: Authorizer) -> Object:
    spec = _spec(request)
    _refuse("SelfSubjectAccessReview", [*_target_errors(spec), *_metadata_errors(request)])
    return _decided("SelfSubjectAccessReview", request, authorizer, _attributes(spec, user))


def subject_access(request: Object, authorizer: Authorizer) -> Object:
    spec = _spec(request)
    errors = [*_target_errors(spec), *_subject_errors(spec), *_metadata_errors(request)]
    _refuse("SubjectAccessReview", errors)
    return _decided("SubjectAccessReview", request, authorizer, _attributes(spec, _subject(spec)))


def local_subject_access(request: Object, namespace: str, authorizer: Authorizer) -> Object:
    spec, kind = _spec(request), "LocalSubjectAccessReview"
    named = text(request, "metadata", "namespace") or namespace
    if named != namespace:
        raise faults.BadRequest(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    errors = [*_target_errors(spec), *_subject_errors(spec), *_local_errors(spec, namespace)]
    errors += _metadata_errors(request, except_for=("namespace",))
    _refuse(kind, errors)
    answered = _decided(kind, request, authorizer, _attributes(spec, _subject(spec)))
    answered["metadata"]["namespace"] = namespace
    return answered


def self_subject_rules(request: Object, user: Identity, authorizer: Authorizer) -> Object:
    namespace = text(_spec(request), "namespace")
    if not namespace:
        raise faults.BadRequest("no namespace on request")
    found, errors = authorizer.rules_for(user, namespace)
    status: Object = {
        "resourceRules": [_resource_rule(rule) for rule in found if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in found if rule.urls
        ],
        "incomplete": False,
    }
    if errors:
        status["evaluationError"] = ", ".join(errors)
    return _answered("SelfSubjectRulesReview", AUTHORIZATION, request, status)


def self_subject(request: Object, user: Identity, now: datetime) -> Object:
    answered = _answered("SelfSubjectReview", AUTHENTICATION, request, {"userInfo": user.user_info()})
    answered.pop("spec", None)
    answered["metadata"] = {"creationTimestamp": ages.timestamp(now)}
    return answered


def token_review(request: Object, authenticator: Authenticator) -> Object:
    spec = _spec(request)
    token = text(spec, "token")
    if not token:
        raise faults.BadRequest("token is required for TokenReview in authentication")
    try:
        identity, audiences = authenticator.review(token, rules.texts(spec.get("audiences")) or (ISSUER,))
    except Rejected as rejected:
        status: Object = {"user": {}, "error": str(rejected)}
    else:
        status = {"authenticated": True, "user": identity.user_info(), "audiences": list(audiences)}
    return _answered("TokenReview", AUTHENTICATION, request, status)


# --- questions --------------------------------------------------------------------------------------------


def _spec(request: Object) -> Object:
    spec = request.get("spec")
    return spec if isinstance(spec, dict) else {}


def _subject(spec: Object) -> Identity:
    extra = spec.get("extra")
    values = {key: rules.texts(value) for key, value in extra.items()} if isinstance(extra, dict) else {}
    return Identity(text(spec, "user"), text(spec, "uid"), rules.texts(spec.get("groups")), values)


def _attributes(spec: Object, user: Identity) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if isinstance(path, dict):
        # An empty path would read as a request for a resource; "/" is the nearest path there is.
        return Attributes(user, text(path, "verb"), path=text(path, "path") or "/")
    wanted = spec.get("resourceAttributes")
    keys = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    verb, group, version, resource, subresource, namespace, name = (text(wanted, key) for key in keys)
    return Attributes(user, verb, group, version or "*", resource, subresource, namespace, name)


def _target_errors(spec: Object) -> list[FieldError]:
    given = [key for key in ("resourceAttributes", "nonResourceAttributes") if spec.get(key) is not None]
    if len(given) == 1:
        return []
    why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    return [faults.invalid("spec", spec.get("nonResourceAttributes"), why)]


def _subject_errors(spec: Object) -> list[FieldError]:
    if text(spec, "user") or rules.texts(spec.get("groups")):
        return []
    return [
        faults.invalid("spec.user", text(spec, "user"), "at least one of user or group must be specified")
    ]


def _local_errors(spec: Object, namespace: str) -> list[FieldError]:
    errors = []
    asked = text(spec, "resourceAttributes", "namespace")
    if spec.get("resourceAttributes") is not None and asked != namespace:
        field = "spec.resourceAttributes.namespace"
        errors.append(faults.invalid(field, asked, "must match metadata.namespace"))
    path = spec.get("nonResourceAttributes")
    if path is not None:
        errors.append(
            faults.invalid("spec.nonResourceAttributes", path, "disallowed on this kind of request")
        )
    return errors


def _metadata_errors(request: Object, except_for: tuple[str, ...] = ()) -> list[FieldError]:
    metadata = request.get("metadata")
    if not isinstance(metadata, dict):
        return []
    left = without(metadata, ("managedFields", *except_for))
    if not any(left.values()):
        return []
    why = "must be empty except for namespace" if except_for else "must be empty"
    return [faults.invalid("metadata", metadata, why)]


def _refuse(kind: str, errors: Sequence[FieldError]) -> None:
    if errors:
        raise faults.refuse(kind, AUTHORIZATION, "", errors)


# --- answers ----------------------------------------------------------------------------------------------


def _decided(kind: str, request: Object, authorizer: Authorizer, wanted: Attributes) -> Object:
    decision = authorizer.decide(wanted)
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return _answered(kind, AUTHORIZATION, request, status)


def _answered(kind: str, group: str, request: Object, status: JSON) -> Object:
    kept = without(request, ("kind", "apiVersion", "metadata", "status"))
    managed = dig(request, "metadata", "managedFields")
    metadata: Object = {"managedFields": managed} if managed else {}
    return {"kind": kind, "apiVersion": f"{group}/v1", "metadata": metadata, **kept, "status": status}


def _resource_rule(rule: Rule) -> Object:
    body = {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
    return {**body, "resourceNames": list(rule.names)} if rule.names else body
