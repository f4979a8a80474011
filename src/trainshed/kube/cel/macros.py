"""Macros, calls whose arguments are not evaluated first: `has`, loops over lists and maps, bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from trainshed.kube.cel import operators, syntax
from trainshed.kube.cel.evaluation import (
    BUDGET,
    Compiler,
    Environment,
    Part,
    Run,
    decided,
    qualified,
    unescaped,
)
from trainshed.kube.cel.values import NO_OVERLOAD, NONE, EvaluationError, Optional, SyntaxFault
from trainshed.kube.objects import JSON
from trainshed.kube.structure import Schema

Items = Iterator[None]
"""Steps through a loop: before each step the loop's variables are set in the environment."""


def expand(compiler: Compiler, node: syntax.Call) -> Part | None:
    """The part a macro stands for, or None when the call is no macro."""
    count = len(node.arguments)
    if node.target is None:
        return _has(compiler, node) if node.function == "has" and count == 1 else None
    if node.function == "bind" and qualified(node.target) == "cel" and count == 3:
        return _bind(compiler, node)
    if node.function in ("optMap", "optFlatMap") and count == 2:
        return _optional_map(compiler, node)
    if (loop := _LOOPS.get((node.function, count))) is not None:
        return loop(compiler, node)
    return None


def _has(compiler: Compiler, node: syntax.Call) -> Part:
    selected = node.arguments[0]
    if not isinstance(selected, syntax.Select):
        raise SyntaxFault("invalid argument to has() macro", node.at)
    compiler.part(selected)  # so that a field nobody declared is noticed
    run, raw = compiler.part(selected.operand).run, selected.field
    name = unescaped(raw)
    return Part(lambda env: operators.has_field(run(env), name, raw))


def _variable(node: syntax.Node) -> str:
    if not isinstance(node, syntax.Name):
        raise SyntaxFault("argument must be a simple name", node.at)
    return node.name


@contextmanager
def _scope(compiler: Compiler, names: Sequence[str], schemas: Sequence[Schema | None]) -> Iterator[None]:
    """Compile with more variables in scope."""
    outer, used = compiler.variables, compiler.used
    compiler.variables = {**outer, **dict(zip(names, schemas, strict=True))}
    compiler.used = set()
    try:
        yield
    finally:
        compiler.variables, compiler.used = outer, used | (compiler.used - set(names))


def _bind(compiler: Compiler, node: syntax.Call) -> Part:
    name = _variable(node.arguments[0])
    value = compiler.part(node.arguments[1])
    with _scope(compiler, [name], [value.schema]):
        body = compiler.part(node.arguments[2])
    return Part(lambda env: body.run({**env, name: value.run(env)}), body.schema)


def _optional_map(compiler: Compiler, node: syntax.Call) -> Part:
    assert node.target is not None
    target, name = compiler.part(node.target).run, _variable(node.arguments[0])
    with _scope(compiler, [name], [None]):
        body = compiler.part(node.arguments[1]).run
    flat = node.function == "optFlatMap"

    def run(env: Environment) -> JSON:
        value = target(env)
        if not isinstance(value, Optional):
            raise EvaluationError(NO_OVERLOAD)
        if not value.present:
            return NONE
        made = body({**env, name: value.value})
        return made if flat else Optional(made, True)

    return Part(run)


# --- loops ------------------------------------------------------------------------------------------------


class _Loop:
    """What all loops share: the source, one or two variables, and bodies compiled with those in scope."""

    def __init__(self, compiler: Compiler, node: syntax.Call, variables: int) -> None:
        assert node.target is not None
        source = compiler.part(node.target)
        self.source, self.schema = source.run, source.schema
        self.names = [_variable(argument) for argument in node.arguments[:variables]]
        if len(set(self.names)) < variables:
            raise SyntaxFault("duplicate variable name", node.at)
        before = compiler.size
        with _scope(compiler, self.names, _variable_schemas(self.schema, variables)):
            self.bodies = [compiler.part(argument).run for argument in node.arguments[variables:]]
        self.cost = compiler.size - before + 1

    def steps(self, env: Environment) -> Items:
        """Go through the source in a copy of the environment, so that nothing has to be put back."""
        value = self.source(env)
        budget, cost, names = env[BUDGET], self.cost, self.names
        for pair in _pairs(value, len(names)):
            budget.spend(cost)
            for name, item in zip(names, pair, strict=True):
                env[name] = item
            yield

    def item(self, env: Environment) -> JSON:
        return env[self.names[-1]]


