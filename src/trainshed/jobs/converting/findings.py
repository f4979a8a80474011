"""What there is to say about a conversion: what is lost, what is different, what need not be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Verdict = Literal["not converted", "not carried over", "behaves differently", "not needed"]
Step = str | int
_LONGEST: Final = 1000
"""Characters of a field that are shown."""


@dataclass(frozen=True, slots=True)
class Finding:
    verdict: Verdict
    object: str
    """Kind and name, as they were."""
    field: str
    """Where it was said; empty for what is true of the whole object."""
    why: str
    advice: str = ""
    """What to do about it."""

    @property
    def line(self) -> str:
        place = f"{self.object}: {self.field}" if self.field else self.object
        return f"{self.verdict}: {place}: {self.why}{f'; {self.advice}' if self.advice else ''}"


@dataclass(slots=True)
class Findings:
    """The findings about one object, as they come."""

    object: str
    found: list[Finding] = field(default_factory=list)
    _seen: set[Finding] = field(default_factory=set)

    def lost(self, path: Sequence[Step], why: str, advice: str = "") -> None:
        self._add("not carried over", path, why, advice)

    def changed(self, path: Sequence[Step], why: str, advice: str = "") -> None:
        self._add("behaves differently", path, why, advice)

    def needless(self, path: Sequence[Step], why: str) -> None:
        """It was said, and the result does the same without."""
        self._add("not needed", path, why, "")

    def refused(self, path: Sequence[Step], why: str, advice: str = "") -> None:
        self._add("not converted", path, why, advice)

    def at(self, verdict: Verdict, field: str, why: str, advice: str = "") -> None:
        """About a field that is already written as people know it."""
        self._keep(Finding(verdict, self.object, field, why, advice))

    def _add(self, verdict: Verdict, path: Sequence[Step], why: str, advice: str) -> None:
        self._keep(Finding(verdict, self.object, dotted(path), why, advice))

    def _keep(self, finding: Finding) -> None:
        if finding not in self._seen:
            self._seen.add(finding)
            self.found.append(finding)


def dotted(path: Sequence[Step]) -> str:
    """`spec.containers[0].image`; keys with dots stand in brackets."""
    found = "".join(_step(part) for part in path).removeprefix(".")
    return found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…"


def _step(part: Step) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f"[{part}]" if "." in part or "/" in part else f".{part}"
