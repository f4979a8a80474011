"""Laws of field ownership, over any sequence of writes and applies."""

from __future__ import annotations

import json

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.pure.ownership_objects import WORKLOAD, a_workload, applied, bare, owners, written
from trainshed.kube import changes, fields, managed
from trainshed.kube.faults import Conflict
from trainshed.kube.objects import JSON, Object, copied, encode
from trainshed.kube.patches import same

names = st.sampled_from(["a", "b", "c"])
texts = st.sampled_from(["x", "y"])
limits = st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(1, 2), max_size=2)


def keyed(
    key: str, keys: st.SearchStrategy[JSON], **optional: st.SearchStrategy[JSON]
) -> st.SearchStrategy[JSON]:
    item = st.fixed_dictionaries({key: keys}, optional=optional)
    return st.lists(item, max_size=3, unique_by=lambda item: item[key])


specs = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(1, 2),
        "paused": st.booleans(),
        "selector": st.dictionaries(names, texts, max_size=2),
        "containers": keyed(
            "name",
            names,
            image=texts,
            args=st.lists(texts, max_size=2),
            env=keyed("name", names, value=texts),
            ports=keyed("containerPort", st.integers(80, 82), name=texts),
            limits=limits,
        ),
        "tolerations": st.lists(st.fixed_dictionaries({"key": names}), max_size=2),
        "strategy": st.fixed_dictionaries({}, optional={"type": texts}),
        "zones": st.lists(names, max_size=3, unique=True),
        "extra": st.dictionaries(
            names, texts | st.dictionaries(names, st.integers(0, 1), max_size=2), max_size=2
        ),
    },
)
labels = st.none() | st.dictionaries(names, texts, max_size=3)
workloads = st.builds(lambda labels, spec: a_workload(labels=labels, **spec), labels, specs)
actions = st.tuples(st.sampled_from(["write", "apply"]), st.sampled_from(["m1", "m2", "m3"]), workloads)
histories = st.lists(actions, max_size=6)


def performed(history: list[tuple[str, str, Object]]) -> Object | None:
    live: Object | None = None
    for second, (verb, manager, body) in enumerate(history):
        now = f"2026-01-01T00:00:{second:02d}Z"
        if verb == "write":
            live = written(live, body, manager, now=now)
        else:
            live = applied(live, body, manager, force=True, now=now)
    return live


def exists(obj: Object, path: fields.Path) -> bool:
    """Whether a path leads anywhere; lists are searched for the item with the keys or the value."""
    value: JSON = obj
    for step in path:
        value = _inside(value, step)
        if value is _NOTHING:
            return False
    return True


_NOTHING = object()


def _inside(value: JSON, step: str) -> JSON:
    kind, content = step[0], step[2:]
    if kind == "f":
        return value.get(content, _NOTHING) if isinstance(value, dict) else _NOTHING
    wanted = json.loads(content)
    for item in value if isinstance(value, list) else ():
        if (
            item == wanted
            if kind == "v"
            else {"protocol": "TCP", **item} | wanted == {"protocol": "TCP", **item}
        ):
            return item
    return _NOTHING


@settings(deadline=None)
@given(histories)
def test_every_owned_field_exists(history: list[tuple[str, str, Object]]) -> None:
    live = performed(history) or {}
    for entry in managed.entries_of(live):
        for path in fields.paths(entry.fields):
            assert exists(live, path), (entry.manager, fields.shown(path))


@settings(deadline=None)
@given(histories, workloads)
def test_a_forced_apply_always_wins(history: list[tuple[str, str, Object]], body: Object) -> None:
    result = applied(performed(history), body, "winner", force=True)
    found = changes.compare(body, result, WORKLOAD)
    claimed = changes.owned(body, WORKLOAD)
    assert fields.intersection(claimed, found.modified) == {}
    assert fields.intersection(claimed, found.removed) == {}
    assert owners(result).get(("winner", "Apply"), {}) == claimed


@settings(deadline=None)
@given(histories, workloads)
def test_applying_twice_changes_nothing_more(history: list[tuple[str, str, Object]], body: Object) -> None:
    assume(changes.owned(body, WORKLOAD))
    once = applied(performed(history), body, "m1", force=True, now="2027-01-01T00:00:00Z")
    twice = applied(once, body, "m1", now="2028-01-01T00:00:00Z")
    assert encode(twice) == encode(once)


@settings(deadline=None)
@given(histories)
def test_a_write_without_changes_changes_nothing(history: list[tuple[str, str, Object]]) -> None:
    live = performed(history)
    if live is not None:
        assert written(live, bare(live), "nobody", now="2027-01-01T00:00:00Z") == live


@settings(deadline=None)
@given(histories, workloads)
def test_no_conflict_means_nobody_lost_a_field(history: list[tuple[str, str, Object]], body: Object) -> None:
    live = performed(history)
    try:
        result = applied(live, body, "newcomer")
    except Conflict:
        return
    before, after = (owners(obj) if obj is not None else {} for obj in (live, result))
    assert all(after[owner] == claimed for owner, claimed in before.items())


def disjoint(whole: Object, fewer: Object) -> Object:
    """The parts of an object that another one does not mention, at the level of spec and label names."""
    spec = {key: value for key, value in whole.get("spec", {}).items() if key not in fewer.get("spec", {})}
    mine, theirs = (obj["metadata"].get("labels") or {} for obj in (whole, fewer))
    kept = {key: mine[key] for key in mine if key not in theirs}
    # The annotation gives it an owner: objects without any start over as `before-first-apply`.
    return a_workload(labels=kept or None, annotations={"kept": "x"}, **spec)


def sorted_lists(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: sorted_lists(item) for key, item in value.items()}
    return sorted(map(sorted_lists, value), key=encode) if isinstance(value, list) else value


@settings(deadline=None)
@given(workloads, workloads)
def test_appliers_with_nothing_in_common_may_come_in_any_order(one: Object, whole: Object) -> None:
    assume(changes.owned(one, WORKLOAD))
    other = disjoint(whole, one)
    there = applied(applied(None, one, "one"), other, "other")
    back = applied(applied(None, other, "other"), one, "one")
    assert same(sorted_lists(bare(there)), sorted_lists(bare(back)))
    assert owners(there) == owners(back)


@settings(deadline=None)
@given(workloads, workloads)
def test_an_applier_that_says_nothing_more_leaves_only_what_others_own(one: Object, whole: Object) -> None:
    other = disjoint(whole, one)
    alone = applied(None, other, "other")
    left = applied(applied(alone, one, "one"), a_workload(), "one")
    assert owners(left) == owners(alone)
    assert changes.owned(bare(left), WORKLOAD) == changes.owned(bare(alone), WORKLOAD)


@settings(deadline=None)
@given(histories)
def test_operations_leave_their_inputs_alone(history: list[tuple[str, str, Object]]) -> None:
    before = copied(history)
    performed(history)
    assert history == before
