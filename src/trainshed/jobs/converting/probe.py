"""What runs in a container in place of its program, and tells what that would have seen; by `python -c`.

It looks up every host of its job, waits until all the others are there, prints one line and ends. The first
host of all holds the meeting: each pod finds out whether it is that one by its own address.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
import time

MARK = "trainshed-probe "
PORT = 29617
SHOWN = (
    "MASTER_", "RANK", "WORLD_SIZE", "PET_", "WORKER_", "TF_CONFIG", "MX_CONFIG", "DMLC_", "PADDLE_",
    "COORDINATOR_", "NUM_PROCESSES", "PROCESS_ID", "JAX_",
)  # fmt: skip
HOSTFILE, AGENT = "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_agent"


def look_up(hosts: list[str], until: float) -> dict[str, str]:
    found: dict[str, str] = {}
    while len(found) < len(hosts) and time.time() < until:
        for host in hosts:
            try:
                found.setdefault(host, socket.gethostbyname(host))
            except OSError:
                time.sleep(0.1)
    return found


def hold_meeting(address: str, others: int, until: float) -> bool:
    with socket.create_server((address, PORT)) as server:
        come: list[socket.socket] = []
        while len(come) < others and time.time() < until:
            server.settimeout(max(0.1, until - time.time()))
            try:
                come.append(server.accept()[0])
            except OSError:
                break
        for one in come:
            one.sendall(b"go")
        for one in come:  # until they have told theirs: the end of the first is that of many a job
            one.settimeout(max(0.1, until - time.time()))
            one.recv(1)
        time.sleep(1.0 if come else 0.0)
        return len(come) == others


def attend(address: str, until: float) -> socket.socket | None:
    """The connection stays open until this process ends: that is how the first knows."""
    while time.time() < until:
        try:
            one = socket.create_connection((address, PORT), timeout=5)
            one.settimeout(max(0.1, until - time.time()))
            if one.recv(2) == b"go":
                return one
        except OSError:
            pass
        time.sleep(0.1)
    return None


def hostfile() -> list[str]:
    path = os.environ.get(HOSTFILE, "")
    if not path or not os.path.exists(path):
        return []
    with open(path) as lines:
        return [line.strip() for line in lines if line.strip()]


def reach(host: str, until: float) -> str:
    """By whatever mpirun would use; why not, or nothing."""
    agent, why = shlex.split(os.environ.get(AGENT, "") or "ssh"), "there was no time left"
    while time.time() < until:
        try:
            left = max(1.0, until - time.time())
            done = subprocess.run([*agent, host, "true"], capture_output=True, text=True, timeout=left)
            if done.returncode == 0:
                return ""
            why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        time.sleep(0.3)
    return f"{host}: {why}"


def main() -> int:
    until = time.time() + float(os.environ.get("PROBE_SECONDS", "180"))
    hosts = [host for host in os.environ.get("PROBE_HOSTS", "").split(",") if host]
    own, found = os.environ.get("PROBE_IP", ""), look_up(hosts, until)
    met, held = len(found) == len(hosts), None
    if met and hosts:
        first = found[hosts[0]]
        if first == own:
            met = hold_meeting(own, len(hosts) - 1, until)
        else:
            held = attend(first, until)
            met = held is not None
    lines = hostfile()
    missed = [host for host in hosts if host not in found]
    trouble = [*missed, *filter(None, (reach(line.split()[0], until) for line in lines))]
    seen = {name: value for name, value in os.environ.items() if name.startswith(SHOWN)}
    told = {"address": own, "met": met, "variables": seen, "slots": lines, "trouble": trouble}
    print(MARK + json.dumps(told), flush=True)
    if held is not None:
        held.close()
    return int(os.environ.get("PROBE_EXIT", "0")) if met and not trouble else 9


if __name__ == "__main__":
    sys.exit(main())
