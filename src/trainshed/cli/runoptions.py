"""The options of `trainshed run`, and what people may type into them."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from trainshed.cli.target import Target
from trainshed.compose.trouble import FAILED, PLACE, PROGRAM, WRONG_USAGE, Trouble
from trainshed.jobs import bundle, frameworks, submission
from trainshed.jobs.frameworks import FRAMEWORKS, Framework, detect
from trainshed.jobs.submission import Code, Git, Sent, Volume
from trainshed.kube import quantities
from trainshed.kube.names import rfc1035_label

T = TypeVar("T")


def _number(least: int) -> Callable[[str | int], int]:
    """Reads a whole number; an option's default comes here too."""

    def read(given: str | int) -> int:
        text = str(given).strip()
        if text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= least:
            return int(text)
        raise typer.BadParameter(f"a whole number from {least} on is needed, not {text[:80]!r}")

    return read


Script = Annotated[
    str,
    typer.Argument(
        metavar="<script>",
        help="The Python script. This folder is sent; a script elsewhere is sent with its own folder.",
    ),
]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- args]", help="Arguments of the script.", show_default=False)
]
Nodes = Annotated[
    int, typer.Option("--nodes", metavar="<number>", parser=_number(1), help="How many nodes (pods).")
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--nproc-per-node",
        metavar="<number>",
        parser=_number(1),
        help="Processes per node, with torch and MPI; torchrun decides where left out.",
        show_default=False,
    ),
]
FrameworkName = Annotated[
    str,
    typer.Option(
        "--framework",
        metavar="<name>",
        help=f"One of {', '.join(FRAMEWORKS)}; found out from the script's imports where left out, "
        "but torch with --git.",
        show_default=False,
    ),
]
Runtime = Annotated[
    str,
    typer.Option("--runtime", metavar="<name>", help="Another ClusterTrainingRuntime.", show_default=False),
]
Image = Annotated[str, typer.Option("--image", help="Image for the trainer.", show_default=False)]
Env = Annotated[
    list[str] | None, typer.Option("--env", "-e", metavar="<name=value>", help="An environment variable.")
]
VolumeTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--volume",
        metavar="<source:/target[:ro]>",
        help="A folder of this machine, or the name of a PersistentVolumeClaim.",
    ),
]
GitText = Annotated[
    str,
    typer.Option(
        "--git",
        metavar="<url[@ref]>",
        help="Clone the code instead of sending it; a ref is a branch, tag or commit.",
        show_default=False,
    ),
]
Amount = Annotated[str, typer.Option(metavar="<quantity>", help="Per node.", show_default=False)]
Gpus = Annotated[int, typer.Option("--gpus", metavar="<number>", parser=_number(0), help="GPUs per node.")]
Name = Annotated[str, typer.Option("--name", help="Name of the job.", show_default=False)]
Retries = Annotated[
    int | None,
    typer.Option(
        "--retries",
        metavar="<number>",
        parser=_number(0),
        help="Start the whole job again so many times when it fails.",
        show_default="0; as the runtime has it with --runtime",
    ),
]
Ttl = Annotated[
    int | None,
    typer.Option(
        "--ttl",
        metavar="<seconds>",
        parser=_number(0),
        help="Remove the job so many seconds after its end; upstream's controller does not.",
        show_default=False,
    ),
]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Do not follow the job.")]
Remove = Annotated[bool, typer.Option("--rm", help="Delete the job when it has ended.")]


_MANIFEST = f"apply a manifest with {PROGRAM} apply -f{PLACE}"
_SHELL = "start it from a Python script, or name it as the command of a TrainJob"
_OTHERS = {
    **dict.fromkeys((".yaml", ".yml", ".json"), _MANIFEST),
    **dict.fromkeys((".sh", ".bash", ".zsh"), _SHELL),
}
"""Files that are given by mistake, and what to do with them."""


def demand_file(script: Path) -> None:
    """Whoever reads a device or a pipe may wait for ever, and nothing of it could be sent."""
    try:
        mode = script.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise Trouble(f"there is no script {script}", "name a file in this folder", WRONG_USAGE) from None
    except OSError as error:
        raise Trouble(f"cannot read {script}: {error.strerror}", "", WRONG_USAGE) from error
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no file"
        raise Trouble(f"{script} is {what}", "name a script in this folder", WRONG_USAGE)
    if hint := _OTHERS.get(script.suffix.lower()):
        raise Trouble(f"{script} is no Python program", hint, WRONG_USAGE)


