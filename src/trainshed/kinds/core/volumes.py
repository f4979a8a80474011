"""Volumes of a pod: what they are made from, and how containers mount them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import claims, environment, resources
from trainshed.kinds.core.images import pull_policy
from trainshed.kinds.reading import child, entries, fill, mapping, number, texts
from trainshed.kube import names
from trainshed.kube.faults import duplicate, forbidden, invalid, not_found, required
from trainshed.kube.objects import JSON, Object, dig, text

SOURCES: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI",
    "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
_DEFAULTS: Final[dict[str, Object]] = {
    "secret": {"defaultMode": 420},
    "configMap": {"defaultMode": 420},
    "downwardAPI": {"defaultMode": 420},
    "projected": {"defaultMode": 420},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
}
_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_REQUIRED: Final = {  # sources of which only some member must be there
    "gitRepo": ("repository",), "gcePersistentDisk": ("pdName",), "awsElasticBlockStore": ("volumeID",),
    "nfs": ("server", "path"), "iscsi": ("targetPortal", "iqn"), "glusterfs": ("endpoints", "path"),
    "persistentVolumeClaim": ("claimName",), "rbd": ("image",), "cinder": ("volumeID",),
    "quobyte": ("registry", "volume"), "flexVolume": ("driver",), "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",), "photonPersistentDisk": ("pdID",), "portworxVolume": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"), "scaleIO": ("gateway", "system", "volumeName"), "csi": ("driver",),
    "storageos": ("volumeName",), "secret": ("secretName",), "configMap": ("name",), "hostPath": ("path",),
}  # fmt: skip


def defaults(spec: Object) -> None:
    for volume in entries(spec, "volumes"):
        if not any(isinstance(volume.get(name), dict) for name in SOURCES):
            volume["emptyDir"] = {}
        for name in SOURCES:
            if isinstance(volume.get(name), dict):
                _default_source(name, volume[name])


def _default_source(name: str, source: Object) -> None:
    for member, value in _DEFAULTS.get(name, {}).items():
        if source.get(member) is None:
            source[member] = value
    if name == "image":
        fill(source, pullPolicy=pull_policy(text(source, "reference")))
    if name == "ephemeral" and isinstance(source.get("volumeClaimTemplate"), dict):
        claims.default_spec(child(source["volumeClaimTemplate"], "spec"))
    for file in entries(source, "items"):
        environment.default_field_ref(file)
    for part in entries(source, "sources"):
        for file in entries(part, "downwardAPI", "items"):
            environment.default_field_ref(file)
        if isinstance(part.get("serviceAccountToken"), dict):
            fill(part["serviceAccountToken"], expirationSeconds=3600)


# --- validation -------------------------------------------------------------------------------------------


def errors(field: str, spec: JSON, pod_name: str = "") -> tuple[set[str], Errors]:
    """The names of the sound volumes, and what is wrong with the others."""
    found: Errors = []
    sound: set[str] = set()
    for index, volume in enumerate(entries(spec, "volumes")):
        own = _volume(f"{field}[{index}]", volume, sound, pod_name)
        found += own
        if not own:
            sound.add(text(volume, "name"))
    return sound, found


def _volume(field: str, volume: Object, sound: set[str], pod_name: str) -> Errors:
    name = text(volume, "name")
    found = _source(field, volume)
    found += checks.named(f"{field}.name", name, names.dns_label)
    if name in sound:
        found.append(duplicate(f"{field}.name", name))
    if pod_name and name and isinstance(volume.get("ephemeral"), dict):
        claim = f"{pod_name}-{name}"
        if why := names.dns_subdomain(claim):
            found.append(invalid(f"{field}.name", name, f'PVC name "{claim}": {why}'))
    return found


def _source(field: str, volume: Object) -> Errors:
    chosen = [name for name in SOURCES if isinstance(volume.get(name), dict)]
    if not chosen:
        return [required(field, "must specify a volume type")]
    first, *others = chosen
    found = _one_source(f"{field}.{first}", first, volume[first])
    return found + [
        forbidden(f"{field}.{name}", "may not specify more than 1 volume type") for name in others
    ]


def _one_source(field: str, name: str, source: Object) -> Errors:
    missing = [member for member in _REQUIRED.get(name, ()) if not text(source, member)]
    found = [required(f"{field}.{member}") for member in missing]
    check = _CHECKS.get(name)
    return found + (check(field, source) if check else [])


def _empty_dir(field: str, source: Object) -> Errors:
    limit = source.get("sizeLimit")
    amount = resources.parsed(limit)
    if limit is None or (amount is not None and amount >= 0):
        return []
    return [forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


def _host_path(field: str, source: Object) -> Errors:
    if not text(source, "path"):
        return []
    found = checks.no_backsteps(f"{field}.path", text(source, "path"))
    return found + checks.one_of(f"{field}.type", source.get("type"), _HOST_PATH_TYPES, optional=True)


def _nfs(field: str, source: Object) -> Errors:
    path = text(source, "path")
    return [] if path.startswith("/") else [invalid(f"{field}.path", path, "must be an absolute path")]


def _files(field: str, source: Object) -> Errors:
    """Files made from the keys of a ConfigMap or Secret."""
    found = _mode(f"{field}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(entries(source, "items")):
        found += _key_to_path(f"{field}.items[{index}]", item)
    return found


def _key_to_path(field: str, item: Object) -> Errors:
    found = [required(f"{field}.{name}") for name in ("key", "path") if not text(item, name)]
    found += checks.file_path(f"{field}.path", text(item, "path"))
    return found + _mode(f"{field}.mode", item.get("mode"))


def _mode(field: str, value: JSON) -> Errors:
    return [invalid(field, value, _MODE)] if checks.in_range(field, value, 0, 0o777) else []


def _downward(field: str, source: Object) -> Errors:
    found = _mode(f"{field}.defaultMode", source.get("defaultMode"))
    for file in entries(source, "items"):
        found += _downward_file(field, file)
    return found


def _downward_file(field: str, file: Object) -> Errors:
    found = [] if text(file, "path") else [required(f"{field}.path")]
    found += checks.file_path(f"{field}.path", text(file, "path"))
    by_field, by_amount = file.get("fieldRef"), file.get("resourceFieldRef")
    if isinstance(by_field, dict):
        found += environment.field_ref(f"{field}.fieldRef", by_field, environment.VOLUME_FIELDS)
        if by_amount:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.append(invalid(field, "resource", why))
    elif isinstance(by_amount, dict):
        found += environment.amount_ref(f"{field}.resourceFieldRef", by_amount, in_volume=True)
    else:
        found.append(required(field, "one of fieldRef and resourceFieldRef is required"))
    return found + _mode(f"{field}.mode", file.get("mode"))


def _projected(field: str, source: Object) -> Errors:
    found = _mode(f"{field}.defaultMode", source.get("defaultMode"))
    paths: set[str] = set()
    for index, part in enumerate(entries(source, "sources")):
        found += _projection(field, index, part)
        for path in _paths(part):
            if path in paths:
                found.append(invalid(field, path, "conflicting duplicate paths"))
            paths.add(path)
    return found


def _paths(part: Object) -> list[str]:
    listed = [
        item for name in ("secret", "configMap", "downwardAPI") for item in entries(part, name, "items")
    ]
    return [path for item in listed if (path := text(item, "path"))]


def _projection(field: str, index: int, part: Object) -> Errors:
    at, found = f"{field}.sources[{index}]", []
    for name in ("secret", "configMap"):
        if isinstance(part.get(name), dict):
            found += [] if text(part, name, "name") else [required(f"{at}.{name}.name")]
            found += _files(f"{at}.{name}", part[name])
    for file in entries(part, "downwardAPI", "items"):
        found += _downward_file(f"{at}.downwardAPI", file)
    if isinstance(part.get("serviceAccountToken"), dict):
        found += _token(field, f"{at}.serviceAccountToken", part["serviceAccountToken"])
    if sum(isinstance(value, dict) for value in part.values()) > 1:
        found.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return found


def _token(field: str, at: str, token: Object) -> Errors:
    seconds, found = number(token, "expirationSeconds") or 0, []
    if seconds < 600:
        why = "may not specify a duration less than 10 minutes"
        found.append(invalid(f"{at}.expirationSeconds", seconds, why))
    if seconds > 1 << 32:
        why = "may not specify a duration larger than 2^32 seconds"
        found.append(invalid(f"{at}.expirationSeconds", seconds, why))
    if not text(token, "path"):
        return [*found, required(f"{field}.path")]
    return found + checks.file_path(f"{field}.path", text(token, "path"))


def _ephemeral(field: str, source: Object) -> Errors:
    if not isinstance(source.get("volumeClaimTemplate"), dict):
        return [required(f"{field}.volumeClaimTemplate")]
    return claims.spec_errors(
        f"{field}.volumeClaimTemplate.spec", mapping(source, "volumeClaimTemplate", "spec")
    )


_CHECKS: Final[dict[str, Callable[[str, Object], Errors]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "nfs": _nfs,
    "secret": _files,
    "configMap": _files,
    "downwardAPI": _downward,
    "projected": _projected,
    "ephemeral": _ephemeral,
}


# --- mounts -----------------------------------------------------------------------------------------------


def mount_errors(field: str, container: JSON, volumes: set[str]) -> Errors:
    """A container's volumeMounts and volumeDevices."""
    found: Errors = []
    devices = {
        text(device, "name"): text(device, "devicePath") for device in entries(container, "volumeDevices")
    }
    taken: set[str] = set()
    for index, mount in enumerate(entries(container, "volumeMounts")):
        at, path = f"{field}.volumeMounts[{index}]", text(mount, "mountPath")
        found += _mount(at, mount, volumes)
        if path in taken:
            found.append(invalid(f"{at}.mountPath", path, "must be unique"))
        taken.add(path)
        if text(mount, "name") in devices:
            found.append(invalid(f"{at}.name", mount["name"], "must not already exist in volumeDevices"))
        if path in devices.values():
            why = "must not already exist as a path in volumeDevices"
            found.append(invalid(f"{at}.mountPath", path, why))
        found += _mount_manner(f"{field}.volumeMounts", mount, container)
    return found + _devices(f"{field}.volumeDevices", container, volumes)


