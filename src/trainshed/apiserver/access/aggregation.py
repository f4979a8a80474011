"""ClusterRoles made of other ClusterRoles: which rules an aggregated role really has.

The real cluster has a controller that copies the rules into the aggregated role a moment later. Here the
authorizer computes them, so a label takes effect at once; `stale` tells which stored copies lag behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trainshed.apiserver.access import rules
from trainshed.apiserver.access.rules import Rule
from trainshed.kube import selectors
from trainshed.kube.faults import Fault
from trainshed.kube.objects import Object, dig


def effective(roles: Mapping[str, Object]) -> dict[str, tuple[Rule, ...]]:
    """The rules of every ClusterRole, by name."""
    found: dict[str, tuple[Rule, ...]] = {}
    members = {name: _members(name, role, roles) for name, role in roles.items() if is_aggregated(role)}
    for name, role in roles.items():
        found[name] = _gathered(name, roles, members) if name in members else rules.read(role.get("rules"))
    return found


def stale(roles: Mapping[str, Object]) -> Iterator[tuple[str, list[Object]]]:
    """Name and right rules of each aggregated role whose stored rules are not what they should be."""
    for name, wanted in effective(roles).items():
        if is_aggregated(roles[name]) and rules.read(roles[name].get("rules")) != wanted:
            yield name, [rule.body() for rule in wanted]


def is_aggregated(role: Object) -> bool:
    return bool(dig(role, "aggregationRule", "clusterRoleSelectors"))


def _gathered(start: str, roles: Mapping[str, Object], members: Mapping[str, list[str]]) -> tuple[Rule, ...]:
    """Rules of all roles reachable through aggregation, each once, in order; circles end where they began."""
    wanted: dict[Rule, None] = {}
    seen = {start}
    queue = list(reversed(members[start]))
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in members:
            queue.extend(reversed(members[name]))
        else:
            wanted.update(dict.fromkeys(rules.read(roles[name].get("rules"))))
    return tuple(wanted)


def _members(name: str, role: Object, roles: Mapping[str, Object]) -> list[str]:
    given = dig(role, "aggregationRule", "clusterRoleSelectors")
    chosen: dict[str, None] = {}
    for selector in given if isinstance(given, list) else []:
        chosen.update(dict.fromkeys(_matching(selector, roles)))
    chosen.pop(name, None)
    return list(chosen)


def _matching(selector: Object, roles: Mapping[str, Object]) -> Iterable[str]:
    try:
        matcher = selectors.from_object(selector)
    except Fault:
        return ()  # a broken selector selects nothing; validation refuses to store one
    return [name for name in sorted(roles) if matcher.matches(dig(roles[name], "metadata", "labels"))]
