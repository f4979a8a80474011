"""RBAC policy rules: what one allows, whether some cover others, and how they are printed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from trainshed.apiserver.access.identity import Attributes
from trainshed.kube.faults import shown
from trainshed.kube.objects import JSON, Object


class Rule(msgspec.Struct, frozen=True):
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def body(self) -> Object:
        """The rule as it stands in an object."""
        full = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {key: list(values) for key, values in full.items() if values or key == "verbs"}


FULL_AUTHORITY = (Rule(verbs=("*",), groups=("*",), resources=("*",)), Rule(verbs=("*",), urls=("*",)))


def read(rules: JSON) -> tuple[Rule, ...]:
    """The rules of a role object; whatever is not a rule grants nothing."""
    if not isinstance(rules, list):
        return ()
    return tuple(_read_one(rule) for rule in rules if isinstance(rule, dict))


def _read_one(rule: Object) -> Rule:
    keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return Rule(*(texts(rule.get(key)) for key in keys))


def texts(value: JSON) -> tuple[str, ...]:
    """The strings of a list; nothing for anything that is not a list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def allows(rule: Rule, wanted: Attributes) -> bool:
    """Does the rule allow it, names aside? Callers that care about `rule.names` compare them."""
    if "*" not in rule.verbs and wanted.verb not in rule.verbs:
        return False
    if wanted.path:
        return any(_url_matches(url, wanted.path) for url in rule.urls)
    return _group_matches(rule, wanted.group) and _resource_matches(rule, wanted.resource, wanted.subresource)


def _group_matches(rule: Rule, group: str) -> bool:
    return "*" in rule.groups or group in rule.groups


def _resource_matches(rule: Rule, resource: str, subresource: str) -> bool:
    if "*" in rule.resources:
        return True
    if not subresource:
        return resource in rule.resources
    return f"{resource}/{subresource}" in rule.resources or f"*/{subresource}" in rule.resources


def _url_matches(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


# --- does one set of rules cover another? -----------------------------------------------------------------


def uncovered(owned: Sequence[Rule], asked: Iterable[Rule]) -> list[Rule]:
    """The parts of `asked`, broken down to single verbs and resources, that no owned rule grants alone."""
    parts = (part for rule in asked for part in _broken_down(rule))
    return [part for part in parts if not any(_covers(owner, part) for owner in owned)]


def _broken_down(rule: Rule) -> Iterable[Rule]:
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for name in rule.names or (None,):
                    yield Rule((verb,), (group,), (resource,), () if name is None else (name,))
    for url in rule.urls:
        for verb in rule.verbs:
            yield Rule(verbs=(verb,), urls=(url,))


def _covers(owner: Rule, part: Rule) -> bool:
    if "*" not in owner.verbs and part.verbs[0] not in owner.verbs:
        return False
    if part.urls:
        return any(_url_matches(url, part.urls[0]) for url in owner.urls) and not owner.names
    resource, _, subresource = part.resources[0].partition("/")
    if not (_group_matches(owner, part.groups[0]) and _resource_matches(owner, resource, subresource)):
        return False
    return not owner.names or (bool(part.names) and part.names[0] in owner.names)


def combinations(rules: Iterable[Rule]) -> int:
    """How many parts `uncovered` would have to look at."""
    return sum(
        len(rule.verbs) * (len(rule.groups) * len(rule.resources) * max(1, len(rule.names)) + len(rule.urls))
        for rule in rules
    )


def compact(parts: Iterable[Rule]) -> list[Rule]:
    """Resource parts that differ only in their verb, joined again; for messages."""
    parts = list(parts)
    joined: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for part in parts:
        if not part.urls:
            joined.setdefault((part.groups, part.resources, part.names), []).extend(part.verbs)
    whole = [Rule(tuple(verbs), *key) for key, verbs in joined.items()]
    return [part for part in parts if part.urls] + whole


def printed(rule: Rule) -> str:
    """`{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`, as the real server prints it."""
    parts = {
        "APIGroups": rule.groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.urls,
        "ResourceNames": rule.names,
        "Verbs": rule.verbs,
    }
    return "{" + ", ".join(f"{key}:{printed_list(values)}" for key, values in parts.items() if values) + "}"


def printed_list(values: Iterable[str]) -> str:
    return "[" + " ".join(shown(value) for value in values) + "]"
