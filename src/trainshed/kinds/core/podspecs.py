"""PodSpec: the part shared by pods and by everything with a pod template."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import containers, placement, volumes
from trainshed.kinds.core.containers import Surroundings
from trainshed.kinds.reading import child, entries, fill, mapping, number, sequence, texts
from trainshed.kube import names
from trainshed.kube.faults import duplicate, forbidden, invalid, required
from trainshed.kube.objects import JSON, Object, dig, text

_RESTART: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NAMED: Final = {
    "serviceAccountName": names.dns_subdomain,
    "nodeName": names.dns_subdomain,
    "hostname": names.dns_label,
    "subdomain": names.dns_label,
    "priorityClassName": names.dns_subdomain,
    "runtimeClassName": names.dns_subdomain,
}


def defaults(spec: Object) -> None:
    """What the server fills into any pod spec, in a pod or in a template."""
    fill(spec, dnsPolicy="ClusterFirst", restartPolicy="Always", terminationGracePeriodSeconds=30)
    fill(spec, securityContext={}, schedulerName="default-scheduler")
    set_service_account(spec, text(spec, "serviceAccountName") or text(spec, "serviceAccount"))
    volumes.defaults(spec)
    containers.defaults(spec)


def set_service_account(spec: Object, name: str) -> None:
    """The account under its name and under the older one, which clients still read."""
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def default_template(owner: Object) -> None:
    """The pod template of a workload's spec."""
    template = child(owner, "template")
    child(template, "metadata")
    defaults(child(template, "spec"))


# --- validation -------------------------------------------------------------------------------------------


def template_errors(field: str, template: JSON) -> Errors:
    found = checks.labels(f"{field}.labels", dig(template, "metadata", "labels"))
    for key in mapping(template, "metadata", "annotations"):
        found += checks.qualified(f"{field}.annotations", key.lower())
    found += errors(f"{field}.spec", mapping(template, "spec"))
    if sequence(template, "spec", "ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        found.append(forbidden(f"{field}.spec.ephemeralContainers", why))
    return found


def errors(field: str, spec: Object, *, is_pod: bool = False, pod_name: str = "") -> Errors:
    """Everything wrong with a pod spec whose path is `field`."""
    sound, found = volumes.errors(f"{field}.volumes", spec, pod_name)
    grace = number(spec, "terminationGracePeriodSeconds")
    if grace is None:
        found.append(required(f"{field}.terminationGracePeriodSeconds"))
    claims = frozenset(text(claim, "name") for claim in entries(spec, "resourceClaims"))
    found += containers.errors(field, spec, Surroundings(sound, claims, grace, is_pod))
    found += _host_network(field, spec, is_pod=is_pod)
    found += checks.one_of(f"{field}.restartPolicy", spec.get("restartPolicy"), _RESTART)
    found += checks.one_of(f"{field}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    found += _security(f"{field}.securityContext", spec)
    found += placement.errors(field, spec)
    found += _dns_config(f"{field}.dnsConfig", spec)
    for index, gate in enumerate(entries(spec, "readinessGates")):
        found += checks.qualified(f"{field}.readinessGates[{index}].conditionType", gate.get("conditionType"))
    return found + _names(field, spec) + _aliases(f"{field}.hostAliases", spec)


def _names(field: str, spec: Object) -> Errors:
    found: Errors = []
    for name, check in _NAMED.items():
        found += checks.named(f"{field}.{name}", spec.get(name), check, optional=True)
    seconds = spec.get("activeDeadlineSeconds")
    found += checks.in_range(f"{field}.activeDeadlineSeconds", seconds, 1, checks.MOST_INT32)
    policies = ("PreemptLowerPriority", "Never")
    found += checks.one_of(f"{field}.preemptionPolicy", spec.get("preemptionPolicy"), policies, optional=True)
    system = dig(spec, "os", "name")
    if isinstance(spec.get("os"), dict):
        found += checks.one_of(f"{field}.os.name", system, ("linux", "windows"))
    return found


def _host_network(field: str, spec: Object, *, is_pod: bool) -> Errors:
    found: Errors = []
    if spec.get("hostNetwork") is not True:
        return found
    for index, container in enumerate(entries(spec, "containers")):
        for at, port in enumerate(entries(container, "ports")):
            outer = number(port, "hostPort") or 0
            if (is_pod or outer) and outer != (number(port, "containerPort") or 0):
                why = "must match `containerPort` when `hostNetwork` is true"
                found.append(invalid(f"{field}.containers[{index}].ports[{at}].hostPort", outer, why))
    return found


def _security(field: str, spec: Object) -> Errors:
    context = spec.get("securityContext")
    found = containers.id_errors(field, context)
    for index, group in enumerate(sequence(context, "supplementalGroups")):
        found += checks.in_range(f"{field}.supplementalGroups[{index}]", group, 0, checks.MOST_INT32)
    policies = ("Always", "OnRootMismatch")
    policy = dig(context, "fsGroupChangePolicy")
    found += checks.one_of(f"{field}.fsGroupChangePolicy", policy, policies, optional=True)
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid(f"{field}.shareProcessNamespace", True, why))
    return found + _sysctls(f"{field}.sysctls", context)


def _sysctls(field: str, context: JSON) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, sysctl in enumerate(entries(context, "sysctls")):
        at, name = f"{field}[{index}].name", text(sysctl, "name")
        found += [] if name else [required(at)]
        if name in seen:
            found.append(duplicate(at, name))
        seen.add(name)
    return found


def _dns_config(field: str, spec: Object) -> Errors:
    config = spec.get("dnsConfig")
    servers = sequence(config, "nameservers")
    if spec.get("dnsPolicy") == "None":
        if not isinstance(config, dict):
            return [required(field, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not servers:
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{field}.nameservers", why)]
    found: Errors = []
    if len(servers) > 3:
        found.append(invalid(f"{field}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        found += checks.ip(f"{field}.nameservers[{index}]", server)
    searches = texts(config, "searches")
    if len(searches) > 32:
        found.append(invalid(f"{field}.searches", searches, "must not have more than 32 search paths"))
    for index, search in enumerate(searches):
        found += checks.named(f"{field}.searches[{index}]", search.removesuffix("."), names.dns_subdomain)
    return found


def _aliases(field: str, spec: Object) -> Errors:
    found: Errors = []
    for index, alias in enumerate(entries(spec, "hostAliases")):
        found += checks.ip(f"{field}[{index}].ip", alias.get("ip"))
        for at, name in enumerate(texts(alias, "hostnames")):
            found += checks.named(f"{field}[{index}].hostnames[{at}]", name, names.dns_subdomain)
    return found


# --- warnings ---------------------------------------------------------------------------------------------


def warnings(field: str, spec: JSON) -> list[str]:
    found = containers.warnings(field, spec)
    grace = number(spec, "terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{field}.terminationGracePeriodSeconds: {why}")
    for index, constraint in enumerate(entries(spec, "topologySpreadConstraints")):
        if constraint.get("labelSelector") is None:
            at = f"{field}.topologySpreadConstraints[{index}].labelSelector"
            found.append(f"{at}: a null labelSelector results in matching no pod")
    return found
