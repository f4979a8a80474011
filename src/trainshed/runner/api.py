"""Where pods find the API server, in the words they look for; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from trainshed.kinds.reading import is_true
from trainshed.kube.objects import Object
from trainshed.runner.engine import Door

_NAMES: Final = ("kubernetes.default.svc.cluster.local", "kubernetes.default.svc", "kubernetes.default")


@dataclass(frozen=True, slots=True)
class Api:
    host: str
    """On this machine."""
    port: int
    door: Door
    """For pods with a network of their own."""

    def variables(self, pod: Object) -> dict[str, str]:
        if is_true(pod, "spec", "hostNetwork"):
            host, port = self.host, self.port
        else:
            host, port = self.door.host, self.door.port
        return {
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": str(port),
            "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
        }

    def line(self, namespace: str) -> str:
        """Of the hosts file; empty where its names lead nowhere."""
        if not self.door.has_name:
            return ""
        names = (*_NAMES, "kubernetes") if namespace == "default" else _NAMES
        return f"{self.door.host} {' '.join(names)}\n"


def address(server: str) -> tuple[str, int]:
    """Host and port of a server's URL."""
    found = urlsplit(server)
    return found.hostname or "127.0.0.1", found.port or 443
