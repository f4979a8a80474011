"""The JSONPath of printer columns."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.kube import jsonpath
from trainshed.kube.objects import JSON

OBJECT = {
    "metadata": {"name": "x", "labels": {"a.b/c": "v", "plain": "p"}},
    "spec": {"replicas": 3, "ratio": 2.0, "on": True, "nothing": None},
    "status": {
        "conditions": [
            {"type": "Created", "status": "True", "n": 1},
            {"type": "Complete", "status": "False", "n": 5},
        ],
        "empty": [],
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", ["x"]),
        ("{.metadata.name}", ["x"]),
        ("$.metadata.name", ["x"]),
        (".metadata.labels.a\\.b/c", ["v"]),
        (".metadata.labels['a\\.b/c']", ["v"]),
        (".metadata['labels']['plain']", ["p"]),
        (".metadata['labels.plain']", ["p"]),
        (".status.conditions[0].type", ["Created"]),
        (".status.conditions[-1].type", ["Complete"]),
        (".status.conditions[-1:].type", ["Complete"]),
        (".status.conditions[0:1].type", ["Created"]),
        (".status.conditions[::2].type", ["Created"]),
        (".status.conditions[0,1].type", ["Created", "Complete"]),
        (".status.conditions[*].type", ["Created", "Complete"]),
        ('.status.conditions[?(@.type=="Complete")].status', ["False"]),
        (".status.conditions[?(@.type=='Complete')].status", ["False"]),
        (".status.conditions[?(@.type != 'Complete')].status", ["True"]),
        (".status.conditions[?(@.n>=2)].type", ["Complete"]),
        (".status.conditions[?(@.n)].type", ["Created", "Complete"]),
        (".status.conditions[?(@.missing)].type", []),
        (".spec.*", [3, 2.0, True, None]),
        ("..type", ["Created", "Complete"]),
    ],
)
def test_a_path_finds_what_kubectl_would_find(path: str, found: list[JSON]) -> None:
    assert jsonpath.parse(path).find(OBJECT) == found


@pytest.mark.parametrize(
    "path",
    [
        ".status.missing[-1:].type",
        ".status.empty[-1:].type",
        ".status.conditions[7].type",
        ".spec.replicas[0]",
        ".spec.replicas.deeper",
        ".metadata.labels[?(@.a=='b')]",
        ".spec.nothing[0]",
        ".status.conditions[1:0]",
        ".status.conditions[?(@.type==3)].status",
        ".status.conditions[?(@.status>@.n)].type",
    ],
)
def test_a_path_that_does_not_fit_finds_nothing(path: str) -> None:
    assert jsonpath.parse(path).find(OBJECT) == []


@pytest.mark.parametrize(
    "path",
    ["name", ".a[", ".a[x]", ".a[]", ".a[?(@.b", ".a[?(@.b==1)", ".a[?(@.b=~1)]", ".a[99999999999]", ".a}"],
)
def test_a_path_that_cannot_be_read_is_a_value_error(path: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        jsonpath.parse(path)


def test_results_are_printed_as_go_prints_them() -> None:
    values: list[JSON] = ["text", 3, 2.0, 2.5, True, None, {"b": 1, "a": [1]}]
    assert [jsonpath.printed(value) for value in values] == [
        "text",
        "3",
        "2",
        "2.5",
        "true",
        "<no value>",
        '{"a":[1],"b":1}',
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c.d"]), inner, max_size=3)
    ),
    max_leaves=20,
)
paths = st.sampled_from(
    [
        ".a",
        ".a.b",
        ".a[0]",
        ".a[-1:]",
        ".a[*].b",
        "..a",
        ".*",
        ".a[?(@.b==1)]",
        ".c\\.d",
        ".a[?(@.b)].a",
        ".a[0:5]",
    ]
)


@settings(deadline=None)
@given(paths, json_values)
def test_finding_never_fails_whatever_the_object(path: str, value: JSON) -> None:
    assert isinstance(jsonpath.parse(path).find(value), list)


@settings(deadline=None)
@given(st.text(alphabet=".[]()?@'\"ab*:,0-1 =<\\{}$", max_size=20))
def test_any_text_is_either_a_path_or_a_value_error(text: str) -> None:
    try:
        path = jsonpath.parse(text)
    except ValueError:
        return
    path.find(OBJECT)