def _mount(field: str, mount: Object, volumes: set[str]) -> Errors:
    name, found = text(mount, "name"), []
    if not name:
        found.append(required(f"{field}.name"))
    if name not in volumes:
        found.append(not_found(f"{field}.name", name))
    if not text(mount, "mountPath"):
        found.append(required(f"{field}.mountPath"))
    if text(mount, "subPath") and text(mount, "subPathExpr"):
        why = "subPathExpr and subPath are mutually exclusive"
        found.append(invalid(f"{field}.subPathExpr", mount["subPathExpr"], why))
    return found


def _mount_manner(field: str, mount: Object, container: JSON) -> Errors:
    """Sub-paths and propagation; upstream names these faults by the list, not by the mount."""
    found: Errors = []
    for name in ("subPath", "subPathExpr"):
        found += checks.inner_path(f"{field}.{name}", text(mount, name))
    propagation = mount.get("mountPropagation")
    allowed = ("Bidirectional", "HostToContainer", "None")
    found += checks.one_of(f"{field}.mountPropagation", propagation, allowed, optional=True)
    if propagation == "Bidirectional" and dig(container, "securityContext", "privileged") is not True:
        why = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden(f"{field}.mountPropagation", why))
    return found


def _devices(field: str, container: JSON, volumes: set[str]) -> Errors:
    found: Errors = []
    paths = texts([text(device, "devicePath") for device in entries(container, "volumeDevices")])
    for index, device in enumerate(entries(container, "volumeDevices")):
        at, name, path = f"{field}[{index}]", text(device, "name"), text(device, "devicePath")
        found += [required(f"{at}.{member}") for member in ("name", "devicePath") if not text(device, member)]
        if name and name not in volumes:
            found.append(not_found(f"{at}.name", name))
        if path in paths[:index]:
            found.append(invalid(f"{at}.devicePath", path, "must be unique"))
        found += checks.no_backsteps(f"{at}.devicePath", path)
    return found
