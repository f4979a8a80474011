"""Code as it is given: one text, several files, or a repository; checked, and small enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from trainshed.backend.rendering import checks
from trainshed.backend.rendering.unacceptable import TooLarge, Unacceptable
from trainshed.backend.rendering.wanted import Files, Git, Inline
from trainshed.jobs.bundle import MOST_BYTES, MOST_FILES

ELSEWHERE: Final = "give the code by git, or put it on a volume and name that in volumes"
_REACHABLE: Final = (
    "give an https, ssh or git URL, the code by files or as a zip (/api/trainjob/upload),"
    " or file:// with a folder under the mountPath of a volume that has a pvc"
)
_STARTS: Final = ("train.py", "main.py")


def inline(field: str, text: str, most: int = MOST_BYTES) -> Inline:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Unacceptable(field, "must be Unicode text: it has half of a surrogate pair") from None
    _check_size(field, size, most)
    return Inline(text)


def files(field: str, contents: Mapping[str, bytes], *, must_start: bool, most: int = MOST_BYTES) -> Files:
    """Files by path; where no command says what to run, one of them must be the obvious one."""
    if not contents:
        raise Unacceptable(field, "must have at least one file")
    if len(contents) > MOST_FILES:
        raise TooLarge(field, f"has {len(contents)} files, more than {MOST_FILES}", ELSEWHERE)
    paths = [checks.relative(field, path, what="file") for path in contents]
    _check_folders(field, paths)
    # Paths count too: they are keys, and are repeated in the job's volume.
    _check_size(field, sum(len(content) for content in contents.values()) + _path_bytes(paths), most)
    start = _start(paths)
    if must_start and not start:
        why = "it is not clear which file to run: there is no train.py or main.py"
        raise Unacceptable(field, why, "name the program in command, such as ['python', 'src/run.py']")
    return Files(tuple(sorted(contents.items())), start)


def git(field: str, url: str, ref: str, subfolder: str, secret: str) -> Git:
    return Git(
        checks.git_url(f"{field}.url", url),
        checks.git_ref(f"{field}.ref", ref) if ref else "",
        checks.relative(f"{field}.subfolder", subfolder.rstrip("/"), what="folder") if subfolder else "",
        checks.subdomain(f"{field}.secret", secret) if secret else "",
    )


def require_reachable(field: str, url: str, mounted: Sequence[str]) -> None:
    """A folder is no place to clone from, unless it is on a volume: pods do not see this machine's files."""
    is_file = url.startswith("file:")
    path = PurePosixPath("/", url.removeprefix("file:").removeprefix("//").removeprefix("localhost"))
    if not is_file and not url.startswith(("/", "./", "../", "~")):
        return
    on_volume = ".." not in path.parts and any(path.is_relative_to(folder) for folder in mounted)
    if not is_file or not on_volume:
        raise Unacceptable(field, f"pods do not see this folder: {checks.shown(url)}", _REACHABLE)


def _start(paths: list[str]) -> str:
    scripts = [path for path in paths if "/" not in path and path.endswith(".py")]
    found = [name for name in _STARTS if name in scripts] or (scripts if len(scripts) == 1 else [])
    return found[0] if found else ""


def _check_folders(field: str, paths: list[str]) -> None:
    known = set(paths)
    for path in paths:
        parts = path.split("/")
        above = ("/".join(parts[:length]) for length in range(1, len(parts)))
        if clash := next((folder for folder in above if folder in known), None):
            raise Unacceptable(field, f"{checks.shown(clash)} is a file and the folder of another")
        if parts[0].startswith(".."):
            # The kubelet keeps its own entries of that form in the volume.
            raise Unacceptable(field, f"the file {checks.shown(path)} must not begin with '..'")


def _path_bytes(paths: list[str]) -> int:
    return sum(2 * len(path.encode()) for path in paths)


def _check_size(field: str, size: int, most: int) -> None:
    if size > most:
        raise TooLarge(
            field, f"has {size / 1024:.0f} KiB, more than the {most // 1024} KiB of a ConfigMap", ELSEWHERE
        )
