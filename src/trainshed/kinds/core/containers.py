"""Containers of a pod: the main ones, those before them (init), those added to look inside (ephemeral)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import environment, probes, resources, volumes
from trainshed.kinds.core.images import pull_policy
from trainshed.kinds.reading import entries, fill, mapping, number, texts
from trainshed.kube import names
from trainshed.kube.faults import duplicate, forbidden, invalid, not_found, required
from trainshed.kube.objects import JSON, Object, dig, text

LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_NOT_EPHEMERAL: Final = (
    "ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy",
    "restartPolicy",
)  # fmt: skip
_MOST_ID: Final = checks.MOST_INT32


def defaults(spec: Object) -> None:
    for container in (container for name in LISTS for container in entries(spec, name)):
        fill(
            container,
            imagePullPolicy=pull_policy(text(container, "image")),
            terminationMessagePath="/dev/termination-log",
            terminationMessagePolicy="File",
        )
        for port in entries(container, "ports"):
            fill(port, protocol="TCP")
        environment.defaults(container)
        probes.defaults(container)


def default_requests(spec: Object) -> None:
    """Requests nobody gave equal the limits. Only real pods get this, never templates."""
    for container in entries(spec, "containers") + entries(spec, "initContainers"):
        limits = mapping(container, "resources", "limits")
        if limits and isinstance(container["resources"].get("requests", {}), dict):
            container["resources"]["requests"] = {**limits, **mapping(container, "resources", "requests")}


def default_host_ports(spec: Object) -> None:
    for container in entries(spec, "containers") + entries(spec, "initContainers"):
        for port in entries(container, "ports"):
            port["hostPort"] = port.get("hostPort") or port.get("containerPort")


# --- validation -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a container's validity depends on."""

    volumes: set[str]
    claims: frozenset[str]
    grace: int | None
    is_pod: bool


def errors(field: str, spec: JSON, around: Surroundings) -> Errors:
    """All containers of a pod spec; `field` is the spec's path."""
    return [
        *_main(f"{field}.containers", spec, around),
        *_init(f"{field}.initContainers", spec, around),
        *_ephemeral(f"{field}.ephemeralContainers", spec, around),
    ]


def _main(field: str, spec: JSON, around: Surroundings) -> Errors:
    containers = entries(spec, "containers")
    found = [] if containers else [required(field)]
    taken: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{field}[{index}]"
        found += _common(at, container, around) + _unique(at, container, taken)
        found += probes.errors(at, container, around.grace)
        if container.get("restartPolicy") is not None:
            found.append(forbidden(f"{at}.restartPolicy", "may not be set for non-init containers"))
    return found + _host_port_conflicts(field, containers)


def _init(field: str, spec: JSON, around: Surroundings) -> Errors:
    found: Errors = []
    taken = {text(container, "name") for container in entries(spec, "containers")}
    for index, container in enumerate(entries(spec, "initContainers")):
        at, policy = f"{field}[{index}]", container.get("restartPolicy")
        found += _common(at, container, around)
        found += checks.one_of(f"{at}.restartPolicy", policy, ("Always",), optional=True)
        found += _unique(at, container, taken) + _host_port_conflicts(field, [container])
        if policy == "Always":
            found += probes.errors(at, container, around.grace)
        else:
            found += probes.forbidden_errors(at, container)
    return found


def _ephemeral(field: str, spec: JSON, around: Surroundings) -> Errors:
    found: Errors = []
    others = {text(container, "name") for name in LISTS[:2] for container in entries(spec, name)}
    taken = set(others)
    for index, container in enumerate(entries(spec, "ephemeralContainers")):
        at, target = f"{field}[{index}]", text(container, "targetContainerName")
        found += _common(at, container, around) + _unique(at, container, taken)
        if target and target not in others:
            found.append(not_found(f"{at}.targetContainerName", target))
        for name in _NOT_EPHEMERAL:
            if container.get(name):
                found.append(forbidden(f"{at}.{name}", "cannot be set for an Ephemeral Container"))
    return found


def _unique(field: str, container: Object, taken: set[str]) -> Errors:
    name = text(container, "name")
    if name in taken:
        return [duplicate(f"{field}.name", name)]
    taken.add(name)
    return []


