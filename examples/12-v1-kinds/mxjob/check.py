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
            one.close()


def report(address: tuple[str, int]) -> None:
    for _ in range(100):
        try:
            link = socket.create_connection(address)
            break
        except OSError:  # its name resolves once the scheduler is ready
            time.sleep(0.2)
    with link:
        link.sendall(f"{me()}\n".encode())
        assert link.makefile().readline() == "go\n"
    print(f"{me()} of {members()} may begin", flush=True)


if __name__ == "__main__":
    port = int(os.environ["DMLC_PS_ROOT_PORT"])
    if os.environ["DMLC_ROLE"] == "scheduler":
        schedule(port)
    else:
        report((os.environ["DMLC_PS_ROOT_URI"], port))
