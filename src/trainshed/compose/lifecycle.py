"""Starting, finding and stopping the parts of a data folder, one starter at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainshed.compose import (
    foreground,
    interrupts,
    launching,
    partprocess,
    parts,
    processes,
    restplaces,
    serverprocess,
    settings,
    statefile,
    trouble,
    turns,
)
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.launching import Launched
from trainshed.compose.listening import Listen
from trainshed.compose.orders import Order
from trainshed.compose.parts import AGENT, BACKEND, SERVER, Part, PartName
from trainshed.compose.settings import Choices
from trainshed.compose.statefile import ServerState, State
from trainshed.compose.trouble import HERE, PROGRAM, Trouble
from trainshed.runner.settings import Settings

TURN_SECONDS = partprocess.START_SECONDS + sum(part.stop_seconds for part in parts.ALL)
GLANCE_SECONDS = 20.0

Announce = Callable[[ServerState], None]
Outcomes = list[tuple[Part, str, int]]
"""Which part ended how ("stopped", "killed", "gone", "cleared"), and its pid."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to run, and how."""

    parts: tuple[Part, ...] = parts.ALL
    choices: Choices = field(default_factory=Choices)
    terminal: bool = False
    """Log to the terminal of whoever starts them."""


EVERYTHING = Wish()


@dataclass(frozen=True, slots=True)
class Found:
    """What runs of a data folder."""

    server: ServerState | None = None
    others: dict[PartName, State] = field(default_factory=dict)
    """The operator, the agent and the backend, where they run."""

    @property
    def is_complete(self) -> bool:
        return self.server is not None and all(part.name in self.others for part in parts.CORE[1:])


def start(folder: DataFolder, listen: Listen, ready: Announce, wish: Wish = EVERYTHING) -> ServerState | None:
    """Have the parts running in the background; `ready` is called when all of them are.

    Where all were running before, the server is returned instead. Raises `Trouble`. Whatever ends this before
    `ready` is called, a signal for example, ends what is new, too.
    """
    folder.make()
    with turns.taken(folder, TURN_SECONDS, make=True) as turn:
        server = _server(folder, listen)
        wish = resolved(folder, wish)
        chosen = _settled(folder, wish)
        missing = [part for part in wish.parts if statefile.running_any(folder.note(part.name)) is None]
        if not missing:
            return server
        host, port = listen.preferring(statefile.read(folder.state), folder.kubeconfig)
        order = Order(str(folder.root), str(folder.cache), turn=turn, host=host, port=port, settings=chosen)
        with restplaces.opened(order) if BACKEND in missing else nullcontext(order) as told:
            _spawn(missing, told, wish.terminal, ready)
    return None


def resolved(folder: DataFolder, wish: Wish) -> Wish:
    """The wish without the backend where nobody wants it, now or the last time. Raises `Trouble`."""
    if wish.parts == (SERVER,) or settings.wants_backend(folder, wish.choices):
        return wish
    return replace(wish, parts=tuple(part for part in wish.parts if part is not BACKEND))


def run(folder: DataFolder, listen: Listen, ready: Announce, wish: Wish = EVERYTHING) -> ServerState | None:
    """Run the parts until a signal ends them; a server that already runs is returned instead."""
    if wish.parts == (SERVER,):
        return _serve(folder, listen, ready)
    wish = resolved(folder, wish)
    with foreground.ending_all(lambda: stop(folder)) as announced:

        def announce(state: ServerState) -> None:
            announced.set()
            ready(state)

        already = start(folder, listen, announce, wish)
        ended = "" if already else foreground.await_end(folder, wish.parts)
    if ended:
        why = f"the {ended} ended by itself, so everything was stopped"
        raise Trouble(why, f"see what it said, and start again with {PROGRAM} up{HERE}", trouble.FAILED)
    return already


def stop(folder: DataFolder) -> Outcomes:
    """End all parts, the agent with its pods; how each ended, nothing for those that did not run.

    Raises `Trouble`.
    """
    with turns.taken(folder, TURN_SECONDS) as turn:
        return [outcome for part in parts.LEAVING_ORDER for outcome in _stopped(folder, part, turn)]


def find(folder: DataFolder) -> ServerState | None:
    """The server that runs, after one that is being started or stopped has got there. Raises `Trouble`."""
    return find_all(folder).server


def find_all(folder: DataFolder) -> Found:
    """What runs, after what is being started or stopped has got there. Raises `Trouble`."""
    turns.await_quiet(folder, GLANCE_SECONDS)
    return _found(folder)


def is_stopped(folder: DataFolder) -> bool:
    """Whether server and agent ended as they were told to: one that is killed leaves its note behind."""
    return all(_is_gone(folder.note(part.name)) for part in (SERVER, AGENT))


