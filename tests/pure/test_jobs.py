"""Jobs and CronJobs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pure.samples import a_job, an_object, created, faults, faults_of_change
from trainshed.kinds.rules import RULES
from trainshed.kube.objects import JSON, Object, copied

Change = Callable[[Object], JSON]


def test_a_small_job_gets_the_defaults_of_a_real_cluster() -> None:
    spec = created("jobs.batch", a_job())["spec"]
    template = spec.pop("template")
    assert spec == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "uid-1"}},
    }
    assert template["spec"]["terminationGracePeriodSeconds"] == 30
    assert "enableServiceLinks" not in template["spec"]


def test_its_pods_carry_labels_that_tell_them_from_others() -> None:
    job = created("jobs.batch", a_job())
    expected = {
        "batch.kubernetes.io/controller-uid": "uid-1", "controller-uid": "uid-1",
        "batch.kubernetes.io/job-name": "sample", "job-name": "sample",
    }  # fmt: skip
    assert job["spec"]["template"]["metadata"]["labels"] == expected
    assert job["metadata"]["labels"] == expected


def test_a_job_with_labels_of_its_own_keeps_them() -> None:
    job = a_job()
    job["metadata"]["labels"] = {"team": "a"}
    assert created("jobs.batch", job)["metadata"]["labels"] == {"team": "a"}


def test_templates_keep_their_requests_as_written() -> None:
    job = created("jobs.batch", a_job(container={"resources": {"limits": {"cpu": "1"}}}))
    assert job["spec"]["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("spec", "completions", "limit", "policy"),
    [
        ({"parallelism": 3}, None, 6, "TerminatingOrFailed"),
        ({"completions": 3}, 3, 6, "TerminatingOrFailed"),
        ({"backoffLimitPerIndex": 1}, 1, 2**31 - 1, "TerminatingOrFailed"),
        ({"podFailurePolicy": {"rules": []}}, 1, 6, "Failed"),
    ],
)
def test_some_defaults_depend_on_others(
    spec: dict[str, JSON], completions: int | None, limit: int, policy: str
) -> None:
    found = created("jobs.batch", a_job(**spec))["spec"]
    assert (found.get("completions"), found["backoffLimit"]) == (completions, limit)
    assert found["podReplacementPolicy"] == policy


JOB_FAULTS: list[tuple[Object, str]] = [
    ({"pod": {"restartPolicy": "Always"}},
     'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'),
    ({"pod": {"restartPolicy": "x"}},
     'spec.template.spec.restartPolicy: Unsupported value: "x": supported values: "OnFailure", "Never"'),
    ({"parallelism": -1}, "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"),
    ({"ttlSecondsAfterFinished": -1},
     "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0"),
    ({"completionMode": "Indexed", "parallelism": 2},
     "spec.completions: Required value: when completion mode is Indexed"),
    ({"completionMode": "Sorted"},
     'spec.completionMode: Unsupported value: "Sorted": supported values: "NonIndexed", "Indexed"'),
    ({"backoffLimitPerIndex": 1}, "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed "
     "completion mode"),
    ({"completionMode": "Indexed", "completions": 1, "maxFailedIndexes": 1},
     "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"),
    ({"managedBy": "me"},
     'spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'),
    ({"podFailurePolicy": {"rules": [{"action": "FailJob"}]}},
     "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and "
     "OnPodConditions is required"),
    ({"podFailurePolicy": {"rules": [{"action": "FailIndex", "onPodConditions": [{"type": "X"}]}]}},
     'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the '
     'backoffLimitPerIndex to be set'),
    ({"podFailurePolicy": {"rules": [{"action": "Count", "onExitCodes": {"operator": "In", "values": [0]}}]}},
     "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the "
     "In operator"),
    ({"podFailurePolicy": {"rules": [
        {"action": "Count", "onExitCodes": {"operator": "In", "values": [3, 1]}}]}},
     "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [3,1]: must be ordered"),
    ({"podFailurePolicy": {"rules": []}, "pod": {"restartPolicy": "OnFailure"}},
     'spec.template.spec.restartPolicy: Invalid value: "OnFailure": '
     'only "Never" is supported when podFailurePolicy is specified'),
    ({"podFailurePolicy": {"rules": []}, "podReplacementPolicy": "TerminatingOrFailed"},
     'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'),
    ({"successPolicy": {"rules": []}}, "spec.successPolicy: Invalid value: {"),
    ({"selector": {"matchLabels": {"a": "b"}}}, "spec.selector: Invalid value: {"),
    ({"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}},
     "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`"),
    ({"manualSelector": True}, "spec.selector: Required value"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "fault"), JOB_FAULTS)
def test_a_job_is_refused_with_the_words_of_a_real_cluster(spec: dict[str, JSON], fault: str) -> None:
    assert any(found.startswith(fault) for found in faults("jobs.batch", a_job(**spec)))


def test_labels_that_contradict_the_generated_ones_are_refused() -> None:
    job = a_job()
    job["spec"]["template"]["metadata"] = {"labels": {"controller-uid": "other"}}
    (fault,) = faults("jobs.batch", job)
    assert fault.startswith("spec.template.metadata.labels[controller-uid]: Invalid value: ")
    assert fault.endswith("must be 'uid-1'")


def test_the_pods_of_an_indexed_job_must_get_sound_host_names() -> None:
    job = a_job(completionMode="Indexed", completions=1000)
    job["metadata"]["name"] = "j" * 60
    (fault,) = faults("jobs.batch", job)
    assert fault.endswith(f"will not able to create pod with invalid DNS label: {'j' * 60}-999")


# --- change -----------------------------------------------------------------------------------------------


def after(change: Change, **spec: JSON) -> list[str]:
    old = created("jobs.batch", a_job(**spec))
    new: Object = copied(old)
    change(new["spec"])
    return faults_of_change("jobs.batch", new, old)


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec.update(parallelism=5),
        lambda spec: spec.update(suspend=True),
        lambda spec: spec.update(backoffLimit=0),
        lambda spec: spec.update(activeDeadlineSeconds=9),
        lambda spec: spec.update(ttlSecondsAfterFinished=9),
    ],
)
def test_how_a_job_runs_may_change(change: Change) -> None:
    assert after(change) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda spec: spec.update(completions=5), "spec.completions"),
        (lambda spec: spec["selector"]["matchLabels"].update(a="b"), "spec.selector"),
        (lambda spec: spec["template"]["spec"]["containers"][0].update(image="x:1"), "spec.template"),
        (lambda spec: spec["template"]["spec"].update(nodeSelector={"a": "b"}), "spec.template"),
        (lambda spec: spec.update(completionMode="Indexed"), "spec.completionMode"),
        (lambda spec: spec.update(managedBy="a.b/c"), "spec.managedBy"),
    ],
)
def test_what_a_job_runs_may_not_change(change: Change, field: str) -> None:
    found = after(change)
    assert any(fault.startswith(f"{field}: ") and fault.endswith("field is immutable") for fault in found)


def test_an_indexed_job_grows_with_its_parallelism() -> None:
    indexed: Object = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    assert after(lambda spec: spec.update(completions=3, parallelism=3), **indexed) == []
    assert after(lambda spec: spec.update(completions=3), **indexed) == [
        "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec["template"]["spec"].update(nodeSelector={"a": "b"}),
        lambda spec: spec["template"]["spec"].update(tolerations=[{"operator": "Exists"}]),
        lambda spec: spec["template"]["spec"].update(schedulingGates=[{"name": "g"}]),
        lambda spec: spec["template"]["metadata"]["labels"].update(queue="q"),
        lambda spec: spec["template"]["metadata"].update(annotations={"a": "b"}),
    ],
)
def test_a_suspended_job_that_never_started_may_be_placed(change: Change) -> None:
    assert after(change, suspend=True) == []


def test_a_suspended_job_may_not_run_something_else() -> None:
    def change(spec: Object) -> None:
        spec["template"]["spec"]["containers"][0]["image"] = "x:1"

    assert len(after(change, suspend=True)) == 1


def test_a_job_that_was_started_once_may_not_be_placed_again() -> None:
    old = created("jobs.batch", a_job(suspend=True))
    old["status"] = {"startTime": "2026-01-01T00:00:00Z"}
    new: Object = copied(old)
    new["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    assert len(faults_of_change("jobs.batch", new, old)) == 1


def test_counters_in_the_status_are_not_negative() -> None:
    job = created("jobs.batch", a_job())
    found = RULES["jobs.batch"].validate_status({**job, "status": {"failed": -1}}, job)
    assert [str(error) for error in found] == [
        "status.failed: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_an_odd_name_is_warned_about() -> None:
    job = a_job()
    job["metadata"]["name"] = "a.b"
    (warning,) = RULES["jobs.batch"].warnings(created("jobs.batch", job), None)
    assert warning.startswith("metadata.name: this is used in Pod names and hostnames")


# --- cron jobs --------------------------------------------------------------------------------------------


def test_a_cron_job_gets_the_defaults_of_a_real_cluster() -> None:
    spec = created("cronjobs.batch", an_object("cronjobs.batch"))["spec"]
    template = spec.pop("jobTemplate")
    assert spec == {
        "schedule": "*/5 * * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    assert template["spec"]["template"]["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"schedule": ""}, "spec.schedule: Required value"),
        ({"schedule": "* *"}, 'spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2'),
        ({"schedule": "TZ=UTC * * * * *"}, "spec.schedule: Invalid value: "),
        ({"concurrencyPolicy": "Race"}, 'spec.concurrencyPolicy: Unsupported value: "Race"'),
        ({"failedJobsHistoryLimit": -1}, "spec.failedJobsHistoryLimit: Invalid value: -1"),
    ],
)
def test_a_cron_job_is_refused_with_the_words_of_a_real_cluster(spec: Object, fault: str) -> None:
    cron = an_object("cronjobs.batch")
    cron["spec"].update(spec)
    assert any(found.startswith(fault) for found in faults("cronjobs.batch", cron))
