"""The volume that makes a container a client of the API."""

from __future__ import annotations

import pytest

from trainshed.apiserver.access import tls
from trainshed.kinds.core import tokenvolumes
from trainshed.kube.objects import JSON, Object
from trainshed.runner import furnishing
from trainshed.runner.plan import ContainerPlan, Mount, PodPlan
from trainshed.runner.process import mapping
from trainshed.runner.sandbox.engine import PREFIX
from trainshed.runner.sandbox.network import Addresses


def a_spec(*containers: Object, **more: JSON) -> Object:
    return {"containers": list(containers), **more}


@pytest.mark.parametrize(
    ("pod", "account", "expected"),
    [
        (None, None, True),
        (None, False, False),
        (None, True, True),
        (True, False, True),
        (False, True, False),
        (False, None, False),
    ],
)
def test_the_pod_decides_then_its_account(pod: JSON, account: JSON, expected: bool) -> None:
    spec = {} if pod is None else {"automountServiceAccountToken": pod}
    owner = {} if account is None else {"automountServiceAccountToken": account}
    assert tokenvolumes.is_wanted(spec, owner) is expected


def test_a_pod_of_an_unknown_account_gets_a_token() -> None:
    assert tokenvolumes.is_wanted({}, None)


def test_every_container_sees_token_certificate_and_namespace() -> None:
    spec = a_spec({"name": "a"}, {"name": "b"}, initContainers=[{"name": "i"}])
    tokenvolumes.mount(spec, "kube-api-access-x")
    mount = {"name": "kube-api-access-x", "readOnly": True, "mountPath": tokenvolumes.PATH}
    for container in (*spec["containers"], *spec["initContainers"]):
        assert container["volumeMounts"] == [mount]
    ((volume,),) = [spec["volumes"]]
    assert [next(iter(one)) for one in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]


def test_what_a_container_has_at_the_path_stays() -> None:
    own = {"name": "mine", "mountPath": tokenvolumes.PATH + "/"}
    spec = a_spec({"name": "a", "volumeMounts": [own]})
    tokenvolumes.mount(spec, "kube-api-access-x")
    assert spec == a_spec({"name": "a", "volumeMounts": [own]})


def test_a_volume_that_came_along_is_used_again() -> None:
    there = {"name": "kube-api-access-old", "projected": {}}
    spec = a_spec({"name": "a"}, volumes=[there])
    tokenvolumes.mount(spec, "kube-api-access-new")
    assert spec["volumes"] == [there]
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-old"


def test_the_servers_certificate_names_the_address_that_pods_are_told() -> None:
    assert Addresses(PREFIX).bridge == tls.PODS_DOOR
    assert tls.PODS_DOOR in tls.server_names("127.0.0.1", "host")


def _plan(*env: tuple[str, str]) -> ContainerPlan:
    pod = PodPlan("u", "team", "p", "p", "127.64.0.2", "", "/pods/u")
    files = Mount(tokenvolumes.PATH, "ro-bind", "/pods/u/volumes/t")
    return ContainerPlan(pod, "c", 0, ("x",), env, "/", (files,), "/", True, "", "", "")


SERVER = (("KUBERNETES_SERVICE_HOST", "::1"), ("KUBERNETES_SERVICE_PORT", "6443"))


def test_a_plain_process_gets_a_kubeconfig_instead() -> None:
    found = mapping.kubeconfig(_plan(*SERVER))
    for part in ("https://[::1]:6443", "/pods/u/volumes/t/token", '"namespace": "team"'):
        assert part in found


def test_a_kubeconfig_of_its_own_is_respected() -> None:
    assert mapping.kubeconfig(_plan(*SERVER, ("KUBECONFIG", "/mine"))) == ""


@pytest.mark.parametrize(
    ("lifetimes", "is_fresh", "expected"),
    [([], True, None), ([3607, 600], True, 480.0), ([3607], False, 15.0), ([], False, 15.0)],
)
def test_tokens_are_renewed_in_time_and_failures_tried_again_soon(
    lifetimes: list[int], is_fresh: bool, expected: float | None
) -> None:
    assert furnishing.refresh_after(lifetimes, is_fresh=is_fresh) == expected
