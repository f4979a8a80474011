"""LimitRanges: amounts that are not said are filled in, those out of bounds are refused."""

from __future__ import annotations

import pytest

from tests import waits
from tests.contract.rooms import Amounts, a_claim, a_limit_range, a_sized_pod, room
from trainshed.client.client import Client
from trainshed.client.requests import Write
from trainshed.kube.faults import Forbidden
from trainshed.kube.objects import Object

REHEARSED = Write(dry_run=True)


async def _known(client: Client, limits: Object, namespace: str) -> None:
    """Admission of a cluster may learn of a new LimitRange a moment later; an impossible pod tells."""
    await client.create(limits, namespace)

    async def noticed() -> None:
        with pytest.raises(Forbidden):
            await client.create(a_sized_pod("probe", {"cpu": "100"}, {"cpu": "100"}), namespace, REHEARSED)

    await waits.eventually(noticed)


class TestDefaults:
    async def test_containers_get_what_they_do_not_say(self, client: Client, name: str) -> None:
        limits = a_limit_range(
            "sizes", "Container",
            default={"cpu": "2", "memory": "1Gi"}, defaultRequest={"cpu": "500m"}, max={"cpu": "4"},
        )  # fmt: skip
        async with room(client, name):
            await _known(client, limits, name)
            made = await client.create(a_sized_pod("bare", {}), name)
        assert made["spec"]["containers"][0]["resources"] == {
            "limits": {"cpu": "2", "memory": "1Gi"},
            "requests": {"cpu": "500m", "memory": "1Gi"},
        }
        assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
            "LimitRanger plugin set: cpu, memory request for container main; "
            "cpu, memory limit for container main"
        )
        assert made["status"]["qosClass"] == "Burstable"

    async def test_what_is_said_stays(self, client: Client, name: str) -> None:
        limits = a_limit_range("sizes", "Container", default={"cpu": "2"}, max={"cpu": "4"})
        async with room(client, name):
            await _known(client, limits, name)
            made = await client.create(a_sized_pod("said", {"cpu": "1"}, {"cpu": "3"}), name)
        assert made["spec"]["containers"][0]["resources"] == {
            "limits": {"cpu": "3"},
            "requests": {"cpu": "1"},
        }
        assert "kubernetes.io/limit-ranger" not in made["metadata"].get("annotations", {})


class TestBounds:
    @pytest.mark.parametrize(
        ("kind", "bound", "requests", "limits", "words"),
        [
            ("Container", {"min": {"cpu": "100m"}}, {"cpu": "50m"}, {"cpu": "1"},
             "minimum cpu usage per Container is 100m, but request is 50m"),
            ("Container", {"max": {"memory": "1Gi"}}, {"memory": "1Gi"}, {"memory": "2Gi"},
             "maximum memory usage per Container is 1Gi, but limit is 2Gi"),
            ("Container", {"maxLimitRequestRatio": {"cpu": "2"}}, {"cpu": "1"}, {"cpu": "3"},
             "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"),
            ("Pod", {"max": {"cpu": "1"}}, {"cpu": "1"}, None,
             "maximum cpu usage per Pod is 1.  No limit is specified"),
            ("Pod", {"min": {"memory": "1Gi"}}, {"cpu": "1"}, None,
             "minimum memory usage per Pod is 1Gi.  No request is specified"),
        ],
    )  # fmt: skip
    async def test_a_pod_out_of_bounds_is_refused_in_these_words(
        self, client: Client, name: str, kind: str, bound: dict[str, Amounts], requests: Amounts,
        limits: Amounts | None, words: str,
    ) -> None:  # fmt: skip
        async with room(client, name):
            body = a_limit_range("bounds", "Pod")
            body["spec"]["limits"] = [{"type": kind, **bound}]
            await client.create(body, name)

            async def refusal() -> str:
                with pytest.raises(Forbidden) as refused:
                    await client.create(a_sized_pod("odd", requests, limits), name, REHEARSED)
                return str(refused.value.message)

            assert await waits.eventually(refusal) == f'pods "odd" is forbidden: {words}'

    async def test_a_claim_out_of_bounds_is_refused(self, client: Client, name: str) -> None:
        async with room(client, name):
            bounds = a_limit_range(
                "sizes", "PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"}
            )
            await client.create(bounds, name)

            async def refusal() -> str:
                with pytest.raises(Forbidden) as refused:
                    await client.create(a_claim("odd", "3Gi"), name, REHEARSED)
                return str(refused.value.message)

            assert await waits.eventually(refusal) == (
                'persistentvolumeclaims "odd" is forbidden: '
                "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"
            )
            await client.create(a_claim("fits", "1Gi"), name)
