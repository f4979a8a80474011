"""The init container in which a PyTorchJob's workers wait until their master can be found.

A master is found once it is ready. Upstream asks every 2 s, up to 100 times; this one asks often at first, as
masters are mostly there soon, then less and less, and gives up after the same 200 s. It runs in alpine as in
any tree with a shell: without a name server, as in pods of Trainshed, `getent` finds what is in /etc/hosts.
"""

from __future__ import annotations

from typing import Final

from trainshed.controllers.v1jobs.environment.member import Member
from trainshed.kube.objects import Object

NAME: Final = "init-pytorch"
SCRIPT: Final = """\
if command -v getent >/dev/null 2>&1; then look="getent hosts"; else look=nslookup; fi
tries=0
until $look "$1" >/dev/null 2>&1; do
  if [ $tries -eq 0 ]; then echo "waiting for master $1"; fi
  tries=$((tries + 1))
  if [ $tries -gt 365 ]; then echo "master $1 was not ready within 200 seconds" >&2; exit 1; fi
  if [ $tries -le 60 ]; then pause=0.05; elif [ $tries -le 195 ]; then pause=0.2; else pause=1; fi
  sleep $pause 2>/dev/null || sleep 1
done"""


def containers(member: Member) -> list[Object]:
    """For workers of jobs that have a master."""
    if not member.is_worker or not member.has("Master"):
        return []
    resources = {
        "limits": {"cpu": "100m", "memory": "20Mi"},
        "requests": {"cpu": "50m", "memory": "10Mi"},
    }
    waiting = {
        "name": NAME,
        "image": member.settings.init_image,
        "imagePullPolicy": "IfNotPresent",
        "resources": resources,
        "command": ["sh", "-c", SCRIPT, NAME, member.host("Master")],
    }
    return [waiting]
