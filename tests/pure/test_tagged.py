"""A merged object as lines with their origins."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from trainshed.jobs import tagged
from trainshed.kube.objects import JSON, Object

words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)
scripts = st.lists(st.text("abc $'\"{}:#-", min_size=1).map(lambda line: f"x{line}"), min_size=2).map(
    "\n".join
)
scalars = st.none() | st.booleans() | st.integers(-9, 9) | words | scripts | st.just("")
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(words, values, max_size=4))
def test_the_lines_are_yaml_of_the_object(value: Object) -> None:
    text = "\n".join(line for line, _ in tagged.lines(value, {}))
    assert (yaml.safe_load(text) or {}) == value


def test_each_leaf_has_its_origin_beside_it() -> None:
    value: JSON = {"spec": {"jobs": [{"name": "node", "command": ["sh", "a\nb"]}]}}
    origins = {
        ("spec", "jobs", 0, "name"): "runtime x",
        ("spec", "jobs", 0, "command", 0): "trainer.command",
        ("spec", "jobs", 0, "command", 1): "trainer.command",
    }
    assert tagged.lines(value, origins) == [
        ("spec:", ""),
        ("  jobs:", ""),
        ("  - name: node", "runtime x"),
        ("    command:", ""),
        ("    - sh", "trainer.command"),
        ("    - |-", "trainer.command"),
        ("      a", ""),
        ("      b", ""),
    ]
