"""The expression language of validation rules."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.schema_samples import VALUES
from trainshed.kube import cel, schema
from trainshed.kube.objects import JSON, Object


def answer(rule: str, self: JSON = None, old: JSON = None, budget: int = 100_000) -> JSON:
    return cel.compile(rule).evaluate({"self": self, "oldSelf": old}, cel.Budget(budget))


@pytest.mark.parametrize(
    "rule",
    [
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9",
        "-7 / 2 == -3 && -7 % 2 == -1 && 7 / -2 == -3",
        "1 < 2 && 2 >= 2 && 1.5 > 1",
        "1 == 1.0 && 1u + 2u == 3u && 0x10 == 16 && 1e3 == 1000.0",
        "true ? 1 == 1 : false",
        "!false && --1 == 1",
        "'a' + \"b\" == 'ab' && 'a' < 'b'",
        r"r'\d' == '\\d' && '\u00e9\x41\101' == 'éAA'",
        "'''it's''' == \"it's\"",
        "[1, 2] + [3] == [1, 2, 3] && 2 in [1, 2] && !(3 in [1, 2])",
        "{'a': 1}.a == 1 && 'a' in {'a': 1}",
        "[1, 2, 3][2] == 3 && {'a': [1]}['a'][0] == 1",
        "size('abc') == 3 && [1].size() == 1 && {'a': 1}.size() == 1",
        "[1, 2].all(x, x > 0) && [1, 2].exists(x, x > 1) && [1, 2].exists_one(x, x > 1)",
        "[1, 2, 3].filter(x, x > 1) == [2, 3] && [1, 2].map(x, x * 2) == [2, 4]",
        "[1, 2, 3].map(x, x > 1, x * x) == [4, 9] && {'a': 1, 'b': 2}.all(k, k != 'c')",
        "[5, 6].all(i, v, v == i + 5) && [1, 2].transformList(i, v, i + v) == [1, 3]",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && [3].existsOne(i, v, i == 0)",
        "'hello'.startsWith('he') && 'hello'.endsWith('lo')",
        "'hello'.contains('ell') && 'hello'.matches('l{2}')",
        "'aBc'.lowerAscii() == 'abc' && 'aBc'.upperAscii() == 'ABC'",
        "' a '.trim() == 'a' && 'abc'.reverse() == 'cba'",
        "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
        "['a', 'b'].join('-') == 'a-b'",
        "'abcb'.replace('b', 'x') == 'axcx' && 'abcb'.replace('b', 'x', 1) == 'axcb'",
        "'abc'.substring(1) == 'bc'",
        "'abc'.substring(0, 2) == 'ab' && 'abcb'.indexOf('b') == 1",
        "'abcb'.lastIndexOf('b') == 3 && 'abc'.charAt(1) == 'b'",
        "'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'x'.findAll('y') == []",
        "[1, 2].isSorted() && ![2, 1].isSorted() && [1, 2].sum() == 3",
        "[2, 1].min() == 1 && [2, 1].max() == 2",
        "['a', 'b'].indexOf('b') == 1 && [1, 2, 1].lastIndexOf(1) == 2 && ['b'].indexOf('c') == -1",
        "sets.contains([1, 2], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1], [1])",
        "quantity('1Gi') == quantity('1024Mi') && quantity('500m').isLessThan(quantity('1'))",
        "isQuantity('1k')",
        "quantity('1').add(quantity('500m')).compareTo(quantity('1500m')) == 0",
        "quantity('2').asInteger() == 2",
        "quantity('3').sub(1).isGreaterThan(quantity('1')) && !quantity('0.5').isInteger()",
        "quantity('-1').sign() == -1",
        "url('https://h:8443/p?q=1').getHost() == 'h:8443' && url('https://h:8443/p').getPort() == '8443'",
        "!isURL('nope')",
        "url('https://h/p?q=1').getQuery() == {'q': ['1']} && url('https://h/p').getScheme() == 'https'",
        "ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('x') && ip('127.0.0.1').isLoopback()",
        "cidr('10.0.0.0/8').containsIP('10.1.1.1') && cidr('10.0.0.0/8').containsCIDR('10.2.0.0/16')",
        "isCIDR('::/0')",
        "duration('1h30m') == duration('90m') && duration('90s').getMinutes() == 1",
        "duration('-1s') < duration('0')",
        "timestamp('2025-01-02T00:00:00Z') - timestamp('2025-01-01T00:00:00Z') == duration('24h')",
        "timestamp('2025-01-02T03:04:05Z').getHours() == 3",
        "timestamp('2025-03-01T00:00:00Z').getMonth() == 2",
        "int('3') == 3 && string(3) == '3' && double('1.5') == 1.5",
        "bool('true') && string(1.0) == '1' && int(2.9) == 2",
        "type(1) == int && type('a') == string && type([]) == list",
        "type(null) == null_type && type(1.0) == double",
        "b'abc' == bytes('abc') && string(b'abc') == 'abc' && size(b'ab') == 2",
        "optional.of(1).hasValue() && !optional.none().hasValue() && optional.none().orValue(2) == 2",
        "{'a': {'b': 1}}.?a.?b.orValue(0) == 1 && {}.?a.?b.orValue(0) == 0 && [1][?5].orValue(7) == 7",
        "optional.of(2).optMap(x, x * 2).value() == 4 && optional.none().or(optional.of(1)).value() == 1",
        "cel.bind(x, 2, x * x) == 4",
        "'%s has %d at %.1f %%'.format(['a', 2, 0.5]) == 'a has 2 at 0.5 %'",
        "dyn(1) == 1 // a remark",
        "'%s %s %s %s'.format([[1, 'a'], {'k': true}, null, int]) == '[1, a] {k: true} null int'",
        "'%b %o %x %X %x %.1e'.format([5, 8, 255, 255, 'a', 10.0]) == '101 10 ff FF 61 1.0e+01'",
        "string(true) == 'true' && string(duration('90s')) == '90s' && string(b'a') == 'a'",
        "string(timestamp('2025-01-01T01:00:00+01:00')) == '2025-01-01T00:00:00Z'",
        "'abc'.split('') == ['a', 'b', 'c'] && 'abc'.split('', 2) == ['a', 'bc'] && 'a'.split(',', 0) == []",
        "strings.quote('a\"b') == '\"a\\\\\"b\"' && 'aa'.indexOf('a', 1) == 1",
        "uint(3) == 3u && int(3u) == 3 && 4u - 1u == 3u && 2u * 2u == 4u && 7u / 2u == 3u && 7u % 4u == 3u",
        "1.5 + 1.5 == 3.0 && 3.0 - 1.0 == 2.0 && 2.0 * 2.0 == 4.0 && 1.0 / 2.0 == 0.5 && 1.0 / 0.0 > 1.0",
        "timestamp('2025-01-02T00:00:00Z') - duration('24h') == timestamp('2025-01-01T00:00:00Z')",
        "duration('1m') + duration('30s') == duration('90s')",
        "duration('1m') - duration('30s') > duration('0s')",
        "timestamp(timestamp('2025-01-01T00:00:00Z')) == timestamp('2025-01-01T00:00:00Z')",
        "int(timestamp('1970-01-01T00:01:00Z')) == 60 && duration(duration('1s')) == duration('1s')",
        "[duration('1s'), duration('2s')].sum() == duration('3s') && [1.5, 1.0].sum() == 2.5",
        "optional.ofNonZeroValue(0).hasValue() == false",
        "optional.of(1).optFlatMap(x, optional.of(x)).value() == 1",
        "has(optional.of({'a': 1}).a) && optional.of({'a': 1}).a.value() == 1",
        "optional.of([1])[0].value() == 1",
        "optional.none().?a.hasValue() == false && optional.none()[?0].hasValue() == false",
        "optional.none().optMap(x, x).hasValue() == false && !{}[?'a'].hasValue()",
        "cidr('10.1.0.0/16').masked().prefixLength() == 16 && ip.isCanonical('::1') && bool('f') == false",
        "cidr('10.0.0.0/8').ip() == ip('10.0.0.0') && ip('8.8.8.8').isGlobalUnicast()",
        "google.protobuf.Timestamp == type(timestamp('2025-01-01T00:00:00Z')) && size({'a': 1, 'b': 2}) == 2",
        "true || 1 / 0 == 1",
        "1 / 0 == 1 || true",
        "false && 1 / 0 == 1 ? false : true",
        "[0, 1].exists(x, 1 / x == 1) && ![0, 1].all(x, 1 / x > 1)",
        "null == null && 1 != true",
    ],
)
def test_what_a_rule_may_say(rule: str) -> None:
    assert answer(rule) is True


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("self.x == 1", "no such key: x"),
        ("'%z'.format([1])", "unrecognized formatting clause"),
        ("'%d'.format([])", "index out of range"),
        ("'%d'.format(['a'])", "no such overload"),
        ("'a'.charAt(5) == ''", "index out of range"),
        ("'a'.indexOf('a', 9) == 0", "index out of range"),
        ("cidr('10.0.0.1').prefixLength() == 1", "network address parse error"),
        ("ip('10').family() == 4", "parse error"),
        ("url('nope').getHost() == ''", "URL parse error"),
        ("url('http://h:x/').getHost() == ''", "URL parse error"),
        ("quantity('1.5').asInteger() == 1", "cannot convert value to integer"),
        ("1u - 2u == 0u", "unsigned integer overflow"),
        ("uint(-1) == 0u", "unsigned integer overflow"),
        ("1.5 % 1.0 == 0.5", "no such overload"),
        ("bool('maybe')", "type conversion error from 'string' to 'bool'"),
        ("double('x') == 1.0", "type conversion error"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1h') == null", "timestamp overflow"),
        ("['a'].sum() == 1", "no such overload"),
        ("[1, 'a'].max() == 1", "no such overload"),
        ("[].max() == 1", "max called on empty list"),
        ("[1, 2].exists_one(x, x)", "no such overload"),
        ("1 in 'a'", "no such overload"),
        ("[1]['a'] == 1", "no such overload"),
        ("'a'.?b.hasValue()", "no such overload"),
        ("{[1]: 1}.size() == 1", "unsupported key type"),
        ("1 ? true : false", "no such overload"),
        ("!1", "no such overload"),
        ("'a'.b == 1", "no such overload"),
        ("duration('1s').getFullYear() == 1", "no such overload"),
        ("[][0] == 1", "index out of bounds: 0"),
        ("1 / 0 == 1", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ("-(-9223372036854775808) > 0", "integer overflow"),
        ("1 + 'a' == 1", "no such overload"),
        ("1 + 1u == 2", "no such overload"),
        ("self && true", "no such overload"),
        ("'a'.matches('(')", "error parsing regexp"),
        ("int('x') == 1", "type conversion error"),
        ("timestamp('noon') == null", "parsing time"),
        ("duration('x') == null", "invalid duration"),
        ("quantity('x').isInteger()", "quantities must match"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("'ab'.substring(3) == ''", "index out of range"),
        ("[0, 1].all(x, 1 / x == 1)", "division by zero"),
        ("[].min() == 1", "min called on empty list"),
        ("'a'.startsWith(1)", "no such overload"),
        ("{}.size().all(x, true)", "no such overload"),
        ("[[]].isSorted()", "no such overload"),
        ("1 < 'a'", "no such overload"),
        ("-'a' == 1", "no such overload"),
    ],
)
def test_what_cannot_be_answered_is_an_error_with_a_reason(rule: str, error: str) -> None:
    with pytest.raises(cel.EvaluationError) as raised:
        answer(rule, self={})
    assert error in str(raised.value)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("1 +", "1:4: Syntax error: mismatched input '<EOF>'"),
        ("self.foo()", "undeclared reference to 'foo' (in container '')"),
        ("other == 1", "1:1: undeclared reference to 'other' (in container '')"),
        ("has(self)", "invalid argument to has() macro"),
        ("'a'.contains('a', 'b')", "found no matching overload for 'contains'"),
        ("self ==\n @", "2:2: Syntax error: token"),
        ("for == 1", "reserved identifier: for"),
        ("self.all(1, true)", "argument must be a simple name"),
        ("1 1", "expecting <EOF>"),
        ("99999999999999999999 == 1", "invalid int literal"),
        ("(1", "expecting ')'"),
        ("(" * 80 + "1" + ")" * 80, "expression recursion limit exceeded"),
        ("+".join("1" * 999), "recursion limit exceeded"),
        ("!" * 300 + "true", "recursion limit exceeded"),
        ("'" + "a" * 60_000 + "'", "size exceeds limit"),
    ],
)
def test_a_rule_that_does_not_compile_says_why_and_where(rule: str, why: str) -> None:
    said = cel.check(rule)
    assert said is not None
    assert said.startswith("compilation failed: ERROR: <input>:")
    assert why in said


def test_the_place_of_a_mistake_is_pointed_at() -> None:
    assert cel.check("self.x ==\n  bar") == (
        "compilation failed: ERROR: <input>:2:3: undeclared reference to 'bar' (in container '')\n"
        " |   bar\n"
        " | ..^"
    )


def test_long_chains_of_and_are_fine() -> None:
    assert answer(" && ".join(["self"] * 2000), True) is True


NODE = schema.compile(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "x-y": {"type": "integer"},
            "since": {"type": "string", "format": "date-time"},
            "for": {"type": "string", "format": "duration"},
            "secret": {"type": "string", "format": "byte"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "parts": {
                "type": "array",
                "items": {"type": "object", "properties": {"at": {"type": "string", "format": "date"}}},
            },
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        },
    }
)
VALUE: Object = {
    "name": "n",
    "namespace": "ns",
    "x-y": 1,
    "since": "2025-01-01T00:00:00Z",
    "for": "5m",
    "secret": "aGk=",
    "free": {"any": 1},
    "labels": {"a": "b", "__dash__": "c"},
    "parts": [{"at": "2025-01-01"}],
    "tags": ["a", "b"],
}


@pytest.mark.parametrize(
    "rule",
    [
        "self.__namespace__ == 'ns' && self.x__dash__y == 1",
        "has(self.__namespace__) && self.`x-y` == 1",
        "self.since < timestamp('2026-01-01T00:00:00Z')",
        "self.__for__ == duration('300s')",
        "self.secret == b'hi'",
        "self.free.any == 1 && !has(self.free.other)",
        "self.labels.a == 'b' && self.labels['a'] == 'b' && self.labels.__dash__ == 'c'",
        "self.parts.all(p, p.at == timestamp('2025-01-01T00:00:00Z'))",
        "self.parts.filter(p, has(p.at))[0].at.getFullYear() == 2025",
        "self.tags == ['b', 'a'] && self.tags != ['a']",
        "self == {'name': self.name, 'tags': self.tags} || size(self.tags) == 2",
        "self.metadata.name == 'm' || true",
    ],
)
def test_the_schema_gives_fields_their_names_and_types(rule: str) -> None:
    assert cel.check(rule, NODE) is None
    assert cel.compile(rule, NODE).evaluate({"self": VALUE}, cel.Budget(1000)) is True


def test_the_order_of_a_set_means_nothing_however_deep_it_lies() -> None:
    program = cel.compile("self == oldSelf", NODE)
    other = {**VALUE, "tags": ["b", "a"]}
    assert program.evaluate({"self": VALUE, "oldSelf": other}, cel.Budget(1000)) is True
    assert program.evaluate({"self": VALUE, "oldSelf": {**other, "name": "m"}}, cel.Budget(1000)) is False


def test_bytes_that_are_not_base64_are_an_error() -> None:
    with pytest.raises(cel.EvaluationError, match="illegal base64 data"):
        cel.compile("self.secret == b''", NODE).evaluate({"self": {"secret": "!"}}, cel.Budget(1000))


@pytest.mark.parametrize(
    "rule", ["self.nope == 1", "has(self.nope)", "self.parts.all(p, p.nope == 1)", "oldSelf.nope == 1"]
)
def test_a_field_the_schema_does_not_have_is_noticed_at_once(rule: str) -> None:
    assert "undefined field 'nope'" in (cel.check(rule, NODE) or "")


def test_nested_loops_end_when_the_budget_does() -> None:
    began = time.perf_counter()
    with pytest.raises(cel.OutOfBudget):
        answer("self.all(a, self.all(b, self.all(c, a + b + c >= 0))) || true", list(range(5000)))
    assert time.perf_counter() - began < 5


def test_comparing_large_values_counts_too() -> None:
    with pytest.raises(cel.OutOfBudget):
        answer("self.all(x, self == self)", [[n] for n in range(5000)])


def test_a_program_knows_its_variables() -> None:
    assert cel.compile("self.all(oldSelf, oldSelf > 1)").names == {"self"}
    assert cel.compile("self == oldSelf").names == {"self", "oldSelf"}


RULES = st.sampled_from(
    [
        "self.a == oldSelf.a",
        "self.all(x, x == 1)",
        "size(self) > 1",
        "self.a.b.c",
        "self + self == self",
        "self[0] < self[1]",
        "self.map(x, string(x)).join()",
        "self.matches(self)",
        "self in oldSelf",
        "self ? 1 : 2",
        "-self",
        "self.?a.orValue(self)",
        "quantity(self).asInteger() == 1",
        "self.sum() == self.max()",
        "duration(self) < duration('1s')",
        "self % self == 0",
        "self.format([self])",
        "'%s %d %f'.format(self)",
        "self.split(self)",
        "self.indexOf(self)",
        "sets.contains(self, self)",
        "self.replace('a', self)",
        "self.isSorted()",
        "self / self == 1",
        "int(self) == 1",
        "timestamp(self).getHours() == 1",
        "ip(self).family() == 4",
        "self.findAll('.', self)",
        "self.substring(self)",
        "self.transformMap(k, v, v)",
        "self[?self]",
    ]
)


@settings(deadline=None, max_examples=400)
@given(RULES, VALUES, VALUES)
def test_whatever_the_value_a_rule_answers_or_says_why_not(rule: str, new: JSON, old: JSON) -> None:
    with contextlib.suppress(cel.EvaluationError):
        answer(rule, new, old)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="self.x()[]{}+-*/&|!?:,<>='\"\\ 019ur`\n", max_size=25))
def test_whatever_the_text_a_rule_compiles_or_says_why_not(text: str) -> None:
    said = cel.check(text)
    reasons = ("compilation failed: ERROR: <input>:", "cel expression must evaluate to a bool")
    assert said is None or said.startswith(reasons)
