"""What a sandbox costs, against a bare process.

    python -m bench.sandbox [rounds]

Each round starts `true` both ways, one right after the other: whatever else the machine does hits both.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from trainshed.runner.plan import ContainerPlan, Limits, PodPlan
from trainshed.runner.sandbox.engine import SandboxEngine

_PATH = "/usr/local/bin:/usr/bin:/bin"
_LINES = 500_000


class Bench:
    def __init__(self, engine: SandboxEngine, folder: Path) -> None:
        self.engine, self._folder, self._count = engine, folder, 0
        (folder / "hosts").write_text("127.0.0.1 localhost\n")

    async def pod(self) -> PodPlan:
        self._count += 1
        number = f"{self._count}"
        address = f"10.244.{1 + self._count // 250}.{1 + self._count % 250}"
        plan = PodPlan(number, "default", f"pod-{number}", "pod", address, f"{self._folder}/hosts", number)
        await self.engine.open_pod(plan)
        return plan

    def container(self, pod: PodPlan, attempt: int, *argv: str) -> ContainerPlan:
        log = str(self._folder / "logs" / f"{pod.uid}-{attempt}.log")
        env = (("PATH", _PATH),)
        return ContainerPlan(pod, "main", attempt, argv, env, "/", (), "/", True, log, "", "", Limits())

    async def whole(self) -> None:
        """A pod from nothing to nothing."""
        pod = await self.pod()
        await self.engine.run(self.container(pod, 0, "true"))
        await self.engine.wait(pod.uid, "main", 0)
        await self.engine.close_pod(pod.uid)


async def _bare() -> None:
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def _starts(bench: Bench, rounds: int) -> None:
    pod = await bench.pod()
    opened, bare, begun, ended = [], [], [], []
    for attempt in range(rounds):
        plan = bench.container(pod, attempt, "true")
        bare.append(await _timed(_bare))
        begun.append(await _timed(lambda plan=plan: bench.engine.run(plan)))  # type: ignore[misc]
        ended.append(begun[-1] + await _timed(lambda: bench.engine.wait(pod.uid, "main", attempt)))  # noqa: B023
        opened.append(await _timed(bench.pod))
    _show("bare process, start to end", bare)
    _show("sandbox, start to running", begun)
    _show("sandbox, start to end", ended)
    _show("pod's network and namespaces", opened)
    over = statistics.median(ended) - statistics.median(bare)
    print(f"a sandbox over a bare process: {over:.1f} ms at p50 (aim: at most 30)")


def _show(what: str, times: list[float]) -> None:
    cuts = statistics.quantiles(times, n=100)
    print(f"{what:32} p50 {cuts[49]:7.1f} ms   p99 {cuts[98]:7.1f} ms")


async def _rate(bench: Bench, count: int) -> None:
    """Pods from nothing to nothing, eight at a time."""
    turns = asyncio.Semaphore(8)

    async def one() -> None:
        async with turns:
            await bench.whole()

    took = await _timed(lambda: asyncio.gather(*(one() for _ in range(count))))
    print(f"{'pods opened, run and closed':32} {count / took * 1000:7.1f} per second (aim: 50)")


async def _logs(bench: Bench) -> None:
    pod = await bench.pod()
    line = "step 12345 loss 0.12345 and whatever else is usual in a line of a training log"
    plan = bench.container(pod, 0, "sh", "-c", f"yes '{line}' | head -n {_LINES}")
    took = await _timed(lambda: bench.engine.run(plan))
    took += await _timed(lambda: bench.engine.wait(pod.uid, "main", 0))
    print(f"{'log lines of one container':32} {_LINES / took * 1000:7.0f} per second (aim: 50000)")


async def main(rounds: int = 100) -> None:
    with tempfile.TemporaryDirectory(prefix="trainshed-bench.") as folder:
        engine = SandboxEngine(Path(folder, "engine"))
        await engine.start()
        try:
            bench = Bench(engine, Path(folder))
            await _starts(bench, rounds)
            await _rate(bench, rounds)
            await _logs(bench)
        finally:
            await engine.stop()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
