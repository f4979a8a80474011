"""The process that looks after a container: makes its sandbox, writes its log, records its end.

Forked from the holder, so that it starts warm; `shifts` has what it does between two containers. It needs
neither holder nor agent, and the container does not outlive it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainshed.runner.plan import ContainerPlan, Mount, PodPlan
from trainshed.runner.process import orphans, records
from trainshed.runner.process.logfile import LogFile
from trainshed.runner.process.outputs import Outputs
from trainshed.runner.process.records import Ending, Run
from trainshed.runner.process.supervision import Watch, exit_code, lay
from trainshed.runner.sandbox import arguments, base, cgroups, layers, staging, syscalls, terminals, wire
from trainshed.runner.sandbox.arguments import Room, has_gpus, own_group
from trainshed.runner.sandbox.base import Base
from trainshed.runner.sandbox.kit import SHM, Kit
from trainshed.runner.sandbox.launch import Launch, Recipe, launch
from trainshed.runner.sandbox.layers import Layer
from trainshed.runner.sandbox.namespaces import Pod
from trainshed.runner.sandbox.staging import Stage
from trainshed.runner.sandbox.standing import Standing
from trainshed.runner.sandbox.view import View, trouble_with_command

if TYPE_CHECKING:
    from trainshed.kube.objects import Object as Message

_DRAIN_SECONDS = 5.0
_PAUSE_SECONDS = 0.5
"""Between attempts to write down the end, on a disk that may be full."""
_MADE_BY_BWRAP = ("/dev/", "/proc/", "/run/", "/sys/")


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
    tree: Base
    """What of the host is shown, as the holder has found out once for all."""
    standing: Standing


def supervise(job: Job, connection: socket.socket) -> bool:
    """Run the container to its end. Whether its layer may be used again is the answer.

    Raises what nobody has thought of: whoever calls has to end then, and with it whatever was begun.
    """
    syscalls.set_name("trainshed-pod")
    groups: tuple[str, ...] = ()
    try:
        os.makedirs(job.place, mode=0o700)
        job.pod.enter()
        tree, words, stage, before = _prepare(job)
        pristine = job.layer.looks(tree)
        name = f"{job.plan.pod.uid}-{job.plan.name}-{job.plan.attempt}"
        groups = job.kit.cgroups.make(name, job.plan.limits)
        plumbing = lay(job.place, tty=job.plan.tty, stdin=job.plan.stdin)
        is_gone = _live(job, Recipe(job.kit, job.plan, words, plumbing, groups, stage, before), connection)
        return job.layer.is_untouched(tree, pristine, job.kit.options.visible) and is_gone
    except Refusal as refusal:
        _forget(job, connection, {"reason": refusal.reason, "error": refusal.message})
        return False
    except Exception as error:  # whatever it is, somebody waits to hear of it
        trouble = f"cannot make the sandbox: {error}"
        _forget(job, connection, {"reason": "CreateContainerError", "error": trouble})
        raise
    finally:
        cgroups.remove(groups)


# --- before the start -------------------------------------------------------------------------------------


def _prepare(job: Job) -> tuple[Base, list[str], Stage | None, tuple[str, ...]]:
    """Lay the overlays, make places for what will be mounted, and say all of it in bubblewrap's words."""
    plan, kit, layer = job.plan, job.kit, job.layer
    layer.make()
    tree, view = _plot(job)
    files = [(source, view.resolve(target)) for source, target in _files(job)]
    mounts = [_place(job, tree, view, mount) for mount in _mounts(plan)]
    for _, target in files:
        if not os.path.lexists(view.here(target)) and not target.startswith(_MADE_BY_BWRAP):
            layer.place(tree, plan.root, target, is_folder=False)
    _check(job, tree, view)
    is_host = plan.root == "/"
    visible = tuple((path, path) for path in kit.options.visible if is_host)
    for _, target in visible:  # bubblewrap would not where nothing may be written, or only after we looked
        _make(job, tree, view, target, is_folder=True)
    tree = _lay(job, tree)
    room = Room(
        layer.tree,
        layer.tmp if _has_own_tmp(plan) else "",
        "" if plan.pod.host_ipc else kit.path(SHM),
        tuple((path, path) for path in tree.binds),
        tuple(files),
        tuple(path for path in kit.options.hidden if is_host and os.path.isdir(view.here(path))),
        visible,
        plan.user not in (None, 0) or bool(plan.group and not plan.user),
        layers.gpu_nodes() if has_gpus(plan) else (),
    )
    stage = None
    if kit.is_root and plan.user:
        stage = Stage(os.path.join(layer.path, "stage"))
        room, mounts = staging.on_stage(room, mounts, stage)
    before = terminals.takeover(view, plan.root) if plan.tty else ()
    return tree, arguments.arguments(plan, room, mounts), stage, before


