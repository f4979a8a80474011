"""More jobs than the machine can run at once: all get their turn, in order, never too many at a time."""

from __future__ import annotations

from itertools import pairwise

from tests.jobs.builders import a_shell, a_trainjob
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


def a_runtime_with_a_launcher(name: str, cpu: str) -> Object:
    """Its launcher is made when the worker is ready, which serves until the launcher is done."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "mpi"}},
        "spec": {
            "template": {
                "spec": {
                    "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]},
                    "replicatedJobs": [
                        a_part("node", "", cpu, ["sleep", "600"]),
                        {
                            **a_part("launcher", "trainer", cpu),
                            "dependsOn": [{"name": "node", "status": "Ready"}],
                        },
                    ],
                }
            }
        },
    }


def a_part(name: str, step: str, cpu: str, command: list[str] | None = None) -> Object:
    container: Object = {"name": "node", "image": "any", "resources": {"requests": {"cpu": cpu}}}
    if command is not None:
        container["command"] = command
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step} if step else {}
    return {
        "name": name,
        "template": {
            "metadata": {"labels": labels},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        },
    }


def test_jobs_whose_launchers_come_late_run_one_after_the_other(own: Whole) -> None:
    cpus = int(own.list("nodes")[0]["status"]["allocatable"]["cpu"])
    own.apply(a_runtime_with_a_launcher("launched", f"{cpus * 450}m"))
    script = "date +%s.%N; sleep 0.3; date +%s.%N"
    names = ["launched-0", "launched-1", "launched-2"]
    own.apply(*[a_trainjob(name, "sh", "-c", script, runtime="launched") for name in names])
    spans = []
    for name in names:
        own.finish(name)
        began, ended = own.kubectl("logs", f"job/{name}-launcher-0").split()
        spans.append((float(began), float(ended)))
    spans.sort()
    assert all(ended <= begins for (_, ended), (begins, _) in pairwise(spans))


def test_a_job_that_never_fits_with_its_launcher_says_so(shed: Whole, name: str) -> None:
    cpus = int(shed.list("nodes")[0]["status"]["allocatable"]["cpu"])
    shed.apply(a_runtime_with_a_launcher("huge", f"{cpus * 750}m"))
    shed.apply(a_trainjob(name, "true", runtime="huge"))
    shed.finish(name, "Waiting")
    conditions = shed.get("trainjob", name)["status"]["conditions"]
    [told] = [one["message"] for one in conditions if one["type"] == "Waiting"]
    needed = f"{cpus * 3 // 2}" if cpus % 2 == 0 else f"{cpus * 1500}m"
    assert told == f"waiting: needs cpu {needed} for its 2 pods, this machine has {cpus}"
    shed.kubectl("delete", "trainjob", name)


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
