"""Services on a cluster whose addresses are all of one family."""

from __future__ import annotations

import pytest

from tests.builders import a_service
from tests.server.asking import made
from tests.server.wire import Wire
from trainshed.kube.objects import Object

MERGE = "application/merge-patch+json"
NO_SUCH_FAMILY = 'Invalid value: "IPv6": not configured on this cluster'
NOT_DUAL = (
    'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
    "this cluster is not configured for dual-stack services"
)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"ipFamilies": ["IPv6"]}, f"spec.ipFamilies[0]: {NO_SUCH_FAMILY}"),
        ({"ipFamilies": ["IPv6"], "clusterIP": "None"}, f"spec.ipFamilies[0]: {NO_SUCH_FAMILY}"),
        (
            {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"},
            f"spec.ipFamilies[1]: {NO_SUCH_FAMILY}",
        ),
        ({"ipFamilyPolicy": "RequireDualStack"}, NOT_DUAL),
        ({"ipFamilies": ["IPv4", "IPv4"]}, 'spec.ipFamilies[1]: Duplicate value: "IPv4"'),
        ({"clusterIP": "fd00::1"}, "failed to allocate IP fd00::1"),
    ],
)
def test_another_family_is_refused(wire: Wire, space: str, spec: Object, why: str) -> None:
    path = f"/api/v1/namespaces/{space}/services"
    service = a_service("some")
    service["spec"] |= {"selector": {"app": "web"}, **spec}
    reply = wire.ask("POST", path, service)
    assert reply.code == 422, reply.text
    assert why in reply.object()["message"]
    assert wire.ask("GET", f"{path}/some").code == 404


def test_another_family_is_refused_later_as_well(wire: Wire, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/services"
    made(wire, path, a_service("some"))
    change = {"spec": {"ipFamilyPolicy": "RequireDualStack"}}
    reply = wire.ask("PATCH", f"{path}/some", change, MERGE)
    assert (reply.code, NOT_DUAL in reply.object()["message"]) == (422, True)


@pytest.mark.parametrize(
    "spec",
    [
        {"ipFamilyPolicy": "PreferDualStack"},
        {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"},
        {
            "clusterIP": "None",
            "selector": None,
            "ipFamilies": ["IPv4", "IPv6"],
            "ipFamilyPolicy": "RequireDualStack",
        },
    ],
)
def test_what_fits_one_family_and_what_finds_no_pods_is_taken(wire: Wire, space: str, spec: Object) -> None:
    service = a_service("some")
    service["spec"] |= {"selector": {"app": "web"}, **spec}
    made(wire, f"/api/v1/namespaces/{space}/services", service)
