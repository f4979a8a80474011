"""Which events are a job's own: by uid what is there, by name what is gone."""

from __future__ import annotations

import pytest

from trainshed.jobs import happenings
from trainshed.jobs.belongings import Belongings
from trainshed.jobs.jobkinds import TRAINJOB, V1, JobKind
from trainshed.kube.objects import Object

BEGAN = "2026-01-01T00:00:05Z"


def an_object(kind: str, name: str, uid: str) -> Object:
    return {"kind": kind, "metadata": {"name": name, "uid": uid, "creationTimestamp": BEGAN}}


def an_event(kind: str, name: str, uid: str, at: str = "2026-01-01T00:00:06Z") -> Object:
    return {"involvedObject": {"kind": kind, "name": name, "uid": uid}, "lastTimestamp": at}


def told(event: Object, kind: JobKind = TRAINJOB) -> bool:
    jobset = an_object("JobSet", "live", "2") | {"spec": {"replicatedJobs": [{"name": "node"}]}}
    mine = Belongings(jobset, [an_object("Job", "live-node-0", "3")], [an_object("Pod", "any", "4")])
    job = an_object(kind.kind, "live", "1")
    if kind.family:
        job["spec"] = {kind.family.replicas: {"Worker": {"replicas": 1}}}
    return happenings.of_job([event], kind, job, mine) == [event]


@pytest.mark.parametrize(
    "event",
    [
        an_event("TrainJob", "live", "1"),
        an_event("JobSet", "live", "2"),
        an_event("Job", "live-node-0", "3"),
        an_event("Pod", "any", "4"),
        an_event("Pod", "live-node-0-1-x7k2p", "of an earlier attempt"),
        an_event("Pod", "live-node-0-1-x7k2p", "created in the same second", BEGAN.replace("Z", ".5Z")),
        an_event("Job", "live-node-0", "of an earlier attempt"),
    ],
)
def test_a_job_has_the_events_of_what_it_has_and_had(event: Object) -> None:
    assert told(event)


@pytest.mark.parametrize(
    "event",
    [
        an_event("Pod", "live", "9"),
        an_event("TrainJob", "live", "of a former job"),
        an_event("TrainJob", "live-2", "9"),
        an_event("Pod", "live-2-node-0-0-x7k2p", "9"),
        an_event("Pod", "live-node-0-1-x7k2p", "of a former job", "2026-01-01T00:00:04Z"),
        an_event("Service", "live-node-0", "9"),
    ],
)
def test_what_is_only_called_alike_is_not_told(event: Object) -> None:
    assert not told(event)


def test_pods_of_v1_jobs_are_known_by_their_roles() -> None:
    pytorch = next(kind for kind in V1 if kind.kind == "PyTorchJob")
    assert told(an_event("Pod", "live-worker-3", "gone"), pytorch)
    assert not told(an_event("Pod", "live-other-3", "9"), pytorch)


def test_events_come_in_the_order_in_which_they_happened() -> None:
    late, early = an_event("TrainJob", "live", "1", "2026-01-01T00:00:09Z"), an_event("TrainJob", "live", "1")
    job = an_object("TrainJob", "live", "1")
    assert happenings.of_job([late, early], TRAINJOB, job, Belongings()) == [early, late]
