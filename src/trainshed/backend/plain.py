"""What callers sent as JSON, as it can be worked with and sent back."""

from __future__ import annotations

from trainshed.backend import problems
from trainshed.kube.documents import is_too_deep
from trainshed.kube.objects import JSON, decode, encode


def plain(field: str, given: JSON) -> JSON:
    """A copy with nothing in it that JSON in UTF-8 cannot say. Raises 422."""
    if is_too_deep(given):
        raise problems.invalid(field, f"{field} is nested too deeply")
    try:
        return decode(encode(given))
    except (ValueError, OverflowError) as wrong:
        raise problems.invalid(field, f"{field}: must be numbers and Unicode text that JSON has") from wrong
