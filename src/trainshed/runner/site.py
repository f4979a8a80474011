"""What all pods of a node share, and what a container gets of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from trainshed.client.client import Client
from trainshed.client.requests import Resource
from trainshed.kube.objects import Object, dig, text
from trainshed.runner import images, links
from trainshed.runner.addresses import Addresses
from trainshed.runner.api import Api
from trainshed.runner.devices import Devices
from trainshed.runner.engine import Engine
from trainshed.runner.environment import Sources
from trainshed.runner.hosts_files import HostsFiles
from trainshed.runner.images import Environment
from trainshed.runner.objects import Objects
from trainshed.runner.plan import Mount
from trainshed.runner.precedence import Precedence
from trainshed.runner.reclaiming import Reclaiming
from trainshed.runner.settings import Settings

Tell = Callable[[Object, Literal["Normal", "Warning"], str, str], None]
"""Record an event about an object."""

PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
"""The same on every server, and written to more often than discovery should be asked."""
_INHERITED = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TZ")


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the agent keeps its things; all below the data folder."""

    root: Path

    @property
    def agent(self) -> Path:
        return self.root / "agent"

    @property
    def hosts(self) -> Path:
        return self.agent / "hosts"

    @property
    def claims(self) -> Path:
        return self.agent / "volumes"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def pods(self) -> Path:
        return self.agent / "pods"

    def pod(self, uid: str) -> Path:
        return self.pods / uid


@dataclass(frozen=True, slots=True)
class Site:
    client: Client
    engine: Engine
    objects: Objects
    addresses: Addresses
    hosts: HostsFiles
    folders: Folders
    settings: Settings
    event: Tell
    learn: Callable[[Object], None]
    """Take note of a pod as the server answered with it."""
    clock: Callable[[], datetime]
    host_address: str
    api: Api
    claims: Reclaiming
    devices: Devices
    precedence: Precedence
    home: str
    """The environment that images stand for when nothing else is said."""
    allocatable: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What each of our nodes has, by its name."""

    def environment(self, pod: Object, container: Object) -> Environment:
        """Raises `images.NoEnvironment`."""
        image = text(container, "image")
        images.check_name(image)
        choice = images.choose(image, pod, self.settings.images, self.home)
        images.check_pull(text(container, "imagePullPolicy"), image, choice)
        return images.look(choice)

    def mounts(self, environment: Environment) -> tuple[Mount, ...]:
        """What of an environment a container would not see otherwise."""
        private = images.mounts(environment, [str(self.folders.root)])
        return (*private, *images.shims(environment, self.folders.agent / "shims"))

    def inherited(self) -> dict[str, str]:
        return {name: os.environ[name] for name in _INHERITED if name in os.environ}

    def sources(self, pod: Object, address: str, objects: Mapping[tuple[str, str], Object | None]) -> Sources:
        node, namespace = text(pod, "spec", "nodeName"), text(pod, "metadata", "namespace")
        fields = {
            "status.podIP": address,
            "status.podIPs": address,
            "status.hostIP": self.host_address,
            "status.hostIPs": self.host_address,
        }
        wanted = dig(pod, "spec", "enableServiceLinks") is not False
        linked = links.variables(self.hosts.reachable(namespace)) if wanted else {}
        services = {**self.api.variables(pod), **linked}
        return Sources(objects, fields, self.allocatable.get(node, {}), services)
