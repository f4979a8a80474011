"""`Schemas`: definitions and CRDs ready for use, generated once and kept on disk.

Files are named by a digest of everything that went into them (package versions, our tables, our code), so
another version uses other files. They appear by renaming: processes that start together do not disturb each
other. A file that cannot be read is made again, and a folder that cannot be written only costs time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, NamedTuple, TypeVar

import msgspec

from trainshed.kinds.schemas import packages
from trainshed.kube import schema
from trainshed.kube.objects import JSON, Object, decode, encode

_HERE: Final = Path(__file__).parent
_INPUTS: Final = (
    _HERE.parent / "rows.py",
    *sorted(_HERE.glob("*.py")),
    *sorted((_HERE / "tables").glob("*.*")),
)
_T = TypeVar("_T")


class Crd(NamedTuple):
    """One CustomResourceDefinition as bytes: whoever stores it need not read it."""

    name: str
    digest: str
    raw: bytes


class Made(NamedTuple):
    """The contents of the two files of one generation; CRDs are apart because they are wanted only once."""

    definitions: bytes
    crds: bytes


class Schemas:
    """The schemas of all kinds. `load` is the way to one."""

    def __init__(self, cache: _Cache) -> None:
        self._cache = cache
        raw = cache.read("definitions", dict[str, msgspec.Raw])
        self._definitions = Definitions({name: bytes(text) for name, text in raw.items()})
        self._compiler = schema.Compiler(_Checked(self._definitions))

    @classmethod
    def load(cls, cache_dir: Path) -> Schemas:
        """From the cache in that folder, or made now (about a second) and put there.

        Raises `packages.MissingPackage` when the installation lacks one of the packages we read.
        """
        return cls(_Cache(cache_dir, tuple(packages.find(*names) for names in packages.ALL)))

    @property
    def edition(self) -> str:
        """Changes whenever anything of the schemas may have changed."""
        return self._cache.digest

    def definitions(self) -> Definitions:
        return self._definitions

    def compiled(self, name: str) -> schema.Schema:
        """The compiled schema of a definition, made once; `ValueError` if there is none of that name."""
        return self._compiler.definition(name)

    def crds(self) -> Sequence[Crd]:
        """The training kinds' CRDs, read anew on each call so that nobody keeps two megabytes for nothing."""
        found = self._cache.read("crds", list[tuple[str, str, msgspec.Raw]])
        return [Crd(name, digest, bytes(raw)) for name, digest, raw in found]


class Definitions(Mapping[str, Object]):
    """OpenAPI definitions by name. Each access decodes one, so that none of them stays in memory decoded."""

    def __init__(self, raw: Mapping[str, bytes]) -> None:
        self._raw = raw

    def __getitem__(self, name: str) -> Object:
        found: Object = decode(self._raw[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __contains__(self, name: object) -> bool:
        return name in self._raw

    def raw(self, name: str) -> bytes:
        """One definition as JSON text, for documents that are put together from bytes."""
        return self._raw[name]


class _Checked(Mapping[str, Object]):
    """Definitions as the server checks built-in objects by them: the shape, and nothing about values.

    The real server decodes built-in objects into structs and checks values in code: a missing required field
    is a zero there, and rules know when that is fine. So `required` and `enum` go (`explain` has them),
    and empty defaults go, which custom objects spell out and built-in ones do not.
    """

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def __getitem__(self, name: str) -> Object:
        if name.endswith(".resource.Quantity"):
            return {"format": "quantity"}
        return _checked(self._definitions[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)


def _checked(source: Object) -> Object:
    kept = {key: item for key, item in source.items() if key not in ("description", "enum", "required")}
    if "properties" in kept:
        kept["properties"] = {name: _checked(item) for name, item in kept["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(kept.get(inner), dict):
            kept[inner] = _checked(kept[inner])
    if not kept.get("default", True):
        del kept["default"]
    return kept


class _Cache:
    """The files of one generation, and the generator behind them."""

    def __init__(self, folder: Path, found: tuple[packages.Package, ...]) -> None:
        self._folder, self._packages = folder, found
        self.digest = _digest(found)
        self._unwritten: Made | None = None

    def read(self, part: str, shape: type[_T]) -> _T:
        for data in self._attempts(part):
            with contextlib.suppress(msgspec.MsgspecError):
                return msgspec.json.decode(data, type=shape)
        raise AssertionError("what was just generated cannot be read")  # a fault of ours, not of the disk

    def _attempts(self, part: str) -> Iterator[bytes]:
        if self._unwritten is None:
            with contextlib.suppress(OSError):
                yield self._path(part).read_bytes()
        yield getattr(self._unwritten or self._make(), part)

    def _make(self) -> Made:
        made = generate(self._packages)
        try:
            for part, data in made._asdict().items():
                _write(self._path(part), data)
            self._remove_others()
        except OSError:
            self._unwritten = made
        return made

    def _path(self, part: str) -> Path:
        return self._folder / f"{part}-{self.digest}.json"

    def _remove_others(self) -> None:
        for part in Made._fields:
            for path in self._folder.glob(f"{part}-*.json"):
                if path != self._path(part):
                    path.unlink(missing_ok=True)


def generate(found: Sequence[packages.Package]) -> Made:
    """Everything made anew; the same packages give the same bytes."""
    # Only generation needs these two (and PyYAML): a start from the cache does without.
    from trainshed.kinds.schemas import crds, definitions

    kubernetes, trainer, training, katib = found
    made = definitions.make(kubernetes, trainer)
    customs: list[JSON] = []
    for crd in crds.make([trainer, training, katib], made):
        raw = encode(crd)
        customs.append((crd["metadata"]["name"], hashlib.sha256(raw).hexdigest(), msgspec.Raw(raw)))
    return Made(encode(made), encode(customs))


def _digest(found: Sequence[packages.Package]) -> str:
    digest = hashlib.sha256()
    for package in found:
        digest.update(f"{package.name} {package.version}\n".encode())
    for path in _INPUTS:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".schemas-", delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
