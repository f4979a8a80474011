"""Pod Security Standards: which labels mean what, and that everything shipped keeps to the middle one."""

from __future__ import annotations

import pytest

from trainshed.kinds.core import podsecurity
from trainshed.kinds.core.podsecurity import Policy, Standard
from trainshed.kinds.trainer import runtimes
from trainshed.kube.objects import JSON, Object

PREFIX = podsecurity.PREFIX


def _pod(container: Object | None = None, **spec: JSON) -> Object:
    return {"metadata": {}, "spec": {"containers": [{"name": "a", **(container or {})}], **spec}}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (None, Policy()),
        ({f"{PREFIX}enforce": "baseline"}, Policy(Standard("baseline"), Standard("baseline"))),
        (
            {f"{PREFIX}enforce": "baseline", f"{PREFIX}warn": "restricted"},
            Policy(Standard("baseline"), Standard("restricted")),
        ),
        (
            {f"{PREFIX}enforce": "restricted", f"{PREFIX}enforce-version": "v1.30"},
            Policy(Standard("restricted", "v1.30"), Standard("restricted", "v1.30")),
        ),
        ({f"{PREFIX}enforce": "wrong"}, Policy(Standard("restricted"), Standard())),
    ],
)
def test_labels_are_read_as_upstream_reads_them(labels: dict[str, str] | None, expected: Policy) -> None:
    assert podsecurity.policy(labels) == expected


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (
            _pod({"securityContext": {"procMount": "Unmasked"}}),
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        ),
        (_pod({"securityContext": {"procMount": "Unmasked"}}, hostUsers=False), ""),
        (
            _pod({"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 1}}}),
            'probe or lifecycle host (container "a" uses probe or lifecycle host "10.0.0.1")',
        ),
        (
            _pod(securityContext={"windowsOptions": {"hostProcess": True}}),
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
        (
            _pod({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}),
            'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
        ),
        (
            _pod(initContainers=[{"name": "b", "securityContext": {"privileged": True}}]),
            'privileged (container "b" must not set securityContext.privileged=true)',
        ),
    ],
)
def test_what_baseline_forbids(pod: Object, words: str) -> None:
    assert podsecurity.violations(pod, Standard("baseline")) == words


def test_init_and_ephemeral_containers_count_too() -> None:
    pod = _pod({"securityContext": {"privileged": True}})
    pod["spec"]["ephemeralContainers"] = [{"name": "c", "securityContext": {"privileged": True}}]
    assert 'containers "a", "c"' in podsecurity.violations(pod, Standard("baseline"))


def test_pods_of_every_runtime_that_ships_are_allowed_to_tenants() -> None:
    checked = 0
    for runtime in runtimes.manifests():
        for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
            template = job["template"]["spec"]["template"]
            found = podsecurity.violations(template, Standard("baseline"))
            assert not found, f"{runtime['metadata']['name']}: {found}"
            checked += 1
    assert checked > 10


def test_raising_a_level_tells_of_pods_that_would_not_be_let_in() -> None:
    pods = [_pod(hostNetwork=True) for _ in range(3)] + [_pod()]
    for name, pod in zip("cab", pods, strict=False):
        pod["metadata"]["name"] = name
    assert podsecurity.warnings("team", pods, Standard("baseline")) == [
        'existing pods in namespace "team" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
    ]
