"""Pod Security Standards: a namespace's labels refuse pods that reach for their host."""

from __future__ import annotations

from typing import Final

import pytest

from tests import waits
from tests.builders import a_namespace, a_waiting_pod
from tests.contract.rooms import room
from trainshed.client.client import Client
from trainshed.client.requests import Write
from trainshed.kube.faults import Forbidden, Invalid
from trainshed.kube.objects import JSON, Object

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
REHEARSED = Write(dry_run=True)


def _pod(container: Object | None = None, **spec: JSON) -> Object:
    own = {"name": "main", "image": "example.com/image:1", **(container or {})}
    return a_waiting_pod("p", {"containers": [own], **spec})


BASELINE: Final = [
    (_pod(hostNetwork=True, hostPID=True), "host namespaces (hostNetwork=true, hostPID=true)"),
    (
        _pod(volumes=[{"name": "root", "hostPath": {"path": "/"}}]),
        'hostPath volumes (volume "root")',
    ),
    (
        _pod({"securityContext": {"privileged": True}}),
        'privileged (container "main" must not set securityContext.privileged=true)',
    ),
    (
        _pod({"securityContext": {"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}}),
        'non-default capabilities (container "main" must not include "SYS_ADMIN" in '
        "securityContext.capabilities.add)",
    ),
    (
        _pod({"ports": [{"containerPort": 80, "hostPort": 80}]}),
        'hostPort (container "main" uses hostPort 80)',
    ),
    (
        _pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
        'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
    (
        _pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
        "forbidden sysctls (kernel.msgmax)",
    ),
    (
        _pod(securityContext={"seLinuxOptions": {"type": "spc_t", "user": "root"}}),
        "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: "
        'type "spc_t"; user may not be set)',
    ),
]


class TestPods:
    async def test_baseline_refuses_what_reaches_for_the_host_in_these_words(
        self, client: Client, name: str
    ) -> None:
        async with room(client, name, **{ENFORCE: "baseline"}):
            for pod, words in BASELINE:
                with pytest.raises(Forbidden) as refused:
                    await client.create(pod, name, REHEARSED)
                assert refused.value.message == (
                    f'pods "p" is forbidden: violates PodSecurity "baseline:latest": {words}'
                )
            await client.create(_pod(), name)

    async def test_restricted_wants_things_said(self, client: Client, name: str) -> None:
        async with room(client, name, **{ENFORCE: "restricted"}):
            with pytest.raises(Forbidden) as refused:
                await client.create(_pod(volumes=[{"name": "root", "hostPath": {"path": "/"}}]), name)
            assert refused.value.message == (
                'pods "p" is forbidden: violates PodSecurity "restricted:latest": '
                "allowPrivilegeEscalation != false "
                '(container "main" must set securityContext.allowPrivilegeEscalation=false), '
                "unrestricted capabilities "
                '(container "main" must set securityContext.capabilities.drop=["ALL"]), '
                'restricted volume types (volume "root" uses restricted volume type "hostPath"), '
                "runAsNonRoot != true "
                '(pod or container "main" must set securityContext.runAsNonRoot=true), '
                "seccompProfile "
                '(pod or container "main" must set securityContext.seccompProfile.type to '
                '"RuntimeDefault" or "Localhost")'
            )
            own = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
            whole = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
            await client.create(_pod({"securityContext": own}, securityContext=whole), name)

    async def test_without_a_label_everything_may_be(self, client: Client, name: str) -> None:
        async with room(client, name):
            for pod, _ in BASELINE[:3]:
                await client.create(pod, name, REHEARSED)

    async def test_a_label_takes_effect_at_once_and_spares_what_is_there(
        self, client: Client, name: str
    ) -> None:
        async with room(client, name):
            await client.create(_pod(hostNetwork=True), name)
            await client.patch("namespaces", name, {"metadata": {"labels": {ENFORCE: "baseline"}}})

            async def refused() -> None:
                other = {**_pod(hostNetwork=True), "metadata": {"name": "other"}}
                said = ""
                try:
                    await client.create(other, name, REHEARSED)
                except Forbidden as why:
                    said = why.message
                assert "violates PodSecurity" in said

            await waits.eventually(refused)
            await client.patch("pods", "p", {"metadata": {"labels": {"still": "changeable"}}}, name)


class TestLabels:
    async def test_a_level_nobody_knows_is_invalid(self, client: Client, name: str) -> None:
        with pytest.raises(Invalid) as refused:
            await client.create(a_namespace(name, labels={ENFORCE: "strict"}))
        assert refused.value.message == (
            f'Namespace "{name}" is invalid: metadata.labels[{ENFORCE}]: Invalid value: "strict": '
            "must be one of privileged, baseline, restricted"
        )
