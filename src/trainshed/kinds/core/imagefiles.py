"""Programs that are said to be in an image, where images stand for environments of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from trainshed.kinds.reading import entries
from trainshed.kube.objects import Object, text

SCHEME: Final = "environment://"
"""How the id of an image begins that nothing was pulled for."""
_STATUSES: Final = ("containerStatuses", "initContainerStatuses")
_HINT: Final = "the image's own files are not here: see contents under [images] in docs/processes.md"
_MISSING: Final = re.compile(
    r"can't open file '(?P<python>/[^']+)': \[Errno 2\]|: (?P<shell>/[^\s:]+): (?:No such file|not found)"
    r'|exec: "(?P<agent>/[^"]+)": no such file'
)
"""Words of Python, of shells, and of the agent for a command, where a program is not there."""


def hint(pod: Object, container: str, words: str) -> str:
    """What to do about a missing program; empty for one of a volume or /tmp, or in a pulled image."""
    found = _MISSING.search(words)
    if found is None or not environment(pod, container):
        return ""
    path = found["python"] or found["shell"] or found["agent"]
    return "" if any(_is_in(path, folder) for folder in ("/tmp", *_volumes(pod, container))) else _HINT


def environment(pod: Object, container: str) -> str:
    """The folder that a container's image stands for; empty where the image was pulled."""
    found = (text(status, "imageID") for status in _named(pod, "status", container))
    return next((image.removeprefix(SCHEME) for image in found if image.startswith(SCHEME)), "")


def _volumes(pod: Object, container: str) -> Iterator[str]:
    for spec in _named(pod, "spec", container):
        yield from (text(mount, "mountPath") for mount in entries(spec, "volumeMounts"))


def _named(pod: Object, half: str, container: str) -> list[Object]:
    groups = ("containers", "initContainers") if half == "spec" else _STATUSES
    return [one for group in groups for one in entries(pod, half, group) if text(one, "name") == container]


def _is_in(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")
