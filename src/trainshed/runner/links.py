"""Variables that tell a container of the services of its namespace, as far as they can be reached; pure.

No proxy stands behind a cluster IP here, so a service is told by the address and port of a pod behind it.
"""

from __future__ import annotations

from collections.abc import Iterable

from trainshed.kinds.reading import entries, number
from trainshed.kube.objects import Object, text


def variables(reachable: Iterable[tuple[Object, str]]) -> dict[str, str]:
    """Of services and the address of a pod behind each."""
    found: dict[str, str] = {}
    for service, address in reachable:
        found.update(_of_service(service, address))
    return found


def _of_service(service: Object, address: str) -> dict[str, str]:
    prefix = text(service, "metadata", "name").upper().replace("-", "_")
    ports = entries(service, "spec", "ports")
    found = {f"{prefix}_SERVICE_HOST": address}
    for index, port in enumerate(ports):
        value = str(number(port, "targetPort") or number(port, "port") or 0)
        if index == 0:
            found[f"{prefix}_SERVICE_PORT"] = value
        if name := text(port, "name"):
            found[f"{prefix}_SERVICE_PORT_{name.upper().replace('-', '_')}"] = value
    return found
