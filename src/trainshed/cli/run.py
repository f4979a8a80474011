"""`trainshed run`: a script becomes a distributed training job on this machine, and its lines come back."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trainshed.cli import console, invocation, plane, remedies, starting, target
from trainshed.cli import runoptions as options
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.plane import Plane
from trainshed.cli.target import Context, Kubeconfig, Namespace, Target
from trainshed.compose import environments
from trainshed.compose.trouble import FAILED, PLACE, PROGRAM, Trouble
from trainshed.jobs import dialects, submission
from trainshed.jobs.submission import Submission
from trainshed.kube import faults

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.jobs.frameworks import Framework

_ALONE = (
    "it imports no known framework, so each node runs by itself; --framework torch has torchrun join them"
)
_UNREAD = "a script from --git is not read before: torchrun starts it; --framework plain has it run by itself"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class _Advice:
    """What to say of a job beside what it is."""

    lacking: str = ""
    """Of a job that needs what there is not."""
    stopped: Callable[[], str] | None = None
    """Of one that Ctrl-C has stopped, when it is."""
    assumed: str = ""
    """How a script is started of which nobody has said so."""
    plane: Plane | None = None
    """Tells whether all was stopped under it, and has its lines."""


def run(
    script: options.Script,
    arguments: options.Arguments = None,
    nodes: options.Nodes = 1,
    processes: options.Processes = None,
    framework: options.FrameworkName = "",
    runtime: options.Runtime = "",
    image: options.Image = "",
    env: options.Env = None,
    volume: options.VolumeTexts = None,
    git: options.GitText = "",
    cpu: options.Amount = "",
    memory: options.Amount = "",
    gpus: options.Gpus = 0,
    name: options.Name = "",
    retries: options.Retries = None,
    ttl: options.Ttl = None,
    detach: options.Detach = False,
    remove: options.Remove = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Run a script as a distributed job and follow it to its end.

    Ends with the exit code of the program that failed, 128 and its number for a signal; with 1 where a job
    fails for another reason or torchrun did, 3 where everything was stopped meanwhile, 130 where Ctrl-C,
    after a question, or SIGTERM stopped it and deleted it; its lines stay.
    """
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    path = Path(script)
    if not git:
        options.demand_file(path)
    used = options.framework(framework, path, git)
    wanted = Submission(
        name=options.name(name, nodes, used) or submission.name_for(script, _suffix()),
        framework=used,
        script=script if git else options.inside(path),
        code=options.code(path, git, where),
        arguments=tuple(arguments or ()),
        nodes=nodes,
        processes=options.processes(processes, used),
        runtime=runtime,
        image=image,
        env=options.env(env),
        volumes=tuple(options.volume(text, where) for text in volume or ()),
        resources=options.resources(cpu, memory, gpus),
        python=environments.of_caller() if where.is_embedded else "",
        ttl_seconds=ttl,
        retries=options.retries(retries, runtime),
    )
    starting.if_needed(where)
    if not git and (folder := options.root(path)) != Path.cwd():
        console.say(f"sending {folder}, as {script} is not in this folder")
    advice = _advice(where, wanted.name)
    if not framework and not runtime:
        advice = replace(advice, assumed=_assumed(used, nodes, git))
    raise typer.Exit(target.perform(where, lambda client: _submit(client, wanted, detach, remove, advice)))


def _assumed(used: Framework, nodes: int, git: str) -> str:
    if git:
        return _UNREAD
    return _ALONE if nodes > 1 and used.name == "plain" else ""


def _advice(where: Target, name: str) -> _Advice:
    if not where.is_embedded:  # a real cluster has nothing of the kind
        return _Advice()
    began = datetime.now(UTC).replace(microsecond=0)  # notes of logs know the second only
    return _Advice(
        remedies.known(where),
        lambda: _kept(where, name, began),
        plane=plane.of(where),
    )


def _kept(where: Target, name: str, began: datetime) -> str:
    """What there is to read of a job that was deleted; nothing where it wrote nothing."""
    from trainshed.jobs import keptlogs

    root, namespace = where.folder.pod_logs, where.namespace or "default"
    found = keptlogs.find(root, namespace, name, None, None, keptlogs.Claim(since=began))
    return f"its lines stay: {invocation.command_there('logs', name)}" if keptlogs.has_lines(found) else ""


def _suffix() -> str:
    return "".join(random.choices(_ALPHABET, k=4))


async def _submit(client: Client, wanted: Submission, detach: bool, remove: bool, advice: _Advice) -> int:
    async def begin() -> str:
        await _send(client, wanted)
        return "\n".join(filter(None, (_described(wanted), advice.assumed)))

    if detach:
        console.say(await begin())
        console.say_follow(wanted.name)
        return 0
    from trainshed.cli import following

    return await following.to_the_end(
        client,
        wanted.name,
        remove=remove,
        remedy=advice.lacking,
        afterwards=advice.stopped,
        begin=begin,
        plane=advice.plane,
    )


async def _send(client: Client, wanted: Submission) -> None:
    from trainshed.jobs import sending

    try:
        await sending.send(client, wanted, client.namespace)
    except faults.AlreadyExists as error:
        hint = f"choose another --name, or delete it first with {PROGRAM} delete {wanted.name}{PLACE}"
        raise Trouble(f"there is a job {wanted.name} already", hint, FAILED) from error
    except faults.BadRequest as error:
        if not (fields := dialects.unknown_fields(error)):
            raise
        raise Trouble(dialects.lacking(fields), dialects.UPGRADE, FAILED) from error
    except faults.Forbidden as error:
        # What a webhook says of a missing runtime is long, and does not say which ones there are.
        raise await _no_runtime(client, wanted) or error from error


async def _no_runtime(client: Client, wanted: Submission) -> Trouble | None:
    from trainshed.jobs import runtimes

    name = wanted.runtime or wanted.framework.runtime
    known = runtimes.named(await runtimes.fetch(client, client.namespace))
    said = runtimes.absence(runtimes.CLUSTER, name, known)
    return Trouble(said, f"see {PROGRAM} runtimes{PLACE}", FAILED) if said else None


def _described(wanted: Submission) -> str:
    many = "es" if wanted.processes != 1 else ""
    each = f" x {wanted.processes} process{many}" if wanted.processes else ""
    nodes = f"{wanted.nodes} node{'s' if wanted.nodes > 1 else ''}{each}"
    used = wanted.runtime or wanted.framework.runtime
    return f"{wanted.name}: {wanted.script} on {nodes}, {wanted.framework.launcher[0]} (runtime {used})"
