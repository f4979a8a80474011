"""From the tree of a rule to closures that answer it."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from trainshed.kube.cel import library, operators, syntax, values
from trainshed.kube.cel.values import (
    NO_OVERLOAD,
    TYPES,
    EvaluationError,
    SyntaxFault,
    Type,
    same_by_schema,
)
from trainshed.kube.objects import JSON
from trainshed.kube.structure import Schema

Environment = dict[str, JSON]
"""Variables by name; the budget lies under a name no variable can have."""
BUDGET: Final = "$budget"
Run = Callable[[Environment], JSON]


class Part(NamedTuple):
    """A compiled expression with the schema of what it returns, where that is known."""

    run: Run
    schema: Schema | None = None


_ESCAPED: Final = re.compile("__([a-z]+)__")
_ESCAPES: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_FIELDLESS: Final = {
    "string": "string", "integer": "int", "number": "double", "boolean": "bool", "array": "list",
}  # fmt: skip
_ALWAYS_KNOWN: Final = frozenset({"apiVersion", "kind", "metadata"})


def unescaped(name: str) -> str:
    """The field an identifier stands for: `__namespace__`, `__dash__` and the like spell what CEL cannot."""
    if "__" not in name:
        return name
    if (whole := _ESCAPED.fullmatch(name)) and whole[1] not in _ESCAPES:
        return whole[1]
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[0]), name)


Expand = Callable[["Compiler", syntax.Call], Part | None]
"""From a call to what it stands for when it is a macro; they are given from outside, being built on this."""


class Compiler:
    """Compiles one rule; knows the schemas of the variables in scope and how much has been compiled."""

    def __init__(self, variables: dict[str, Schema | None], expand: Expand) -> None:
        self.variables = variables
        self._expand = expand
        self.used: set[str] = set()
        self.size = 0

    def part(self, node: syntax.Node) -> Part:
        self.size += 1
        match node:
            case syntax.Literal(value=value):
                return Part(lambda env: value)
            case syntax.Name():
                return self._name(node)
            case syntax.Select():
                return self._select(node)
            case syntax.Index():
                return self._index(node)
            case syntax.Call():
                return self._call(node)
            case syntax.Operation():
                return self._operation(node)
            case syntax.ListOf(items=items):
                runs = [self.part(item).run for item in items]
                return Part(lambda env: [run(env) for run in runs])
            case syntax.MapOf():
                return self._map(node)
        raise SyntaxFault("unsupported expression", node.at)

    def _map(self, node: syntax.MapOf) -> Part:
        entries = [(self.part(key).run, self.part(value).run) for key, value in node.entries]

        def build(env: Environment) -> JSON:
            made = {}
            for key, value in entries:
                name = key(env)
                if not isinstance(name, str | int):
                    raise EvaluationError("unsupported key type")
                made[name] = value(env)
            return made

        return Part(build)

    def _name(self, node: syntax.Name) -> Part:
        name = node.name
        if name in self.variables:
            self.used.add(name)
            schema = self.variables[name]
            return typed(lambda env: env[name], schema)
        if name in TYPES:
            kind = TYPES[name]
            return Part(lambda env: kind)
        raise _undeclared(node.at, name)

    def _select(self, node: syntax.Select) -> Part:
        if (dotted := qualified(node)) in _TIME_TYPES:
            return Part(lambda env: Type(dotted))
        operand, raw = self.part(node.operand), node.field
        name = unescaped(raw)
        schema = child(operand.schema, name, node.at)
        run = operand.run
        if node.optional:
            return Part(lambda env: operators.optional_field(run(env), name, raw))
        return typed(lambda env: operators.field(run(env), name, raw), schema)

    def _index(self, node: syntax.Index) -> Part:
        operand, index = self.part(node.operand), self.part(node.index)
        run, at = operand.run, index.run
        if node.optional:
            return Part(lambda env: operators.optional_element(run(env), at(env)))
        schema = operand.schema
        inner = None if schema is None else schema.items if schema.type == "array" else schema.additional
        return typed(lambda env: operators.element(run(env), at(env)), inner)

    def _call(self, node: syntax.Call) -> Part:
        if (expanded := self._expand(self, node)) is not None:
            return expanded
        target, name = node.target, node.function
        dotted = f"{qualified(target)}.{name}" if target is not None else name
        if target is None or (dotted in library.GLOBALS and qualified(target) not in self.variables):
            return self._function(node, library.GLOBALS.get(dotted), dotted, node.arguments)
        return self._function(node, library.METHODS.get(name), name, (target, *node.arguments))

    def _function(
        self, node: syntax.Call, function: library.Function | None, name: str, given: Sequence[syntax.Node]
    ) -> Part:
        arguments = [self.part(argument).run for argument in given]
        if function is None:
            raise _undeclared(node.at, name)
        if not library.accepts(function, len(arguments)):
            raise SyntaxFault(f"found no matching overload for '{name}'", node.at)
        called = function

        def call(env: Environment) -> JSON:
            ready = [argument(env) for argument in arguments]
            if ready and isinstance(ready[0], str | list | dict | bytes):
                env[BUDGET].spend(1 + len(ready[0]) // 10)
            try:
                return called(*ready)
            except (ValueError, TypeError, AttributeError, ArithmeticError) as wrong:
                raise EvaluationError(str(wrong) if isinstance(wrong, ValueError) else NO_OVERLOAD) from None

        return Part(call)

    def _operation(self, node: syntax.Operation) -> Part:
        parts = [self.part(operand) for operand in node.operands]
        runs = [part.run for part in parts]
        match node.sign:
            case "&&":
                return Part(_junction(runs, False))
            case "||":
                return Part(_junction(runs, True))
            case "?:":
                return Part(_choice(*runs), parts[1].schema)
            case "!x":
                return Part(lambda env: operators.invert(runs[0](env)))
            case "-x":
                return Part(lambda env: operators.negate(runs[0](env)))
            case "==" | "!=":
                return _equality(parts, node.sign == "==")
        binary, (left, right) = operators.BINARY[node.sign], runs
        return Part(lambda env: binary(left(env), right(env), env[BUDGET]))


_TIME_TYPES: Final = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration"})


def qualified(node: syntax.Node | None) -> str:
    """`a.b.c` for a chain of names, or nothing."""
    if isinstance(node, syntax.Name):
        return node.name
    if isinstance(node, syntax.Select) and not node.optional and (before := qualified(node.operand)):
        return f"{before}.{node.field}"
    return ""


def _undeclared(at: int, name: str) -> SyntaxFault:
    return SyntaxFault(f"undeclared reference to '{name}' (in container '')", at)


def child(schema: Schema | None, name: str, at: int) -> Schema | None:
    """The schema of a field; a field the schema does not have is a mistake in the rule."""
    if schema is not None and (shown := _FIELDLESS.get(schema.type)):
        raise SyntaxFault(f"type '{shown}' does not support field selection", at)
    if schema is None or schema.preserve or schema.type != "object":
        return None
    found = schema.properties.get(name, schema.additional)
    if found is None and name not in _ALWAYS_KNOWN and schema.properties:
        raise SyntaxFault(f"undefined field '{name}'", at)
    return found


def typed(run: Run, schema: Schema | None) -> Part:
    """Strings whose format says so are times, durations or bytes to a rule."""
    convert = _CONVERSIONS.get(schema.format) if schema is not None and schema.type == "string" else None
    if convert is None:
        return Part(run, schema)
    conversion = convert

    def converted(env: Environment) -> JSON:
        value = run(env)
        return conversion(value) if isinstance(value, str) else value

    return Part(converted, schema)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise EvaluationError("illegal base64 data") from None


_CONVERSIONS: Final[Mapping[str, Callable[[str], JSON]]] = {
    "date-time": values.timestamp,
    "date": lambda text: values.timestamp(f"{text}T00:00:00Z"),
    "duration": values.duration,
    "byte": _decoded,
}


def _junction(runs: Sequence[Run], decides: bool) -> Run:
    """`&&` and `||`."""
    return lambda env: decided(((operand, env) for operand in runs), decides)


def decided(claims: Iterable[tuple[Run, Environment]], decides: bool) -> bool:
    """Whether claims hold together: a deciding one wins over an error in another one, on either side."""
    failed: EvaluationError | None = None
    for claim, env in claims:
        try:
            value = claim(env)
        except EvaluationError as error:
            failed = failed or error
            continue
        if value is decides:
            return bool(decides)
        if not isinstance(value, bool):
            failed = failed or EvaluationError(NO_OVERLOAD)
    if failed is not None:
        raise failed
    return not decides


def _choice(condition: Run, chosen: Run, other: Run) -> Run:
    def run(env: Environment) -> JSON:
        decision = condition(env)
        if not isinstance(decision, bool):
            raise EvaluationError(NO_OVERLOAD)
        return chosen(env) if decision else other(env)

    return run


def _equality(parts: Sequence[Part], wanted: bool) -> Part:
    left, right = parts[0].run, parts[1].run
    schema = parts[0].schema or parts[1].schema
    return Part(lambda env: same_by_schema(schema, left(env), right(env), env[BUDGET]) is wanted)
