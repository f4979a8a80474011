"""Variables that tell a container of the services of its namespace, as far as they can be reached; pure.

No proxy stands behind a cluster IP here, so a service is told by the address and port of a pod behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trainshed.kinds.reading import entries, number
from trainshed.kube.objects import Object, text


def variables(services: Iterable[Object], addresses: Mapping[str, str]) -> dict[str, str]:
    """`addresses` has one pod's address for each service, by name, where it has any."""
    found: dict[str, str] = {}
    for service in sorted(services, key=lambda one: text(one, "metadata", "name")):
        address = addresses.get(text(service, "metadata", "name"), "")
        if address and text(service, "spec", "clusterIP") not in ("", "None"):
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