def _common(field: str, container: Object, around: Surroundings) -> Errors:
    found = checks.named(f"{field}.name", container.get("name"), names.dns_label)
    image = text(container, "image")
    if not image:
        found.append(required(f"{field}.image"))
    elif around.is_pod and image != image.strip():
        found.append(invalid(f"{field}.image", image, "must not have leading or trailing whitespace"))
    policies = ("File", "FallbackToLogsOnError")
    found += checks.one_of(
        f"{field}.terminationMessagePolicy", container.get("terminationMessagePolicy"), policies
    )
    found += _ports(f"{field}.ports", container)
    found += environment.errors(field, container)
    found += volumes.mount_errors(field, container, around.volumes)
    pulls = ("Always", "IfNotPresent", "Never")
    found += checks.one_of(f"{field}.imagePullPolicy", container.get("imagePullPolicy"), pulls)
    found += resources.requirement_errors(f"{field}.resources", container.get("resources"))
    found += _claims(f"{field}.resources.claims", container, around.claims)
    return found + security_errors(f"{field}.securityContext", container.get("securityContext"))


def _ports(field: str, container: Object) -> Errors:
    found: Errors = []
    taken: set[str] = set()
    for index, port in enumerate(entries(container, "ports")):
        at, name = f"{field}[{index}]", text(port, "name")
        if name:
            faults = [invalid(f"{at}.name", name, why) for why in checks.port_name_faults(name)]
            found += faults or ([duplicate(f"{at}.name", name)] if name in taken else [])
            taken.add(name)
        inner, outer = number(port, "containerPort"), number(port, "hostPort")
        found += checks.port(f"{at}.containerPort", inner) if inner else [required(f"{at}.containerPort")]
        found += checks.port(f"{at}.hostPort", outer) if outer else []
        found += checks.one_of(f"{at}.protocol", port.get("protocol"), checks.PROTOCOLS)
    return found


def _host_port_conflicts(field: str, containers: list[Object]) -> Errors:
    found: Errors = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for at, port in enumerate(entries(container, "ports")):
            if not port.get("hostPort"):
                continue
            key = f"{text(port, 'protocol')}/{text(port, 'hostIP')}/{port['hostPort']}"
            if key in taken:
                found.append(duplicate(f"{field}[{index}].ports[{at}].hostPort", key))
            taken.add(key)
    return found


def _claims(field: str, container: Object, known: frozenset[str]) -> Errors:
    found: Errors = []
    for index, claim in enumerate(entries(container, "resources", "claims")):
        name = text(claim, "name")
        if not name:
            found.append(required(f"{field}[{index}]"))
        elif name not in known:
            found.append(not_found(f"{field}[{index}]", name))
    return found


def security_errors(field: str, context: JSON) -> Errors:
    """A container's securityContext."""
    found = id_errors(field, context)
    if dig(context, "allowPrivilegeEscalation") is False:
        if dig(context, "privileged") is True:
            why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            found.append(invalid(field, context, why))
        if "CAP_SYS_ADMIN" in texts(context, "capabilities", "add"):
            why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            found.append(invalid(field, context, why))
    return found


def id_errors(field: str, context: JSON) -> Errors:
    """User and group numbers, on a container or a pod."""
    found: Errors = []
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        found += checks.in_range(f"{field}.{name}", dig(context, name), 0, _MOST_ID)
    return found


# --- warnings ---------------------------------------------------------------------------------------------


def warnings(field: str, spec: JSON) -> list[str]:
    found: list[str] = []
    for name in LISTS[:2]:
        for index, container in enumerate(entries(spec, name)):
            at = f"{field}.{name}[{index}]"
            found += _fraction_warnings(at, container) + environment.warnings(at, container)
    return found


def _fraction_warnings(field: str, container: Object) -> list[str]:
    found = []
    for part in ("limits", "requests"):
        for name in ("memory", "ephemeral-storage"):
            value = dig(container, "resources", part, name)
            amount = resources.parsed(value)
            if amount is not None and not resources.is_whole(amount):
                why = f'fractional byte value "{value}" is invalid, must be an integer'
                found.append(f"{field}.resources.{part}[{name}]: {why}")
    return found
