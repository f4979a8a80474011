"""Parts die by kill -9 in the middle of a stream; whoever follows hears every line once all the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests import whole
from tests.backend import service
from tests.backend.reads import sse
from tests.backend.reads.sse import Follower
from tests.backend.service import Backend
from tests.jobs.builders import a_shell
from tests.whole import Whole

STEPS = 400
SCRIPT = f"for i in $(seq {STEPS}); do echo step $i; sleep 0.01; done; exit 0"
EVERYTHING = [f"step {number}" for number in range(1, STEPS + 1)]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A control plane to be killed and started again."""
    with whole.running(tmp_path_factory.mktemp("own"), "--relax") as found:
        yield found


@pytest.fixture
def mortal(own: Whole, tmp_path: Path) -> Iterator[Backend]:
    with service.serving(tmp_path / "mortal", own.cluster) as found:
        yield found


def heard_until(follower: Follower, line: str) -> None:
    """Follow until a line has come, then leave."""
    with follower.connected() as events:
        for event in events:
            if event.name == "lines" and line in event.data["lines"]:
                return
    raise AssertionError(f"{line} never came")


def to_the_end(follower: Follower, tries: int = 50) -> None:
    """Come back as a browser does, as often as the stream breaks off."""
    for _ in range(tries):
        try:
            follower.to_the_end()
            return
        except (httpx.TransportError, AssertionError):
            continue
    raise AssertionError("the stream does not come to its end")


@pytest.mark.parametrize("part", ["apiserver", "agent"])
def test_a_stream_goes_on_when_a_part_is_killed(own: Whole, mortal: Backend, part: str) -> None:
    name = f"during-{part}"
    own.apply(a_shell(name, SCRIPT, nodes=2))
    with mortal.rest() as rest:
        follower = sse.lines_of(rest, name)
        with follower.connected() as events:
            for event in events:
                if event.name == "lines" and "step 50" in event.data["lines"]:
                    break
            os.kill(own.pids()[part], signal.SIGKILL)
            own.up("--relax")
            last = [*events][-1]
    assert (last.name, last.data.get("state")) == ("end", "Complete"), last
    for worker in (0, 1):
        assert follower.lines(worker) == EVERYTHING


@pytest.mark.parametrize("follow", [sse.lines_of, sse.states_of])
def test_a_job_the_backend_has_not_heard_of_yet_is_not_taken_for_deleted(
    own: Whole, mortal: Backend, follow: Callable[[httpx.Client, str], Follower]
) -> None:
    """Its watch is still broken off when the job is there and can be followed."""
    name = f"unheard-{follow.__name__.partition('_')[0]}"
    os.kill(own.pids()["apiserver"], signal.SIGKILL)
    own.up("--relax")
    own.apply(a_shell(name, "echo here; sleep 2; exit 0"))
    with mortal.rest() as rest:
        end = follow(rest, name).to_the_end()
    assert (end["state"], end["deleted"]) == ("Complete", False)


def test_a_stream_goes_on_behind_its_last_event_when_the_backend_is_killed(
    own: Whole, mortal: Backend
) -> None:
    own.apply(a_shell("during-backend", SCRIPT, nodes=2))
    with mortal.rest() as rest:
        follower = sse.lines_of(rest, "during-backend")
        for step in ("step 40", "step 120", "step 200"):
            heard_until(follower, step)
            mortal.kill()
            mortal.start()
        to_the_end(follower)
    assert not [event for event in follower.heard if event.name in ("reset", "gap")]
    for worker in (0, 1):
        assert follower.lines(worker) == EVERYTHING


def test_streams_end_when_the_backend_is_asked_to(own: Whole, mortal: Backend) -> None:
    own.apply(a_shell("standing", "echo here; sleep 600"))
    with mortal.rest() as rest:
        lines, states = sse.lines_of(rest, "standing"), sse.states_of(rest, "standing")
        with lines.connected() as events, states.connected() as changes:
            next(events)
            next(changes)
            assert mortal.stop() == 0
            assert [event.name for event in events] == []
            assert "end" not in [event.name for event in changes]
    own.kubectl("delete", "trainjob", "standing")
