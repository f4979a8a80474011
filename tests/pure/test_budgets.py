"""How quotas are counted: whatever comes, changes and goes, the count is what a new count would find."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import hypothesis.strategies as st
from hypothesis import given

from trainshed.kinds.core import usage
from trainshed.kinds.core.budgets import Budgets, Place
from trainshed.kube import quantities
from trainshed.kube.objects import Object

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUOTAS: list[Object] = [
    {
        "metadata": {"name": "all"},
        "spec": {
            "hard": {
                "pods": "5", "count/pods": "9", "requests.cpu": "3", "limits.memory": "4Gi",
                "requests.nvidia.com/gpu": "2", "requests.storage": "10Gi", "persistentvolumeclaims": "3",
                "configmaps": "2", "count/configmaps": "2", "services.nodeports": "1",
            }
        },
    },
    {"metadata": {"name": "idle"}, "spec": {"hard": {"pods": "2"}, "scopes": ["BestEffort"]}},
    {"metadata": {"name": "short"}, "spec": {"hard": {"cpu": "1"}, "scopes": ["Terminating"]}},
]  # fmt: skip
SERVED = ("pods", "services", "persistentvolumeclaims", "configmaps", "secrets")
amounts = st.sampled_from(["1", "500m", "250m", "0.1", "2", "1e3", "1Gi", "512Mi", "1500M", "0"])
lists = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), amounts, max_size=3)
names = st.sampled_from("abcd")


@st.composite
def pods(draw: st.DrawFn) -> Object:
    containers = [
        {"name": f"c{at}", "resources": {"requests": draw(lists), "limits": draw(lists)}}
        for at in range(draw(st.integers(1, 2)))
    ]
    meta: Object = {"name": draw(names)}
    if draw(st.booleans()):
        left = NOW - timedelta(seconds=draw(st.sampled_from([0, 20, 40])))
        meta |= {
            "deletionTimestamp": left.isoformat().replace("+00:00", "Z"),
            "deletionGracePeriodSeconds": 30,
        }
    spec: Object = {"containers": containers, "initContainers": containers[:1] if draw(st.booleans()) else []}
    if draw(st.booleans()):
        spec["activeDeadlineSeconds"] = 60
    return {"metadata": meta, "spec": spec, "status": {"phase": draw(st.sampled_from(["Pending", "Failed"]))}}


claims = st.builds(
    lambda name, size: {"metadata": {"name": name}, "spec": {"resources": {"requests": {"storage": size}}}},
    names, amounts,
)  # fmt: skip
services = st.builds(
    lambda name, kind: {"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}]}},
    names, st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]),
)  # fmt: skip
plain = st.builds(lambda name: {"metadata": {"name": name}}, names)
made = st.one_of(
    st.tuples(st.just("pods"), pods()),
    st.tuples(st.just("persistentvolumeclaims"), claims),
    st.tuples(st.just("services"), services),
    st.tuples(st.sampled_from(["configmaps", "secrets"]), plain),
)
Step = tuple[tuple[str, Object], bool, int]
steps = st.lists(st.tuples(made, st.booleans(), st.integers(0, 60)), max_size=30)


def _figures(budgets: Budgets) -> dict[str, dict[str, Decimal]]:
    return {
        name: {resource: quantities.parse(amount) for resource, amount in budget.status()["used"].items()}
        for name, budget in budgets.each.items()
    }


def _fresh(objects: dict[Place, tuple[Object, datetime]]) -> Budgets:
    budgets = Budgets(QUOTAS)
    budgets.begin(SERVED)
    for place, (obj, when) in objects.items():
        budgets.note(place, obj, when)
    return budgets


@given(steps)
def test_counting_step_by_step_ends_where_counting_anew_does(story: list[Step]) -> None:
    budgets, objects = _fresh({}), dict[Place, tuple[Object, datetime]]()
    for (resource, obj), stays, later in story:
        place, when = (resource, obj["metadata"]["name"]), NOW + timedelta(seconds=later)
        budgets.note(place, obj if stays else None, when)
        objects.pop(place, None)
        if stays:
            objects[place] = obj, when
    assert _figures(budgets) == _figures(_fresh(objects))


@given(steps)
def test_what_is_admitted_never_exceeds_a_quota(story: list[Step]) -> None:
    budgets, objects = _fresh({}), dict[Place, Object]()
    for (resource, obj), stays, _ in story:
        place = (resource, obj["metadata"]["name"])
        if not stays:
            budgets.note(place, None, NOW)
            objects.pop(place, None)
        elif not budgets.refusal(resource, obj, None, NOW) and place not in objects:
            budgets.note(place, obj, NOW)
            objects[place] = obj
    for name, used in _figures(budgets).items():
        hard = next(quota["spec"]["hard"] for quota in QUOTAS if quota["metadata"]["name"] == name)
        assert all(used[resource] <= quantities.parse(hard[resource]) for resource in used)


class TestPodAmounts:
    def test_sidecars_and_init_containers_count_as_the_scheduler_counts_them(self) -> None:
        def container(name: str, cpu: str, **more: str) -> Object:
            return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

        spec = {
            "containers": [container("a", "1"), container("b", "500m")],
            "initContainers": [container("side", "1", restartPolicy="Always"), container("init", "2")],
            "overhead": {"cpu": "100m"},
        }
        taken = usage.account("pods").take({"spec": spec}, NOW)
        assert taken["requests.cpu"] == taken["cpu"] == "3100m"

    def test_a_family_of_quantities_is_kept(self) -> None:
        budgets = Budgets([{"metadata": {"name": "q"}, "spec": {"hard": {"memory": "8Gi"}}}])
        spec = {"containers": [{"name": "a", "resources": {"requests": {"memory": "1536Mi"}}}]}
        for name in "ab":
            budgets.note(("pods", name), {"spec": spec}, NOW)
        assert budgets.each["q"].status() == {"hard": {"memory": "8Gi"}, "used": {"memory": "3Gi"}}

    def test_a_pod_that_overstays_its_grace_is_no_longer_charged(self) -> None:
        meta = {"deletionTimestamp": "2026-05-01T12:00:00Z", "deletionGracePeriodSeconds": 30}
        pod = {"metadata": meta, "spec": {"containers": [{"name": "a"}]}}
        account = usage.account("pods")
        assert "pods" in account.take(pod, NOW + timedelta(seconds=30))
        assert account.take(pod, NOW + timedelta(seconds=31)) == {"count/pods": "1"}
