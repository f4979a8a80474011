"""Whether sandboxes can be made here: does all of it once, for real, and leaves nothing.

python -I -S probe.py <folder to try overlays in>      answers with one line of JSON
"""

from __future__ import annotations

import json
import os
import sys

if __name__ == "__main__":  # without site packages, our own have to be pointed out
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))

from trainshed.runner.plan import PodPlan
from trainshed.runner.sandbox import kit, layers, namespaces
from trainshed.runner.sandbox.forking import spawn
from trainshed.runner.sandbox.network import Addresses


def main() -> int:
    folder = os.path.join(sys.argv[1], f".probe-{os.getpid()}")
    answer: dict[str, object] = {"overlay": False, "trouble": ""}
    try:
        is_root = os.geteuid() == 0 and namespaces.have_own_mounts()
        if not is_root:
            namespaces.become_root()
            namespaces.own_mounts()
        os.mkdir(folder)
        answer["overlay"] = kit.probe_overlay(folder, is_root) is not None
        answer["trouble"] = _trouble_with_pod(folder)
    except OSError as error:
        answer["trouble"] = str(error)
    layers.remove(folder)
    print(json.dumps(answer))
    return 0


def _trouble_with_pod(folder: str) -> str:
    addresses = Addresses("10.244")
    network = namespaces.node(addresses)
    plan = PodPlan("probe", "", "", "probe", "10.244.0.10", "", folder)
    shm = os.path.join(folder, kit.SHM)
    os.makedirs(shm)
    told, telling = os.pipe()

    def work() -> int:
        try:
            namespaces.make_pod(plan, network, addresses, False, shm)
        except OSError as error:
            os.write(telling, str(error).encode())
        return 0

    os.waitpid(spawn(work, [network, telling]), 0)
    os.close(telling)
    return os.read(told, 4096).decode()


if __name__ == "__main__":
    sys.exit(main())
