"""Manifests in git repositories of this machine: `file:///srv/repo.git//jobs/ddp?ref=v1`.

The tree of a revision is unpacked as it is stored. A repository may be anybody's: nothing that its
configuration names (filters, hooks, remotes) is run, so nothing is cloned, fetched, checked out or archived.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote

from trainshed.jobs.manifests import CannotRead

_SECONDS = 120.0
_FILE = "file://"
_LINK = b"120000"
_BLOB = b"blob"
_PLAIN = ("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_ELSEWHERE = frozenset(
    f"GIT_{name}"
    for name in (
        "DIR",
        "COMMON_DIR",
        "WORK_TREE",
        "INDEX_FILE",
        "OBJECT_DIRECTORY",
        "ALTERNATE_OBJECT_DIRECTORIES",
        "NAMESPACE",
    )
)
"""Variables that would make git read another repository than the one that was named."""


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
    entries = list(_entries(_git(place, "ls-tree", "-r", "-z", "--full-tree", tree.decode().strip())))
    wanted = b"".join(entry.id + b"\n" for entry in entries)
    try:
        _lay(_contents(_git(place, "cat-file", "--batch", stdin=wanted), entries), into.resolve())
    except _Missing as error:
        hint = f"get all of it first: git -C {place.repository} fetch --refetch --no-filter"
        raise CannotRead(f"cannot read {place.words()}: {error} is not in the repository", hint) from error
    except (_LeadsOut, OSError, ValueError, RecursionError) as error:
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


# --- what git says ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    id: bytes
    is_link: bool


class _Missing(Exception):
    """The path of a file that the repository names and does not hold: it was cloned in part."""


class _LeadsOut(Exception):
    """What is in the repository would be written, or read, somewhere else."""


def _entries(listed: bytes) -> Iterator[_Entry]:
    """The files and links of a tree, links last: nothing is then written through one."""
    found = []
    for line in listed.split(b"\0")[:-1]:
        words, _, path = line.partition(b"\t")
        mode, kind, name = words.split()
        if kind == _BLOB:  # a submodule is a commit of another repository
            found.append(_Entry(os.fsdecode(path), name, mode == _LINK))
    yield from sorted(found, key=lambda entry: entry.is_link)


def _contents(said: bytes, entries: list[_Entry]) -> Iterator[tuple[_Entry, bytes]]:
    at = 0
    for entry in entries:
        end = said.index(b"\n", at)
        words = said[at:end].split()
        if words[1] != _BLOB:
            raise _Missing(entry.path)
        at = end + 1 + int(words[2])
        yield entry, said[end + 1 : at]
        at += 1


def _lay(contents: Iterator[tuple[_Entry, bytes]], root: Path) -> None:
    """Write the tree. Whoever made it may have chosen any names and links: nothing of it leads out."""
    links = []
    for entry, data in contents:
        place = root / entry.path
        if ".." in place.parts or not _is_below(place.parent, root):
            raise _LeadsOut(f"{entry.path} is outside of the repository")
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.is_link:
            place.symlink_to(os.fsdecode(data))
            links.append(place)
        else:
            place.write_bytes(data)
    for link in links:  # once all are there: where one leads may depend on another
        if not _is_below(link, root):
            raise _LeadsOut(f"{link.relative_to(root)} leads outside of the repository")


def _is_below(place: Path, root: Path) -> bool:
    return Path(os.path.realpath(place)).is_relative_to(root)


def _environment(repository: str, given: Mapping[str, str]) -> dict[str, str]:
    """No other repository, and no remote: a partial clone would run what its configuration names as one."""
    kept = {name: value for name, value in given.items() if name not in _ELSEWHERE}
    above = str(Path(repository).absolute().parent)
    return kept | {"GIT_CEILING_DIRECTORIES": above, "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}


def _git(place: Place, *words: str, stdin: bytes = b"") -> bytes:
    try:
        done = subprocess.run(
            ["git", *_PLAIN, "-C", place.repository, *words],
            capture_output=True,
            input=stdin,
            env=_environment(place.repository, os.environ),
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
