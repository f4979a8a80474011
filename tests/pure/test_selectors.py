"""Label and field selectors."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube import faults, selectors
from trainshed.kube.objects import JSON
from trainshed.kube.selectors import LabelSelector, Operator, Requirement

LABELS = {"app": "web", "tier": "front", "n": "5"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app", True),
        ("!app", False),
        ("!other", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("other!=x", True),
        ("app in (web, db)", True),
        ("app in (db)", False),
        ("app notin (db)", True),
        ("other notin (x)", True),
        ("other in (x)", False),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        (" app = web , tier ", True),
        ("n>4", True),
        ("n<4", False),
        ("app>4", False),
        ("app in (web,)", True),
        ("empty=", False),
        ("app notin ()", True),
        ("example.com/x!=1", True),
    ],
)
def test_a_label_selector_selects(text: str, matches: bool) -> None:
    assert selectors.parse_labels(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"),
        ("a in (", "found ''"),
        ("a>x", "the value must be an integer"),
        ("a@=b", 'unable to parse requirement: <nil>: Invalid value: "a@": name part'),
        ("a=b@", 'unable to parse requirement: values[0][a]: Invalid value: "b@": a valid label must be'),
    ],
)
def test_an_unparsable_selector_is_a_bad_request_in_the_servers_words(text: str, said: str) -> None:
    with pytest.raises(faults.BadRequest) as raised:
        selectors.parse_labels(text)
    assert said in raised.value.message


KEYS = st.from_regex(r"\A([a-z]{1,3}\.[a-z]{1,3}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?\Z")
TEXTS = st.from_regex(r"\A([A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?)?\Z")


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    operators: list[Operator] = ["=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt"]
    key, operator = draw(KEYS), draw(st.sampled_from(operators))
    if operator in ("exists", "!"):
        return Requirement(key, operator)
    if operator in ("gt", "lt"):
        return Requirement(key, operator, (str(draw(st.integers(0, 10**15))),))
    if operator in ("in", "notin"):
        return Requirement(key, operator, tuple(sorted(draw(st.sets(TEXTS, min_size=1, max_size=3)))))
    return Requirement(key, operator, (draw(TEXTS),))


@given(st.lists(requirements(), max_size=4), st.dictionaries(KEYS, TEXTS, max_size=4))
def test_a_selector_written_out_reads_back_as_itself(
    given: list[Requirement], labels: dict[str, str]
) -> None:
    selector = LabelSelector(tuple(sorted(given, key=lambda requirement: requirement.key)))
    again = selectors.parse_labels(str(selector))
    assert again == selector
    assert again.matches(labels) is selector.matches(labels)


@given(st.lists(requirements(), max_size=3), st.dictionaries(KEYS, TEXTS, max_size=4))
def test_negated_requirements_hold_for_objects_without_the_key(
    given: list[Requirement], labels: dict[str, str]
) -> None:
    for requirement in given:
        bare = {key: value for key, value in labels.items() if key != requirement.key}
        assert requirement.matches(bare) is (requirement.operator in ("!=", "notin", "!"))


@given(st.text(alphabet="ab=!(),<>in not \t/.", max_size=15))
def test_no_text_makes_the_parsers_raise_anything_else(text: str) -> None:
    for parse in (selectors.parse_labels, selectors.parse_fields):
        with contextlib.suppress(faults.BadRequest):
            parse(text)


def test_a_selector_object_selects_by_labels_and_expressions() -> None:
    selector = selectors.from_object(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["back"]}],
        }
    )
    assert selector.matches(LABELS)
    assert not selector.matches({"app": "web", "tier": "back"})
    assert not selector.matches(None)


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not selectors.from_object(None).matches(LABELS)
    assert not selectors.from_object(None).everything
    assert selectors.from_object({}).everything
    assert selectors.from_object({"matchExpressions": [{"key": "app", "operator": "Exists"}]}).matches(LABELS)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ({"key": "a", "operator": "Near"}, '"Near" is not a valid label selector operator'),
        ({"key": "a", "operator": "In"}, "values set can't be empty"),
        ({"key": "a", "operator": "Exists", "values": ["x"]}, "values set must be empty"),
        ({"operator": "Exists"}, "name part must be non-empty"),
        (3, "is not a valid label selector operator"),
    ],
)
def test_a_broken_selector_object_is_a_bad_request(expression: JSON, said: str) -> None:
    with pytest.raises(faults.BadRequest, match=said):
        selectors.from_object({"matchExpressions": [expression]})


def test_field_selectors_tolerate_what_clients_really_send() -> None:
    terms = selectors.parse_fields(
        "metadata.name=x,spec.nodeName!=y,status.phase==Running,involvedObject.namespace=,,"
    )
    assert [str(term) for term in terms] == [
        "metadata.name=x",
        "spec.nodeName!=y",
        "status.phase=Running",
        "involvedObject.namespace=",
    ]
    assert terms[0].matches("x")
    assert terms[1].matches("")
    assert terms[3].matches("")


@given(st.lists(st.tuples(st.from_regex(r"\A[a-z.]{1,8}\Z"), st.booleans(), st.text(max_size=6)), max_size=3))
def test_field_terms_written_out_read_back_as_themselves(given: list[tuple[str, bool, str]]) -> None:
    terms = tuple(selectors.FieldTerm(*term) for term in given)
    assert selectors.parse_fields(",".join(map(str, terms))) == terms


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b=c", "unescaped character in value: 61"),
        ("a=b\\x", r"invalid escape sequence: \x"),
        ("a=b\\", "invalid escape sequence: \\"),
    ],
)
def test_an_unparsable_field_selector_is_a_bad_request(text: str, said: str) -> None:
    with pytest.raises(faults.BadRequest) as raised:
        selectors.parse_fields(text)
    assert said in raised.value.message
