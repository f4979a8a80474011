"""Whole jobs on a whole Trainshed, against what the machine does without it.

    python -m bench.jobs [ddp|starts|many|restart]

- ddp: a two-node DistributedDataParallel job, submit to done, against two bare `torchrun`s
- starts: submit to both pods of a two-pod job running
- many: 500 one-pod TrainJobs that run `true`, in all
- restart: from a killed rank to the whole gang running again, before the script's own imports
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from bench import processes
from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.jobs.summary import JOBSET_NAME, TRAINJOBS, attempt_of, summarize
from trainshed.kube.objects import Object, text

EXAMPLE = Path(__file__).parent.parent / "examples" / "02-pytorch-ddp"
BIN = Path(sys.executable).parent
WAIT_SECONDS = 300.0


@contextmanager
def trainshed() -> Iterator[Path]:
    """A Trainshed of its own; its kubeconfig."""
    folder = Path(tempfile.mkdtemp(prefix="trainshed-bench."))
    data = ["--data-dir", str(folder / "data")]
    subprocess.run([BIN / "trainshed", "up", "--port", "0", *data], check=True, capture_output=True)
    try:
        yield folder / "data" / "kubeconfig"
    finally:
        subprocess.run([BIN / "trainshed", "down", *data], check=True, capture_output=True)
        shutil.rmtree(folder)


@asynccontextmanager
async def connected(config: Path) -> AsyncIterator[Client]:
    async with Client.connect(kubeconfig.load(config)) as client:
        yield client


def a_job(name: str, command: Sequence[str], nodes: int = 1, runtime: str = "torch-distributed") -> Object:
    trainer = {"numNodes": nodes, "numProcPerNode": 1, "command": list(command)}
    spec = {"runtimeRef": {"name": runtime}, "trainer": trainer}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": meta, "spec": spec}


async def until(client: Client, kind: str, where: Where, met: Callable[[dict[str, Object]], bool]) -> None:
    """Watch until a claim about all objects of a kind holds."""
    known: dict[str, Object] = {}
    async with asyncio.timeout(WAIT_SECONDS), client.watch(kind, "default", where) as changes:
        async for change in changes:
            name = text(change.object, "metadata", "name")
            if change.type == "DELETED":
                known.pop(name, None)
            elif change.type != "SYNCED":
                known[name] = change.object
            if met(known):
                return


def running(count: int) -> Callable[[dict[str, Object]], bool]:
    return lambda pods: sum(text(pod, "status", "phase") == "Running" for pod in pods.values()) == count


def finished(count: int) -> Callable[[dict[str, Object]], bool]:
    return lambda jobs: sum(summarize(job).is_finished for job in jobs.values()) == count


async def all_finished(client: Client, count: int) -> None:
    """Looks at each job when it changes, and only then: the watcher must not be what is measured."""
    done: set[str] = set()
    async with asyncio.timeout(WAIT_SECONDS), client.watch(TRAINJOBS, "default") as changes:
        while len(done) < count:
            job = (await anext(changes)).object
            if job and summarize(job).is_finished:
                done.add(text(job, "metadata", "name"))


def pods_of(name: str) -> Where:
    return Where(labels=f"{JOBSET_NAME}={name}")


async def remove(client: Client, name: str) -> None:
    await client.delete(TRAINJOBS, name, "default", Delete(propagation="Foreground"))
    await until(client, "pods", pods_of(name), lambda pods: not pods)


# --- what is measured ---------------------------------------------------------------------------------------


def bare_torchruns() -> float:
    """Two torchruns on this machine, one node each, that meet at a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    began = time.perf_counter()
    command = [
        str(BIN / "torchrun"),
        "--nnodes=2",
        "--nproc-per-node=1",
        "--master-addr=127.0.0.1",
        f"--master-port={port}",
    ]
    script = str(EXAMPLE / "train.py")
    nodes = [
        subprocess.Popen(
            [*command, f"--node-rank={rank}", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for rank in range(2)
    ]
    for node in nodes:
        if node.wait(WAIT_SECONDS):
            raise RuntimeError("a bare torchrun failed")
    return time.perf_counter() - began


async def ddp(client: Client, _: Path) -> None:
    code = {"train.py": (EXAMPLE / "train.py").read_text()}
    await client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ddp-code"}, "data": code}
    )
    ours, bare = [], []
    for turn in range(11):
        bare.append(await asyncio.to_thread(bare_torchruns))
        ours.append(await ddp_once(client, f"ddp-{turn}"))
        print(f"  turn {turn}: {ours[-1]:.2f} s, bare {bare[-1]:.2f} s", flush=True)
    # The mean: in both ways there are turns of two kinds, with and without a rank that was refused at first.
    mine, theirs = statistics.mean(ours), statistics.mean(bare)
    middle = statistics.median(ours) / statistics.median(bare)
    print(
        f"two-node DDP, submit to done   {mine:6.2f} s, bare {theirs:6.2f} s: {mine / theirs:.3f}x "
        f"(aim 1.05), medians {middle:.3f}x"
    )


async def ddp_once(client: Client, name: str) -> float:
    job = a_job(name, ["torchrun", "/app/train.py"], nodes=2)
    mount = {"name": "node", "volumeMounts": [{"name": "code", "mountPath": "/app"}]}
    volume = {"name": "code", "configMap": {"name": "ddp-code"}}
    pod = {"spec": {"template": {"spec": {"containers": [mount], "volumes": [volume]}}}}
    spec = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": pod}]}}}
    job["spec"]["runtimePatches"] = [{"manager": "bench.trainshed.dev/ddp", "trainingRuntimeSpec": spec}]
    began = time.perf_counter()
    await client.create(job)
    await until(client, TRAINJOBS, Where(fields=f"metadata.name={name}"), finished(1))
    took = time.perf_counter() - began
    if summarize(await client.get(TRAINJOBS, name, "default")).state != "Complete":
        raise RuntimeError(f"{name} failed")
    await remove(client, name)
    return took


async def starts(client: Client, _: Path) -> None:
    times = []
    for turn in range(40):
        name = f"start-{turn}"
        watching = asyncio.create_task(until(client, "pods", pods_of(name), running(2)))
        await asyncio.sleep(0.05)  # the watch is open before the job is there
        began = time.perf_counter()
        await client.create(a_job(name, ["sleep", "60"], nodes=2))
        await watching
        times.append((time.perf_counter() - began) * 1000)
        await remove(client, name)
    times.sort()
    half, most = statistics.median(times), times[int(len(times) * 0.99)]
    print(f"submit to two pods running     p50 {half:.0f} ms (aim 150), p99 {most:.0f} ms (aim 500)")


async def warmed_up(client: Client, data: Path) -> None:
    """All parts are up, and each has seen a job: what is made at first use is none of the steady work."""
    await client.create(a_job("first", ["true"]))
    await all_finished(client, 1)
    await remove(client, "first")
    async with asyncio.timeout(WAIT_SECONDS):
        while "backend" not in processes.seconds(data):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def many(client: Client, data: Path, count: int = 500) -> None:
    await warmed_up(client, data)
    jobs = [a_job(f"many-{number:03}", ["true"]) for number in range(count)]
    began = time.perf_counter()
    gate = asyncio.Semaphore(16)

    async def submit(job: Object) -> None:
        async with gate:
            await client.create(job)

    before = processes.seconds(data)
    waiting = asyncio.create_task(all_finished(client, count))
    await asyncio.gather(*map(submit, jobs))
    sent = time.perf_counter() - began
    await waiting
    took = time.perf_counter() - began
    spent = processes.per_job(before, processes.seconds(data), count)
    states = [summarize(job).state for job in (await client.list(TRAINJOBS, "default")).items]
    done = states.count("Complete")
    rate = done / took
    print(
        f"{count} one-pod jobs          {rate:.1f} completed/s (aim 50), {done} complete, sent: {sent:.1f} s"
    )
    print(f"  ms on a processor per job: {spent}")


async def restart(client: Client, _: Path) -> None:
    runtime = await client.get("clustertrainingruntimes", "torch-distributed")
    runtime = {key: runtime[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "again"}}
    runtime["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 100}
    job = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    job["backoffLimit"] = 0
    job["template"]["spec"]["restartPolicy"] = "Never"
    await client.create(runtime)
    await client.create(a_job("again", ["bash", "-c", "sleep 3600"], nodes=2, runtime="again"))
    await until(client, "pods", pods_of("again"), running(2))
    times = []
    for turn in range(1, 11):
        began = time.perf_counter()
        kill_rank("again-node-0-0")
        await until(client, "pods", pods_of("again"), restarted(turn))
        times.append(time.perf_counter() - began)
    half, most = statistics.median(times), max(times)
    print(f"a killed rank, gang up again   p50 {half:.2f} s, worst {most:.2f} s (aim 1)")


def restarted(attempt: int) -> Callable[[dict[str, Object]], bool]:
    def met(pods: dict[str, Object]) -> bool:
        new = [pod for pod in pods.values() if attempt_of(pod) == attempt]
        return sum(text(pod, "status", "phase") == "Running" for pod in new) == 2

    return met


def kill_rank(hostname: str) -> None:
    """Kill -9 the program of a pod from outside, as an out-of-memory killer would."""
    mark = f"HOSTNAME={hostname}\0".encode()
    for entry in Path("/proc").iterdir():
        if (
            entry.name.isdigit()
            and _reads(entry / "comm") == b"sleep\n"
            and mark in _reads(entry / "environ")
        ):
            os.kill(int(entry.name), 9)


def _reads(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # it has ended
        return b""


MEASURES: dict[str, Callable[[Client, Path], Awaitable[None]]] = {
    "ddp": ddp,
    "starts": starts,
    "many": many,
    "restart": restart,
}


async def measure(name: str) -> None:
    with trainshed() as config:
        async with connected(config) as client:
            await MEASURES[name](client, config.parent)


def main(names: Sequence[str] = tuple(MEASURES)) -> None:
    for name in names:
        asyncio.run(measure(name))


if __name__ == "__main__":
    main(sys.argv[1:] or tuple(MEASURES))
