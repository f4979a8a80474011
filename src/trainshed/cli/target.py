"""Which cluster a command is about: the embedded one unless told otherwise, and how failures there read."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from trainshed.cli import invocation
from trainshed.cli.options import folder_of
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.trouble import (
    CANNOT_START,
    CLUSTER,
    FAILED,
    HERE,
    PROGRAM,
    WRONG_USAGE,
    Trouble,
    unreadable,
)
from trainshed.kinds.kubeflow.families import FAMILIES

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.jobs.references import Reference
    from trainshed.kube.faults import Fault

T = TypeVar("T")
_KINDS = {
    "trainjobs": ("training job", "get -A"),  # a name alone may be of any kind: all were looked for
    "clustertrainingruntimes": ("ClusterTrainingRuntime", "runtimes"),
    **{family.plural: (family.kind, "get -A") for family in FAMILIES},
}
"""What commands ask for by name, as a server's answer calls it; and the command that lists it."""

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="<path>",
        help="Use the cluster of this kubeconfig instead of the one on this machine.",
        show_default=False,
    ),
]
Context = Annotated[
    str,
    typer.Option("--context", metavar="<name>", help="Context in that kubeconfig.", show_default=False),
]
Namespace = Annotated[
    str,
    typer.Option("-n", "--namespace", metavar="<name>", help="Namespace to work in.", show_default=False),
]


@dataclass(frozen=True, slots=True)
class Target:
    folder: DataFolder
    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = ""

    @property
    def is_embedded(self) -> bool:
        return self.kubeconfig is None and not self.context


def chosen(data_dir: Path | None, kubeconfig: Path | None, context: str, namespace: str) -> Target:
    invocation.remember_target(kubeconfig, context, namespace)
    return Target(folder_of(data_dir), kubeconfig, context, namespace)


def perform(target: Target, work: Callable[[Client], Awaitable[T]]) -> T:
    """Do something with a client of the target; what goes wrong is one line."""
    # Imported here: the help texts of all commands must not wait for the network's machinery.
    import asyncio

    from trainshed.client.failures import Failure, UnknownKind
    from trainshed.kube.faults import Fault

    try:
        return asyncio.run(_with_client(target, work))
    except Fault as fault:
        raise refused(fault, target) from fault
    except UnknownKind as unknown:
        raise Trouble(str(unknown), "the server is there, and does not serve this kind", FAILED) from unknown
    except Failure as failure:
        hint = f"start it with {PROGRAM} up{HERE}" if target.is_embedded else "check --kubeconfig"
        raise Trouble(str(failure), hint, CANNOT_START) from failure


def refused(fault: Fault, target: Target) -> Trouble:
    from trainshed.kube.faults import NotFound

    return absent(fault, target) if isinstance(fault, NotFound) else Trouble(str(fault), "", FAILED)


async def job(client: Client, words: str, then: str = "<name>") -> Reference:
    """The job that was named on the command line, with the word that came after it."""
    from trainshed.jobs import references

    try:
        return await references.resolve(client, words)
    except ValueError as error:
        raise Trouble(str(error), "", WRONG_USAGE) from error
    except references.Ambiguous as error:
        raise Trouble(str(error), "name the kind too", WRONG_USAGE) from error
    except references.OnlyKind as error:
        hint = f"kind and name are one word: {error.kind.kind.lower()}/{then}"
        raise Trouble(str(error), hint, WRONG_USAGE) from error


def absent(fault: Fault, target: Target) -> Trouble:
    """One voice for all that is not there; the server's own where it does not say what."""
    if fault.kind == "namespaces" and fault.name:
        return _no_namespace(fault.name, target)
    kind = _KINDS.get(fault.kind)
    if kind is None or not fault.name:
        return Trouble(str(fault), "", FAILED)
    command, is_wide = kind[1], kind[0].startswith("Cluster")
    place = f" in namespace {target.namespace}" if target.namespace and not is_wide else ""
    hint = f"see {PROGRAM} {command}{CLUSTER}"
    return Trouble(f'there is no {kind[0]} "{fault.name}"{place}', hint, FAILED)


def _no_namespace(name: str, target: Target) -> Trouble:
    config = target.folder.kubeconfig if target.is_embedded else target.kubeconfig
    options = [*(("--kubeconfig", str(config)) if config else ())]
    options += [*(("--context", target.context) if target.context else ())]
    words = shlex.join(["kubectl", *options, "create", "namespace", name])
    return Trouble(f'there is no namespace "{name}"', f"make it with {words}", FAILED)


async def _with_client(target: Target, work: Callable[[Client], Awaitable[T]]) -> T:
    from trainshed.client import kubeconfig
    from trainshed.client.client import Client

    config = kubeconfig.load(_path(target), target.context)
    async with Client.connect(config, on_warning=_warn) as client:
        if target.namespace:
            client.namespace = target.namespace
        return await work(client)


def _warn(said: str) -> None:
    print(f"Warning: {said}", file=sys.stderr, flush=True)


def _path(target: Target) -> Path | None:
    if not target.is_embedded:
        return target.kubeconfig
    path = target.folder.kubeconfig
    try:
        path.open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        raise Trouble(
            "the control plane was never started here", f"start it with {PROGRAM} up{HERE}"
        ) from None
    except OSError as error:
        raise unreadable(error, path) from error
    return path
