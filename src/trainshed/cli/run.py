"""`trainshed run`: a script becomes a distributed training job on this machine, and its lines come back."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trainshed.cli import console, invocation, starting, target
from trainshed.cli import runoptions as options
from trainshed.cli.options import DataDir, Verbose
from trainshed.cli.target import Context, Kubeconfig, Namespace
from trainshed.compose import environments
from trainshed.compose.trouble import FAILED, HERE, PROGRAM, Trouble
from trainshed.jobs import submission
from trainshed.jobs.submission import Submission
from trainshed.kube import faults

if TYPE_CHECKING:
    from trainshed.client.client import Client

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


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
    fails for another reason, 130 where Ctrl-C stopped it.
    """
    where = target.chosen(data_dir, kubeconfig, context, namespace)
    path = Path(script)
    wanted = Submission(
        name=options.name(name) or submission.name_for(script, _suffix()),
        framework=options.framework(framework, path, git),
        script=script if git else options.inside(path),
        code=options.code(path, git),
        arguments=tuple(arguments or ()),
        nodes=nodes,
        processes=processes,
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
    # Only here: a real cluster has nothing of the kind.
    remedy = (
        f"run it here all the same with {invocation.command('up', '--relax')}" if where.is_embedded else ""
    )
    raise typer.Exit(target.perform(where, lambda client: _submit(client, wanted, detach, remove, remedy)))


def _suffix() -> str:
    return "".join(random.choices(_ALPHABET, k=4))


async def _submit(client: Client, wanted: Submission, detach: bool, remove: bool, remedy: str) -> int:
    await _send(client, wanted)
    console.say(_described(wanted))
    if detach:
        console.say_follow(wanted.name)
        return 0
    from trainshed.cli import following

    return await following.to_the_end(client, wanted.name, remove=remove, remedy=remedy)


async def _send(client: Client, wanted: Submission) -> None:
    from trainshed.jobs import sending

    try:
        await sending.send(client, wanted, client.namespace)
    except faults.AlreadyExists as error:
        hint = f"choose another --name, or delete it first with {PROGRAM} delete {wanted.name}{HERE}"
        raise Trouble(f"there is a job {wanted.name} already", hint, FAILED) from error
    except faults.Forbidden as error:
        # What a webhook says of a missing runtime is long, and does not say which ones there are.
        raise await _no_runtime(client, wanted) or error from error


async def _no_runtime(client: Client, wanted: Submission) -> Trouble | None:
    from trainshed.jobs import runtimes

    name = wanted.runtime or wanted.framework.runtime
    known = runtimes.named(await runtimes.fetch(client, client.namespace))
    if name in known[runtimes.CLUSTER]:
        return None
    near = runtimes.suggestion(runtimes.CLUSTER, name, known)
    said = f'there is no {runtimes.CLUSTER} "{name}"{"; " + near if near else ""}'
    return Trouble(said, f"see {PROGRAM} runtimes{HERE}", FAILED)


def _described(wanted: Submission) -> str:
    each = f" x {wanted.processes} processes" if wanted.processes else ""
    nodes = f"{wanted.nodes} node{'s' if wanted.nodes > 1 else ''}{each}"
    used = wanted.runtime or wanted.framework.runtime
    return f"{wanted.name}: {wanted.script} on {nodes}, {wanted.framework.launcher[0]} (runtime {used})"
