"""How many values a body has, told without reading it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from trainshed.backend import limits
from trainshed.kube.objects import JSON

texts = st.text() | st.text('",[]{}\\\n')
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


def parted(value: JSON) -> int:
    """Lists, objects, and commas in them."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(0, len(value) - 1) + sum(map(parted, inner))


@given(anything, st.booleans())
def test_values_are_counted_outside_of_texts(value: JSON, is_ascii: bool) -> None:
    assert limits.values(json.dumps(value, ensure_ascii=is_ascii).encode()) == 1 + parted(value)
