"""The process that looks after one container: makes its sandbox, writes its log, records its end.

Forked from the holder, so that it starts warm. It needs neither holder nor agent, and the container does not
outlive it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainshed.runner.plan import ContainerPlan, Mount
from trainshed.runner.process import records
from trainshed.runner.process.logfile import LogFile
from trainshed.runner.process.outputs import Outputs
from trainshed.runner.process.records import Ending, Run
from trainshed.runner.process.supervision import Watch, exit_code, lay
from trainshed.runner.sandbox import arguments, base, cgroups, layers, staging, syscalls, wire
from trainshed.runner.sandbox.arguments import Room, own_group
from trainshed.runner.sandbox.base import Base
from trainshed.runner.sandbox.kit import Kit
from trainshed.runner.sandbox.launch import Launch, Recipe, launch
from trainshed.runner.sandbox.layers import Layer
from trainshed.runner.sandbox.namespaces import Pod
from trainshed.runner.sandbox.staging import Stage
from trainshed.runner.sandbox.view import View, trouble_with_command

if TYPE_CHECKING:
    from trainshed.kube.objects import Object as Message

_DRAIN_SECONDS = 5.0


class Refusal(Exception):
    """A container that cannot be started, in words for its owner."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclass(frozen=True, slots=True)
class Job:
    plan: ContainerPlan
    kit: Kit
    pod: Pod
    layer: Layer
    place: str
    """The folder of the run's records."""


def supervise(job: Job, connection: socket.socket) -> bool:
    """Run the container to its end. Whether its layer may be used again is the answer."""
    syscalls.set_name("trainshed-pod")
    started = False
    groups: tuple[str, ...] = ()
    tree = Base()
    try:
        os.makedirs(job.place, mode=0o700)
        job.pod.enter()
        tree = _tree(job)
        words, stage = _prepare(job, tree)
        name = f"{job.plan.pod.uid}-{job.plan.name}-{job.plan.attempt}"
        groups = job.kit.cgroups.make(name, job.plan.limits)
        plumbing = lay(job.place, tty=job.plan.tty, stdin=job.plan.stdin)
        started = _live(job, Recipe(job.kit, job.plan, words, plumbing, groups, stage), connection)
    except Refusal as refusal:
        _tell(connection, {"reason": refusal.reason, "error": refusal.message})
    except OSError as error:
        _tell(connection, {"reason": "CreateContainerError", "error": f"cannot make the sandbox: {error}"})
    cgroups.remove(groups)
    if not started:
        layers.remove(job.place)
    return job.layer.is_untouched(tree)


# --- before the start -------------------------------------------------------------------------------------


def _prepare(job: Job, tree: Base) -> tuple[list[str], Stage | None]:
    """Make places for what will be mounted, and say all of it in bubblewrap's words."""
    plan, kit = job.plan, job.kit
    view = View(job.layer.tree, [(path, path) for path in tree.binds])
    view.mount("/tmp", job.layer.tmp)
    for own in ("/dev", "/sys"):
        view.mount(own, own)
    files = [(source, view.resolve(target)) for source, target in _files(job)]
    mounts = [_place(view, mount) for mount in _mounts(plan)]
    _check(view, plan)
    is_host = plan.root == "/"
    room = Room(
        job.layer.tree,
        job.layer.tmp,
        "" if plan.pod.host_ipc else kit.path("pods", plan.pod.uid, "shm"),
        tuple((path, path) for path in tree.binds),
        tuple(files),
        tuple(path for path in kit.options.hidden if is_host and os.path.isdir(view.here(path))),
        tuple((path, path) for path in kit.options.visible if is_host),
        plan.user not in (None, 0) or bool(plan.group and not plan.user),
    )
    stage = None
    if kit.is_root and plan.user:
        stage = Stage(os.path.join(job.layer.path, "stage"))
        room, mounts = staging.on_stage(room, mounts, stage)
    return arguments.arguments(plan, room, mounts), stage


def _tree(job: Job) -> Base:
    plan, kit, layer = job.plan, job.kit, job.layer
    layer.make()
    if plan.root != "/":
        return _foreign_tree(job)
    tree = kit.base()
    if kit.overlay is not None:
        refused = layer.mount(tree, options=kit.overlay)
        tree = replace(tree, binds=(*tree.binds, *refused))
        if "/" in refused:
            raise Refusal("CreateContainerError", "the host's root cannot be laid under an overlay")
    targets = [mount.target for mount in plan.mounts]
    tree = base.pierced(tree, targets, layers.listing) if tree.binds else tree
    layer.furnish(tree)
    return tree


