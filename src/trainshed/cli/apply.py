"""`trainshed apply`: manifests from files, folders, repositories and overlays into the cluster."""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import invocation, starting, target
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace
from trainshed.compose.trouble import FAILED, PLACE, PROGRAM, WRONG_USAGE, Trouble
from trainshed.kube.objects import Object, text
from trainshed.kube.plaintext import one_line

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.client.requests import Validation
    from trainshed.jobs.applying import How, Outcome
    from trainshed.jobs.manifests import Document, Parsed
    from trainshed.kube.faults import Fault


_TRAINER = "trainer.kubeflow.org/"


class Strictness(enum.StrEnum):
    strict = "strict"
    warn = "warn"
    ignore = "ignore"


Files = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--filename",
        metavar="<source>",
        help="A file, a folder, - for standard input, or file:///repo.git//folder?ref=v1.",
        show_default=False,
    ),
]
Overlays = Annotated[
    list[str] | None,
    typer.Option(
        "-k",
        "--kustomize",
        metavar="<folder>",
        help="A folder with a kustomization.yaml, also one in a repository.",
        show_default=False,
    ),
]
Recursive = Annotated[bool, typer.Option("-R", "--recursive", help="Read folders in folders, too.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Let the server check it and change nothing.")]


def apply(
    files: Files = None,
    overlays: Overlays = None,
    recursive: Recursive = False,
    dry_run: DryRun = False,
    force: Annotated[
        bool, typer.Option("--force-conflicts", help="Take over fields that others own.")
    ] = False,
    validate: Annotated[
        Strictness, typer.Option("--validate", help="What unknown and repeated fields are.")
    ] = Strictness.strict,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Create or update what manifests describe.

    Trainshed is started if it does not run. Objects that others need (namespaces, kinds, configuration,
    runtimes) go first, jobs last. One that is refused keeps no other from being applied; the exit code is
    then 1.
    """
    found = gather(files, overlays, recursive)
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    starting.if_needed(where)
    from trainshed.jobs.applying import How

    how = How(where.namespace, dry_run, force, _validation(validate))
    cache = where.folder.cache
    refused = target.perform(where, lambda client: _apply(client, readable(found), how, cache))
    if refused + unreadable(found):
        raise typer.Exit(FAILED)


def gather(files: Sequence[str] | None, overlays: Sequence[str] | None, recursive: bool) -> list[Parsed]:
    """The documents of what was named on the command line, at least one."""
    from trainshed.jobs import sources
    from trainshed.jobs.manifests import CannotRead

    if not files and not overlays:
        raise Trouble("name what to read", "manifests with -f, a folder for kustomize with -k", WRONG_USAGE)
    try:
        found = sources.gather(files or (), overlays or (), recursive=recursive)
    except CannotRead as error:
        raise Trouble(str(error), error.hint, WRONG_USAGE) from error
    if not found:
        raise Trouble("there is no object in what was given", "", WRONG_USAGE)
    return found


def readable(found: Sequence[Parsed]) -> list[Document]:
    from trainshed.jobs.manifests import Document

    return [parsed for parsed in found if isinstance(parsed, Document)]


def unreadable(found: Sequence[Parsed]) -> int:
    """Say of each document that cannot be read why; how many there are."""
    from trainshed.jobs.manifests import Unreadable

    wrong = [parsed for parsed in found if isinstance(parsed, Unreadable)]
    for parsed in wrong:
        complain(f"{parsed.origin}: {parsed.why}")
    return len(wrong)


def tell(outcome: Outcome, origin: str) -> None:
    if outcome.verb:
        print(one_line(f"{outcome.name} {outcome.verb}"), flush=True)
    else:
        complain(f"{origin}: {outcome.name}: {outcome.why}", outcome.hint)


async def _apply(client: Client, documents: Sequence[Document], how: How, cache: Path) -> int:
    """Apply one after the other; how many were refused."""
    from trainshed.jobs import applying

    applier, refused = applying.Applier(client, how), 0
    for document in applying.ordered(documents):
        if how.validation == "Warn":
            for repeated in document.repeated:
                warning = f"Warning: {document.origin}: {repeated}; the last one counts"
                print(one_line(warning), file=sys.stderr)
        outcome = await _explained(await applier.apply(document), document.object, client, cache)
        tell(outcome, document.origin)
        refused += not outcome.verb
    return refused


async def _explained(outcome: Outcome, obj: Object, client: Client, cache: Path) -> Outcome:
    """A refused TrainJob or runtime with what was probably meant, in the words of a preview."""
    if outcome.fault is None or not text(obj, "apiVersion").startswith(_TRAINER):
        return outcome
    if said := _reworded(outcome.fault, obj, cache):
        return replace(outcome, why=said)
    if said := await _no_runtime(outcome.fault, obj, client):
        return replace(outcome, why=said, hint=f"see {PROGRAM} runtimes{PLACE}")
    return outcome


def _reworded(fault: Fault, obj: Object, cache: Path) -> str:
    # Imported here: the schemas are large, and needed only for what is refused.
    from trainshed.controllers.trainjob import shapes
    from trainshed.jobs import refusals
    from trainshed.kinds.schemas import Schemas

    _, lints = shapes.checked(obj, shapes.kinds(Schemas.load(cache)))
    return refusals.reworded(fault.message, lints)


async def _no_runtime(fault: Fault, obj: Object, client: Client) -> str:
    from trainshed.jobs import runtimes
    from trainshed.kube import faults

    name = text(obj, "spec", "runtimeRef", "name")
    if not isinstance(fault, faults.Forbidden) or f'"{name}" not found' not in fault.message:
        return ""
    kind = text(obj, "spec", "runtimeRef", "kind") or runtimes.CLUSTER
    place = text(obj, "metadata", "namespace") or client.namespace
    try:
        return runtimes.absence(kind, name, runtimes.named(await runtimes.fetch(client, place)))
    except faults.Fault:  # who may apply a job may not be allowed to see them
        return ""


def complain(message: str, hint: str = "") -> None:
    """One line, whatever is in it: names, fields and paths may hold anything."""
    said, hint = one_line(message).rstrip("."), one_line(invocation.completed(hint))
    hinted = f" Hint: {hint}{'' if hint.endswith('?') else '.'}" if hint else ""
    print(f"Error: {said}{'' if said.endswith('?') else '.'}{hinted}", file=sys.stderr, flush=True)


def _validation(chosen: Strictness) -> Validation:
    match chosen:
        case Strictness.strict:
            return "Strict"
        case Strictness.warn:
            return "Warn"
    return "Ignore"
