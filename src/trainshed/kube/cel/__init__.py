"""The Common Expression Language, as far as Kubernetes uses it in validation rules.

An evaluator of our own, because rules and objects both come from users: every step counts against a budget,
so nested loops over long lists end with an error instead of a stalled server, and values are read where they
lie instead of being converted first. Rules are parsed once (`syntax`), turned into closures over the schema's
types (`evaluation`, `operators`, `macros`) that call into the `library`; `values` holds types and errors.
"""

from trainshed.kube.cel.program import Program, check, check_message, compile
from trainshed.kube.cel.values import Budget, EvaluationError, OutOfBudget, SyntaxFault

__all__ = [
    "Budget",
    "EvaluationError",
    "OutOfBudget",
    "Program",
    "SyntaxFault",
    "check",
    "check_message",
    "compile",
]
