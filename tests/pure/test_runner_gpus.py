"""Which devices a container gets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube.objects import Object
from trainshed.runner import gpus
from trainshed.runner.devices import Devices


def a_pod(*counts: int, init: tuple[int, ...] = (), uid: str = "u", node: str = "n") -> Object:
    def containers(prefix: str, wanted: tuple[int, ...]) -> list[Object]:
        return [
            {"name": f"{prefix}{index}", "resources": {"limits": {"nvidia.com/gpu": str(count)}}}
            for index, count in enumerate(wanted)
        ]

    spec = {"nodeName": node, "containers": containers("c", counts), "initContainers": containers("i", init)}
    return {"metadata": {"uid": uid}, "spec": spec}


def test_free_devices_are_given_first_and_whole() -> None:
    assert gpus.assign(a_pod(2), ["0", "1", "2", "3"], in_use=["0"]) == {"c0": ("1", "2")}


def test_two_containers_of_a_pod_do_not_share() -> None:
    assert gpus.assign(a_pod(1, 1), ["0", "1"], []) == {"c0": ("0",), "c1": ("1",)}


def test_init_containers_use_what_the_main_ones_will_have() -> None:
    assert gpus.assign(a_pod(2, init=(1,)), ["0", "1", "2"], [])["i0"] == ("0",)


def test_who_asks_for_nothing_sees_nothing() -> None:
    devices = Devices({"n": ("0", "1")})
    assert devices.visible(a_pod(0), "c0") == ()
    assert gpus.variables(()) == {"CUDA_VISIBLE_DEVICES": ""}


def test_a_machine_without_devices_has_nothing_to_hide() -> None:
    assert Devices({"n": ()}).visible(a_pod(4), "c0") is None


def test_relaxed_requests_share_what_there_is() -> None:
    assert gpus.assign(a_pod(8), ["0", "1"], in_use=["0", "1"]) == {"c0": ("0", "1")}


@given(st.lists(st.integers(0, 3), max_size=5))
def test_pods_that_fit_never_share_a_device(counts: list[int]) -> None:
    devices = Devices({"n": tuple(map(str, range(15)))})
    taken = [one for index, count in enumerate(counts)
             for one in devices.assign(a_pod(count, uid=str(index)))["c0"]]  # fmt: skip
    assert len(taken) == len(set(taken)) == sum(counts)


def test_a_pod_keeps_its_devices_until_it_is_gone() -> None:
    devices = Devices({"n": ("0",)})
    assert devices.assign(a_pod(1, uid="a")) == devices.assign(a_pod(1, uid="a")) == {"c0": ("0",)}
    devices.release("a")
    devices.keep("b", "n", {"c0": ("0",)})
    assert devices.assign(a_pod(1, uid="b")) == {"c0": ("0",)}


def test_devices_of_other_makers_count_too() -> None:
    assert gpus.wanted({"resources": {"limits": {"amd.com/gpu": "2"}}}) == 2
    assert gpus.wanted({"resources": {"requests": {"cpu": "2"}}}) == 0
    assert gpus.wanted({"resources": {"limits": {"nvidia.com/gpu": "many"}}}) == 0
