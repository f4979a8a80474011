"""Who leads, as a Lease says."""

from __future__ import annotations

from datetime import UTC, datetime

from trainshed.loop import election
from trainshed.loop.election import Sighting

NOW = datetime(2026, 11, 15, 12, 0, 0, 5, tzinfo=UTC)
STAMP = "2026-11-15T12:00:00.000005Z"


def test_a_new_lease_is_ours_from_now_on() -> None:
    lease = election.claimed(election.blank("l", "n"), "me", NOW)
    assert lease["metadata"] == {"name": "l", "namespace": "n"}
    assert lease["spec"] == {
        "holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": STAMP, "acquireTime": STAMP,
        "leaseTransitions": 0,
    }  # fmt: skip


def test_a_renewal_keeps_the_time_it_was_acquired_and_a_takeover_does_not() -> None:
    spec = {"holderIdentity": "me", "acquireTime": "before", "leaseTransitions": 3}
    renewed = election.claimed({"spec": spec}, "me", NOW)["spec"]
    assert (renewed["acquireTime"], renewed["renewTime"], renewed["leaseTransitions"]) == ("before", STAMP, 3)
    taken = election.claimed({"spec": spec}, "you", NOW)["spec"]
    assert (taken["acquireTime"], taken["leaseTransitions"]) == (STAMP, 4)


def test_anothers_lease_is_free_when_nothing_changed_for_its_duration() -> None:
    lease = {"spec": {"holderIdentity": "you", "leaseDurationSeconds": 20, "renewTime": "long ago"}}
    first = election.see(lease, None, 100.0)
    assert election.see(lease, first, 110.0) is first
    assert not election.is_free(first, "me", 119.0)
    assert election.is_free(first, "me", 120.0)
    renewed = election.see({"spec": {**lease["spec"], "renewTime": "later"}}, first, 119.0)
    assert not election.is_free(renewed, "me", 121.0)


def test_a_lease_of_ours_or_of_nobody_is_free_at_once() -> None:
    assert election.is_free(Sighting({"holderIdentity": "me"}, 0.0), "me", 0.0)
    assert election.is_free(Sighting({"holderIdentity": ""}, 0.0), "me", 0.0)
    assert election.is_free(election.see(None, None, 0.0), "me", 0.0)


def test_a_released_lease_is_nobodys() -> None:
    held = election.claimed(election.blank("l", "n"), "me", NOW)
    seen = election.see(election.released(held, NOW), None, 0.0)
    assert election.is_free(seen, "you", 0.0)
    assert seen.record["leaseTransitions"] == 0
