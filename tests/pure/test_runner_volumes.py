"""Volumes: what is wanted, which files that means, and where containers see them."""

from __future__ import annotations

import base64

import pytest

from trainshed.kube.objects import JSON, Object
from trainshed.runner.environment import Reference, Sources
from trainshed.runner.plan import Mount
from trainshed.runner.volumes import mounts, payloads, wanted
from trainshed.runner.volumes.mounts import Prepared
from trainshed.runner.volumes.payloads import File, Incomplete, Payload
from trainshed.runner.volumes.wanted import Claim, Files, Host, Memory, Refused, Scratch

SETTINGS: Object = {"data": {"a": "1", "b": "2"}, "binaryData": {"c": base64.b64encode(b"\0").decode()}}
KEYS: Object = {"data": {"id": base64.b64encode(b"key").decode()}}
POD: Object = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": {"b": "2", "a": 'x"y'}},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1500m"}}}]},
}


def volume(**source: JSON) -> wanted.Volume:
    (found,) = wanted.volumes({"spec": {"volumes": [{"name": "v", **source}]}})
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"emptyDir": {}}, Scratch("v")),
        ({"emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}, Memory("v", 64 << 20)),
        ({"emptyDir": {"medium": "Memory"}}, Memory("v", 0)),
        ({"hostPath": {"path": "/data", "type": "Directory"}}, Host("v", "/data", "Directory")),
        ({"persistentVolumeClaim": {"claimName": "c", "readOnly": True}}, Claim("v", "c", True)),
        ({"ephemeral": {"volumeClaimTemplate": {}}}, Scratch("v")),
    ],
)
def test_every_kind_of_volume_is_understood(source: Object, expected: wanted.Volume) -> None:
    assert volume(**source) == expected


@pytest.mark.parametrize("kind", ["nfs", "csi", "image", "gitRepo", "iscsi"])
def test_what_cannot_be_mounted_is_refused_in_words(kind: str) -> None:
    with pytest.raises(Refused) as refused:
        volume(**{kind: {}})
    assert str(refused.value) == (
        f'volume "v" is of kind {kind}, which this machine cannot mount: '
        "use hostPath, persistentVolumeClaim or emptyDir"
    )


def test_everything_a_volume_is_made_from_is_named() -> None:
    sources = [{"configMap": {"name": "a"}}, {"secret": {"name": "b"}}]
    assert [*wanted.references(volume(projected={"sources": sources}))] == [
        ("configmaps", "a"),
        ("secrets", "b"),
    ]
    assert [*wanted.references(volume(secret={"secretName": "s"}))] == [("secrets", "s")]
    claim = volume(persistentVolumeClaim={"claimName": "c"})
    assert [*wanted.references(claim)] == [("persistentvolumeclaims", "c")]


@pytest.mark.parametrize(
    ("path", "expected"), [("/dev/shm", 2 << 30), ("/dev/shm/", 2 << 30), ("/cache", 64)]
)
def test_a_memory_volume_on_dev_shm_sets_the_size_of_shared_memory(path: str, expected: int) -> None:
    pod: Object = {
        "spec": {
            "volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}],
            "containers": [{"name": "c", "volumeMounts": [{"name": "v", "mountPath": path}]}],
        }
    }
    assert wanted.shm_bytes(pod, wanted.volumes(pod), default=64) == expected


# --- files ---


def payload(**source: JSON) -> Payload:
    objects: dict[Reference, Object | None] = {("configmaps", "cm"): SETTINGS, ("secrets", "keys"): KEYS}
    found = volume(**source)
    assert isinstance(found, Files)
    sources = Sources(objects, {"status.podIP": "10.0.0.5"}, {"memory": "1Gi"})
    return payloads.payload(POD, found, sources, {("v", "token"): b"tok"})


def test_a_configmap_shows_all_its_keys_with_the_default_mode() -> None:
    found = payload(configMap={"name": "cm", "defaultMode": 0o400})
    assert found == {"a": File(b"1", 0o400), "b": File(b"2", 0o400), "c": File(b"\0", 0o400)}


