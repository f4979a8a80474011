"""`trainshed preview`: what a TrainJob and its runtime become, line by line, before anything runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import output, target
from trainshed.cli.options import DataDir, Format, Output, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace, Target
from trainshed.compose.trouble import FAILED, PLACE, PROGRAM, WRONG_USAGE, Trouble
from trainshed.kube.objects import Object, text

if TYPE_CHECKING:
    from trainshed.controllers.trainjob.preview import Preview
    from trainshed.kinds.kind import Kind

Files = Annotated[
    list[Path],
    typer.Option(
        "-f",
        "--filename",
        metavar="<file>",
        help="Manifests: the TrainJob and, if it is not known, its runtime.",
    ),
]


def preview(
    files: Files,
    form: Output = Format.table,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Show what a TrainJob becomes, why, and what looks wrong."""
    documents = [document for file in files for document in _documents(file)]
    jobs = [document for document in documents if document.get("kind") == "TrainJob"]
    if not jobs:
        raise _no_job(documents, files)
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    shown = _shown(jobs, documents, where)
    if form is Format.table:
        for found in shown:
            _print(found)
    else:
        print(output.document([_document(found) for found in shown], form))
    if any(lint.severity == "error" for found in shown for lint in found.warnings):
        raise typer.Exit(FAILED)


def _documents(file: Path) -> list[Object]:
    from trainshed.jobs import manifests

    try:
        found = manifests.read(file)
    except manifests.CannotRead as error:
        raise Trouble(str(error), error.hint, WRONG_USAGE) from error
    for origin, repeated in {(one.origin, repeated): None for one in found for repeated in one.repeated}:
        print(f"warning: {origin}: {repeated}; the last one counts", file=sys.stderr)
    return [one.object for one in found]


def _no_job(documents: Sequence[Object], files: Sequence[Path]) -> Trouble:
    from trainshed.jobs.converting import converting

    said, hint = "there is no TrainJob in what was given", "name its manifest with -f"
    if family := next(filter(None, map(converting.family_of, documents)), None):
        said += f": {family.kind} is an older kind"
        given = " ".join(shlex.quote(str(file)) for file in files)
        hint = f"make a TrainJob of it first: {PROGRAM} convert {given} | {PROGRAM} preview -f -{PLACE}"
    return Trouble(said, hint, WRONG_USAGE)


def _shown(jobs: Sequence[Object], documents: Sequence[Object], where: Target) -> list[Preview]:
    # Imported here: what merges is large, and no other command needs it.
    from trainshed.controllers.trainjob import shapes
    from trainshed.kinds.schemas import Schemas

    known = shapes.kinds(Schemas.load(where.folder.cache))
    return [_one(job, documents, where, known) for job in jobs]


def _one(job: Object, documents: Sequence[Object], where: Target, known: Mapping[str, Kind]) -> Preview:
    from trainshed.controllers.trainjob import shapes
    from trainshed.controllers.trainjob.lints import Lint
    from trainshed.controllers.trainjob.preview import Preview, preview

    job, flaws = shapes.checked(job, known)
    if not shapes.is_mergeable(flaws):
        return Preview({}, {}, warnings=tuple(flaws))
    if not text(job, "spec", "runtimeRef", "name"):
        missing = Lint("no-runtime", "spec.runtimeRef.name", "has to say which runtime it uses", "error")
        return Preview({}, {}, warnings=(*flaws, missing))
    runtime = _runtime(job, documents, where)
    if any(runtime is document for document in documents):
        runtime, others = shapes.checked(runtime, known)
        name = text(runtime, "metadata", "name")
        flaws += [lint._replace(path=f"runtime {name}: {lint.path}") for lint in others]
    if not shapes.is_mergeable(flaws):
        return Preview({}, {}, warnings=tuple(flaws))
    found = preview(job, runtime)
    return replace(found, warnings=(*flaws, *found.warnings))


# --- the runtime --------------------------------------------------------------------------------------------


def _runtime(job: Object, documents: Sequence[Object], where: Target) -> Object:
    """From the files, else from the cluster, else one that comes with Trainshed."""
    from trainshed.client.failures import Failure
    from trainshed.jobs import runtimes

    ref = text(job, "spec", "runtimeRef", "kind"), text(job, "spec", "runtimeRef", "name")
    given = [document for document in documents if document.get("kind") in runtimes.KINDS]
    found = _called(given, *ref)
    if found is not None:
        return found
    place = text(job, "metadata", "namespace")
    try:
        stored = target.perform(where, lambda client: runtimes.fetch(client, place or client.namespace))
        hint = f"see {PROGRAM} runtimes{PLACE}, or give its manifest with another -f"
    except (Trouble, Failure):
        stored = runtimes.shipped()
        hint = "give its manifest with another -f, or start Trainshed where it is stored"
    found = _called(stored, *ref)
    if found is None:
        raise Trouble(runtimes.absence(*ref, runtimes.named([*given, *stored])), hint, FAILED)
    return found


def _called(runtimes: Sequence[Object], kind: str, name: str) -> Object | None:
    same = (obj for obj in runtimes if obj.get("kind") == kind and text(obj, "metadata", "name") == name)
    return next(same, None)


# --- printing -----------------------------------------------------------------------------------------------


def _print(found: Preview) -> None:
    from trainshed.jobs import tagged

    rows = tagged.lines(found.jobset, found.provenance)
    width = min(max((len(line) for line, _ in rows), default=0), 72)
    colour = sys.stdout.isatty()
    for line, origin in rows:
        print(f"{line:<{width}}  {_dim(f'# {origin}', colour)}" if origin else line)
    for obj, origin in found.objects:
        name = f"{obj.get('kind')}/{text(obj, 'metadata', 'name')}"
        print(f"---\n{name}  {_dim(f'# {origin}', colour)}")
    sys.stdout.flush()
    for lint in found.warnings:
        print(f"{lint.severity}: {lint.path}: {lint.message}", file=sys.stderr)


def _dim(words: str, colour: bool) -> str:
    return f"\033[2m{words}\033[0m" if colour else words


def _document(found: Preview) -> Object:
    return {
        "jobset": found.jobset,
        "provenance": {_dotted(path): origin for path, origin in found.provenance.items()},
        "objects": [obj for obj, _ in found.objects],
        "warnings": [lint._asdict() for lint in found.warnings],
    }


def _dotted(path: tuple[str | int, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).lstrip(".")
