"""What a job says of pods the server would not have."""

from __future__ import annotations

from itertools import permutations

from trainshed.controllers.v1jobs.reconcile import Memory


def test_of_several_refusals_the_same_one_is_told_whichever_came_first() -> None:
    refused = {"j-master-0": "no", "j-worker-1": "not this one", "j-worker-12": "nor this"}
    told = {Memory(refused=dict(order)).why_refused for order in permutations(refused.items())}
    assert told == {"no"}
    assert Memory().why_refused == ""
