"""Manifests in git repositories of this machine: `file:///srv/repo.git//jobs/ddp?ref=v1`.

The tree of a revision is unpacked; nothing is cloned or fetched, and no hook of the repository runs.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote

from trainshed.jobs.manifests import CannotRead

_SECONDS = 120.0
_FILE = "file://"


@dataclass(frozen=True, slots=True)
class Place:
    repository: str
    folder: str = ""
    """Below the root of the repository."""
    ref: str = ""

    def words(self) -> str:
        return f"{self.repository} at {self.ref or 'HEAD'}"


def find(source: str) -> Place | None:
    """Which repository and which folder in it are meant; None where the words are a plain path."""
    path, _, query = source.removeprefix("git::").partition("?")
    ref = (parse_qs(query).get("ref") or [""])[0]
    if path.startswith(_FILE):
        path = unquote(path.removeprefix(_FILE).removeprefix("localhost"))
    place = Place(*_split(path), ref)
    if not _is_repository(Path(place.repository)):
        return None
    return place if place.folder or ref or source.startswith(_FILE) or _is_bare(Path(path)) else None


def plain(source: str) -> str:
    """The path a source names, if it is no repository."""
    return (
        unquote(source.removeprefix(_FILE).removeprefix("localhost")) if source.startswith(_FILE) else source
    )


def unpack(place: Place, into: Path) -> Path:
    """The folder asked for, as it was in that revision. Raises `CannotRead`."""
    tree = _git(
        place, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{place.ref or 'HEAD'}^{{tree}}"
    )
    packed = _git(place, "archive", "--format=tar", tree.decode().strip())
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(into, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise CannotRead(f"cannot unpack {place.words()}: {error}") from error
    found = (into / place.folder).resolve()
    if not found.exists() or not found.is_relative_to(into.resolve()):
        raise CannotRead(f"there is no {place.folder} in {place.words()}")
    return found


def _split(path: str) -> tuple[str, str]:
    """`/srv/repo.git//jobs` and `/srv/repo.git/jobs`: the repository, and the folder in it."""
    for mark, kept in (("//", ""), (".git/", ".git")):
        head, found, folder = path.partition(mark)
        if found and head:
            return head + kept, folder.strip("/")
    return path.rstrip("/"), ""


def _is_repository(path: Path) -> bool:
    return (path / ".git").exists() or _is_bare(path)


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


def _git(place: Place, *words: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", place.repository, *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise CannotRead(f"cannot read {place.repository}: git is not installed", "install git") from error
    except subprocess.TimeoutExpired as error:
        raise CannotRead(f"git did not read {place.words()} within {_SECONDS:.0f} s") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = said[0].removeprefix("fatal: ") if said else "there is no such branch, tag or commit"
        raise CannotRead(f"cannot read {place.words()}: {why}")
    return done.stdout
