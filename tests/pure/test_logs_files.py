"""Log files on disk: rotated ones in order, where to begin, what is kept and for how long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube.objects import Object
from trainshed.runner.logs import files, kept, lines, positions, retention
from trainshed.runner.logs.kept import PodNote
from trainshed.runner.logs.reading import Wish, opened
from trainshed.runner.logs.retention import Rule, Stock

START = datetime(2026, 11, 15, tzinfo=UTC)


def raw(number: int, tag: str = "F") -> bytes:
    return lines.stamp(START + timedelta(seconds=number)) + f" stdout {tag} line {number}\n".encode()


def fill(folder: Path, *parts: bytes) -> Path:
    """Files of one run, the oldest part first."""
    for age, part in enumerate(reversed(parts)):
        (folder / (f"0.log.{age}" if age else "0.log")).write_bytes(part)
    return folder / "0.log"


@contextmanager
def all_of(newest: Path) -> Iterator[list[int]]:
    found = files.open_all(newest)
    try:
        yield found
    finally:
        for file in found:
            os.close(file)


def shown(newest: Path, wish: Wish) -> bytes:
    with opened(newest) as cursor:
        cursor.seek(wish)
        return b"".join(iter(lambda: cursor.read(is_complete=True), b""))


class TestRotatedFiles:
    def test_are_read_oldest_first(self, tmp_path: Path) -> None:
        newest = fill(tmp_path, raw(1), raw(2) + raw(3), raw(4))
        assert shown(newest, Wish()) == b"".join(map(raw, (1, 2, 3, 4)))

    def test_a_reader_in_an_old_file_goes_on_in_the_next(self, tmp_path: Path) -> None:
        newest = fill(tmp_path, raw(1))
        with opened(newest) as cursor:
            assert cursor.read(is_complete=False) == raw(1)
            for number in (2, 3, 4):  # three rotations while nobody reads
                for age in (2, 1, 0):
                    older = tmp_path / (f"0.log.{age}" if age else "0.log")
                    if older.exists():
                        older.rename(tmp_path / f"0.log.{age + 1}")
                newest.write_bytes(raw(number))
            found = [cursor.read(is_complete=False) for _ in range(4)]
        assert found == [raw(2), raw(3), raw(4), b""]

    def test_what_came_just_before_a_rotation_is_not_lost(self, tmp_path: Path) -> None:
        newest = fill(tmp_path, raw(1))
        with opened(newest) as cursor:
            assert cursor.read(is_complete=False) == raw(1)
            with newest.open("ab") as file:
                file.write(raw(2))
            newest.rename(tmp_path / "0.log.1")
            newest.write_bytes(raw(3))
            assert cursor.read(is_complete=False) + cursor.read(is_complete=False) == raw(2) + raw(3)

    def test_a_file_that_is_gone_is_followed_by_the_oldest_left(self, tmp_path: Path) -> None:
        newest = fill(tmp_path, raw(1))
        with opened(newest) as cursor:
            assert cursor.read(is_complete=False) == raw(1)
            newest.unlink()
            fill(tmp_path, raw(5), raw(6))
            assert cursor.read(is_complete=False) + cursor.read(is_complete=False) == raw(5) + raw(6)

    def test_in_the_middle_of_a_rotation_there_is_nothing_new(self, tmp_path: Path) -> None:
        newest = fill(tmp_path, raw(1))
        with opened(newest) as cursor:
            cursor.read(is_complete=False)
            newest.rename(tmp_path / "0.log.1")
            assert cursor.read(is_complete=False) == b""
            newest.write_bytes(raw(2))
            assert cursor.read(is_complete=False) == raw(2)

    def test_a_line_is_shown_when_it_is_whole_or_the_last_word(self, tmp_path: Path) -> None:
        newest = fill(tmp_path, raw(1) + raw(2)[:-3])
        with opened(newest) as cursor:
            assert cursor.read(is_complete=False) == raw(1)
            assert cursor.read(is_complete=False) == b""
            assert cursor.read(is_complete=True) == raw(2)[:-3] + b"\n"
            assert cursor.read(is_complete=True) == b""


class TestTails:
    @pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 7, 100])
    def test_reach_over_files(self, tmp_path: Path, count: int) -> None:
        raws = [raw(number) for number in range(6)]
        newest = fill(tmp_path, raws[0] + raws[1], raws[2], raws[3] + raws[4] + raws[5])
        assert shown(newest, Wish(tail=count)) == b"".join(raws[max(6 - count, 0) :])

    def test_count_lines_of_the_program_not_of_the_file(self, tmp_path: Path) -> None:
        raws = [raw(1), raw(2, "P"), raw(3, "P"), raw(4), raw(5), raw(6, "P")]
        newest = fill(tmp_path, b"".join(raws))
        assert shown(newest, Wish(tail=1)) == raws[5]
        assert shown(newest, Wish(tail=2)) == b"".join(raws[4:])
        assert shown(newest, Wish(tail=3)) == b"".join(raws[1:])

    def test_of_a_large_file_read_its_end_only(self, tmp_path: Path) -> None:
        raws = [raw(number) for number in range(20_000)]
        newest = fill(tmp_path, b"".join(raws))
        for count in (1, 2000, 5001):
            assert shown(newest, Wish(tail=count)) == b"".join(raws[-count:])

    @given(st.lists(st.integers(0, 70_000), max_size=8), st.integers(0, 9))
    def test_lines_of_any_length_count_as_one(
        self, tmp_path_factory: pytest.TempPathFactory, lengths: list[int], count: int
    ) -> None:
        raws = [raw(1)[:-1] + b"x" * length + b"\n" for length in lengths]
        newest = fill(tmp_path_factory.mktemp("tails"), b"".join(raws))
        assert shown(newest, Wish(tail=count)) == b"".join(raws[-count:] if count else [])

    def test_of_nothing_are_nothing(self, tmp_path: Path) -> None:
        assert shown(tmp_path / "0.log", Wish(tail=5)) == b""


class TestMoments:
    @pytest.mark.parametrize("second", [0, 1, 500, 4999, 5000, 9_999, 20_000])
    def test_are_found_without_reading_all(self, tmp_path: Path, second: int) -> None:
        raws = [raw(number) for number in range(10_000)]
        newest = fill(tmp_path, b"".join(raws[:5000]), b"".join(raws[5000:]))
        since = lines.stamp(START + timedelta(seconds=second))
        found = shown(newest, Wish(since=since))
        wanted = b"".join(raws[second:])
        assert found.endswith(wanted)  # a little before is allowed: the renderer looks at each line
        assert len(found) - len(wanted) <= 2 * 64 * 1024

    def test_and_tails_meet_at_the_later_one(self, tmp_path: Path) -> None:
        raws = [raw(number) for number in range(10)]
        newest = fill(tmp_path, b"".join(raws))
        since = lines.stamp(START + timedelta(seconds=3))
        assert shown(newest, Wish(since=since, tail=2)) == b"".join(raws[8:])


class TestPlaces:
    def test_lie_by_namespace_pod_and_container(self, tmp_path: Path) -> None:
        place = files.Place(tmp_path, "team-a", "bert-0", "u1", "node")
        assert place.run(2) == tmp_path / "team-a" / "bert-0_u1" / "node" / "2.log"
        assert place.attempts() == []

    @pytest.mark.parametrize("name", ["", "..", "a/b", "a\0b", "x" * 300])
    def test_names_cannot_lead_elsewhere(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ValueError, match="cannot be a folder's name"):
            _ = files.Place(tmp_path, "team-a", "p", "u", name).folder

    def test_attempts_are_counted_by_their_files(self, tmp_path: Path) -> None:
        for name in ("0.log", "10.log", "9.log", "10.log.1", "notes.txt"):
            (tmp_path / name).touch()
        assert files.attempts_in(tmp_path) == [0, 9, 10]


def a_note(name: str, **more: object) -> PodNote:
    found: PodNote = PodNote("team-a", name, f"uid-{name}", **more)  # type: ignore[arg-type]
    return found


class TestKeptLogs:
    def test_a_note_tells_the_job_the_rank_and_the_attempt(self) -> None:
        labels = {
            "jobset.sigs.k8s.io/jobset-name": "bert",
            "jobset.sigs.k8s.io/replicatedjob-name": "node",
            "jobset.sigs.k8s.io/restart-attempt": "2",
            "batch.kubernetes.io/job-completion-index": "1",
            "batch.kubernetes.io/job-name": "bert-node-0",
        }
        pod = {
            "metadata": {"namespace": "team-a", "name": "bert-node-0-1-x", "uid": "u", "labels": labels},
            "spec": {"nodeName": "here"},
        }
        note = kept.note_of(pod, started=START)
        assert (note.job, note.step, note.index, note.attempt, note.node) == ("bert", "node", 1, 2, "here")

    @pytest.mark.parametrize(
        ("labels", "owner"),
        [
            ({"training.kubeflow.org/job-name": "bert"}, "job"),
            ({"jobset.sigs.k8s.io/jobset-name": "bert", "jobset.sigs.k8s.io/jobset-uid": "set"}, "set"),
            ({"batch.kubernetes.io/job-name": "bert"}, ""),
        ],
        ids=["a v1 job", "a JobSet", "a Job alone"],
    )
    def test_a_note_names_who_made_the_pod(self, labels: Object, owner: str) -> None:
        owners = [{"uid": "other"}, {"uid": "job", "controller": True}]
        meta = {"namespace": "d", "name": "p", "uid": "u", "labels": labels, "ownerReferences": owners}
        assert kept.note_of({"metadata": meta}).owner == owner

    def test_a_pod_of_no_job_is_noted_too(self) -> None:
        note = kept.note_of({"metadata": {"namespace": "d", "name": "p", "uid": "u"}})
        assert (note.job, note.index) == ("", 0)

    def test_are_found_by_job_rank_and_attempt(self, tmp_path: Path) -> None:
        for attempt in (0, 1):
            for rank in (0, 1):
                started = START + timedelta(seconds=attempt)
                name = f"bert-{attempt}-{rank}"
                kept.write(tmp_path, a_note(name, job="bert", index=rank, attempt=attempt, started=started))
        kept.write(tmp_path, a_note("other", job="gpt"))
        found = kept.find(tmp_path, "team-a", "bert")
        assert [item.note.name for item in found] == ["bert-0-0", "bert-0-1", "bert-1-0", "bert-1-1"]
        assert [item.note.name for item in kept.find(tmp_path, "team-a", "bert", rank=1, attempt=0)] == [
            "bert-0-1"
        ]

    def test_know_their_containers_and_runs(self, tmp_path: Path) -> None:
        kept.write(tmp_path, a_note("p"))
        place = files.Place(tmp_path, "team-a", "p", "uid-p", "node")
        place.folder.mkdir()
        place.run(3).touch()
        [found] = kept.listed(tmp_path)
        assert found.containers() == ["node"]
        assert found.attempts("node") == [3]
        assert found.run("node", 3) == place.run(3)

    def test_folders_without_a_readable_note_are_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "team-a" / "p_u").mkdir(parents=True)
        (tmp_path / "team-a" / "p_u" / "meta.json").write_text("{")
        (tmp_path / "team-a" / "q_u").mkdir()
        assert kept.listed(tmp_path) == []
        assert kept.listed(tmp_path / "nowhere") == []


def a_stock(name: str, days: float, size: int = 10, is_alive: bool = False) -> Stock:
    return Stock(Path(name), START - timedelta(days=days), size, is_alive)


class TestRetention:
    def test_what_is_too_old_goes(self) -> None:
        stocks = [a_stock("old", 8), a_stock("new", 6)]
        assert retention.outdated(stocks, Rule(), START) == [Path("old")]

    def test_the_oldest_go_while_all_together_are_too_large(self) -> None:
        stocks = [a_stock("a", 3), a_stock("b", 2), a_stock("c", 1)]
        assert retention.outdated(stocks, Rule(most_bytes=20), START) == [Path("a")]
        assert retention.outdated(stocks, Rule(most_bytes=5), START) == [Path("a"), Path("b"), Path("c")]

    def test_logs_of_living_pods_stay(self) -> None:
        stocks = [a_stock("a", 30, is_alive=True), a_stock("b", 20)]
        assert retention.outdated(stocks, Rule(most_bytes=1), START) == [Path("b")]

    def test_sweeping_removes_folders_and_empty_namespaces(self, tmp_path: Path) -> None:
        for name in ("gone", "alive"):
            kept.write(tmp_path, PodNote(name, name, f"uid-{name}"))
        soon = datetime.now(UTC) + timedelta(days=8)
        gone = retention.sweep(tmp_path, Rule(), {"uid-alive"}, soon)
        assert gone == [tmp_path / "gone" / "gone_uid-gone"]
        assert [path.name for path in tmp_path.iterdir()] == ["alive"]


def test_an_empty_list_of_files_has_a_beginning_and_an_end() -> None:
    assert positions.beginning([]) == positions.end([]) == (0, 0)


def test_files_are_opened_once_each(tmp_path: Path) -> None:
    with all_of(fill(tmp_path, raw(1), raw(2))) as found:
        assert len(found) == 2
