"""An image is an environment: a Python environment of this machine, or an unpacked root folder.

Nothing is pulled. Which one an image stands for is decided by `choose` (pure); `look` sees what is there.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from trainshed.kinds.core import imagefiles
from trainshed.kinds.core import images as names
from trainshed.kube.objects import Object, dig
from trainshed.runner.plan import Mount
from trainshed.runner.settings import ImageRule

ANNOTATION: Final = "trainshed.dev/python"
SHIMS: Final = "/run/trainshed/bin"
"""Where containers find the `python` their environment lacks."""
_PRIVATE: Final = ("/tmp", "/run", "/dev/shm", "/var/tmp")
STANDARD_PATH: Final = (
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
)  # fmt: skip


class NoEnvironment(Exception):
    """What an image stands for cannot be used; the message says what to change."""

    reason = "ErrImagePull"


class NotPresent(NoEnvironment):
    """Nothing says what the image stands for, and its container wants no other."""

    reason = "ErrImageNeverPull"


class NoName(NoEnvironment):
    """It cannot be the name of an image, here or on a cluster."""

    reason = "InvalidImageName"


@dataclass(frozen=True, slots=True)
class Environment:
    path: str
    root: str = "/"
    """The folder that a container sees as its root."""
    bin: str = ""
    """Where `python`, `pip` and `torchrun` are, as the container sees it; empty for the standard places."""
    is_virtual: bool = False
    base: str = ""
    """Where a virtual environment has its Python from."""
    lacks_python: bool = False
    """Whether there is only a `python3`, as Debian has it; every image has a `python`."""
    contents: tuple[tuple[str, str], ...] = ()
    """Paths that containers see, and what of this machine is there."""

    @property
    def id(self) -> str:
        return f"{imagefiles.SCHEME}{self.path}"

    def words(self) -> str:
        kind = "root folder" if self.root != "/" else "local environment"
        return f"the {kind} {self.path}"


@dataclass(frozen=True, slots=True)
class Choice:
    path: str
    because: str
    """Where the path was set, for people."""
    contents: tuple[tuple[str, str], ...] = ()
    is_named: bool = True
    """Whether somebody said so of this image, or pod."""


def choose(image: str, pod: Object, rules: Sequence[ImageRule], default: str) -> Choice:
    """The pod's own word counts most, then the first rule that fits, then where the agent runs itself."""
    rule = next((rule for rule in rules if _fits(rule, image)), None)
    contents = rule.contents if rule else ()
    asked = dig(pod, "metadata", "annotations", ANNOTATION)
    if isinstance(asked, str) and asked:
        return Choice(asked, f"annotation {ANNOTATION}", contents)
    if rule is not None:
        return Choice(rule.path or default, f'[images] "{rule.pattern}" in the configuration', contents)
    return Choice(default, "the environment of trainshed itself", is_named=False)


def check_name(image: str) -> None:
    """Nothing is pulled, but what runs here has to run on a cluster, too."""
    if not names.is_reference(image):
        raise NoName(f'couldn\'t parse image name "{image}": invalid reference format')


def check_pull(policy: str, image: str, choice: Choice) -> None:
    """Nothing is ever pulled; a container that insists on it runs in what its image was said to be."""
    if policy == "Never" and not choice.is_named:
        raise NotPresent(
            f'Container image "{image}" is not present with pull policy of Never:'
            " name it in [images] of the configuration, or use another imagePullPolicy"
        )


def _fits(rule: ImageRule, image: str) -> bool:
    return any(fnmatch.fnmatchcase(name, rule.pattern) for name in spellings(image))


def spellings(image: str) -> Iterable[str]:
    """An image as it was written, and without registry, tag or digest."""
    bare = image.partition("@")[0]
    name, colon, tag = bare.rpartition(":")
    untagged = name if colon and "/" not in tag else bare
    for one in dict.fromkeys((image, bare, untagged)):
        yield one
        if one.startswith("docker.io/"):
            yield one.removeprefix("docker.io/").removeprefix("library/")


def look(choice: Choice, exists: Callable[[Path], bool] = Path.exists) -> Environment:
    """The environment at a path: the folder of one, its python, or a root folder; raises `NoEnvironment`."""
    path = Path(choice.path).expanduser()
    if not path.is_absolute():
        raise NoEnvironment(f"{choice.because}: {choice.path} is not an absolute path")
    for needed in (path, *(Path(source) for _, source in choice.contents)):
        if not exists(needed):
            raise NoEnvironment(f"{choice.because}: {needed} does not exist")
    return replace(_look(path, choice, exists), contents=choice.contents)


def _look(path: Path, choice: Choice, exists: Callable[[Path], bool]) -> Environment:
    if exists(path / "usr") and exists(path / "bin"):
        return Environment(str(path), root=str(path), bin=_conda_in(path, exists))
    folder = path.parent.parent if path.name.startswith("python") and path.parent.name == "bin" else path
    plain = exists(folder / "bin" / "python")
    if not plain and not exists(folder / "bin" / "python3"):
        raise NoEnvironment(f"{choice.because}: {path} has neither bin/python nor the folders of a root")
    is_virtual = exists(folder / "pyvenv.cfg")
    base = str((folder / "bin" / "python").resolve().parent.parent) if is_virtual else ""
    return Environment(str(folder), "/", str(folder / "bin"), is_virtual, base, lacks_python=not plain)


def _conda_in(root: Path, exists: Callable[[Path], bool]) -> str:
    """Images of PyTorch keep their Python in /opt/conda."""
    return "/opt/conda/bin" if exists(root / "opt" / "conda" / "bin" / "python") else ""


def is_open_to(environment: Environment, user: int, group: int | None) -> bool:
    """Whether a user gets as far as the environment's Python: all folders on the way let it through."""
    python = Path(environment.bin or environment.path) / "python"
    try:
        places = {*python.parents, *python.resolve().parents}
        return all(_lets_through(place.stat(), user, group) for place in places)
    except OSError:
        return False


def _lets_through(folder: os.stat_result, user: int, group: int | None) -> bool:
    if user in (0, folder.st_uid):
        return True
    return bool(folder.st_mode & (0o010 if group == folder.st_gid else 0o001))


def mounts(environment: Environment, private: Sequence[str]) -> tuple[Mount, ...]:
    """An environment is shown to its containers even where they see a folder of their own instead of ours."""
    inside = tuple(Mount(target, "ro-bind", source) for target, source in environment.contents)
    if environment.root != "/":
        return inside
    places = dict.fromkeys(path for path in (environment.path, environment.base) if path)
    hidden = tuple(
        Mount(path, "ro-bind", path)
        for path in places
        if any(path.startswith(f"{folder}/") for folder in (*_PRIVATE, *private))
    )
    return hidden + inside


def shims(environment: Environment, folder: Path) -> tuple[Mount, ...]:
    """A `python` for environments that lack it, made in a folder of ours and shown to the container."""
    if not environment.lacks_python:
        return ()
    place = folder / environment.path.strip("/").replace("/", "-")
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "python").is_symlink():
        (place / "python").symlink_to(f"{environment.bin}/python3")
    return (Mount(SHIMS, "ro-bind", str(place)),)


def search_path(environment: Environment, inherited: str) -> str:
    """The PATH of a container: its environment first, then what the machine offers."""
    own = [environment.bin] if environment.bin else []
    own += [SHIMS] if environment.lacks_python else []
    machine = inherited.split(":") if environment.root == "/" else []
    return ":".join(dict.fromkeys(part for part in (*own, *machine, *STANDARD_PATH) if part))
