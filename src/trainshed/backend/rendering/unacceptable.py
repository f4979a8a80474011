"""Why a request cannot be turned into a job."""

from __future__ import annotations


class Unacceptable(ValueError):
    """One field, as the body spells it (`env_vars[2].name`); what is wrong with it; what to do instead."""

    def __init__(self, field: str, message: str, hint: str = "") -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message, self.hint = field, message, hint


class TooLarge(Unacceptable):
    """The code does not fit into a ConfigMap."""
