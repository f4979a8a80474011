"""`trainshed preview`: what a TrainJob and its runtime become, line by line, before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import output, target
from trainshed.cli.options import DataDir, Format, Output, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace, Target
from trainshed.compose.trouble import FAILED, WRONG_USAGE, Trouble
from trainshed.kube.objects import Object, text

if TYPE_CHECKING:
    from trainshed.controllers.trainjob.preview import Preview

RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")

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
    # Imported here: what merges is large, and no other command needs it.
    from trainshed.controllers.trainjob.preview import preview as merge

    documents = [document for file in files for document in _documents(file)]
    jobs = [document for document in documents if document.get("kind") == "TrainJob"]
    if not jobs:
        raise Trouble("there is no TrainJob in what was given", "name its manifest with -f", WRONG_USAGE)
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    shown = [merge(job, _runtime(job, documents, where)) for job in jobs]
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
        return manifests.read(file)
    except manifests.CannotRead as error:
        raise Trouble(str(error), "", WRONG_USAGE) from error


def _runtime(job: Object, documents: Sequence[Object], where: Target) -> Object:
    """From the files, else one that comes with Trainshed, else from the cluster."""
    name = text(job, "spec", "runtimeRef", "name")
    kind = text(job, "spec", "runtimeRef", "kind") or RUNTIMES[0]
    for document in documents:
        if document.get("kind") == kind and text(document, "metadata", "name") == name:
            return document
    from trainshed.client.failures import Failure
    from trainshed.jobs import manifests

    try:
        return target.perform(where, lambda client: client.get(kind, name))
    except (Trouble, Failure) as error:
        shipped = manifests.shipped_runtime(name) if kind == RUNTIMES[0] else None
        if shipped is None:
            hint = "give its manifest with another -f, or start Trainshed where it is stored"
            raise Trouble(
                f"the {kind} {name!r} is in none of the files and cannot be asked for", hint
            ) from error
        return shipped


# --- printing -----------------------------------------------------------------------------------------------


def _print(found: Preview) -> None:
    from trainshed.jobs import tagged

    rows = tagged.lines(found.jobset, found.provenance)
    width = min(max(len(line) for line, _ in rows), 72)
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
