"""What a container's words mean without namespaces: names become addresses, mount paths host paths; pure."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainshed.runner.plan import ContainerPlan, Mount

_BESIDE = ("/dev/shm", "/var/run/secrets/", "/run/secrets/")
"""Mounts that nobody misses, or that the host has its own of."""


class Unmappable(Exception):
    """A mount that a plain process cannot be given; the message is for the pod's owner."""


_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True)
class Words:
    argv: tuple[str, ...]
    env: dict[str, str]
    workdir: str
    places: dict[str, str]
    """Mount targets and the folders behind them."""


def addresses(hosts: str) -> dict[str, str]:
    """Names and addresses of a hosts file; the first line with a name counts. This host has none."""
    found: dict[str, str] = {}
    for line in hosts.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if "." in address:
            for name in names:
                found.setdefault(name, address)
    return {name: address for name, address in found.items() if not name.startswith(("localhost", "ip6-"))}


def places(plan: ContainerPlan, scratch: Mapping[str, str], linked: Iterable[str] = ()) -> dict[str, str]:
    """Mount targets and the folders behind them; `scratch` are those for memory. Raises `Unmappable`."""
    done = set(linked)
    found = {mount.target: scratch.get(mount.target, mount.source) for mount in plan.mounts}
    for mount in plan.mounts:
        source = found[mount.target]
        if mount.target in done or source == mount.target or mount.target.startswith(_BESIDE):
            continue
        if not _mentions(plan, mount):
            raise Unmappable(
                f"a plain process cannot have {mount.target}: nothing is mounted without sandboxes, and its"
                f" command, variables and working directory do not name it. Hint: it is {source};"
                " use --runner sandbox"
            )
    if plan.termination_path:
        found[plan.termination_path] = plan.termination_log
    return found


def kubeconfig(plan: ContainerPlan) -> str:
    """For clients that would look for the service account where nothing is mounted; empty without one.

    A container that brings its own is left alone.
    """
    env = dict(plan.env)
    folder = next((mount.source for mount in plan.mounts if mount.target == _ACCOUNT), "")
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "")
    if not folder or not host or "KUBECONFIG" in env:
        return ""
    shown = f"[{host}]" if ":" in host else host
    cluster = {"server": f"https://{shown}:{port}", "certificate-authority": f"{folder}/ca.crt"}
    context = {"cluster": "pod", "user": "pod", "namespace": plan.pod.namespace}
    found = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "pod",
        "clusters": [{"name": "pod", "cluster": cluster}],
        "contexts": [{"name": "pod", "context": context}],
        "users": [{"name": "pod", "user": {"tokenFile": f"{folder}/token"}}],
    }
    return json.dumps(found, indent=1)  # which is YAML, too


def _mentions(plan: ContainerPlan, mount: Mount) -> bool:
    texts = (*plan.argv, plan.workdir, *(value for _, value in plan.env))
    pattern = _any_path([mount.target])
    return pattern is not None and any(pattern.search(text) for text in texts)


def translate(plan: ContainerPlan, found: Mapping[str, str], peers: Mapping[str, str]) -> Words:
    """The words of a plan with the host's paths and addresses in them."""
    a_path, a_name = _any_path(found), _any_name(peers)

    def meant(text: str) -> str:
        return _exchange(_exchange(text, found, a_path), peers, a_name)

    env = {name: meant(value) for name, value in plan.env}
    for number, (target, source) in enumerate(sorted(found.items())):
        env[f"TRAINSHED_MOUNT_{number}"] = f"{target}={source}"
    env.setdefault("TRAINSHED_ADDRESS", plan.pod.address)
    workdir = _exchange(plan.workdir or "/", found, a_path)
    return Words(tuple(map(meant, plan.argv)), env, posixpath.normpath(workdir), dict(found))


def placed(texts: Iterable[str], found: Mapping[str, str]) -> list[str]:
    """What a command beside the container means; names in it stay, as launchers tell their nodes by them."""
    a_path = _any_path(found)
    return [_exchange(text, found, a_path) for text in texts]


def _exchange(text: str, table: Mapping[str, str], pattern: re.Pattern[str] | None) -> str:
    return text if pattern is None else pattern.sub(lambda match: table[match[0]], text)


def _any_path(paths: Iterable[str]) -> re.Pattern[str] | None:
    """Whole paths, or whole leading parts of longer ones."""
    return _whole(paths, r"[A-Za-z0-9_./~-]", r"[A-Za-z0-9_.~-]")


def _any_name(names: Iterable[str]) -> re.Pattern[str] | None:
    return _whole(names, r"[A-Za-z0-9_.-]", r"[A-Za-z0-9_.-]")


def _whole(words: Iterable[str], before: str, after: str) -> re.Pattern[str] | None:
    """The longest of the words that stands alone at a place."""
    alternatives = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(f"(?<!{before})(?:{alternatives})(?!{after})") if alternatives else None
