"""`trainshed convert`: manifests of older kinds become TrainJobs, and what that changes is said."""

from __future__ import annotations

import filecmp
import os
import shutil
import sys
from collections import Counter
from collections.abc import Coroutine, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from trainshed.cli import console, output, starting, target
from trainshed.cli.options import DataDir, Verbose
from trainshed.compose import interrupts, trouble
from trainshed.compose.trouble import FAILED, WRONG_USAGE, Trouble
from trainshed.kube.plaintext import one_line

if TYPE_CHECKING:
    from trainshed.jobs.converting.findings import Finding
    from trainshed.jobs.converting.proofs import Proof
    from trainshed.jobs.converting.trees import Converted, Source

T = TypeVar("T")
Sources = Annotated[
    list[str] | None,
    typer.Argument(metavar="<file>...", help="Files, folders, - for standard input.", show_default=False),
]
Named = Annotated[
    list[str] | None,
    typer.Option(
        "-f", "--filename", metavar="<file>", help="The same, as kubectl has it.", show_default=False
    ),
]
Overlays = Annotated[
    list[str] | None,
    typer.Option(
        "-k",
        "--kustomize",
        metavar="<folder>",
        help="Convert what the kustomization in this folder builds.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="<folder>",
        help="Write results there, under the names of their sources; - is standard output.",
        show_default=False,
    ),
]
InPlace = Annotated[bool, typer.Option("-i", "--in-place", help="Write results over their sources.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Say only what is lost.")]
Strict = Annotated[bool, typer.Option("--strict", help="End with 1 if any field is not carried over.")]
Prove = Annotated[
    bool,
    typer.Option(
        "--prove",
        help="Run each job in both forms here, with a probe in place of its program, and print a table of "
        "what the pods see; the manifests are then written only with -o or -i.",
    ),
]
_WORDS = {
    "not converted": "cannot be",
    "not carried over": "not carried over",
    "behaves differently": "differences",
}
_SHOWN = tuple(_WORDS)
_ELSEWHERE = "choose another folder with -o"
_COLUMNS = ("POD IN V1", "POD NOW", "RANK", "WORLD", "OTHERS", "EXIT")


