"""Names and addresses of pods."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube.objects import JSON, Object
from trainshed.runner import hosts, links
from trainshed.runner.addresses import Addresses, Exhausted
from trainshed.runner.hosts import Neighbourhood, Sight


def a_pod(
    name: str, created: str = "2026-11-15T00:00:00Z", labels: Object | None = None, **spec: JSON
) -> Object:
    meta = {"name": name, "namespace": "team", "creationTimestamp": created, "labels": labels or {}}
    return {"metadata": meta, "spec": spec, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def unready(pod: Object) -> Object:
    return {**pod, "status": {}}


def lines(*pods: tuple[Object, str], services: list[Object] | None = None) -> list[str]:
    return around(*pods, services=services).render().splitlines()[5:]


def around(*pods: tuple[Object, str], services: list[Object] | None = None) -> Neighbourhood:
    found = Neighbourhood()
    for service in services or []:
        found.put_service(service)
    for pod, address in pods:
        found.put(address, hosts.host_of(pod, address))
    return found


def a_service(name: str, selector: Object, **spec: JSON) -> Object:
    return {"metadata": {"name": name, "namespace": "team"}, "spec": {"selector": selector, **spec}}


def test_a_pod_is_found_by_all_names_a_cluster_would_know_it_by() -> None:
    pod = a_pod("j-node-0-0-abcde", hostname="j-node-0-0", subdomain="j")
    assert lines((pod, "10.0.0.5")) == [
        "10.0.0.5 j-node-0-0.j.team.svc.cluster.local j-node-0-0.j.team.svc j-node-0-0.j.team "
        "j-node-0-0.j j-node-0-0"
    ]


def test_a_pod_without_a_subdomain_is_found_by_its_own_name() -> None:
    assert lines((a_pod("p"), "10.0.0.5")) == ["10.0.0.5 p"]


def test_localhost_comes_first() -> None:
    assert Neighbourhood().render().startswith("127.0.0.1 localhost\n::1 localhost")


def test_of_two_pods_with_one_name_the_newest_is_found() -> None:
    old = a_pod("a", "2026-11-15T00:00:00Z", hostname="h", subdomain="s")
    new = a_pod("b", "2026-11-15T00:00:09Z", hostname="h", subdomain="s")
    assert [line.split()[0] for line in lines((old, "10.0.0.1"), (new, "10.0.0.2"))] == [
        "10.0.0.2",
        "10.0.0.1",
    ]


def test_a_service_leads_to_the_pods_behind_it() -> None:
    pods = [(a_pod("a", labels={"app": "x"}), "10.0.0.1"), (a_pod("b"), "10.0.0.2")]
    found = lines(*pods, services=[a_service("web", {"app": "x"})])
    assert found[-1] == "10.0.0.1 web.team.svc.cluster.local web.team.svc web.team web"
    assert len(found) == 3


def names_seen(found: Neighbourhood, sight: Sight) -> set[str]:
    return {name for line in found.render(sight).splitlines()[5:] for name in line.split()[1:]}


QUALIFIED = {"m.team.svc.cluster.local", "m.team.svc", "m.team"}


@pytest.mark.parametrize(
    ("sight", "early", "late"),
    [
        ("usual", {"m"}, QUALIFIED | {"m"}),
        ("ready", set(), QUALIFIED | {"m"}),
        ("all", QUALIFIED | {"m"}, QUALIFIED | {"m"}),
    ],
)
def test_a_service_leads_to_pods_once_they_are_ready(sight: Sight, early: set[str], late: set[str]) -> None:
    pod = a_pod("m", labels={"app": "x"})
    found = around((unready(pod), "10.0.0.1"), services=[a_service("m", {"app": "x"})])
    assert names_seen(found, sight) == early
    assert found.put("10.0.0.1", hosts.host_of(pod, "10.0.0.1"))
    assert names_seen(found, sight) == late


def test_a_pod_on_its_way_out_is_not_led_to_any_more() -> None:
    pod = a_pod("m", labels={"app": "x"})
    pod["metadata"]["deletionTimestamp"] = "2026-11-15T00:00:09Z"
    assert names_seen(around((pod, "10.0.0.1"), services=[a_service("m", {"app": "x"})]), "ready") == set()


@pytest.mark.parametrize(
    "service",
    [
        a_service("m", {"app": "x"}, publishNotReadyAddresses=True),
        a_service("m", {"app": "other"}),
        a_service("other", {"app": "x"}),
    ],
)
def test_the_own_name_of_a_pod_is_only_hidden_by_a_service_of_that_name(service: Object) -> None:
    pod = unready(a_pod("m", labels={"app": "x"}))
    assert "m" in names_seen(around((pod, "10.0.0.1"), services=[service]), "ready")


def test_readiness_that_nobody_looks_for_changes_no_file() -> None:
    pod = a_pod("p", labels={"app": "x"})
    early = a_service("s", {"app": "x"}, publishNotReadyAddresses=True)
    found = around((unready(pod), "10.0.0.1"), services=[early])
    assert not found.put("10.0.0.1", hosts.host_of(pod, "10.0.0.1"))


def test_other_namespaces_see_pods_by_a_service_once_they_are_ready_too() -> None:
    pod = a_pod("p", labels={"app": "x"})
    found = around((unready(pod), "10.0.0.1"), services=[a_service("s", {"app": "x"})])
    assert (found.abroad(), found.abroad("ready")) == ("", "")
    assert found.abroad("all") == "10.0.0.1 s.team.svc.cluster.local s.team.svc s.team\n"
    found.put("10.0.0.1", hosts.host_of(pod, "10.0.0.1"))
    assert found.abroad() == found.abroad("all") == "10.0.0.1 s.team.svc.cluster.local s.team.svc s.team\n"


def test_a_service_without_a_selector_leads_nowhere() -> None:
    assert lines((a_pod("a"), "10.0.0.1"), services=[a_service("web", {})]) == ["10.0.0.1 a"]


def test_aliases_a_pod_asks_for_are_there() -> None:
    pod = a_pod("a", hostAliases=[{"ip": "192.0.2.9", "hostnames": ["nas", "nas.local"]}])
    assert "192.0.2.9 nas nas.local" in lines((pod, "10.0.0.1"))


NAMES = st.sampled_from(["a", "b", "c"])
KINDS = ["pod", "starting", "gone", "service", "dropped"]
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), NAMES, NAMES), max_size=12)


@given(STEPS, st.sampled_from(["usual", "ready", "all"]))
def test_however_it_came_about_a_file_has_the_same_in_it(
    steps: list[tuple[str, str, str]], sight: Sight
) -> None:
    lived = Neighbourhood()
    pods: dict[str, tuple[Object, str]] = {}
    services: dict[str, Object] = {}
    for step, name, label in steps:
        if step in ("pod", "starting"):
            pod = a_pod(name, labels={"app": label})
            pods[name] = pod if step == "pod" else unready(pod), f"10.0.0.{ord(name)}"
            lived.put(pods[name][1], hosts.host_of(*pods[name]))
        elif step == "gone":
            pods.pop(name, None)
            lived.drop(f"10.0.0.{ord(name)}")
        elif step == "service":
            services[name] = a_service(name, {"app": label})
            lived.put_service(services[name])
        elif step == "dropped":
            services.pop(name, None)
            lived.drop_service(name)
    fresh = around(*pods.values(), services=[*services.values()])
    assert sorted(lived.render(sight).splitlines()) == sorted(fresh.render(sight).splitlines())
    assert sorted(lived.abroad(sight).splitlines()) == sorted(fresh.abroad(sight).splitlines())


# --- services as variables ---


def test_services_that_can_be_reached_are_told() -> None:
    ports = [{"port": 80, "targetPort": 8080, "name": "http"}, {"port": 443}]
    service = a_service("my-db", {"app": "x"}, clusterIP="10.96.0.5", ports=ports)
    found = around((a_pod("p", labels={"app": "x"}), "10.0.0.1"), services=[service])
    assert links.variables(found.reachable()) == {
        "MY_DB_SERVICE_HOST": "10.0.0.1",
        "MY_DB_SERVICE_PORT": "8080",
        "MY_DB_SERVICE_PORT_HTTP": "8080",
    }


@pytest.mark.parametrize(("address", "label"), [("None", "x"), ("10.96.0.5", "y")])
def test_headless_services_and_those_without_pods_are_not(address: str, label: str) -> None:
    service = a_service("s", {"app": "x"}, clusterIP=address, ports=[])
    assert around((a_pod("p", labels={"app": label}), "10.0.0.1"), services=[service]).reachable() == []


# --- addresses ---

SMALL = IPv4Network("10.0.0.0/28")


def test_a_pod_keeps_its_address() -> None:
    addresses = Addresses(SMALL, reserved=2)
    assert addresses.of("a") == addresses.of("a") == "10.0.0.2"
    assert addresses.of("b") == "10.0.0.3"


def test_an_address_rests_as_long_as_possible_before_it_is_given_again() -> None:
    addresses = Addresses(SMALL, reserved=2)
    addresses.of("a")
    addresses.release("a")
    assert addresses.of("b") == "10.0.0.3"


def test_addresses_of_a_former_life_are_kept_and_nobody_else_gets_them() -> None:
    addresses = Addresses(SMALL, reserved=2)
    assert addresses.keep("old", "10.0.0.2")
    assert addresses.of("new") == "10.0.0.3"
    assert addresses.of("old") == "10.0.0.2"
    assert not addresses.keep("other", "10.0.0.2")
    assert not addresses.keep("other", "192.0.2.1")


def test_when_all_are_in_use_it_is_said() -> None:
    addresses = Addresses(SMALL, reserved=2)
    for number in range(13):
        addresses.of(str(number))
    with pytest.raises(Exhausted, match=r"all addresses of 10\.0\.0\.0/28 are in use"):
        addresses.of("one more")


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60))
def test_no_two_pods_ever_share_an_address(steps: list[tuple[bool, int]]) -> None:
    addresses = Addresses(SMALL, reserved=2)
    for take, number in steps:
        if take:
            addresses.of(str(number))
        else:
            addresses.release(str(number))
        given_now = list(addresses.given().values())
        assert len(given_now) == len(set(given_now))
