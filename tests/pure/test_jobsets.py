"""What the webhooks of JobSet fill in and refuse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.training_objects import a_jobset, a_replicated_job
from trainshed.kinds.jobset import defaults, validate
from trainshed.kube.objects import JSON, Object, copied, dig, plant

POD = ("template", "spec", "template", "spec")


def said(jobset: Object, claim: Object | None = None) -> list[str]:
    return [str(error) for error in validate.create_errors(jobset, lambda name: claim)]


def internal(*words: str) -> list[str]:
    return [f"<nil>: Internal error: {word}" for word in words]


def job(name: str = "a", **spec: JSON) -> Object:
    found = a_replicated_job(name, ["main"])
    found["template"]["spec"] |= spec
    return found


# --- defaults ---------------------------------------------------------------------------------------------


def test_rules_of_a_failure_policy_are_named_by_their_place() -> None:
    jobset = a_jobset(failurePolicy={"rules": [{"action": "FailJobSet"}, {"name": "mine"}, {"name": ""}]})
    defaults.apply(jobset)
    names = [rule["name"] for rule in jobset["spec"]["failurePolicy"]["rules"]]
    assert names == ["failurePolicyRule0", "mine", "failurePolicyRule2"]


def test_volume_claims_go_with_their_jobset_by_default() -> None:
    kept = {"retentionPolicy": {"whenDeleted": "Retain"}}
    jobset = a_jobset(volumeClaimPolicies=[{"templates": []}, kept])
    defaults.apply(jobset)
    policies = jobset["spec"]["volumeClaimPolicies"]
    assert [policy["retentionPolicy"]["whenDeleted"] for policy in policies] == ["Delete", "Retain"]


# --- names ------------------------------------------------------------------------------------------------


def test_a_plain_jobset_is_accepted() -> None:
    assert said(a_jobset()) == []
    assert said({"metadata": {"name": "js"}, "spec": {"replicatedJobs": []}}) == []


@pytest.mark.parametrize(("length", "fits"), [(59, True), (60, False)])
def test_the_names_of_jobs_fit_into_63_characters(length: int, fits: bool) -> None:
    name = "x" * length
    why = "JobSet name is too long, job names generated for this JobSet will exceed 63 characters"
    wanted = [f'spec.replicatedJobs[0].name: Invalid value: "{name}-a-0": {why}']
    assert said(a_jobset(job(), name=name)) == ([] if fits else wanted)


@pytest.mark.parametrize(("completions", "fits"), [(10, True), (11, False)])
def test_the_names_of_pods_fit_into_63_characters(completions: int, fits: bool) -> None:
    name = "x" * 51
    why = "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters"
    wanted = [f'spec.replicatedJobs[0].name: Invalid value: "{name}-a-0": {why}']
    assert said(a_jobset(job(completions=completions), name=name)) == ([] if fits else wanted)


def test_more_replicas_have_longer_names() -> None:
    many = {**job(), "replicas": 11}
    assert said(a_jobset(many, name="x" * 58)) == []
    assert len(said(a_jobset(many, name="x" * 59))) == 1


def test_names_that_are_no_labels_are_refused_for_jobs_and_pods() -> None:
    found = said(a_jobset(job("A", completions=1)))
    assert len(found) == 2
    assert all(': Invalid value: "js-A-0": a DNS-1035 label must consist of' in error for error in found)


def test_group_names_are_labels() -> None:
    [text] = said(a_jobset({**job(), "groupName": "x" * 64}))
    assert text.endswith(".spec.replicatedJob[].groupName is too long, must be less than 63 characters")
    [text] = said(a_jobset({**job(), "groupName": "A"}))
    assert text.startswith('spec.replicatedJobs[0].groupName: Invalid value: "A": a DNS-1035 label')


def test_a_subdomain_is_a_domain_and_the_name_of_a_service() -> None:
    domain, label = said(a_jobset(network={"subdomain": "A"}))
    assert domain.startswith('spec.network.subdomain: Invalid value: "A": a lowercase RFC 1123 subdomain')
    assert label.startswith('spec.network.subdomain: Invalid value: "A": a DNS-1035 label')
    [text] = said(a_jobset(network={"subdomain": "x" * 64}))
    assert text.endswith(".spec.network.subdomain is too long, must be less than 63 characters")
    assert said(a_jobset(network={"subdomain": "mine"})) == []


@pytest.mark.parametrize(
    ("manager", "why"),
    [
        ("jobset.sigs.k8s.io/jobset-controller", ""),
        ("me", 'Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'),
        ("a.io/" + "x" * 59, "Too long: may not be more than 63 bytes"),
    ],
)
def test_a_manager_is_a_short_path_below_a_domain(manager: str, why: str) -> None:
    assert said(a_jobset(managedBy=manager)) == ([f"spec.managedBy: {why}"] if why else [])


# --- order and size ---------------------------------------------------------------------------------------


def test_the_first_job_depends_on_nothing() -> None:
    wrong = {**job(), "dependsOn": []}
    assert said(a_jobset(wrong)) == internal("DependsOn can't be set for the first ReplicatedJob")


def test_jobs_depend_only_on_those_before_them() -> None:
    needs_c = {**job("b"), "dependsOn": [{"name": "c", "status": "Ready"}, {"name": "a", "status": "Ready"}]}
    assert said(a_jobset(job("a"), needs_c, job("c"))) == internal(
        "replicatedJob: b cannot depend on replicatedJob: c"
    )


def test_there_are_never_more_pods_than_numbers() -> None:
    huge = {**job(parallelism=2**30), "replicas": 2}
    assert said(a_jobset(huge)) == internal(
        "the product of replicas and parallelism must not exceed 2147483647 for replicatedJob 'a'"
    )
    assert said(a_jobset({**job(parallelism=2**30 - 1), "replicas": 2})) == []


# --- policies ---------------------------------------------------------------------------------------------


def test_a_success_policy_names_existing_jobs() -> None:
    policy = {"operator": "All", "targetReplicatedJobs": ["workers", "lost"]}
    assert said(a_jobset(successPolicy=policy)) == internal(
        "invalid replicatedJob name 'lost' does not appear in .spec.ReplicatedJobs"
    )


RULE = {"name": "rule", "action": "FailJobSet"}


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([RULE], []),
        ([{**RULE, "targetReplicatedJobs": ["workers"], "onJobFailureReasons": ["DeadlineExceeded"]}], []),
        (
            [{**RULE, "targetReplicatedJobs": ["lost"]}],
            ["invalid replicatedJob name 'lost' in failure policy does not appear in .spec.ReplicatedJobs"],
        ),
        (
            [{**RULE, "onJobFailureReasons": ["PodFailurePolicy", "Boredom"]}],
            ["invalid job failure reason 'Boredom' in failure policy is not a recognized job failure reason"],
        ),
        (
            [RULE, {**RULE, "name": "other"}, RULE],
            ["rule names are not unique, rules with indices [0 2] all have the same name 'rule'"],
        ),
        (
            [{**RULE, "name": "x" * 129}],
            [
                "invalid failure policy rule name of length 129, the rule name must be "
                "at least 1 characters long "
                "and at most 128 characters long"
            ],
        ),
        (
            [{**RULE, "name": "1st"}],
            [
                "invalid failure policy rule name '1st', a failure policy rule name must "
                "start with an alphabetic "
                "character, optionally followed by a string of alphanumeric characters "
                "or '_,:', and must end "
                "with an alphanumeric character or '_'"
            ],
        ),
        (
            [{**RULE, "action": "RestartJob", "name": "1st"}],
            [
                "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when "
                "RestartJob feature gate is disabled"
            ],
        ),
    ],
)
def test_rules_of_a_failure_policy_make_sense(rules: list[Object], words: list[str]) -> None:
    assert said(a_jobset(failurePolicy={"rules": rules})) == internal(*words)


def test_restarting_in_place_is_switched_off() -> None:
    assert said(a_jobset(failurePolicy={"restartStrategy": "InPlaceRestart"})) == internal(
        "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled"
    )


@pytest.mark.parametrize(
    ("coordinator", "words"),
    [
        ({"replicatedJob": "a"}, ""),
        ({"replicatedJob": "lost"}, "coordinator replicatedJob lost does not exist"),
        ({"replicatedJob": "a", "jobIndex": 1}, "coordinator job index 1 is invalid for replicatedJob a"),
        ({"replicatedJob": "a", "jobIndex": -1}, "coordinator job index -1 is invalid for replicatedJob a"),
        (
            {"replicatedJob": "a", "podIndex": 2},
            "coordinator pod index 2 is invalid for replicatedJob a job index 0",
        ),
        (
            {"replicatedJob": "b"},
            "job for coordinator pod must be indexed completion mode, and completions number must be set",
        ),
    ],
)
def test_a_coordinator_is_a_pod_there_will_be(coordinator: Object, words: str) -> None:
    found = said(a_jobset(job(completions=2), job("b"), coordinator=coordinator))
    assert found == (internal(words) if words else [])


def test_the_address_of_a_coordinator_fits_into_a_label() -> None:
    jobset = a_jobset(job(completions=1), name="x" * 40, coordinator={"replicatedJob": "a"})
    [text] = said(jobset)
    assert text.startswith(f'<nil>: Internal error: spec will lead to invalid label value "{"x" * 40}-a-0-0.')
    assert text.endswith(
        "(long JobSet / ReplicatedJob / SubDomain name?): must be no more than 63 characters"
    )


# --- volume claims ----------------------------------------------------------------------------------------

SPEC = {"accessModes": ["ReadWriteOnce"]}


def claiming(
    *names: str, retention: str = "Delete", mounts: tuple[str, ...] = ("data",), **pod: JSON
) -> Object:
    worker = job()
    mounted = [{"name": name, "mountPath": f"/{name}"} for name in mounts]
    dig(worker, *POD)["containers"][0]["volumeMounts"] = mounted
    dig(worker, *POD).update(pod)
    templates = [{"metadata": {"name": name}, "spec": SPEC} for name in names or ("data",)]
    policy = {"templates": templates, "retentionPolicy": {"whenDeleted": retention}}
    return a_jobset(worker, volumeClaimPolicies=[policy])


def test_claims_that_somebody_mounts_are_accepted() -> None:
    assert said(claiming()) == []


def test_claims_are_mounted_by_someone() -> None:
    [text] = said(claiming(mounts=()))
    assert text.startswith("spec.replicatedJobs: Invalid value: [")
    assert text.endswith(
        "replicatedJob containers don't have a matching volumeMount: data from VolumeClaimPolicies"
    )


def test_names_of_claims_are_unique_short_and_well_formed() -> None:
    field = "spec.volumeClaimPolicies[0].template"
    assert said(claiming("data", "data")) == [
        f'{field}[1].name: Invalid value: "data": names must be unique for VolumeClaimPolicies template'
    ]
    long = "x" * 61
    assert said(claiming(long, mounts=(long,))) == [
        f'{field}[0].name: Invalid value: "{long}": VolumeClaimPolicies template name is too long'
    ]
    [text] = said(claiming("A", mounts=("A",)))
    assert text.startswith(f'{field}[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain')


def test_claims_and_volumes_do_not_share_names() -> None:
    assert said(claiming(volumes=[{"name": "other"}, {"name": "data"}])) == [
        "spec.replicatedJobs[0].template.spec.template.spec.volumes[1].name: Invalid value: "
        '"data": volume name conflicts with VolumeClaimPolicy template name: data'
    ]


def test_a_claim_that_is_there_is_used_as_it_is_and_kept() -> None:
    meta = {"name": "data-js", "namespace": "default"}
    same = {"metadata": meta, "spec": {**SPEC, "volumeMode": "Filesystem"}}
    assert said(claiming(retention="Retain"), same) == []
    assert said(claiming(), {"metadata": meta, "spec": {"accessModes": ["ReadWriteMany"]}}) == [
        'spec.volumeClaimPolicies[0].template[0].spec: Invalid value: {"accessModes":["ReadWriteOnce"]}: '
        "spec does not match existing PVC data-js in namespace default",
        'spec.volumeClaimPolicies[0].retentionPolicy.whenDeleted: Invalid value: "Delete": '
        "retentionPolicy must be retain when PVC exists",
    ]


# --- change -----------------------------------------------------------------------------------------------


def updated(path: tuple[str, ...], value: JSON, *, before: bool = False, after: bool = False) -> list[str]:
    old = a_jobset(job(), suspend=before)
    new = copied(old)
    new["spec"]["suspend"] = after
    plant(new["spec"]["replicatedJobs"][0], value, *path)
    return [str(error) for error in validate.update_errors(new, old)]


FREE: list[tuple[tuple[str, ...], JSON]] = [
    ((*POD[:-1], "metadata", "labels"), {"a": "b"}),
    ((*POD[:-1], "metadata", "annotations"), {"a": "b"}),
    ((*POD, "nodeSelector"), {"a": "b"}),
    ((*POD, "tolerations"), [{"operator": "Exists"}]),
    ((*POD, "schedulingGates"), [{"name": "gate"}]),
]
FIXED: list[tuple[tuple[str, ...], JSON]] = [
    ((*POD, "affinity"), {"nodeAffinity": {"x": 1}}),
    ((*POD, "priorityClassName"), "high"),
    (("replicas",), 2),
    (("template", "spec", "parallelism"), 2),
    (("name",), "other"),
]


@pytest.mark.parametrize(("path", "value"), FREE + FIXED)
def test_jobs_of_a_running_jobset_stay_as_they_are(path: tuple[str, ...], value: JSON) -> None:
    [text] = updated(path, value)
    assert text.startswith("spec.replicatedJobs: Invalid value: [")
    assert text.endswith(": field is immutable")


@pytest.mark.parametrize(("before", "after"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("path", "value"), FREE)
def test_where_pods_go_may_change_while_a_jobset_is_suspended(
    path: tuple[str, ...], value: JSON, before: bool, after: bool
) -> None:
    assert updated(path, value, before=before, after=after) == []


@pytest.mark.parametrize(("path", "value"), FIXED)
def test_nothing_else_may_change_while_a_jobset_is_suspended(path: tuple[str, ...], value: JSON) -> None:
    assert len(updated(path, value, before=True, after=True)) == 1


def test_what_pods_lost_counts_as_a_change_too() -> None:
    old = a_jobset(job())
    plant(old["spec"]["replicatedJobs"][0], {"a": "b"}, *POD, "nodeSelector")
    new = a_jobset(job())
    assert len(validate.update_errors(new, old)) == 1
    new["spec"]["suspend"] = True
    assert validate.update_errors(new, old) == []


def test_the_manager_of_a_jobset_stays() -> None:
    found = validate.update_errors(a_jobset(managedBy="a.io/b"), a_jobset())
    assert [str(error) for error in found] == ['spec.managedBy: Invalid value: "a.io/b": field is immutable']


def test_suspension_and_lifetime_may_change() -> None:
    new = a_jobset(suspend=True, ttlSecondsAfterFinished=5)
    assert validate.update_errors(new, a_jobset(suspend=False)) == []


# --- anything ---------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "Indexed"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["name", "spec", "template", "metadata", "templates", "rules", "containers", "replicas"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
fields = ["replicatedJobs", "failurePolicy", "successPolicy", "network", "coordinator", "volumeClaimPolicies"]


@given(st.dictionaries(st.sampled_from(fields), anything), st.dictionaries(st.sampled_from(fields), anything))
@settings(deadline=None, max_examples=200)
def test_odd_objects_are_judged_without_a_crash(spec: Object, before: Object) -> None:
    jobset, old = {"metadata": {"name": "x"}, "spec": spec}, {"metadata": {"name": "x"}, "spec": before}
    defaults.apply(jobset)
    validate.create_errors(jobset, lambda name: {"spec": spec})
    jobset["spec"]["suspend"] = True
    validate.update_errors(jobset, old)
