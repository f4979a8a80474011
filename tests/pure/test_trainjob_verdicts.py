"""One line for the owner of a job that waits, starts again or has failed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.pure.pod_objects import a_jobset, a_pod, ended, restarted, unplaced, waiting, with_status
from trainshed.controllers.trainjob import ranks, restarts, verdicts
from trainshed.controllers.trainjob.ledger import Ledger
from trainshed.kinds.core import podstates
from trainshed.kube.objects import JSON, Object
from trainshed.kube.verdicts import by_agent
from trainshed.loop.keys import Key

KEY = Key("n", "t")
NOW = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)
MISSING = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'foo'\n"


def sentence(*pods: Object, jobset: Object | None = None) -> str:
    """What the ledger says after it has seen these pods."""
    ledger = Ledger()
    for pod in pods:
        list(ledger.concerns(pod))
    found = ledger.first_failure(KEY)
    return found.sentence(jobset or a_jobset()) if found else ""


# --- failures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (ended(a_pod(1), MISSING), "rank 1 of 2 exited 1: ModuleNotFoundError: No module named 'foo'"),
        (ended(a_pod(0), code=3), "rank 0 of 2 exited 3"),
        (ended(a_pod(0), code=137), "rank 0 of 2 was killed by signal 9 (SIGKILL)"),
        (
            ended(a_pod(0), code=139, message="Segmentation fault"),
            "rank 0 of 2 was killed by signal 11 (SIGSEGV): Segmentation fault",
        ),
        (ended(a_pod(0), code=137, reason="OOMKilled"), "rank 0 of 2 ran out of memory"),
        (
            ended(a_pod(0), code=137, reason="ContainerStatusUnknown", message="the container was lost"),
            "rank 0 of 2 was killed by signal 9 (SIGKILL): the container was lost",
        ),
        (
            ended(a_pod(0), 'exec: "tronchrun": not found in $PATH', code=128, reason="StartError"),
            'rank 0 of 2 could not start: exec: "tronchrun": not found in $PATH',
        ),
        (restarted(a_pod(1), MISSING), "rank 1 of 2 exited 1: ModuleNotFoundError: No module named 'foo'"),
        (ended(a_pod(0, job="launcher")), "launcher exited 1"),
        (ended(a_pod(0, job="dataset-initializer")), "dataset-initializer exited 1"),
    ],
)
def test_a_failure_is_told_with_rank_end_and_cause(pod: Object, said: str) -> None:
    assert sentence(pod) == said


def test_memory_is_told_with_its_limit() -> None:
    pod = a_pod(0)
    pod["spec"]["containers"][0]["resources"] = {"limits": {"memory": "1Gi"}}
    assert sentence(ended(pod, code=137, reason="OOMKilled")) == "rank 0 of 2 ran out of memory (limit 1Gi)"


def test_memory_without_a_unit_is_told_in_bytes() -> None:
    pod = a_pod(0)
    pod["spec"]["containers"][0]["resources"] = {"limits": {"memory": "10"}}
    assert (
        sentence(ended(pod, code=137, reason="OOMKilled")) == "rank 0 of 2 ran out of memory (limit 10 bytes)"
    )


@pytest.mark.parametrize(
    ("code", "said"), [(143, "was killed by signal 15 (SIGTERM)"), (137, "was killed by signal 9 (SIGKILL)")]
)
def test_who_was_killed_by_the_agent_says_why(code: int, said: str) -> None:
    message = by_agent("its liveness probe failed: connection refused", "ValueError: handled\nstep 7")
    pod = ended(a_pod(0), message, code=code)
    later = ended(a_pod(1), MISSING, at="2026-01-01T00:00:09Z")
    assert sentence(pod, later) == f"rank 0 of 2 {said}: its liveness probe failed: connection refused"


def test_the_last_line_of_who_was_killed_is_not_taken_for_the_cause() -> None:
    said = "rank 0 of 2 was killed by signal 9 (SIGKILL); last line: step 28"
    assert sentence(ended(a_pod(0), "step 27\nstep 28\n", code=137)) == said
    assert sentence(ended(a_pod(0), "no data\n")) == "rank 0 of 2 exited 1: no data"


def test_a_pod_that_was_ended_as_a_whole_says_so_rather_than_how_its_containers_ended() -> None:
    pod = ended(a_pod(0), "step 7", code=143)
    pod["status"] |= {"phase": "Failed", "reason": "NodeShutdown", "message": "Trainshed was stopped"}
    assert sentence(pod) == "rank 0 of 2 failed: NodeShutdown: Trainshed was stopped"


def test_an_init_container_is_named() -> None:
    state = {"terminated": {"exitCode": 128, "message": "fatal: repository 'x' does not exist"}}
    status = {"name": "git-clone", "restartCount": 0, "state": state}
    pod = with_status(a_pod(0), status, "initContainerStatuses")
    said = "rank 0 of 2, init container git-clone, exited 128: fatal: repository 'x' does not exist"
    assert sentence(pod) == said


def test_a_container_with_neighbours_is_named() -> None:
    pod = a_pod(0)
    pod["spec"]["containers"].append({"name": "sidecar"})
    assert sentence(ended(pod)) == "rank 0 of 2, container node, exited 1"


def test_a_pod_that_failed_as_a_whole_says_why() -> None:
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}
    assert (
        sentence({**a_pod(1), "status": status}) == "rank 1 of 2 failed: Evicted: The node was low on memory"
    )


def test_workers_that_are_no_ranks_are_counted_too() -> None:
    jobset = a_jobset()
    jobset["spec"]["replicatedJobs"].append({"name": "extra", "template": {"spec": {"parallelism": 3}}})
    assert ranks.name_of(a_pod(2, job="extra"), jobset) == "extra 2 of 3"


def test_a_launcher_is_no_rank_though_it_stands_for_the_training() -> None:
    jobset = a_jobset()
    jobset["spec"]["replicatedJobs"][0]["name"] = "launcher"
    assert ranks.name_of(a_pod(0, job="launcher"), jobset) == "launcher 0 of 2"
    jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] = 1
    assert ranks.name_of(a_pod(0, job="launcher"), jobset) == "launcher"


def test_the_first_to_fail_is_the_one_to_blame() -> None:
    later = ended(a_pod(0), "ValueError: late", at="2026-01-01T00:00:09Z")
    first = ended(a_pod(1), "ValueError: early", at="2026-01-01T00:00:05Z")
    assert sentence(later, first) == "rank 1 of 2 exited 1: ValueError: early"


def test_who_lost_a_neighbour_is_not_to_blame_even_if_it_ended_first() -> None:
    echo = ended(a_pod(0), "RuntimeError: Connection closed by peer", at="2026-01-01T00:00:04Z")
    cause = ended(a_pod(1), "ValueError: mine", at="2026-01-01T00:00:05Z")
    assert sentence(echo, cause) == "rank 1 of 2 exited 1: ValueError: mine"
    assert sentence(echo) == "rank 0 of 2 exited 1: RuntimeError: Connection closed by peer"


def test_being_deleted_is_not_a_failure() -> None:
    pod = ended(a_pod(0), code=143, at="2026-01-01T00:00:05Z")
    pod["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:33Z", "deletionGracePeriodSeconds": 30}
    assert podstates.bad_end(pod) is None
    pod["status"]["phase"] = "Failed"
    assert podstates.bad_end(pod) is None
    assert podstates.bad_end(ended(pod, "boom", code=1)) is not None


# --- the ledger -------------------------------------------------------------------------------------------


def test_what_a_pod_said_outlives_it() -> None:
    ledger = Ledger()
    failed = ended(a_pod(1), MISSING)
    assert list(ledger.concerns(a_pod(1))) == []
    assert list(ledger.concerns(failed)) == [KEY]
    assert list(ledger.concerns(failed)) == []
    found = ledger.first_failure(KEY)
    assert found is not None
    assert found.sentence(a_jobset()).startswith("rank 1 of 2 exited 1")
    ledger.forget(KEY)
    assert ledger.first_failure(KEY) is None


def test_each_attempt_has_failures_of_its_own() -> None:
    ledger = Ledger()
    for attempt, message in enumerate(("ValueError: zero", "ValueError: one")):
        list(ledger.concerns(ended(a_pod(0, attempt=attempt), message)))
    for attempt, word in enumerate(("zero", "one")):
        found = ledger.first_failure(KEY, attempt)
        assert found is not None
        assert found.ended.how.endswith(word)
    assert ledger.first_failure(KEY, 2) is None


def test_a_jobset_of_the_same_name_starts_a_new_page() -> None:
    ledger = Ledger()
    list(ledger.concerns(ended(a_pod(0))))
    namesake = ended(a_pod(1))
    namesake["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-uid"] = "other"
    list(ledger.concerns(namesake))
    found = ledger.first_failure(KEY)
    assert found is not None
    assert ranks.index_of(found.pod) == 1


def test_healthy_pods_concern_nobody_but_those_of_a_job_in_trouble() -> None:
    ledger = Ledger()
    assert list(ledger.concerns(a_pod(0))) == []
    ledger.watch(KEY, True)
    assert list(ledger.concerns(a_pod(0))) == [KEY]
    ledger.watch(KEY, False)
    assert list(ledger.concerns(a_pod(0))) == []
    assert list(ledger.concerns({"metadata": {"name": "alone", "namespace": "n"}})) == []


def test_each_version_of_a_pod_is_news_at_most_once() -> None:
    ledger = Ledger()
    well, failed = a_pod(1), ended(a_pod(1), MISSING)
    well["metadata"]["resourceVersion"], failed["metadata"]["resourceVersion"] = "1", "2"
    assert [list(ledger.concerns(pod)) for pod in (well, well, failed, failed)] == [[], [], [KEY], []]
    ledger.watch(KEY, True)
    assert list(ledger.concerns(failed)) == [KEY]


# --- waiting ----------------------------------------------------------------------------------------------


def standing(*pods: Object, jobset: Object | None = None, failure: str = "") -> verdicts.Verdict | None:
    return verdicts.standing(jobset or a_jobset(), pods, failure, NOW)


@pytest.mark.parametrize(
    ("pod", "reason", "message"),
    [
        (
            unplaced(a_pod(0), "needs nvidia.com/gpu 2, this machine has 0"),
            "Unschedulable",
            "waiting: needs nvidia.com/gpu 2, this machine has 0",
        ),
        (
            waiting(a_pod(1), "CreateContainerConfigError", 'configmap "x" not found'),
            "CreateContainerConfigError",
            'waiting: rank 1 of 2: configmap "x" not found',
        ),
        (
            waiting(a_pod(0), "ContainerCreating", 'secret "y" not found'),
            "ContainerCreating",
            'waiting: rank 0 of 2: secret "y" not found',
        ),
    ],
)
def test_a_job_that_waits_says_for_what(pod: Object, reason: str, message: str) -> None:
    assert standing(a_pod(1, uid="fine"), pod) == verdicts.Verdict("Waiting", reason, message)


@pytest.mark.parametrize(
    "pod",
    [
        a_pod(0),
        waiting(a_pod(0), "ContainerCreating"),
        waiting(a_pod(0), "PodInitializing"),
        restarted(a_pod(0)),
    ],
)
def test_the_usual_moment_before_a_start_is_no_waiting(pod: Object) -> None:
    assert standing(pod) is None


def test_a_sidecar_that_keeps_failing_is_told_where_the_pod_itself_never_restarts() -> None:
    last = {"terminated": {"exitCode": 1, "message": "ValueError: no port"}}
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
    status = {"name": "proxy", "restartCount": 3, "state": state, "lastState": last}
    pod = with_status(a_pod(0), status, "initContainerStatuses")
    pod["spec"]["restartPolicy"] = "Never"
    said = "waiting: rank 0 of 2: container proxy keeps failing: it exited 1: ValueError: no port"
    assert standing(pod) == verdicts.Verdict("Waiting", "CrashLoopBackOff", said)


def test_an_elastic_job_with_nodes_enough_does_not_wait_for_more() -> None:
    def elastic(pod: Object, fewest: int) -> Object:
        return {
            **pod,
            "metadata": {**pod["metadata"], "annotations": {"trainshed.dev/gang-minimum": str(fewest)}},
        }

    missing = unplaced(a_pod(1), "needs cpu 9")
    assert standing(elastic(a_pod(0), 1), elastic(missing, 1)) is None
    found = standing(elastic(a_pod(0), 2), elastic(missing, 2))
    assert found is not None
    assert found.message == "waiting: needs cpu 9"


# --- restarts ---------------------------------------------------------------------------------------------


def restarting(status: str = "True") -> Object:
    return {"conditions": [{"type": "RestartingJobSet", "status": status}]}


def test_a_restart_of_the_whole_job_is_counted_against_its_limit() -> None:
    jobset = a_jobset(restarts=1, most=10, **restarting())
    said = standing(jobset=jobset, failure="rank 1 of 2 exited 1: boom")
    assert said is not None
    assert (said.type, said.message) == ("Restarting", "restart 1 of 10: rank 1 of 2 exited 1: boom")
    assert standing(jobset=a_jobset(restarts=1, most=10, **restarting("False"))) is None


def test_restarts_in_place_are_counted_over_all_pods_of_the_job() -> None:
    pods = [restarted(a_pod(0), times=2), waiting(a_pod(1), "CrashLoopBackOff", "back-off", restarts=1)]
    said = standing(*pods, failure="rank 1 of 2 exited 1")
    assert said is not None
    assert said.message == "restart 4 of 6: rank 1 of 2 exited 1"


def test_a_container_that_just_ended_is_about_to_start_again_unless_it_never_does() -> None:
    pod = ended(a_pod(0))
    said = standing(pod)
    assert said is not None
    assert said.message == "restart 1 of 6"
    never = {**pod, "spec": {**pod["spec"], "restartPolicy": "Never"}}
    assert standing(never) is None
    jobset = a_jobset()
    jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = 0
    assert standing({**never, "status": {"phase": "Failed"}}, jobset=jobset) is None


def running_since(pod: Object, second: int) -> Object:
    status = pod["status"]["containerStatuses"][0]
    state = {"running": {"startedAt": f"2026-01-01T00:00:{second:02}Z"}}
    return with_status(pod, {**status, "state": state})


def test_a_restart_too_quick_to_be_seen_is_told_for_a_moment() -> None:
    young = running_since(restarted(a_pod(0)), 8)
    said = standing(young, a_pod(1), failure="rank 0 of 2 exited 1")
    assert said is not None
    assert said.message == "restart 1 of 6: rank 0 of 2 exited 1"
    assert restarts.seconds_to_settle([young], NOW) == 1.0
    assert standing(running_since(restarted(a_pod(0)), 7)) is None


def test_each_restart_has_the_next_number_and_the_last_is_the_limit() -> None:
    said = []
    for times in range(7):
        crashed = waiting(a_pod(0), "CrashLoopBackOff", "back-off", restarts=times)
        again = running_since(restarted(a_pod(0), times=times + 1), 9)
        said += [found.message for pod in (crashed, again) if (found := standing(pod))]
    assert list(dict.fromkeys(said)) == [f"restart {number} of 6" for number in range(1, 7)]


def test_restarts_are_not_counted_while_pods_are_taken_away() -> None:
    """As at the end of their Job: the number would go back with each pod that is gone."""
    leaving = restarted(a_pod(0), times=3)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:10Z"
    assert standing(leaving, waiting(a_pod(1), "CrashLoopBackOff", "back-off", restarts=1)) is None
    assert standing(running_since(leaving, 8)) is None


def test_pods_that_others_take_the_place_of_are_counted_too() -> None:
    def never(pod: Object, **status: JSON) -> Object:
        return {**pod, "spec": {**pod["spec"], "restartPolicy": "Never"}, "status": status}

    lost = never(a_pod(0), phase="Failed")
    found = standing(lost, a_pod(1))
    assert found is not None
    assert found.message == "restart 1 of 6"
    successor = never(a_pod(0, uid="next"), phase="Failed")
    found = standing(lost, successor, a_pod(1))
    assert found is not None
    assert found.message == "restart 2 of 6"


def test_a_new_attempt_of_the_whole_job_is_told_for_a_moment() -> None:
    pod = running_since(with_status(a_pod(0, attempt=1), {"name": "node", "restartCount": 0}), 9)
    found = standing(pod, jobset=a_jobset(restarts=1, most=3), failure="rank 0 of 2 exited 1")
    assert found is not None
    assert found.message == "restart 1 of 3: rank 0 of 2 exited 1"


@pytest.mark.parametrize(
    ("limit", "said"), [(None, "restart 1 of 6"), (3, "restart 1 of 3"), (0, "restart 1 of 1")]
)
def test_the_limit_is_the_jobs(limit: JSON, said: str) -> None:
    jobset = a_jobset()
    if limit is not None:
        jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = limit
    found = standing(ended(a_pod(0)), jobset=jobset)
    assert found is not None
    assert found.message == said


@pytest.mark.parametrize(
    "pod",
    [
        a_pod(0),
        ended(a_pod(0)),
        ended(a_pod(0), code=0),
        restarted(a_pod(0)),
        waiting(a_pod(0), "ContainerCreating"),
        waiting(a_pod(0), "CrashLoopBackOff", restarts=2),
        unplaced(a_pod(0), "needs cpu 9"),
        {**a_pod(0), "status": {"phase": "Failed"}},
        {**a_pod(0), "status": {"phase": "Succeeded"}},
        {**a_pod(0), "status": {}},
    ],
)
def test_a_quick_look_at_a_pod_misses_nothing(pod: Object) -> None:
    full = (
        podstates.bad_end(pod),
        podstates.waiting(pod),
        podstates.is_restarting(pod),
        podstates.restarts(pod),
    )
    assert podstates.digest(pod) == full


@pytest.mark.parametrize(
    ("pod", "never"),
    [
        (unplaced(a_pod(), "no room"), True),
        (waiting(a_pod(), "ContainerCreating"), True),
        (ended(a_pod(), "no such program", 128, reason="StartError"), True),
        (ended(a_pod(), code=3), False),
        (restarted(a_pod()), False),
    ],
)
def test_a_container_has_begun_once_it_came_to_execute_anything(pod: Object, never: bool) -> None:
    assert podstates.never_began(pod, "node") is never
    assert not podstates.never_began(pod, "another"), "nobody knows what became of one that is not there"