def convert(
    sources: Sources = None,
    named: Named = None,
    overlays: Overlays = None,
    folder: Folder = None,
    in_place: InPlace = False,
    prove: Prove = False,
    strict: Strict = False,
    quiet: Quiet = False,
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Convert v1 jobs and older TrainJobs to TrainJobs of today.

    V1 jobs are PyTorchJobs and their like. Other objects pass as they are. What is lost or will be different
    is said on standard error, one line each; with -v also what need not be said any more. A job that cannot
    be converted stays, and the exit code is 1.
    """
    sources = [*(sources or ()), *(named or ())]
    folder = None if str(folder) == "-" else folder
    if folder is not None and in_place:
        raise Trouble("-o and --in-place exclude each other", "give one of them", WRONG_USAGE)
    found, findings = _converted(_gathered(sources, overlays or []))
    if in_place:
        _write_back(found)
    elif folder is not None:
        _write_below(folder, found, sources)
    elif not prove:
        _print(found)
    _tell(found, findings, quiet=quiet, all=verbose, place=f" in {folder}" if folder is not None else "")
    is_proven = not prove or _prove(found, data_dir)
    if not is_proven or any(_is_failure(finding, strict) for finding in findings):
        raise typer.Exit(FAILED)


def _gathered(sources: Sequence[str], overlays: Sequence[str]) -> list[Source]:
    from trainshed.jobs.converting import trees
    from trainshed.jobs.manifests import CannotRead

    if not sources and not overlays:
        raise Trouble("name what to convert", "files, folders, - or a folder with -k", WRONG_USAGE)
    try:
        return list(trees.gather(sources, overlays))
    except CannotRead as error:
        raise Trouble(str(error), error.hint, WRONG_USAGE) from error


def _converted(sources: Sequence[Source]) -> tuple[list[Converted], list[Finding]]:
    from trainshed.jobs.converting import trees

    return trees.convert(sources)


def _is_failure(finding: Finding, strict: bool) -> bool:
    return finding.verdict == "not converted" or (strict and finding.verdict == "not carried over")


# --- results ------------------------------------------------------------------------------------------------


def _print(found: Sequence[Converted]) -> None:
    from trainshed.jobs.converting import trees

    sys.stdout.write(trees.joined([one.result for one in found]))
    sys.stdout.flush()


def _write_back(found: Sequence[Converted]) -> None:
    nowhere = next((one.source.origin for one in found if one.source.file is None), None)
    if nowhere is not None:
        raise Trouble(f"{nowhere} is no file that could be written", "leave --in-place out", WRONG_USAGE)
    for one in found:
        if one.is_changed and one.source.file is not None:
            _write(one.source.file, one.result.text)


def _write_below(folder: Path, found: Sequence[Converted], sources: Sequence[str]) -> None:
    """Every manifest, converted or not, and what else is in the folders."""
    from trainshed.jobs.converting import trees

    places = [Path(source) for source in sources if Path(source).is_dir()]
    for place in places:
        if folder.resolve().is_relative_to(place.resolve()):
            raise Trouble(f"{folder} is inside of {place}", "choose a folder beside it, or -i", WRONG_USAGE)
    twice = [name for name, count in Counter(one.source.target for one in found).items() if count > 1]
    if twice:
        raise Trouble(f"two sources would be {folder / twice[0]}", "convert them one by one", WRONG_USAGE)
    _spare_work(folder, found, places)
    for one in found:
        if file := _kept(one.source):
            _copy(file, folder / one.source.target)
        elif not one.source.flaw:
            _write(folder / one.source.target, one.result.text)
    for place in places:
        for other in trees.others(place):
            _copy(place / other, folder / other)


def _spare_work(folder: Path, found: Sequence[Converted], places: Sequence[Path]) -> None:
    """What lies there may have been edited since; what would not change is no trouble."""
    from trainshed.jobs.converting import trees

    made = [(folder / one.source.target, one.result.text.encode()) for one in found if not one.source.flaw]
    copies = [(folder / other, place / other) for place in places for other in trees.others(place)]
    copies += [(folder / one.source.target, file) for one in found if (file := _kept(one.source))]
    try:
        edited = [file for file, content in made if file.is_file() and file.read_bytes() != content]
        edited += [file for file, source in copies if file.is_file() and not filecmp.cmp(file, source, False)]
    except OSError as error:
        raise trouble.from_os(error, Path(error.filename or folder), _ELSEWHERE) from error
    if edited:
        raise Trouble(
            f"{edited[0]} is there already, with other content", f"move it away, or {_ELSEWHERE}", FAILED
        )


def _kept(source: Source) -> Path | None:
    """The file of what is no text: that is there as it was, if it can be read at all."""
    is_kept = source.flaw and source.file is not None and os.access(source.file, os.R_OK)
    return source.file if is_kept else None


def _write(file: Path, text: str) -> None:
    """All of it or nothing: whoever stops this keeps what was there."""
    file = file.resolve()  # what a link leads to is replaced, not the link
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}-", delete=False) as made:
            try:
                made.write(text.encode())
                made.close()
                _take_mode(file, Path(made.name))
                os.replace(made.name, file)
            except BaseException:
                os.unlink(made.name)
                raise
    except OSError as error:
        raise trouble.from_os(error, file, _ELSEWHERE) from error


def _take_mode(file: Path, made: Path) -> None:
    """That of the file it takes the place of, or that of any new file."""
    if file.exists():
        shutil.copymode(file, made)
    else:
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o666 & ~mask)


def _copy(file: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)
    except OSError as error:
        raise trouble.from_os(error, target, _ELSEWHERE) from error


# --- words --------------------------------------------------------------------------------------------------


def _tell(
    found: Sequence[Converted], findings: Sequence[Finding], *, quiet: bool, all: bool, place: str
) -> None:
    shown = _SHOWN[:2] if quiet else (*_SHOWN, "not needed") if all else _SHOWN
    for finding in findings:
        if finding.verdict in shown:
            print(one_line(finding.line), file=sys.stderr)
    if not quiet:
        done = sum(one.result.converted for one in found)
        counted = Counter[str](finding.verdict for finding in findings)
        told = ", ".join(f"{counted[verdict]} {word}" for verdict, word in _WORDS.items() if counted[verdict])
        size = sum(len(one.result.given) for one in found)
        print(f"converted {done} of {size} documents{f' ({told})' if told else ''}{place}", file=sys.stderr)


# --- proofs -------------------------------------------------------------------------------------------------


def _prove(found: Sequence[Converted], data_dir: Path | None) -> bool:
    """Run every job in both forms, one after the other; whether all of them see the same."""
    from trainshed.jobs import proving
    from trainshed.jobs.converting import cases

    every = [case for one in found for case in cases.cases(one.result.given)]
    where = target.chosen(data_dir, None, "", "")
    if not every:
        return True
    starting.if_needed(where)
    shown = target.perform(
        where, lambda client: _tidied(proving.prove_all(client, every, console.say, _show))
    )
    return all(proof.holds for proof in shown)


async def _tidied(work: Coroutine[None, None, T]) -> T:
    """Whoever ends this process by a signal waits until what it made for the proofs is gone."""
    import asyncio

    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def stop() -> None:
        os.read(note.wakeup, 1)
        task.cancel()

    with interrupts.noted() as note:
        loop.add_reader(note.wakeup, stop)
        try:
            return await task
        finally:
            loop.remove_reader(note.wakeup)


def _show(proof: Proof) -> None:
    if proof.skipped:
        print(one_line(f"{proof.job}: not tried: {proof.skipped}"), flush=True)
        return
    print(one_line(f"{proof.job}: {'the same' if proof.holds else 'not the same'}"))
    rows = [
        (row.old, row.new, *map(_both, (row.rank, row.size, row.address, row.code))) for row in proof.rows
    ]
    output.table(_COLUMNS, rows, {})
    for fault in proof.faults:
        print(one_line(f"differs: {proof.job}: {fault}"))
    for row in proof.rows:
        for fault in row.faults:
            print(one_line(f"differs: {row.old}: {fault}"))
    sys.stdout.flush()


def _both(pair: tuple[str, str]) -> str:
    return pair[0] if pair[0] == pair[1] else " / ".join(pair)