def _plot(job: Job) -> tuple[Base, View]:
    """What of which tree is shown, and a view of it as it will be."""
    plan, kit = job.plan, job.kit
    if plan.root == "/":
        tree = kit.opened(job.tree, _environments(plan))
        if tree.binds:
            targets = [*(mount.target for mount in plan.mounts), *(target for _, target in _files(job))]
            tree = base.pierced(tree, targets, layers.listing)
        own = [(folder, job.layer.tree + folder) for folder in tree.folders if folder not in base.OWN]
        view = View("/", [*own, *((path, path) for path in (*tree.overlays, *tree.binds) if path != "/")])
    elif os.path.isdir(plan.root):
        tree, view = Base(("/",), (), (), ()), View(plan.root)
    else:
        raise Refusal("CreateContainerError", f"the root folder {plan.root} does not exist")
    if _has_own_tmp(plan):
        view.mount("/tmp", job.layer.tmp)
    return tree, view


def _has_own_tmp(plan: ContainerPlan) -> bool:
    """Not that of a root folder in which nothing may be written; it may have none."""
    return plan.writable or plan.root == "/"


def _environments(plan: ContainerPlan) -> tuple[str, ...]:
    """Where `pip install` would write: the folder above the first one with programs."""
    first = dict(plan.env).get("PATH", "").partition(":")[0]
    return (os.path.dirname(first),) if first.count("/") > 2 else ()


def _lay(job: Job, tree: Base) -> Base:
    """Make it so; folders that refuse an overlay are shown read-only."""
    layer, options = job.layer, job.kit.overlay
    if job.plan.root != "/":
        job.standing.forget()
        if options is None or layer.mount(tree, job.plan.root, options):
            syscalls.mount(job.plan.root, layer.tree, None, syscalls.MS_BIND | syscalls.MS_REC)
        return tree
    if options is not None:
        tree = job.standing.put_up(layer, tree, lambda: _laid(layer, tree, options))
    layer.furnish(tree)
    return tree


def _laid(layer: Layer, tree: Base, options: str) -> Base:
    refused = layer.mount(tree, options=options)
    if "/" in refused:
        raise Refusal("CreateContainerError", "the host's root cannot be laid under an overlay")
    return replace(tree, binds=(*tree.binds, *refused))


def _files(job: Job) -> list[tuple[str, str]]:
    """The files of ours in /etc, as (source, target)."""
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


def _place(job: Job, tree: Base, view: View, mount: Mount) -> Mount:
    """Make the mount point where there is none yet; bubblewrap could not make it in a read-only folder."""
    _make_in_memory(job.plan.pod, mount)
    if mount.kind != "tmpfs" and not os.path.exists(mount.source):
        raise Refusal("CreateContainerError", f"{mount.source} (for {mount.target}) does not exist")
    target = view.resolve(mount.target)
    try:
        _make(job, tree, view, target, is_folder=mount.kind == "tmpfs" or os.path.isdir(mount.source))
    except OSError as error:
        why = f"no mount point can be made at {mount.target}: {error.strerror}"
        raise Refusal("CreateContainerError", why) from error
    if mount.kind != "tmpfs":
        view.mount(target, mount.source)
    return replace(mount, target=target)


def _make_in_memory(pod: PodPlan, mount: Mount) -> None:
    """A part of a volume in memory: only those in the pod can make it, and no link may lead out of it."""
    root = next((path for path, _ in pod.memory if mount.source.startswith(f"{path}/")), "")
    if not root:
        return
    if not os.path.realpath(mount.source).startswith(f"{os.path.realpath(root)}/"):
        raise Refusal("CreateContainerError", f"the subPath of {mount.target} leads out of its volume")
    if not os.path.exists(mount.source):
        os.makedirs(mount.source)
        os.chmod(mount.source, 0o777)


