"""Which of the lines that pods left belong to a job: names are used again, within a second if need be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from trainshed.jobs import keptlogs
from trainshed.runner.logs import kept
from trainshed.runner.logs.kept import PodNote

CREATED = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def leave(root: Path, uid: str, owner: str, seconds: float, *, rank: int = 0, attempt: int = 0) -> None:
    started = CREATED + timedelta(seconds=seconds)
    note = PodNote(
        "default", uid, uid, "a", "node", index=rank, attempt=attempt, owner=owner, started=started
    )
    kept.write(root, note)


def found(root: Path, *owners: str) -> list[str]:
    """What a job that was made then, and whose pods these owners made, has left."""
    return uids(keptlogs.find(root, "default", "a", None, None, keptlogs.Claim(CREATED, frozenset(owners))))


def uids(found: list[kept.Kept]) -> list[str]:
    return [one.note.uid for one in found]


def test_a_former_job_of_the_same_second_is_another_one(tmp_path: Path) -> None:
    leave(tmp_path, "old-0", "first", 0.1, attempt=2)
    leave(tmp_path, "old-1", "first", 0.2, rank=1, attempt=2)
    leave(tmp_path, "new-0", "second", 0.7)
    assert uids(keptlogs.find(tmp_path, "default", "a", None, None, keptlogs.Claim(CREATED))) == ["new-0"]
    assert keptlogs.find(tmp_path, "default", "a", 1, None, keptlogs.Claim(CREATED)) == []
    assert keptlogs.attempts(tmp_path, "default", "a", keptlogs.Claim(CREATED)) == [0]


def test_the_last_attempt_is_shown_unless_another_is_asked_for(tmp_path: Path) -> None:
    for attempt in (0, 1):
        for rank in (0, 1):
            leave(tmp_path, f"{attempt}-{rank}", "one", attempt + rank / 10, rank=rank, attempt=attempt)
    assert uids(keptlogs.find(tmp_path, "default", "a", None, None)) == ["1-0", "1-1"]
    assert uids(keptlogs.find(tmp_path, "default", "a", 1, 0)) == ["0-1"]
    assert keptlogs.attempts(tmp_path, "default", "a") == [0, 1]


def test_lines_from_before_the_job_are_not_its_own(tmp_path: Path) -> None:
    leave(tmp_path, "old", "first", -5)
    assert keptlogs.find(tmp_path, "default", "a", None, None, keptlogs.Claim(CREATED)) == []
    assert uids(keptlogs.find(tmp_path, "default", "a", None, None)) == ["old"]


def test_a_job_that_is_there_has_only_what_its_own_pods_left(tmp_path: Path) -> None:
    leave(tmp_path, "old-0", "first", 0.1)
    leave(tmp_path, "new-0", "second", 0.2)
    assert found(tmp_path, "second") == ["new-0"]
    assert found(tmp_path, "first") == ["old-0"]
    assert found(tmp_path) == [], "nothing has made pods for it yet"


def test_notes_that_name_no_owner_belong_to_the_v1_job_whose_time_fits(tmp_path: Path) -> None:
    leave(tmp_path, "former", "", -5)
    leave(tmp_path, "unnamed", "", 0.1)
    leave(tmp_path, "other", "another", 0.2)
    leave(tmp_path, "named", "mine", 0.3)
    assert found(tmp_path, "mine", "") == ["unnamed", "named"]


def test_of_jobs_that_are_gone_the_last_one_is_meant(tmp_path: Path) -> None:
    leave(tmp_path, "old", "first", 5)
    leave(tmp_path, "new", "second", 6)
    assert uids(keptlogs.find(tmp_path, "default", "a", None, None)) == ["new"]
