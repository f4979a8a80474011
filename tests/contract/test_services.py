"""What services are given, and what no two of them may have."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import a_service
from trainshed.client.client import Client
from trainshed.kube.faults import Invalid
from trainshed.kube.objects import JSON, Object

NODE_PORTS = range(30000, 32768)
TAKEN = "provided port is already allocated"


def an_open_service(name: str, *ports: Object, **spec: JSON) -> Object:
    service = a_service(name)
    service["spec"] |= {"type": "NodePort", "ports": list(ports) or [{"port": 80}], **spec}
    return service


def node_ports(service: Object) -> list[int]:
    return [port["nodePort"] for port in service["spec"]["ports"] if "nodePort" in port]


class TestNodePorts:
    @pytest.mark.parametrize("type", ["NodePort", "LoadBalancer"])
    async def test_services_open_to_the_outside_get_one_for_each_port(
        self, client: Client, name: str, type: str
    ) -> None:
        ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
        made = await client.create(an_open_service(name, *ports, type=type))
        first, second = node_ports(made)
        assert first in NODE_PORTS
        assert second in NODE_PORTS
        assert first != second

    async def test_protocols_of_one_port_share_it(self, client: Client, name: str) -> None:
        ports = [{"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP"}]
        first, second = node_ports(await client.create(an_open_service(name, *ports)))
        assert first == second

    async def test_they_come_and_go_with_the_type(self, client: Client, name: str) -> None:
        assert node_ports(await client.create(a_service(name))) == []
        opened = await client.patch("services", name, {"spec": {"type": "NodePort"}})
        assert len(node_ports(opened)) == 1
        touched = await client.patch("services", name, {"metadata": {"labels": {"a": "b"}}})
        assert node_ports(touched) == node_ports(opened)
        closed = await client.patch("services", name, {"spec": {"type": "ClusterIP"}})
        assert node_ports(closed) == []

    async def test_one_that_another_service_has_is_refused(self, client: Client, name: str) -> None:
        [taken] = node_ports(await client.create(an_open_service(name)))
        message = rf"spec\.ports\[0\]\.nodePort: Invalid value: {taken}: {TAKEN}"
        with pytest.raises(Invalid, match=message):
            await client.create(an_open_service(f"{name}-b", {"port": 80, "nodePort": taken}))

    async def test_of_two_that_want_the_same_at_once_one_gets_it(self, client: Client, name: str) -> None:
        [free] = node_ports(await client.create(an_open_service(name)))
        await client.delete("services", name)
        wanted = [an_open_service(f"{name}-{index}", {"port": 80, "nodePort": free}) for index in range(6)]
        results = await asyncio.gather(*map(client.create, wanted), return_exceptions=True)
        refused = [result for result in results if isinstance(result, BaseException)]
        assert len(refused) == 5
        assert all(isinstance(error, Invalid) and TAKEN in error.message for error in refused)


class TestAddresses:
    async def test_one_that_another_service_has_is_refused(self, client: Client, name: str) -> None:
        taken = (await client.create(a_service(name)))["spec"]["clusterIP"]
        service = a_service(f"{name}-b")
        service["spec"]["clusterIP"] = taken
        why = f"failed to allocate IP {taken}: provided IP is already allocated"
        with pytest.raises(Invalid, match=why):
            await client.create(service)

    async def test_one_outside_the_range_is_refused(self, client: Client, name: str) -> None:
        service = a_service(name)
        service["spec"]["clusterIP"] = "192.0.2.1"
        why = r"failed to allocate IP 192\.0\.2\.1: .* is not in the valid range\. The range of valid IPs is"
        with pytest.raises(Invalid, match=why):
            await client.create(service)

    async def test_services_made_at_once_get_different_ones(self, client: Client, name: str) -> None:
        made = await asyncio.gather(*(client.create(a_service(f"{name}-{index}")) for index in range(8)))
        assert len({service["spec"]["clusterIP"] for service in made}) == 8
