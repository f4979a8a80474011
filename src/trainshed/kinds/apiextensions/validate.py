"""What makes a CustomResourceDefinition acceptable, in the words of the real server."""

from __future__ import annotations

from trainshed.kinds import checks
from trainshed.kinds.apiextensions import structural, versions
from trainshed.kinds.checks import Errors
from trainshed.kinds.reading import entries, mapping, sequence, texts
from trainshed.kube import conditions, names
from trainshed.kube.faults import forbidden, invalid, required
from trainshed.kube.objects import Object, dig, text

_APPROVAL = "api-approved.kubernetes.io"
_APPROVAL_WORDS = f'protected groups must have approval annotation "{_APPROVAL}"'
_APPROVAL_LINK = "see https://github.com/kubernetes/enhancements/pull/1111"
_MIXED_CASE = "may have mixed case, but should otherwise match: "


def validate(new: Object, old: Object | None) -> Errors:
    spec, before = mapping(new, "spec"), mapping(old, "spec") if old else None
    return [
        *_name(new),
        *_spec(spec, before),
        *(_unchanged(spec, before, old) if before is not None and old is not None else []),
        *_stored_versions(new),
        *_approval(new, old),
        *_unknown_fields(spec),
    ]


def validate_status(new: Object, old: Object) -> Errors:
    return [*_names("status.acceptedNames", mapping(new, "status", "acceptedNames")), *_stored_versions(new)]


def _name(crd: Object) -> Errors:
    name, group = text(crd, "metadata", "name"), text(crd, "spec", "group")
    if name == f"{text(crd, 'spec', 'names', 'plural')}.{group}":
        return []
    return [invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _spec(spec: Object, before: Object | None) -> Errors:
    names_given = mapping(spec, "names")
    wanted = ("plural", "singular", "kind", "listKind")
    return [
        *_group(text(spec, "group")),
        *checks.one_of("spec.scope", spec.get("scope") or "", ("Cluster", "Namespaced")),
        *versions.errors(spec, before, structural.errors),
        *(required(f"spec.names.{field}") for field in wanted if not text(names_given, field)),
        *_names("spec.names", names_given),
        *_conversion(mapping(spec, "conversion")),
    ]


def _group(group: str) -> Errors:
    if not group:
        return [required("spec.group")]
    if why := names.dns_subdomain(group):
        return [invalid("spec.group", group, why)]
    if "." not in group:
        return [invalid("spec.group", group, "should be a domain with at least one dot")]
    return []


def _names(path: str, given: Object) -> Errors:
    found: Errors = []
    for field in ("plural", "singular"):
        found += _label(f"{path}.{field}", text(given, field))
    for field in ("kind", "listKind"):
        name = text(given, field)
        if name and (why := names.rfc1035_label(name.lower())):
            found.append(invalid(f"{path}.{field}", name, _MIXED_CASE + why))
    for field in ("shortNames", "categories"):
        for index, name in enumerate(texts(given, field)):
            found += _label(f"{path}.{field}[{index}]", name, optional=False)
    if text(given, "kind") and given.get("kind") == given.get("listKind"):
        found.append(invalid(f"{path}.listKind", given["listKind"], "kind and listKind may not be the same"))
    return found


def _label(field: str, name: str, optional: bool = True) -> Errors:
    why = None if optional and not name else names.rfc1035_label(name)
    return [invalid(field, name, why)] if why else []


# --- conversion -------------------------------------------------------------------------------------------


def _conversion(given: Object) -> Errors:
    path, strategy = "spec.conversion", given.get("strategy") or ""
    found = checks.one_of(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook = mapping(given, "webhook")
    reviews, client = texts(webhook, "conversionReviewVersions"), dig(webhook, "clientConfig")
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        found += [forbidden(f"{path}.webhookClientConfig", why)] if client else []
        found += [forbidden(f"{path}.conversionReviewVersions", why)] if reviews else []
        return found
    if not isinstance(client, dict):
        found.append(required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook"))
    elif (client.get("url") is None) == (client.get("service") is None):
        found.append(required(f"{path}.webhookClientConfig", "exactly one of url or service is required"))
    return found + _review_versions(f"{path}.conversionReviewVersions", reviews)


def _review_versions(path: str, reviews: list[str]) -> Errors:
    if not reviews:
        return [required(path)]
    found: Errors = []
    for index, name in enumerate(reviews):
        if name in reviews[:index]:
            found.append(invalid(f"{path}[{index}]", name, "duplicate version"))
        else:
            found += _label(f"{path}[{index}]", name, optional=False)
    if not {"v1", "v1beta1"} & set(reviews):
        found.append(invalid(path, reviews, "must include at least one of v1, v1beta1"))
    return found


# --- against what was there before ------------------------------------------------------------------------


def _unchanged(spec: Object, before: Object, old: Object) -> Errors:
    """The group and the plural are the object's name; scope and kind are how objects are stored."""
    fields: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if conditions.is_true(dig(old, "status", "conditions"), "Established"):
        fields = [("scope",), ("names", "kind"), *fields]
    return [
        error
        for field in fields
        for error in checks.immutable(f"spec.{'.'.join(field)}", dig(spec, *field), dig(before, *field))
    ]


def _stored_versions(crd: Object) -> Errors:
    path, stored = "status.storedVersions", sequence(crd, "status", "storedVersions")
    if not stored:
        return [invalid(path, stored, "must have at least one stored version")]
    declared = entries(crd, "spec", "versions")
    missing = [
        text(version, "name")
        for version in declared
        if version.get("storage") is True and version.get("name") not in stored
    ]
    known = [version.get("name") for version in declared]
    return [
        *(invalid(path, stored, f"must have the storage version {name}") for name in missing),
        *(
            invalid(f"{path}[{index}]", name, "must appear in spec.versions")
            for index, name in enumerate(stored)
            if name not in known
        ),
    ]


def _approval(new: Object, old: Object | None) -> Errors:
    """Groups under k8s.io and kubernetes.io belong to the Kubernetes community."""
    group = text(new, "spec", "group")
    if not any(group == owner or group.endswith(f".{owner}") for owner in ("k8s.io", "kubernetes.io")):
        return []
    given = text(new, "metadata", "annotations", _APPROVAL)
    if old is not None and _approved(given) == _approved(text(old, "metadata", "annotations", _APPROVAL)):
        return []
    field = f"metadata.annotations[{_APPROVAL}]"
    if not given:
        return [required(field, f"{_APPROVAL_WORDS}, {_APPROVAL_LINK}")]
    if not _approved(given):
        how = 'with either a URL or a reason starting with "unapproved"'
        return [invalid(field, given, f"{_APPROVAL_WORDS} {how}, {_APPROVAL_LINK}")]
    return []


def _approved(annotation: str) -> bool:
    scheme, _, rest = annotation.partition("://")
    return annotation.startswith("unapproved") or bool(scheme and rest.strip("/"))


def _unknown_fields(spec: Object) -> Errors:
    if spec.get("preserveUnknownFields") is not True:
        return []
    better = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [invalid("spec.preserveUnknownFields", True, f"cannot set to true, {better}")]
