"""All members of a parameter-server job report to the scheduler, as DMLC_* and MX_CONFIG say."""

import json
import os
import socket
import time


def members() -> int:
    return int(os.environ["DMLC_NUM_SERVER"]) + int(os.environ["DMLC_NUM_WORKER"])


def me() -> str:
    task = json.loads(os.environ["MX_CONFIG"])["task"]
    role, index = os.environ["DMLC_ROLE"], os.environ.get("DMLC_WORKER_ID", str(task["index"]))
    assert (task["type"], str(task["index"])) == (role, index), (task, role, index)
    return f"{role} {index}"


def schedule(port: int) -> None:
    with socket.create_server(("", port)) as server:
        waiting = [server.accept()[0] for _ in range(members())]
        names = sorted(one.makefile().readline().strip() for one in waiting)
        print(f"{len(names)} members: {', '.join(names)}", flush=True)
        for one in waiting:
            one.sendall(b"go\n")
        for one in waiting:  # the job is over, and everybody is stopped, as soon as the scheduler ends
            assert one.recv(1) == b"", "members say nothing more; they hang up when they are done"


def report(address: tuple[str, int]) -> None:
    with reached(address) as link:
        link.sendall(f"{me()}\n".encode())
        assert link.makefile().readline() == "go\n"
        print(f"{me()} of {members()} may begin", flush=True)


def reached(address: tuple[str, int]) -> socket.socket:
    for _ in range(100):
        try:
            return socket.create_connection(address)
        except OSError:  # its name resolves once the scheduler is ready
            time.sleep(0.2)
    return socket.create_connection(address)


if __name__ == "__main__":
    port = int(os.environ["DMLC_PS_ROOT_PORT"])
    if os.environ["DMLC_ROLE"] == "scheduler":
        schedule(port)
    else:
        report((os.environ["DMLC_PS_ROOT_URI"], port))