def _make(job: Job, tree: Base, view: View, target: str, *, is_folder: bool) -> None:
    here = view.here(target)
    if os.path.lexists(here) or target.startswith(_MADE_BY_BWRAP):
        return
    if not view.is_volume(target):
        job.layer.place(tree, job.plan.root, target, is_folder=is_folder)
        return
    os.makedirs(here if is_folder else os.path.dirname(here), exist_ok=True)
    if not is_folder:
        os.close(os.open(here, os.O_WRONLY | os.O_CREAT, 0o644))


def _check(job: Job, tree: Base, view: View) -> None:
    plan = job.plan
    workdir = view.resolve(plan.workdir or "/")
    try:
        _make(job, tree, view, workdir, is_folder=True)  # as other runtimes do
        if os.path.isfile(view.here(workdir)):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        why = f"working directory {plan.workdir} cannot be used: {error.strerror}"
        raise Refusal("StartError", why) from error
    trouble = trouble_with_command(view, plan.argv, dict(plan.env), workdir)
    if trouble:
        raise Refusal("StartError", trouble)


# --- from start to end ------------------------------------------------------------------------------------


def _live(job: Job, recipe: Recipe, connection: socket.socket) -> bool:
    """From its start to its end; whether all of its processes are known to be gone then."""
    outputs = Outputs(LogFile(job.plan.log), recipe.plumbing.outputs, is_typed=job.plan.tty)
    watch = Watch(outputs, recipe.plumbing.entrance)
    if job.plan.pod.host_pid:
        orphans.adopt_orphans()
    launched = launch(recipe)
    begun = time.time()
    status = watch.until(launched.bwrap, launched.has_begun)
    if status is not None and not launched.did_run():
        outputs.drain(_DRAIN_SECONDS)
        memory = job.plan.limits.memory if cgroups.ran_out_of_memory(recipe.groups) else None
        raise Refusal("StartError", _out_of_memory(memory) if memory else _words(outputs, status))
    held, init = records.hold(job.place), _handle(launched.init)
    run = _record(job, launched, recipe.groups, begun)
    _tell(connection, {"pid": run.pid, "at": begun})
    if status is None:
        status = watch.until_end(launched.bwrap)
    if job.plan.pod.host_pid:
        orphans.end_all(launched.bwrap, os.getpid())
    is_gone = job.plan.pod.host_pid or _outlast(init)
    _end(job, status, recipe.groups, begun, outputs)
    os.close(held)
    return is_gone


def _handle(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:  # it has ended already
        return None


def _outlast(init: int | None) -> bool:
    """Wait until the first process of the sandbox is gone, by which the kernel has ended all others.

    Bubblewrap ends as soon as it knows the exit code, while what the program left behind may still write.
    """
    if init is None:
        return True
    waiting = select.poll()
    waiting.register(init, select.POLLIN)
    is_gone = bool(waiting.poll(_DRAIN_SECONDS * 1000))
    os.close(init)
    return is_gone


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
        not plan.pod.host_pid,
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
    _write_down(job.place, Ending(code, oom, begun, time.time()))


def _write_down(place: str, ending: Ending) -> None:
    """However long it takes until there is room for it; without its folder there is nobody to read it."""
    while os.path.isdir(place):
        try:
            records.write_ending(place, ending)
        except OSError:
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _out_of_memory(limit: int) -> str:
    return f"the container ran out of its memory limit of {limit} bytes"


def _words(outputs: Outputs, status: int) -> str:
    said = outputs.tail.decode(errors="replace").strip().splitlines()
    last = said[-1] if said else f"bubblewrap ended with {exit_code(status)}"
    return f"cannot start the container: {last.removeprefix('bwrap: ')}"


def _forget(job: Job, connection: socket.socket, answer: Message) -> None:
    """It never ran: nothing is on record when its caller hears of it. One that did is lost with us."""
    if records.read_run(job.place) is not None:
        return
    layers.remove(job.place)
    _tell(connection, answer)


def _tell(connection: socket.socket, message: Message) -> None:
    with contextlib.suppress(OSError):  # whoever asked may be gone; the records tell as well
        wire.send(connection, message)
    connection.close()