def _is_gone(note: Path) -> bool:
    """Not so of one that cannot be looked at: `Path.exists` would raise, or say so from Python 3.14 on."""
    try:
        note.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _found(folder: DataFolder) -> Found:
    others = {
        part.name: state
        for part in parts.ALL
        if part is not SERVER and (state := statefile.running_any(folder.note(part.name)))
    }
    return Found(statefile.running(folder.state), others)


def _server(folder: DataFolder, listen: Listen) -> ServerState | None:
    """The server that runs. Raises `Trouble` when it is not where one was asked for."""
    found = statefile.running(folder.state)
    if found is not None and listen.differs_from(found.host, found.port):
        raise Trouble(
            f"it already runs, at {found.url} (process {found.process.pid}), not where you asked for",
            f"stop it first with {PROGRAM} down{HERE}, or leave out --port and --bind to use it as it is",
        )
    return found


def _settled(folder: DataFolder, wish: Wish) -> Settings:
    """The settings that count from now on; parts that run with others are ended. Raises `Trouble`."""
    if wish.parts == (SERVER,):
        return Settings()
    kept, chosen = settings.chosen(folder, wish.choices)
    table = settings.backend_table(folder, wish.choices)
    for part in parts.ALL[1:]:
        state = statefile.running_any(folder.note(part.name))
        if state is None:
            continue
        if part not in wish.parts:
            _end(state, part)
        elif state.settings != settings.digest(chosen, part, table):
            _end_outdated(part, state, chosen)
    settings.remember(folder, kept)
    return chosen


def _end_outdated(part: Part, state: State, chosen: Settings) -> None:
    if part is not AGENT:
        _end(state, part)
    elif state.runner != chosen.runner:
        raise Trouble(
            f"pods already run by the runner {state.runner}, not {chosen.runner}",
            f"stop them first with {PROGRAM} down{HERE}",
        )
    else:  # not asked to end, which would end its pods: they go on and its successor takes over
        processes.kill(state.process)


def _serve(folder: DataFolder, listen: Listen, ready: Announce) -> ServerState | None:
    """The server alone, in this process."""
    folder.make()
    with ExitStack() as turn:
        turn.enter_context(turns.taken(folder, TURN_SECONDS, make=True))
        found = _server(folder, listen)
        if found is not None:
            return found
        host, port = listen.preferring(statefile.read(folder.state), folder.kubeconfig)

        def announce(state: ServerState) -> None:
            turn.close()
            ready(state)

        serverprocess.run(folder, Listen(host, port), announce)
    return None


def _spawn(missing: Sequence[Part], order: Order, terminal: bool, ready: Announce) -> None:
    """Start the processes and wait until they report that they are ready. Raises `Trouble` if not."""
    children: list[Launched] = []
    # Where an agent was killed its pods go on, whatever becomes of this start: then its successor must not
    # be asked to end, which would end them.
    left = (AGENT,) if statefile.read_any(order.folder.note(AGENT.name)) else ()
    try:
        with interrupts.noted() as note:
            for part in missing:
                children.append(launching.launch(part, order, terminal=terminal))
            if launching.await_ready(children, note, order.folder):
                server = statefile.running(order.folder.state)
                if server is None:
                    raise Trouble("the server ended right after its start", f"see {order.folder.log}")
                launching.release(children)
                children = []
                ready(server)
                if not terminal:
                    note.signal = 0  # it came too late
    except BaseException:
        launching.end(children, at_once=left)
        raise


def _stopped(folder: DataFolder, part: Part, turn: int | None) -> Iterator[tuple[Part, str, int]]:
    note = folder.note(part.name)
    left = statefile.read_any(note)
    if left is None:
        return
    outcome = _end(left, part) if left.process.is_alive else ""
    if part is AGENT and outcome != "stopped":
        _clear(folder, turn)
        outcome = outcome or "cleared"
    if outcome:
        yield part, outcome, left.process.pid
    statefile.remove(note, left.process)


def _end(state: State, part: Part) -> str:
    try:
        return processes.stop(state.process, part.stop_seconds)
    except PermissionError as error:
        raise Trouble(
            f"process {state.process.pid} belongs to another user", "stop it as that user"
        ) from error
    except TimeoutError as error:
        raise Trouble(str(error), "it may hang on a broken disk; a reboot ends it", trouble.FAILED) from error


def _clear(folder: DataFolder, turn: int | None) -> None:
    """The agent was killed, its pods were not: end them."""
    try:
        _, chosen = settings.chosen(folder, Choices())
    except Trouble:  # a broken file must not keep anybody from stopping
        chosen = Settings()
    order = Order(str(folder.root), str(folder.cache), turn=turn, settings=chosen, drain=True)
    with interrupts.noted() as note:
        child = launching.launch(AGENT, order)
        try:
            launching.await_ready([child], note, folder)
        finally:
            launching.end([child])
