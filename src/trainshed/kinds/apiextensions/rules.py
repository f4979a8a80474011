"""x-kubernetes-validations: rules in CEL, read when a definition is written, not when they first apply."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainshed.kinds.reading import entries
from trainshed.kube import schema
from trainshed.kube.faults import FieldError, invalid, required, unsupported
from trainshed.kube.objects import Object, text
from trainshed.kube.schema import Schema

_WORD = "x-kubernetes-validations"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_OLD_SELF = re.compile(r"\boldSelf\b")


def errors(path: str, source: Object, uncorrelated: str | None) -> Iterator[FieldError]:
    """`uncorrelated` is a list above whose items have no identity: rules may not look at older ones there."""
    shape = schema.compile(source)
    for index, rule in enumerate(entries(source, _WORD)):
        where = f"{path}.{_WORD}[{index}]"
        yield from _form(where, rule)
        if text(rule, "rule").strip():
            yield from _expressions(where, rule, shape)
            yield from _old_self(where, rule, uncorrelated)


def _form(path: str, rule: Object) -> Iterator[FieldError]:
    expression, message = text(rule, "rule").strip(), text(rule, "message")
    if not expression:
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "message must be non-empty if specified")
    elif _has_lines(message.strip()):
        yield invalid(f"{path}.message", message, "message must not contain line breaks")
    elif _has_lines(expression) and not message:
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if rule.get("messageExpression") and not text(rule, "messageExpression").strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") and rule["reason"] not in _REASONS:
        yield unsupported(f"{path}.reason", rule["reason"], _REASONS)
    if _has_lines(text(rule, "fieldPath")):
        yield invalid(f"{path}.fieldPath", rule["fieldPath"], "fieldPath must not contain line breaks")


def _expressions(path: str, rule: Object, shape: Schema) -> Iterator[FieldError]:
    from trainshed.kube import cel  # here: a start need not wait for it

    optional = rule.get("optionalOldSelf") is True
    if why := cel.check(text(rule, "rule"), shape, optional_old=optional):
        yield invalid(f"{path}.rule", rule, why)
    words = text(rule, "messageExpression").strip()
    if words and (why := cel.check_message(words, shape, optional_old=optional)):
        yield invalid(f"{path}.messageExpression", rule, f"messageExpression {why}")


def _old_self(path: str, rule: Object, uncorrelated: str | None) -> Iterator[FieldError]:
    expression = text(rule, "rule")
    if _OLD_SELF.search(expression):
        if uncorrelated is not None:
            why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
            yield invalid(f"{path}.rule", expression, why)
    elif rule.get("optionalOldSelf") is not None:
        why = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], why)


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
