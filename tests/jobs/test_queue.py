"""More jobs than the machine can run at once: all get their turn, in order, never too many at a time."""

from __future__ import annotations

from tests.jobs.builders import a_shell
from tests.whole import Whole
from trainshed.kube.objects import Object


def a_gang(name: str, nodes: int, cpu: str, script: str = "sleep 0.5") -> Object:
    return a_shell(name, script, nodes=nodes, resourcesPerNode={"requests": {"cpu": cpu}})


def started(pod: Object) -> str:
    state = pod["status"]["containerStatuses"][0]["state"]
    return str((state.get("terminated") or state["running"])["startedAt"])


def test_two_gangs_that_together_exceed_the_machine_never_deadlock(own: Whole) -> None:
    cpus = int(own.list("nodes")[0]["status"]["allocatable"]["cpu"])
    each = f"{cpus * 1000 // 3}m"
    own.apply(*[a_gang(f"gang-{number}", 2, each) for number in range(6)])
    for number in range(6):
        own.finish(f"gang-{number}")


def test_fifty_jobs_at_once_all_finish_in_order_without_overcommitting(own: Whole) -> None:
    cpus = int(own.list("nodes")[0]["status"]["allocatable"]["cpu"])
    names = [f"queued-{number:02}" for number in range(50)]
    for name in names:  # one at a time: they have an order
        own.kubectl(
            "create", "-f", "-", stdin=_text(a_gang(name, 1, "600m", "date +%s.%N; sleep 0.05; date +%s.%N"))
        )
    for name in names:
        own.finish(name)
    spans = [_span(own, name) for name in names]
    most = max(sum(begin <= moment < end for begin, end in spans) for moment, _ in spans)
    assert most <= cpus * 1000 // 600
    begins = [begin for begin, _ in spans]
    slack = cpus * 1000 // 600
    for position, begin in enumerate(begins):
        earlier = sum(other < begin for other in begins)
        assert abs(earlier - position) <= slack, f"{names[position]} was served {earlier}th"


def _span(own: Whole, name: str) -> tuple[float, float]:
    begin, end = own.trainshed("logs", name).out.split()
    return float(begin), float(end)


def _text(document: Object) -> str:
    import json

    return json.dumps(document)
