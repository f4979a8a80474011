"""Compiled rules, and what can be said against a rule without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trainshed.kube.cel import macros, results, syntax
from trainshed.kube.cel.evaluation import BUDGET, Compiler, Run
from trainshed.kube.cel.values import NO_OVERLOAD, Budget, EvaluationError, SyntaxFault
from trainshed.kube.objects import JSON
from trainshed.kube.structure import Schema


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled rule."""

    run: Run
    names: frozenset[str]
    """The variables it uses."""

    def evaluate(self, variables: Mapping[str, JSON], budget: Budget) -> JSON:
        """The answer; EvaluationError when there is none, OutOfBudget when it takes too long."""
        try:
            return self.run({**variables, BUDGET: budget})
        except RecursionError:
            raise EvaluationError("expression recursion limit exceeded") from None
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
            # Two values no function expected together; the writer of the object is to hear of it, not we.
            raise EvaluationError(NO_OVERLOAD) from None


def compile(text: str, schema: Schema | None = None, *, optional_old: bool = False) -> Program:
    """A rule made ready to run on values of the schema; SyntaxFault when it cannot be.

    `self` is such a value, `oldSelf` the one it replaces, wrapped in an optional where the rule asks for it.
    """
    return _compiled(text, schema, optional_old)[0]


def _compiled(text: str, schema: Schema | None, optional_old: bool) -> tuple[Program, str]:
    """The program, and the name of the type it returns where that is known."""
    compiler = Compiler({"self": schema, "oldSelf": None if optional_old else schema}, macros.expand)
    try:
        tree = syntax.parse(text)
        part = compiler.part(tree)
        return Program(part.run, frozenset(compiler.used)), results.known(tree, part.schema)
    except RecursionError:
        raise SyntaxFault(f"expression recursion limit exceeded: {syntax.MOST_DEPTH}", 0) from None


def check(rule: str, schema: Schema | None = None, *, optional_old: bool = False) -> str | None:
    """Why a rule cannot be used on values of a schema, as the real server says it, or None."""
    try:
        found = _compiled(rule, schema, optional_old)[1]
    except SyntaxFault as wrong:
        return f"compilation failed: {_located(rule, wrong)}"
    return None if found in ("", results.BOOL) else "cel expression must evaluate to a bool"


def check_message(expression: str, schema: Schema | None = None, *, optional_old: bool = False) -> str | None:
    """Why an expression cannot word what is wrong with values of a schema, or None."""
    try:
        found = _compiled(expression, schema, optional_old)[1]
    except SyntaxFault as wrong:
        return f"compilation failed: {_located(expression, wrong)}"
    return None if found in ("", results.STRING, results.SUM) else "must evaluate to a string"


def _located(rule: str, wrong: SyntaxFault) -> str:
    before = rule[: wrong.at]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)
    shown = rule.split("\n")[line - 1]
    return f"ERROR: <input>:{line}:{column + 1}: {wrong.what}\n | {shown}\n | {'.' * column}^"
