"""More jobs than the machine can run at once: all get their turn, in order, never too many at a time."""

from __future__ import annotations

from tests.jobs.builders import a_shell
from tests.whole import Whole
from trainshed.kube.objects import Object


def a_gang(name: str, nodes: int, cpu: str, script: str = "sleep 0.5") -> Object:
    return a_shell(name, script, nodes=nodes, resourcesPerNode={"requests": {"cpu": cpu}})


def test_two_gangs_that_together_exceed_the_machine_never_deadlock(own: Whole) -> None:
    cpus = int(own.list("nodes")[0]["status"]["allocatable"]["cpu"])
    each = f"{cpus * 1000 // 3}m"
    own.apply(*[a_gang(f"gang-{number}", 2, each) for number in range(6)])
    for number in range(6):
        own.finish(f"gang-{number}")


def test_fifty_jobs_at_once_all_finish_in_order_without_overcommitting(own: Whole) -> None:
    cpus = int(own.list("nodes")[0]["status"]["allocatable"]["cpu"])
    names = [f"queued-{number:02}" for number in range(50)]
    own.apply(*[a_gang(name, 1, "600m", "date +%s.%N; sleep 0.05; date +%s.%N") for name in names])
    own.kubectl("wait", "--for=condition=Complete", "trainjob", "--all", "--timeout=100s", seconds=110)
    at_once = cpus * 1000 // 600
    found = spans_of(own)
    spans = [found[name] for name in names]
    assert max(sum(begin <= moment < end for begin, end in spans) for moment, _ in spans) <= at_once
    for position, (begin, _) in enumerate(spans):
        earlier = sum(other < begin for other, _ in spans)
        assert abs(earlier - position) <= at_once, f"{names[position]} was served as number {earlier}"


def spans_of(own: Whole) -> dict[str, tuple[float, float]]:
    """When each job's program began and ended, by its own clock."""
    selector = ("-l", "jobset.sigs.k8s.io/jobset-name", "--prefix", "--max-log-requests=60")
    moments: dict[str, list[float]] = {}
    for line in own.kubectl("logs", *selector).splitlines():
        place, _, moment = line.partition(" ")
        moments.setdefault(place.split("/")[1].rpartition("-node-0-")[0], []).append(float(moment))
    return {name: (min(found), max(found)) for name, found in moments.items()}