def _variable_schemas(schema: Schema | None, count: int) -> list[Schema | None]:
    if schema is None or schema.type != "array":
        return [None] * (count - 1) + [schema.additional if schema is not None and count == 2 else None]
    return [None] * (count - 1) + [schema.items]


def _pairs(value: JSON, count: int) -> Iterator[tuple[JSON, ...]]:
    if isinstance(value, list):
        return iter(enumerate(value)) if count == 2 else ((item,) for item in value)
    if isinstance(value, dict):
        return iter(value.items()) if count == 2 else ((key,) for key in value)
    raise EvaluationError(NO_OVERLOAD)


def _quantified(decides: bool) -> Callable[[_Loop], Run]:
    """`all` and `exists`: `&&` and `||` over the elements."""

    def build(loop: _Loop) -> Run:
        body = loop.bodies[0]

        def run(outer: Environment) -> bool:
            env = dict(outer)
            return decided(((body, env) for _ in loop.steps(env)), decides)

        return run

    return build


def _claim(value: JSON) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(NO_OVERLOAD)
    return value


def _exactly_one(loop: _Loop) -> Run:
    def run(outer: Environment) -> bool:
        env = dict(outer)
        return sum(_claim(loop.bodies[0](env)) for _ in loop.steps(env)) == 1

    return run


def _filtered(loop: _Loop) -> Run:
    def run(outer: Environment) -> JSON:
        env = dict(outer)
        return [loop.item(env) for _ in loop.steps(env) if _claim(loop.bodies[0](env))]

    return run


def _mapped(loop: _Loop) -> Run:
    *condition, transform = loop.bodies

    def run(outer: Environment) -> JSON:
        env = dict(outer)
        steps = loop.steps(env)
        return [transform(env) for _ in steps if not condition or _claim(condition[0](env))]

    return run


def _mapped_entries(loop: _Loop) -> Run:
    *condition, transform = loop.bodies

    def run(outer: Environment) -> JSON:
        env, made = dict(outer), {}
        for _ in loop.steps(env):
            if not condition or _claim(condition[0](env)):
                made[env[loop.names[0]]] = transform(env)
        return made

    return run


def _looping(build: Callable[[_Loop], Run], variables: int, keeps: bool = False) -> Callable[..., Part]:
    def make(compiler: Compiler, node: syntax.Call) -> Part:
        loop = _Loop(compiler, node, variables)
        is_list = loop.schema is not None and loop.schema.type == "array"
        return Part(build(loop), loop.schema if keeps and is_list else None)

    return make


_LOOPS: Final[Mapping[tuple[str, int], Callable[[Compiler, syntax.Call], Part]]] = {
    ("all", 2): _looping(_quantified(False), 1),
    ("all", 3): _looping(_quantified(False), 2),
    ("exists", 2): _looping(_quantified(True), 1),
    ("exists", 3): _looping(_quantified(True), 2),
    ("exists_one", 2): _looping(_exactly_one, 1),
    ("existsOne", 2): _looping(_exactly_one, 1),
    ("existsOne", 3): _looping(_exactly_one, 2),
    ("filter", 2): _looping(_filtered, 1, keeps=True),
    ("map", 2): _looping(_mapped, 1),
    ("map", 3): _looping(_mapped, 1),
    ("transformList", 3): _looping(_mapped, 2),
    ("transformList", 4): _looping(_mapped, 2),
    ("transformMap", 3): _looping(_mapped_entries, 2),
    ("transformMap", 4): _looping(_mapped_entries, 2),
}