def framework(name: str, script: Path, git: str) -> Framework:
    if name:
        if (found := frameworks.called(name)) is not None:
            return found
        near = frameworks.nearest(name)
        meant = f"; did you mean {near!r}?" if near else ""
        hint = f"use one of {', '.join(FRAMEWORKS)}"
        raise Trouble(f"there is no framework {name!r}{meant}", hint, WRONG_USAGE)
    if git:
        return FRAMEWORKS["torch"]
    try:
        return detect(_text(script), lambda path: _beside(script, path))
    except OSError as error:
        raise Trouble(f"cannot read {script}: {error.strerror}", "", WRONG_USAGE) from error


def _beside(script: Path, path: str) -> str | None:
    """What a program imports from there, as it will find it where it runs."""
    file = script.resolve().parent / path
    try:
        return _text(file) if file.is_file() and file.resolve().is_relative_to(root(script)) else None
    except OSError:
        return None


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def processes(given: int | None, used: Framework) -> int | None:
    if given is None or given == 1 or used.starts_several:
        return given
    what = "a plain program" if used.name == "plain" else f"a program of {used.name}"
    hint = "--framework torch starts several with torchrun, or use more --nodes"
    raise Trouble(f"{what} has one process per node, not {given}", hint, WRONG_USAGE)


def root(script: Path) -> Path:
    """The folder that is sent: this one, or that of a script which lies elsewhere."""
    full, here = script.resolve(), Path.cwd()
    return here if full.is_relative_to(here) else full.parent


def inside(script: Path) -> str:
    """The script as seen from the root of what is sent."""
    return script.resolve().relative_to(root(script)).as_posix()


def code(script: Path, git: str, where: Target) -> Code:
    if git:
        return repository(git)
    try:
        return Sent(bundle.collect(root(script), inside(script), where.folder.root))
    except bundle.CannotBundle as error:
        raise Trouble(str(error), error.hint, FAILED) from error


def repository(text: str) -> Git:
    """A path to a repository is made absolute: the pod starts elsewhere."""
    found = submission.read_git(text)
    place = submission.local_repository(found.url)
    folder = Path(place or found.url).expanduser()
    if folder.is_dir():
        return Git(str(folder.resolve()), found.ref, local=True)
    if place:
        raise Trouble(f"--git {text}: there is no folder {folder}", "name a git repository", WRONG_USAGE)
    return found


def name(given: str, nodes: int, used: Framework) -> str:
    why = rfc1035_label(given) if given else None
    if why:
        raise Trouble(f"--name {given!r} cannot be a job's name: {why}", "", WRONG_USAGE)
    room = submission.room_for_name(nodes, used)
    if len(given) > room:
        said = f"--name {given!r} has {len(given)} characters, and its pods' names leave room for {room}"
        raise Trouble(said, "", WRONG_USAGE)
    return given


def env(pairs: list[str] | None) -> tuple[tuple[str, str], ...]:
    return _usage(lambda: submission.read_env(pairs or ()))


def volume(text: str, where: Target) -> Volume:
    source = text.partition(":")[0]
    absolute = str(Path(source).expanduser().resolve()) if submission.is_folder(source) else source
    found = _usage(lambda: submission.read_volume(text, absolute))
    if found.kind == "hostPath" and where.is_embedded and not Path(absolute).exists():
        raise Trouble(f"--volume {text}: there is no {absolute}", "make the folder first", WRONG_USAGE)
    return found


def resources(cpu: str, memory: str, gpus: int) -> tuple[tuple[str, str], ...]:
    amounts = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": str(gpus or "")}
    for name in ("cpu", "memory"):
        _check(f"--{name}", amounts[name])
    return tuple((name, amount) for name, amount in amounts.items() if amount)


def _check(option: str, amount: str) -> None:
    """Refuse what is no amount, before anything is sent."""
    if not amount:
        return
    if len(amount) > 64 or not quantities.is_quantity(amount):
        why = f"must be a quantity such as 2, '500m' or '16Gi', not {amount[:64]!r}"
        near = amount[:-1] + "i" if amount[-1:] in "Bb" and quantities.is_quantity(amount[:-1] + "i") else ""
        raise Trouble(f"{option} {why}", f"{option} {near} may be meant" if near else "", WRONG_USAGE)
    if quantities.parse(amount) <= 0:
        raise Trouble(f"{option} must be more than nothing, not {amount!r}", "", WRONG_USAGE)


def retries(given: int | None, runtime: str) -> int | None:
    """A script with a bug should say so once; whoever chose a runtime chose its ways too."""
    return 0 if given is None and not runtime else given


def _usage(read: Callable[[], T]) -> T:
    try:
        return read()
    except ValueError as error:
        raise Trouble(str(error), "", WRONG_USAGE) from error
