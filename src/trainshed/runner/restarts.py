"""Whether a container starts again, and after how long; pure.

Upstream waits 10 s before the first restart and doubles. Here the first one comes at once and the wait starts
at a second: nothing else on this machine has to be spared, and a lost rank holds up its whole gang.
"""

from __future__ import annotations

from typing import Final, Literal

from trainshed.runner.states import Part

Policy = Literal["Always", "OnFailure", "Never"]

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 300.0
FORGIVEN_AFTER: Final = 600.0
"""A run this long is no crash loop: the count starts anew."""


def starts_again(policy: str, part: Part, code: int) -> bool:
    """Sidecars always, init containers until they succeed, main containers as the pod's policy says."""
    if part == "sidecar":
        return True
    if part == "init":
        return code != 0 and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def wait_before(restarts_in_a_row: int) -> float:
    """Seconds before the next restart, after so many that were close to each other."""
    if restarts_in_a_row <= 0:
        return 0.0
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(restarts_in_a_row - 1, 30))


def in_a_row(before: int, ran_seconds: float) -> int:
    """The count of restarts close to each other after a run of some length."""
    return 0 if ran_seconds >= FORGIVEN_AFTER else before


def back_off_message(wait: float, container: str, pod: str) -> str:
    return f"back-off {duration(wait)} restarting failed container={container} pod={pod}"


def duration(seconds: float) -> str:
    """As Go writes it: `10s`, `1m20s`, `5m0s`."""
    whole = round(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60}s"
