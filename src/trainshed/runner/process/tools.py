"""Programs that plain processes find before the machine's own, as nothing is mounted over those."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from trainshed.runner.plan import ContainerPlan

HOSTS: Final = "TRAINSHED_HOSTS"
"""The variable with the path of what would be a pod's /etc/hosts."""
_GETENT: Final = """\
#!/bin/sh
# Names and addresses of pods are in a file of their own; all else is asked of the machine.
machine() {
  for real in /usr/bin/getent /bin/getent; do if [ -x $real ]; then exec $real "$@"; fi; done
  exit 2
}
case "$1" in hosts | ahosts | ahostsv4) ;; *) machine "$@" ;; esac
while read -r address names; do
  case " $address $names " in *" $2 "*) echo "$address  $names"; exit 0 ;; esac
done <"$TRAINSHED_HOSTS"
machine "$@"
"""


def write(folder: str) -> str:
    """Put them into a folder of ours; where that is."""
    place = os.path.join(folder, "tools")
    os.makedirs(place, exist_ok=True)
    new = os.path.join(place, ".getent")
    with open(new, "w") as file:
        file.write(_GETENT)
    os.chmod(new, 0o755)
    os.replace(new, os.path.join(place, "getent"))
    return place


def shown(env: Mapping[str, str], plan: ContainerPlan, place: str) -> dict[str, str]:
    """The variables of a process that finds them."""
    path = ":".join(filter(None, (place, env.get("PATH", ""))))
    return {**env, "PATH": path, HOSTS: plan.pod.hosts}
