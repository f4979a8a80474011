"""Faults without a field: upstream's webhook reports them as internal errors at no place, inside a 422."""

from __future__ import annotations

from trainshed.kube.faults import FieldError


def plain(why: str) -> FieldError:
    return FieldError("InternalError", "<nil>", f"Internal error: {why}")