def test_items_choose_keys_paths_and_modes() -> None:
    items = [{"key": "a", "path": "dir/x", "mode": 0o755}, {"key": "b", "path": "y"}]
    found = payload(configMap={"name": "cm", "items": items})
    assert found == {"dir/x": File(b"1", 0o755), "y": File(b"2", 0o644)}


def test_a_secret_shows_bytes() -> None:
    assert payload(secret={"secretName": "keys"}) == {"id": File(b"key", 0o644)}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"configMap": {"name": "x"}}, 'configmap "x" not found'),
        ({"secret": {"secretName": "x"}}, 'secret "x" not found'),
        (
            {"configMap": {"name": "cm", "items": [{"key": "z", "path": "z"}]}},
            "references non-existent config key: z",
        ),
        (
            {"secret": {"secretName": "keys", "items": [{"key": "z", "path": "z"}]}},
            "references non-existent secret key: z",
        ),
    ],
)
def test_what_is_missing_is_said_in_the_words_of_a_real_node(source: Object, why: str) -> None:
    with pytest.raises(Incomplete) as missing:
        payload(**source)
    assert str(missing.value) == why


def test_optional_objects_and_keys_may_be_missing() -> None:
    assert payload(configMap={"name": "x", "optional": True}) == {}
    items = [{"key": "z", "path": "z"}, {"key": "a", "path": "a"}]
    assert [*payload(configMap={"name": "cm", "optional": True, "items": items})] == ["a"]


def test_a_pod_can_show_itself_to_its_containers() -> None:
    items = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        {
            "path": "cpu",
            "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"},
        },
    ]
    found = payload(downwardAPI={"items": items})
    assert found["labels"].data == b'a="x\\"y"\nb="2"'
    assert (found["name"].data, found["cpu"].data) == (b"p", b"1500")


def test_several_sources_share_one_folder() -> None:
    sources = [
        {"configMap": {"name": "cm", "items": [{"key": "a", "path": "a"}]}},
        {"secret": {"name": "keys"}},
        {"serviceAccountToken": {"path": "token"}},
    ]
    found = payload(projected={"sources": sources, "defaultMode": 0o600})
    assert {name: file.data for name, file in found.items()} == {"a": b"1", "id": b"key", "token": b"tok"}


# --- mounts ---

PREPARED = {
    "data": Prepared("/host/data"),
    "conf": Prepared("/host/conf", read_only=True),
    "mem": Prepared("/dev/shm/p/mem", memory=True),
}


def mounted(*wishes: Object) -> tuple[Mount, ...]:
    container: Object = {"volumeMounts": list(wishes)}
    return mounts.mounts(container, PREPARED, lambda text: text, lambda volume, sub: f"{volume}/{sub}")


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ({"name": "data", "mountPath": "/d"}, Mount("/d", "bind", "/host/data")),
        ({"name": "data", "mountPath": "/d/", "readOnly": True}, Mount("/d", "ro-bind", "/host/data")),
        ({"name": "conf", "mountPath": "/c"}, Mount("/c", "ro-bind", "/host/conf")),
        ({"name": "data", "mountPath": "/d", "subPath": "x"}, Mount("/d", "bind", "/host/data/x")),
        ({"name": "data", "mountPath": "/d", "subPathExpr": "y"}, Mount("/d", "bind", "/host/data/y")),
        ({"name": "mem", "mountPath": "/m"}, Mount("/m", "bind", "/dev/shm/p/mem")),
    ],
)
def test_a_volume_is_seen_where_the_container_asks_for_it(wish: Object, expected: Mount) -> None:
    assert mounted(wish) == (expected,)


def test_memory_on_dev_shm_is_the_pods_own() -> None:
    assert mounted({"name": "mem", "mountPath": "/dev/shm"}) == ()


def test_outer_folders_are_mounted_first() -> None:
    inner, outer = {"name": "data", "mountPath": "/a/b/c"}, {"name": "conf", "mountPath": "/a"}
    assert [mount.target for mount in mounted(inner, outer)] == ["/a", "/a/b/c"]
