"""What sandboxes can do on this machine, in words."""

from __future__ import annotations

from trainshed.kube.objects import Object
from trainshed.runner.engine import Features

UNKNOWN = Features("sandbox", (), ())
_CAN = (
    "every pod has its own address, hostname, processes and files",
    "pods may use the same ports",
    "names of pods and services resolve",
)


def describe(facts: Object) -> Features:
    can, cannot = list(_CAN), []
    if facts["overlay"]:
        can.append("containers may write everywhere; what they write outside volumes goes with them")
    else:
        cannot.append("folders of the host are read-only: no overlays here (Linux 5.11 or newer has them)")
    if facts["outside"]:
        can.append("pods reach the network outside")
    else:
        cannot.append(f"pods reach nothing outside: {facts['closed']}")
    missing = [name for name in ("memory", "cpu", "pids") if name not in facts["controllers"]]
    if not missing:
        can.append(f"limits are enforced by cgroups version {facts['cgroups']}")
    else:
        cannot.append(f"no limits for {', '.join(missing)}: {_remedy(facts)}")
    if not facts["root"]:
        cannot.append("containers run as this user, whatever user they see themselves as")
    return Features("sandbox", tuple(can), tuple(cannot))


def _remedy(facts: Object) -> str:
    return "this machine has no such cgroups" if facts["root"] else "run as root, or with delegated cgroups"
