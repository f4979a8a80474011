"""The single rules of the Pod Security Standards: each looks at a pod's metadata and spec; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from trainshed.kinds.reading import entries, is_true, mapping, texts
from trainshed.kube.objects import JSON, Object, dig, text


class Found(NamedTuple):
    reason: str
    detail: str


Rule = Callable[[Object, Object], Found | None]

_CAPABILITIES: Final = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_SYSCTLS: Final = frozenset(
    [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
    ]
)
_SE_LINUX_TYPES: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_PLAIN_VOLUMES: Final = frozenset(
    [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ]
)
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_HANDLERS: Final = (
    ("livenessProbe",), ("readinessProbe",), ("startupProbe",), ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)  # fmt: skip


def containers(spec: Object) -> list[Object]:
    groups = ("initContainers", "containers", "ephemeralContainers")
    return [container for group in groups for container in entries(spec, group)]


def _security(holder: Object) -> Object:
    return mapping(holder, "securityContext")


def _names(found: Iterable[Object]) -> list[str]:
    return [text(container, "name") for container in found]


def _quoted(items: Iterable[str]) -> str:
    return '"' + '", "'.join(items) + '"'


def _many(word: str, items: Iterable[object]) -> str:
    return word if len(list(items)) == 1 else f"{word}s"


def _these(names: list[str]) -> str:
    return f"{_many('container', names)} {_quoted(names)}"


def _setters(pod: bool, bad: list[str]) -> str:
    return " and ".join([*(["pod"] if pod else []), *([_these(bad)] if bad else [])])


def _use(names: list[str]) -> str:
    return "uses" if len(names) == 1 else "use"


def _has_own_users(spec: Object) -> bool:
    return spec.get("hostUsers") is False


def _is_windows(spec: Object) -> bool:
    return text(spec, "os", "name") == "windows"


# --- baseline ---------------------------------------------------------------------------------------------


def app_armor(meta: Object, spec: Object) -> Found | None:
    def bad_type(holder: Object) -> str | None:
        profile = _security(holder).get("appArmorProfile")
        kind = text(profile, "type")
        return kind if profile is not None and kind not in _PROFILES else None

    notes = sorted(
        f'{key}="{value}"'
        for key, value in mapping(meta, "annotations").items()
        if key.startswith(_APP_ARMOR)
        and not (value in ("", "runtime/default") or str(value).startswith("localhost/"))
    )
    every = containers(spec)
    bad = _names(one for one in every if bad_type(one) is not None)
    found = sorted({kind for one in [spec, *every] if (kind := bad_type(one)) is not None})
    setters = [part for part in (_setters(bad_type(spec) is not None, bad),) if part]
    setters += [_many("annotation", notes)] if notes else []
    if not setters:
        return None
    values = [*found, *notes]
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(values)}"
    return Found(_many("forbidden AppArmor profile", values), detail)


def default_capabilities(meta: Object, spec: Object) -> Found | None:
    added = {text(one, "name"): set(_added(one)) - _CAPABILITIES for one in containers(spec)}
    bad = [name for name, extra in added.items() if extra]
    if not bad:
        return None
    extra = _quoted(sorted(set().union(*added.values())))
    return Found(
        "non-default capabilities",
        f"{_these(bad)} must not include {extra} in securityContext.capabilities.add",
    )


def _added(container: Object) -> list[str]:
    return texts(_security(container), "capabilities", "add")


def host_namespaces(meta: Object, spec: Object) -> Found | None:
    found = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if is_true(spec, name)]
    return Found("host namespaces", ", ".join(found)) if found else None


def host_paths(meta: Object, spec: Object) -> Found | None:
    found = _names(volume for volume in entries(spec, "volumes") if volume.get("hostPath") is not None)
    return Found("hostPath volumes", f"{_many('volume', found)} {_quoted(found)}") if found else None


def host_ports(meta: Object, spec: Object) -> Found | None:
    used = {text(one, "name"): [port["hostPort"] for port in entries(one, "ports") if port.get("hostPort")]
            for one in containers(spec)}  # fmt: skip
    bad = [name for name, ports in used.items() if ports]
    if not bad:
        return None
    ports = sorted({str(port) for opened in used.values() for port in opened})
    return Found("hostPort", f"{_these(bad)} {_use(bad)} {_many('hostPort', ports)} {', '.join(ports)}")


def probe_hosts(meta: Object, spec: Object) -> Found | None:
    asked = {text(one, "name"): _hosts(one) for one in containers(spec)}
    bad = sorted(name for name, hosts in asked.items() if hosts)
    if not bad:
        return None
    hosts = sorted({host for found in asked.values() for host in found})
    word = "probe or lifecycle host"
    return Found(word, f"{_these(bad)} {_use(bad)} {_many(word, hosts)} {_quoted(hosts)}")


def _hosts(container: Object) -> list[str]:
    return [
        host
        for path in _HANDLERS
        for way in ("httpGet", "tcpSocket")
        if (host := text(container, *path, way, "host"))
    ]


def privileged(meta: Object, spec: Object) -> Found | None:
    bad = _names(one for one in containers(spec) if is_true(_security(one), "privileged"))
    return Found("privileged", f"{_these(bad)} must not set securityContext.privileged=true") if bad else None


def proc_mounts_outside_user_namespaces(meta: Object, spec: Object) -> Found | None:
    return None if _has_own_users(spec) else proc_mounts(meta, spec)


def proc_mounts(meta: Object, spec: Object) -> Found | None:
    mounts = {text(one, "name"): _security(one).get("procMount") for one in containers(spec)}
    bad = [name for name, mount in mounts.items() if mount not in (None, "Default")]
    if not bad:
        return None
    kinds = _quoted(sorted({str(mounts[name]) for name in bad}))
    return Found("procMount", f"{_these(bad)} must not set securityContext.procMount to {kinds}")


def se_linux(meta: Object, spec: Object) -> Found | None:
    def options(holder: Object) -> Object:
        return mapping(_security(holder), "seLinuxOptions")

    def is_bad(holder: Object) -> bool:
        found = options(holder)
        return bool(text(found, "type") not in _SE_LINUX_TYPES or found.get("user") or found.get("role"))

    every = containers(spec)
    holders = [one for one in [spec, *every] if is_bad(one)]
    if not holders:
        return None
    kinds = sorted({text(options(one), "type") for one in holders} - set(_SE_LINUX_TYPES))
    faults = [f"{_many('type', kinds)} {_quoted(kinds)}"] if kinds else []
    faults += [
        f"{part} may not be set"
        for part in ("user", "role")
        if any(options(one).get(part) for one in holders)
    ]
    setters = _setters(is_bad(spec), _names(one for one in every if is_bad(one)))
    return Found(
        "seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(faults)}"
    )


def seccomp(meta: Object, spec: Object) -> Found | None:
    every = containers(spec)
    values = sorted({text(_profile(one), "type") for one in [spec, *every] if _is_unconfined(one)})
    setters = _setters(_is_unconfined(spec), _names(one for one in every if _is_unconfined(one)))
    if not setters:
        return None
    return Found(
        "seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {_quoted(values)}"
    )


def _profile(holder: Object) -> JSON:
    return _security(holder).get("seccompProfile")


def _is_unconfined(holder: Object) -> bool:
    return _profile(holder) is not None and text(_profile(holder), "type") not in _PROFILES


def sysctls(meta: Object, spec: Object) -> Found | None:
    found = [text(one, "name") for one in entries(_security(spec), "sysctls")]
    bad = [name for name in found if name not in _SYSCTLS]
    return Found("forbidden sysctls", ", ".join(bad)) if bad else None


def host_processes(meta: Object, spec: Object) -> Found | None:
    def is_bad(holder: Object) -> bool:
        return is_true(_security(holder), "windowsOptions", "hostProcess")

    setters = _setters(is_bad(spec), _names(one for one in containers(spec) if is_bad(one)))
    if not setters:
        return None
    return Found("hostProcess", f"{setters} must not set securityContext.windowsOptions.hostProcess=true")


# --- restricted -------------------------------------------------------------------------------------------


def privilege_escalation(meta: Object, spec: Object) -> Found | None:
    if _is_windows(spec):
        return None
    bad = _names(
        one for one in containers(spec) if _security(one).get("allowPrivilegeEscalation") is not False
    )
    if not bad:
        return None
    detail = f"{_these(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Found("allowPrivilegeEscalation != false", detail)


def no_capabilities(meta: Object, spec: Object) -> Found | None:
    if _is_windows(spec):
        return None
    every = containers(spec)
    keeping = _names(one for one in every if "ALL" not in texts(_security(one), "capabilities", "drop"))
    adding = _names(one for one in every if set(_added(one)) - {"NET_BIND_SERVICE"})
    extra = sorted({name for one in every for name in _added(one)} - {"NET_BIND_SERVICE"})
    details = [f'{_these(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        what = f"must not include {_quoted(extra)} in securityContext.capabilities.add"
        details.append(f"{_these(adding)} {what}")
    return Found("unrestricted capabilities", "; ".join(details)) if details else None


def plain_volumes(meta: Object, spec: Object) -> Found | None:
    bad = [volume for volume in entries(spec, "volumes") if _PLAIN_VOLUMES.isdisjoint(_sources(volume))]
    if not bad:
        return None
    names = [text(volume, "name") for volume in bad]
    kinds = sorted({next(iter(_sources(volume)), "unknown") for volume in bad})
    volumes, types = f"{_many('volume', names)} {_quoted(names)}", _many("restricted volume type", kinds)
    return Found("restricted volume types", f"{volumes} {_use(names)} {types} {_quoted(kinds)}")


def _sources(volume: Object) -> list[str]:
    return [name for name, value in volume.items() if name != "name" and value is not None]


def run_as_non_root(meta: Object, spec: Object) -> Found | None:
    if _has_own_users(spec):
        return None
    reason, every, whole = (
        "runAsNonRoot != true",
        containers(spec),
        dig(spec, "securityContext", "runAsNonRoot"),
    )
    setters = _setters(
        whole is False, _names(one for one in every if _security(one).get("runAsNonRoot") is False)
    )
    if setters:
        return Found(reason, f"{setters} must not set securityContext.runAsNonRoot=false")
    silent = _names(one for one in every if _security(one).get("runAsNonRoot") is None)
    if whole is True or not silent:
        return None
    return Found(reason, f"pod or {_these(silent)} must set securityContext.runAsNonRoot=true")


def run_as_user(meta: Object, spec: Object) -> Found | None:
    def is_root(holder: Object) -> bool:
        user = _security(holder).get("runAsUser")
        return user == 0 and user is not False

    setters = _setters(is_root(spec), _names(one for one in containers(spec) if is_root(one)))
    if not setters or _has_own_users(spec):
        return None
    return Found("runAsUser=0", f"{setters} must not set runAsUser=0")


def seccomp_is_set(meta: Object, spec: Object) -> Found | None:
    if _is_windows(spec):
        return None
    if found := seccomp(meta, spec):
        return found
    silent = _names(one for one in containers(spec) if _profile(one) is None)
    if _profile(spec) is not None or not silent:
        return None
    wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Found("seccompProfile", f"pod or {_these(silent)} {wanted}")
