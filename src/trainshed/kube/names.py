"""Names: which ones Kubernetes accepts, in its own words, and how new ones are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from random import Random
from typing import Final, NamedTuple

from trainshed.kube import faults
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object


class GVK(NamedTuple):
    """Group, version and kind: the type of an object."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GVR(NamedTuple):
    """Group, version and (plural) resource: the place of a collection."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def split_api_version(api_version: str) -> tuple[str, str]:
    """Group and version of an apiVersion; the core group is empty."""
    group, _, version = api_version.rpartition("/")
    return group, version


NameCheck = Callable[[str], str | None]
"""Why a name is not acceptable, or None."""

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_RFC1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_QUALIFIED})?"
_MATCHERS: Final = {text: re.compile(text) for text in (_LABEL, _SUBDOMAIN, _RFC1035, _QUALIFIED, _VALUE)}
_SUBDOMAIN_WORDS: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_WORDS: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_RFC1035_WORDS: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_QUALIFIED_WORDS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_QUALIFIED_EXAMPLES: Final = ("MyName", "my.name", "123-abc")


def dns_subdomain(name: str) -> str | None:
    """The rule for most names: at most 253 characters of lower-case labels joined by dots."""
    if len(name) > 253:
        return _at_most(253)
    return None if _fits(_SUBDOMAIN, name) else _explained(_SUBDOMAIN_WORDS, _SUBDOMAIN, "example.com")


def dns_label(name: str) -> str | None:
    """The rule for namespaces: at most 63 characters, no dots."""
    if len(name) > 63:
        return _at_most(63)
    if _fits(_LABEL, name):
        return None
    if _fits(_SUBDOMAIN, name):
        return "must not contain dots"
    return _explained(_LABEL_WORDS, _LABEL, "my-name", "123-abc")


def rfc1035_label(name: str) -> str | None:
    """The rule for services: as a DNS label, but starting with a letter."""
    if len(name) > 63:
        return _at_most(63)
    return None if _fits(_RFC1035, name) else _explained(_RFC1035_WORDS, _RFC1035, "my-name", "abc-123")


def path_segment(name: str) -> str | None:
    """The rule for RBAC objects: anything that can stand in a URL path (`system:admin`)."""
    if name in (".", ".."):
        return f"may not be '{name}'"
    return next((f"may not contain '{bad}'" for bad in ("/", "%") if bad in name), None)


def qualified_name(name: str) -> str | None:
    """The rule for label keys, annotation keys and finalizers: `name` or `dns.prefix/name`."""
    return _remembered_name(name) if len(name) <= _SHORT else _qualified_name(name)


def _qualified_name(name: str) -> str | None:
    prefix, slash, last = name.rpartition("/")
    if "/" in prefix:
        words = _explained(_QUALIFIED_WORDS, _QUALIFIED, *_QUALIFIED_EXAMPLES)
        hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return f"a qualified name {words} {hint}"
    if slash:
        wrong = dns_subdomain(prefix) if prefix else "must be non-empty"
        if wrong:
            return f"prefix part {wrong}"
    if not last:
        return "name part must be non-empty"
    if len(last) > 63:
        return f"name part {_at_most(63)}"
    if _fits(_QUALIFIED, last):
        return None
    return f"name part {_explained(_QUALIFIED_WORDS, _QUALIFIED, *_QUALIFIED_EXAMPLES)}"


_SHORT: Final = 128
_remembered_name = lru_cache(maxsize=2048)(_qualified_name)
"""Objects have many labels, whose keys are the same few."""


def label_value(value: str) -> str | None:
    if len(value) > 63:
        return _at_most(63)
    if _fits(_VALUE, value):
        return None
    words = f"a valid label must be an empty string or {_QUALIFIED_WORDS.removeprefix('must ')}"
    return _explained(words, _VALUE, "MyValue", "my_value", "12345")


def _fits(pattern: str, text: str) -> bool:
    return _MATCHERS[pattern].fullmatch(text) is not None


def _at_most(length: int) -> str:
    return f"must be no more than {length} characters"


def _explained(words: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


# --- making names -----------------------------------------------------------------------------------------

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and nothing that looks like one: a random suffix never spells a word."""


def generate(prefix: str, random: Callable[[], float] | Random) -> str:
    """A name from `generateName`: the prefix (cut to leave room for the rest) and five random characters."""
    draw = random.random if isinstance(random, Random) else random
    suffix = "".join(_ALPHABET[int(draw() * len(_ALPHABET)) % len(_ALPHABET)] for _ in range(5))
    return prefix[:58] + suffix


# --- metadata ---------------------------------------------------------------------------------------------

_ANNOTATIONS_LIMIT: Final = 256 * 1024


