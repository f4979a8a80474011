"""How built-in kinds look in `kubectl get`: columns and cells as its users know them, one file per family.

Pure: a printer turns an object and the present time into one row. Printers never fail on odd objects; what is
missing prints as kubectl prints it. Custom kinds bring their own columns (see `kinds.custom`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trainshed.kinds.printing import cluster, events, network, pods, scaling, storage, workloads
from trainshed.kinds.printing.cluster import DEFAULT
from trainshed.kinds.printing.printer import Printer

__all__ = ["DEFAULT", "PRINTERS", "Printer"]

PRINTERS: Mapping[str, Printer] = MappingProxyType(
    cluster.PRINTERS
    | events.PRINTERS
    | network.PRINTERS
    | pods.PRINTERS
    | scaling.PRINTERS
    | storage.PRINTERS
    | workloads.PRINTERS
)
"""By `Kind.resource`; kinds that are not listed print as `DEFAULT`: name and creation time."""
