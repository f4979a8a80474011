"""PersistentVolumeClaims."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import resources
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, fill, mapping, texts
from trainshed.kube import names
from trainshed.kube.faults import forbidden, invalid, required, unsupported
from trainshed.kube.objects import Object, copied, dig, text

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_FIXED: Final = (
    "spec is immutable after creation except resources.requests "
    "and volumeAttributesClassName for bound claims"
)


def defaults(claim: Object) -> None:
    tidy(claim, "PersistentVolumeClaim")
    default_spec(child(claim, "spec"))


def default_spec(spec: Object) -> None:
    fill(spec, volumeMode="Filesystem")


def prepare(claim: Object) -> None:
    claim["status"] = {"phase": "Pending"}


def errors(claim: Object, old: Object | None) -> Errors:
    found = spec_errors("spec", mapping(claim, "spec"))
    return found if old is None else found + _change(claim, old)


def spec_errors(field: str, spec: Object) -> Errors:
    modes = texts(spec, "accessModes")
    found = [] if modes else [required(f"{field}.accessModes", "at least 1 access mode is required")]
    found += checks.label_selector(f"{field}.selector", spec.get("selector"))
    found += [unsupported(f"{field}.accessModes", mode, _MODES) for mode in modes if mode not in _MODES]
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        why = "may not use ReadWriteOncePod with other access modes"
        found.append(forbidden(f"{field}.accessModes", why))
    found += _storage(f"{field}.resources[storage]", spec)
    name = spec.get("storageClassName")
    found += checks.named(f"{field}.storageClassName", name, names.dns_subdomain, optional=True)
    return found + checks.one_of(f"{field}.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))


def _storage(field: str, spec: Object) -> Errors:
    asked = dig(spec, "resources", "requests", "storage")
    if asked is None:
        return [required(field)]
    amount = resources.parsed(asked)
    if amount is not None and amount <= 0:
        return [invalid(field, asked, "must be greater than zero")]
    return resources.amount_errors(field, "storage", asked)


def _change(claim: Object, old: Object) -> Errors:
    new_spec, old_spec = copied(mapping(claim, "spec")), copied(mapping(old, "spec"))
    if not text(old_spec, "volumeName"):
        old_spec["volumeName"] = text(new_spec, "volumeName")  # binding happens once
    if old_spec.get("storageClassName") is None:
        old_spec["storageClassName"] = new_spec.get("storageClassName")  # a default class may arrive later
    if text(claim, "status", "phase") == "Bound":
        _ignore_growth(new_spec, old_spec)
    found = [] if checks.same(new_spec, old_spec) else [forbidden("spec", _FIXED)]
    found += _shrinking(claim, old)
    return found + checks.immutable("volumeMode", new_spec.get("volumeMode"), old_spec.get("volumeMode"))


def _ignore_growth(new_spec: Object, old_spec: Object) -> None:
    before = dig(old_spec, "resources", "requests", "storage")
    if isinstance(dig(new_spec, "resources", "requests"), dict):
        new_spec["resources"]["requests"]["storage"] = before


def _shrinking(claim: Object, old: Object) -> Errors:
    asked = resources.parsed(dig(claim, "spec", "resources", "requests", "storage"))
    before = resources.parsed(dig(old, "spec", "resources", "requests", "storage"))
    if asked is None or before is None or asked >= before:
        return []
    if asked > (resources.parsed(dig(old, "status", "capacity", "storage")) or 0):
        return []
    return [forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")]


RULES = Rules(
    defaults=defaults, on_create=prepare, validate=errors, always_returns_object_on_delete=True,
    has_generation=False,
)  # fmt: skip
