"""Services: defaults, addresses and ports."""

from __future__ import annotations

import pytest

from tests.pure.samples import a_service, created, faults, faults_of_change
from trainshed.kinds.core import services
from trainshed.kinds.rules import RULES
from trainshed.kube.objects import JSON, Object, copied


def stored(address: str = "10.0.0.7", **spec: JSON) -> Object:
    service = created("services", a_service(**spec))
    if services.needs_cluster_ip(service):
        services.set_cluster_ip(service, address)
    return service


def test_a_small_service_gets_the_defaults_of_a_real_cluster() -> None:
    service = created("services", a_service())
    assert service["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "selector": {"app": "web"},
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    assert service["status"] == {"loadBalancer": {}}
    assert services.needs_cluster_ip(service)


def test_a_headless_service_needs_no_address() -> None:
    service = created("services", a_service(clusterIP="None"))
    assert service["spec"]["clusterIPs"] == ["None"]
    assert services.is_headless(service)
    assert not services.needs_cluster_ip(service)


def test_an_external_name_has_no_addresses() -> None:
    service = created("services", a_service(type="ExternalName", externalName="db.example.com", ports=[]))
    assert faults("services", service) == []
    assert not services.needs_cluster_ip(service)
    assert "ipFamilies" not in service["spec"]


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_services_open_to_the_outside_get_a_traffic_policy(kind: str) -> None:
    service = created("services", a_service(type=kind))
    assert service["spec"]["externalTrafficPolicy"] == "Cluster"
    assert services.needs_node_ports(service)


def test_sticky_sessions_last_three_hours_unless_told_otherwise() -> None:
    spec = created("services", a_service(sessionAffinity="ClientIP"))["spec"]
    assert spec["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}


FAULTS: list[tuple[Object, str]] = [
    ({"ports": []}, "spec.ports: Required value"),
    ({"ports": [{"port": 0}]}, "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, "
     "inclusive"),
    ({"ports": [{"port": 1}, {"port": 2}]}, "spec.ports[0].name: Required value"),
    ({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]}, 'spec.ports[1].name: Duplicate '
     'value: "a"'),
    ({"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}, "spec.ports[1]: Duplicate value: "),
    ({"ports": [{"port": 1, "protocol": "IP"}]},
     'spec.ports[0].protocol: Unsupported value: "IP": supported values: "SCTP", "TCP", "UDP"'),
    ({"ports": [{"port": 1, "targetPort": "no port at all"}]}, "spec.ports[0].targetPort: Invalid value: "),
    ({"ports": [{"port": 1, "nodePort": 30000}]},
     "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"),
    ({"type": "Magic"}, 'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", '
     '"ExternalName", '
     '"LoadBalancer", "NodePort"'),
    ({"type": "NodePort", "clusterIP": "None"},
     "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"),
    ({"type": "ExternalName"}, "spec.externalName: Required value"),
    ({"clusterIP": "somewhere"}, 'spec.clusterIPs[0]: Invalid value: "somewhere": must be a valid IP '
     'address, '),
    ({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"]},
     'spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`'),
    ({"sessionAffinity": "Sticky"}, 'spec.sessionAffinity: Unsupported value: "Sticky"'),
    ({"selector": {"a": "b c"}}, "spec.selector: Invalid value: "),
    ({"externalIPs": ["127.0.0.1"]},
     'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range '
     '(127.0.0.0/8, ::1/128)'),
    ({"externalTrafficPolicy": "Local"},
     'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible '
     'services'),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "fault"), FAULTS)
def test_a_service_is_refused_with_the_words_of_a_real_cluster(spec: dict[str, JSON], fault: str) -> None:
    assert any(found.startswith(fault) for found in faults("services", a_service(**spec)))


def test_names_of_services_start_with_a_letter() -> None:
    check = RULES["services"].check_name
    assert check
    assert check("web") is None
    assert (check("1web") or "").startswith("a DNS-1035 label must consist of")


def test_an_update_without_the_address_keeps_it() -> None:
    old = stored()
    new = a_service(ports=[{"port": 81}])
    assert faults_of_change("services", new, old) == []
    assert (new["spec"]["clusterIP"], new["spec"]["clusterIPs"]) == ("10.0.0.7", ["10.0.0.7"])


def test_the_address_may_not_change() -> None:
    old = stored()
    new: Object = copied(old)
    new["spec"].update(clusterIP="10.0.0.8")
    assert faults_of_change("services", new, old) == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.8"]: may not change once set'
    ]


def test_becoming_an_external_name_gives_the_address_back() -> None:
    old = stored()
    new: Object = copied(old)
    new["spec"].update(type="ExternalName", externalName="a.example.com")
    assert faults_of_change("services", new, old) == []
    assert "clusterIP" not in new["spec"]


def test_node_ports_survive_an_update_and_end_with_their_type() -> None:
    old = stored(type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
    new = a_service(type="NodePort")
    faults_of_change("services", new, old)
    assert new["spec"]["ports"][0]["nodePort"] == 30080
    inner: Object = copied(old)
    inner["spec"].update(type="ClusterIP")
    inner["spec"].pop("externalTrafficPolicy")
    assert faults_of_change("services", inner, old) == []
    assert "nodePort" not in inner["spec"]["ports"][0]