def metadata_errors(
    metadata: Object, *, namespaced: bool, check_name: NameCheck | None = None
) -> list[FieldError]:
    """Everything wrong with an object's metadata; name generation has happened already."""
    errors: list[FieldError] = []
    _add_name_errors(metadata, check_name or dns_subdomain, errors)
    _add_namespace_errors(metadata, namespaced, errors)
    for part, find in _PART_ERRORS:
        if part in metadata:
            errors += find(metadata)
    return errors


def _add_name_errors(metadata: Object, check: NameCheck, errors: list[FieldError]) -> None:
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if isinstance(prefix, str) and prefix and (why := check(_mask_trailing_dash(prefix))):
        errors.append(faults.invalid("metadata.generateName", prefix, why))
    if not name:
        errors.append(faults.required("metadata.name", "name or generateName is required"))
    elif not isinstance(name, str):
        errors.append(_not_text("metadata.name", name))
    elif why := check(name):
        errors.append(faults.invalid("metadata.name", name, why))


def _mask_trailing_dash(prefix: str) -> str:
    """A prefix may end with a dash, because something will follow it."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _add_namespace_errors(metadata: Object, namespaced: bool, errors: list[FieldError]) -> None:
    namespace = metadata.get("namespace") or ""
    if not isinstance(namespace, str):
        errors.append(_not_text("metadata.namespace", namespace))
    elif not namespaced:
        if namespace:
            errors.append(faults.forbidden("metadata.namespace", "not allowed on this type"))
    elif not namespace:
        errors.append(faults.required("metadata.namespace"))
    elif why := _of_namespace(namespace):
        errors.append(faults.invalid("metadata.namespace", namespace, why))


_of_namespace = lru_cache(maxsize=1024)(dns_label)
"""Remembered: few namespaces have many objects."""
_of_key = lru_cache(maxsize=1024)(qualified_name)
_LONGEST_KEY: Final = 253 + 1 + 63


def _key_error(key: str) -> str | None:
    """Remembered too: all objects of a kind have the same labels. What is too long for a key is not kept."""
    return _of_key(key) if len(key) <= _LONGEST_KEY else qualified_name(key)


def _label_errors(metadata: Object) -> Iterator[FieldError]:
    field = "metadata.labels"
    for key, value in _entries(metadata, "labels"):
        if why := _key_error(key):
            yield faults.invalid(field, key, why)
        if not isinstance(value, str):
            yield _not_text(f"{field}.{key}", value)
        elif why := label_value(value):
            yield faults.invalid(field, value, why)


def _annotation_errors(metadata: Object) -> Iterator[FieldError]:
    field, size = "metadata.annotations", 0
    for key, value in _entries(metadata, "annotations"):
        if why := _key_error(key.lower()):
            yield faults.invalid(field, key, why)
        if isinstance(value, str):
            size += len(key.encode(errors="replace")) + len(value.encode(errors="replace"))
        else:
            yield _not_text(f"{field}.{key}", value)
    if size > _ANNOTATIONS_LIMIT:
        yield faults.too_long(field, _ANNOTATIONS_LIMIT)


def _entries(metadata: Object, name: str) -> list[tuple[str, JSON]]:
    found = metadata.get(name)
    return list(found.items()) if isinstance(found, dict) else []


def _owner_errors(metadata: Object) -> Iterator[FieldError]:
    field = "metadata.ownerReferences"
    owners = metadata.get("ownerReferences")
    listed = [owner for owner in owners if isinstance(owner, dict)] if isinstance(owners, list) else []
    for owner in listed:
        version = owner.get("apiVersion") or ""
        if not split_api_version(str(version))[1]:
            yield faults.invalid(f"{field}.apiVersion", version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield faults.invalid(f"{field}.{name}", owner.get(name) or "", "must not be empty")
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            yield faults.invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner")
    controllers = [f"{o.get('kind')}/{o.get('name')}" for o in listed if o.get("controller") is True]
    for other in controllers[1:]:
        words = 'Only one reference can have Controller set to true. Found "true" in references for'
        yield faults.invalid(field, listed, f"{words} {controllers[0]} and {other}")


def _finalizer_errors(metadata: Object) -> Iterator[FieldError]:
    field = "metadata.finalizers"
    finalizers = metadata.get("finalizers")
    listed = finalizers if isinstance(finalizers, list) else []
    for name in listed:
        if not isinstance(name, str):
            yield _not_text(field, name)
        elif why := qualified_name(name):
            yield faults.invalid(field, name, why)
    if {"orphan", "foregroundDeletion"} <= {name for name in listed if isinstance(name, str)}:
        yield faults.invalid(field, listed, "finalizer orphan and foregroundDeletion cannot be both set")


_PART_ERRORS: Final = (
    ("labels", _label_errors),
    ("annotations", _annotation_errors),
    ("ownerReferences", _owner_errors),
    ("finalizers", _finalizer_errors),
)


def _not_text(field: str, value: JSON) -> FieldError:
    return faults.wrong_type(field, value, f"{field} in body must be of type string")
