"""Who listens on a port: found through /proc where that is possible, else by asking there."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path

_LISTENING = "0A"
_ASK_SECONDS = 2.0
_STORE, _DELETED = "/store/store.db", " (deleted)"


@dataclass(frozen=True, slots=True)
class Holder:
    """What is known about a program; every part may be unknown."""

    pid: int = 0
    name: str = ""
    folder: Path | None = None
    """The data folder, if it is Trainshed."""
    is_lost: bool = False
    """That folder was removed under it."""
    is_ours: bool = False
    """It is Trainshed, of whomever."""

    def __str__(self) -> str:
        parts = [f"process {self.pid}"] if self.pid else []
        parts += [f"data folder {self.folder}"] if self.folder else []
        name = "Trainshed" if self.is_ours else self.name or "another program"
        return f"{name} ({', '.join(parts)})" if parts else name


def holder(host: str, port: int) -> Holder:
    """The program that listens on a port of this machine."""
    pid = _pid(_sockets(port))
    if not pid:
        return Holder(is_ours=_answers_like_us(host, port))
    database = _database(pid)
    if not database:
        return Holder(pid, _name(pid))
    path = database.removesuffix(_DELETED)
    folder = Path(path.removesuffix(_STORE))
    return Holder(pid, "Trainshed", folder, is_lost=path != database, is_ours=True)


def _sockets(port: int) -> set[str]:
    """The inodes of sockets that listen on the port, as links in /proc name them."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found


def _pid(sockets: set[str]) -> int:
    """The process that has one of them open; 0 when none is found or others' processes are hidden."""
    if sockets:
        for folder in glob.iglob("/proc/[0-9]*/fd"):
            if sockets.intersection(_open_files(folder)):
                return int(folder.split("/")[2])
    return 0


def _open_files(folder: str) -> set[str]:
    found = set()
    try:
        for entry in os.scandir(folder):
            try:
                found.add(os.readlink(entry.path))
            except OSError:  # closed meanwhile
                continue
    except OSError:  # ended meanwhile, or somebody else's
        pass
    return found


def _database(pid: int) -> str:
    """The database it has open, as the kernel tells it; empty if it has none of ours."""
    files = _open_files(f"/proc/{pid}/fd")
    return next((path for path in files if path.removesuffix(_DELETED).endswith(_STORE)), "")


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _answers_like_us(host: str, port: int) -> bool:
    _, answer = ask(host, port, "/version")
    return b"+trainshed" in answer


def ask(host: str, port: int, path: str) -> tuple[int, bytes]:
    """Status and start of an answer to a question everybody may ask; zero and nothing without one."""
    import http.client
    import ssl

    # Nothing secret is sent, so it does not matter who answers.
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    asked = http.client.HTTPSConnection(reachable, port, context=trusting, timeout=_ASK_SECONDS)
    try:
        asked.request("GET", path)
        answer = asked.getresponse()
        return answer.status, answer.read(4096)
    except (OSError, http.client.HTTPException, ValueError):
        return 0, b""
    finally:
        asked.close()
