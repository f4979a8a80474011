"""What is taken away of a job that has ended, and of one that is suspended."""

from __future__ import annotations

from collections.abc import Sequence

from trainshed.controllers.v1jobs import podphases
from trainshed.controllers.v1jobs.plan import Observed
from trainshed.controllers.v1jobs.team import names
from trainshed.kube.objects import Object, text


def after_end(policy: str, seen: Observed) -> tuple[Object, ...]:
    """`None` keeps all, `Running` keeps what has ended by itself, and everything else keeps nothing."""
    if policy == "None":
        return ()
    kept = [pod for pod in seen.pods if policy == "Running" and podphases.is_over(pod)]
    return _all_but(kept, seen)


def while_suspended(seen: Observed) -> tuple[Object, ...]:
    return _all_but((), seen)


def _all_but(kept: Sequence[Object], seen: Observed) -> tuple[Object, ...]:
    """Services go with their pods; what is on its way out needs no second word."""
    stay = names(kept)
    going = (one for one in (*seen.pods, *seen.services) if text(one, "metadata", "name") not in stay)
    return tuple(one for one in going if not podphases.is_leaving(one))
