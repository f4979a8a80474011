"""`trainshed run`: a script becomes a distributed training job on this machine, and its lines come back."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from trainshed.cli import console, target
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace, Target
from trainshed.compose import environments, lifecycle
from trainshed.compose.listening import Listen
from trainshed.compose.trouble import FAILED, HERE, PROGRAM, WRONG_USAGE, Trouble
from trainshed.jobs import bundle, submission
from trainshed.jobs.frameworks import FRAMEWORKS, Framework, detect
from trainshed.jobs.submission import Code, Git, Sent, Submission, Volume
from trainshed.kube import faults
from trainshed.kube.names import rfc1035_label

if TYPE_CHECKING:
    from trainshed.client.client import Client

T = TypeVar("T")
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

Script = Annotated[
    str, typer.Argument(metavar="<script>", help="The Python script, in or below this folder.")
]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- args]", help="Arguments of the script.", show_default=False)
]
Nodes = Annotated[int, typer.Option("--nodes", min=1, help="How many nodes (pods).")]
Processes = Annotated[
    int | None,
    typer.Option(
        "--nproc-per-node",
        min=1,
        help="Processes per node; torchrun decides where left out.",
        show_default=False,
    ),
]
FrameworkName = Annotated[
    str,
    typer.Option(
        "--framework",
        metavar="<name>",
        help=f"One of {', '.join(FRAMEWORKS)}; found out from the script's imports where left out.",
        show_default=False,
    ),
]
Runtime = Annotated[
    str,
    typer.Option("--runtime", metavar="<name>", help="Another ClusterTrainingRuntime.", show_default=False),
]
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
        "--git", metavar="<url[@ref]>", help="Clone the code instead of sending it.", show_default=False
    ),
]
Amount = Annotated[str, typer.Option(metavar="<quantity>", help="Per node.", show_default=False)]


def run(
    script: Script,
    arguments: Arguments = None,
    nodes: Nodes = 1,
    processes: Processes = None,
    framework: FrameworkName = "",
    runtime: Runtime = "",
    image: Annotated[str, typer.Option("--image", help="Image for the trainer.", show_default=False)] = "",
    env: Env = None,
    volume: VolumeTexts = None,
    git: GitText = "",
    cpu: Amount = "",
    memory: Amount = "",
    gpus: Annotated[int, typer.Option("--gpus", min=0, help="GPUs per node.")] = 0,
    name: Annotated[str, typer.Option("--name", help="Name of the job.", show_default=False)] = "",
    ttl: Annotated[
        int | None,
        typer.Option(
            "--ttl", min=0, help="Remove the job so many seconds after its end.", show_default=False
        ),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Do not follow the job.")] = False,
    remove: Annotated[bool, typer.Option("--rm", help="Delete the job when it has ended.")] = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Run a script as a distributed job and follow it to its end."""
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    path = Path(script)
    kind = _framework(framework, path, git)
    wanted = Submission(
        name=_name(name) or submission.name_for(script, "".join(random.choices(_ALPHABET, k=4))),
        framework=kind,
        script=script if git else _inside(path),
        code=_code(path, git, where),
        arguments=tuple(arguments or ()),
        nodes=nodes,
        processes=processes,
        runtime=runtime,
        image=image,
        env=_usage(lambda: submission.read_env(env or ())),
        volumes=tuple(_volume(text, where) for text in volume or ()),
        resources=_resources(cpu, memory, gpus),
        python=environments.of_caller() if where.is_embedded else "",
        ttl_seconds=ttl,
    )
    _start_if_needed(where)
    code = target.perform(where, lambda client: _submit(client, wanted, detach=detach, remove=remove))
    raise typer.Exit(code)


async def _submit(client: Client, wanted: Submission, *, detach: bool, remove: bool) -> int:
    from trainshed.jobs import sending

    try:
        await sending.send(client, wanted, client.namespace)
    except faults.AlreadyExists as error:
        hint = f"choose another --name, or delete it first with {PROGRAM} delete {wanted.name}{HERE}"
        raise Trouble(f"there is a job {wanted.name} already", hint, FAILED) from error
    console.say(_described(wanted))
    if detach:
        console.say_follow(wanted.name)
        return 0
    from trainshed.cli import following

    return await following.to_the_end(client, wanted.name, remove=remove)


def _described(wanted: Submission) -> str:
    each = f" x {wanted.processes} processes" if wanted.processes else ""
    nodes = f"{wanted.nodes} node{'s' if wanted.nodes > 1 else ''}{each}"
    used = wanted.runtime or wanted.framework.runtime
    return f"{wanted.name}: {wanted.script} on {nodes}, {wanted.framework.launcher[0]} (runtime {used})"


def _start_if_needed(where: Target) -> None:
    if where.is_embedded:
        lifecycle.start(where.folder, Listen(None, None), lambda state: console.say(f"started {state.url}"))


# --- reading the options ------------------------------------------------------------------------------------


def _framework(name: str, script: Path, git: str) -> Framework:
    if name:
        if name not in FRAMEWORKS:
            raise Trouble(
                f"there is no framework {name!r}", f"use one of {', '.join(FRAMEWORKS)}", WRONG_USAGE
            )
        return FRAMEWORKS[name]
    if git:
        return FRAMEWORKS["torch"]
    try:
        return detect(script.read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        raise Trouble(f"there is no script {script}", "name a file in this folder", WRONG_USAGE) from None
    except OSError as error:
        raise Trouble(f"cannot read {script}: {error.strerror}", "", WRONG_USAGE) from error


def _inside(script: Path) -> str:
    """The script as seen from the root of what is sent."""
    full, here = script.resolve(), Path.cwd()
    return full.relative_to(here).as_posix() if full.is_relative_to(here) else full.name


def _code(script: Path, git: str, where: Target) -> Code:
    if git:
        return _repository(git)
    full, here = script.resolve(), Path.cwd()
    try:
        return Sent(bundle.collect(here if full.is_relative_to(here) else full.parent))
    except bundle.CannotBundle as error:
        raise Trouble(str(error), error.hint, FAILED) from error


def _repository(text: str) -> Git:
    """A path to a repository is made absolute: the pod starts elsewhere."""
    found = submission.read_git(text)
    folder = Path(found.url).expanduser()
    return Git(str(folder.resolve()), found.ref, local=True) if folder.is_dir() else found


def _name(name: str) -> str:
    why = rfc1035_label(name) if name else None
    if why:
        raise Trouble(f"--name {name!r} cannot be a job's name: {why}", "", WRONG_USAGE)
    return name


def _volume(text: str, where: Target) -> Volume:
    source = text.partition(":")[0]
    absolute = str(Path(source).expanduser().resolve()) if submission.is_folder(source) else source
    found = _usage(lambda: submission.read_volume(text, absolute))
    if found.kind == "hostPath" and where.is_embedded and not Path(absolute).exists():
        raise Trouble(f"--volume {text}: there is no {absolute}", "make the folder first", WRONG_USAGE)
    return found


def _resources(cpu: str, memory: str, gpus: int) -> tuple[tuple[str, str], ...]:
    amounts = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": str(gpus or "")}
    return tuple((name, amount) for name, amount in amounts.items() if amount)


def _usage(read: Callable[[], T]) -> T:
    try:
        return read()
    except ValueError as error:
        raise Trouble(str(error), "", WRONG_USAGE) from error