def _foreign_tree(job: Job) -> Base:
    """A root folder of its own; without overlays it is shown read-only."""
    if not os.path.isdir(job.plan.root):
        raise Refusal("CreateContainerError", f"the root folder {job.plan.root} does not exist")
    tree = Base(("/",), (), (), ())
    if job.kit.overlay is None or job.layer.mount(tree, job.plan.root, job.kit.overlay):
        syscalls.mount(job.plan.root, job.layer.tree, None, syscalls.MS_BIND | syscalls.MS_REC)
    return tree


def _files(job: Job) -> list[tuple[str, str]]:
    pod = job.plan.pod
    files = [(job.kit.path("pods", pod.uid, "hostname"), "/etc/hostname")]
    if pod.hosts:
        files.append((pod.hosts, "/etc/hosts"))
    if not pod.host_network:
        files += [
            (job.kit.path("etc", "resolv.conf"), "/etc/resolv.conf"),
            (job.kit.path("etc", "nsswitch.conf"), "/etc/nsswitch.conf"),
        ]
    return files


def _mounts(plan: ContainerPlan) -> list[Mount]:
    found = list(plan.mounts)
    if plan.termination_log and plan.termination_path:
        found.append(Mount(plan.termination_path, "bind", plan.termination_log))
    return found


def _place(view: View, mount: Mount) -> Mount:
    """Make the mount point where there is none yet; bubblewrap could not make it in a read-only folder."""
    target = view.resolve(mount.target)
    if mount.kind != "tmpfs" and not os.path.exists(mount.source):
        raise Refusal("CreateContainerError", f"{mount.source} (for {mount.target}) does not exist")
    here = view.here(target)
    if not target.startswith(("/dev/", "/proc/", "/run/")) and not os.path.lexists(here):
        try:
            _make_place(here, is_folder=mount.kind == "tmpfs" or os.path.isdir(mount.source))
        except OSError as error:
            why = f"no mount point can be made at {mount.target}: {error.strerror}"
            raise Refusal("CreateContainerError", why) from error
    if mount.kind != "tmpfs":
        view.mount(target, mount.source)
    return replace(mount, target=target)


def _make_place(here: str, is_folder: bool) -> None:
    if is_folder:
        os.makedirs(here, exist_ok=True)
        return
    os.makedirs(os.path.dirname(here), exist_ok=True)
    os.close(os.open(here, os.O_WRONLY | os.O_CREAT, 0o644))


def _check(view: View, plan: ContainerPlan) -> None:
    workdir = plan.workdir or "/"
    here = view.here(view.resolve(workdir))
    if not os.path.isdir(here):
        try:
            os.makedirs(here)  # as other runtimes do
        except OSError as error:
            why = f"working directory {workdir} cannot be used: {error.strerror}"
            raise Refusal("StartError", why) from error
    trouble = trouble_with_command(view, plan.argv, dict(plan.env), workdir)
    if trouble:
        raise Refusal("StartError", trouble)


# --- from start to end ------------------------------------------------------------------------------------


def _live(job: Job, recipe: Recipe, connection: socket.socket) -> bool:
    outputs = Outputs(LogFile(job.plan.log), recipe.plumbing.outputs)
    watch = Watch(outputs, recipe.plumbing.typed)
    launched = launch(recipe)
    begun = time.time()
    status = watch.until(launched.bwrap, launched.has_begun)
    if status is not None and not launched.did_run():
        outputs.drain(_DRAIN_SECONDS)
        raise Refusal("StartError", _words(outputs, status))
    run = _record(job, launched, recipe.groups, begun)
    _tell(connection, {"pid": run.pid, "at": begun})
    if status is None:
        status = watch.until_end(launched.bwrap)
    _end(job, status, recipe.groups, begun, outputs)
    return True


def _record(job: Job, launched: Launch, groups: tuple[str, ...], begun: float) -> Run:
    plan = job.plan
    run = Run(
        plan.pod.uid,
        plan.name,
        plan.attempt,
        records.identify(os.getpid()),
        records.identify(launched.init),
        launched.command or launched.init,
        begun,
        plan.workdir or "/",
        groups,
        plan.user or 0,
        own_group(plan),
        job.layer.path,
    )
    records.write_run(job.place, run)
    return run


def _end(job: Job, status: int, groups: tuple[str, ...], begun: float, outputs: Outputs) -> None:
    outputs.drain(_DRAIN_SECONDS)
    code = exit_code(status)
    oom = code != 0 and cgroups.ran_out_of_memory(groups)
    records.write_ending(job.place, Ending(code, oom, begun, time.time()))


def _words(outputs: Outputs, status: int) -> str:
    said = outputs.tail.decode(errors="replace").strip().splitlines()
    last = said[-1] if said else f"bubblewrap ended with {exit_code(status)}"
    return f"cannot start the container: {last.removeprefix('bwrap: ')}"


def _tell(connection: socket.socket, message: Message) -> None:
    with contextlib.suppress(OSError):  # whoever asked may be gone; the records tell as well
        wire.send(connection, message)
    connection.close()
