"""Manifests on disk that are converted together: which files, and where each result belongs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainshed.jobs import kustomizing, manifests
from trainshed.jobs.converting import converting, texts, writing
from trainshed.jobs.converting.findings import Finding
from trainshed.jobs.converting.texts import Text
from trainshed.jobs.manifests import STDIN, SUFFIXES, CannotRead
from trainshed.kube.objects import JSON


@dataclass(frozen=True, slots=True)
class Source:
    origin: str
    """For people."""
    target: Path
    """Where its result belongs, below the folder for all results."""
    file: Path | None
    """Where it stands; None for what is not in a file of its own."""
    content: str
    flaw: str = ""
    """Why a file among others could not be read."""


@dataclass(frozen=True, slots=True)
class Converted:
    source: Source
    result: Text

    @property
    def is_changed(self) -> bool:
        return self.result.converted > 0


def gather(named: Sequence[str], overlays: Sequence[str]) -> Iterator[Source]:
    """Everything that was named, folders with all that is below them. Raises `CannotRead`."""
    for name in named:
        if name == STDIN:
            yield Source("standard input", Path("stdin.yaml"), None, _content(STDIN))
        else:
            yield from _files(Path(name))
    for folder in overlays:
        name = Path(folder).resolve().name or "kustomized"
        yield Source(f"kustomize {folder}", Path(f"{name}.yaml"), None, kustomizing.build(folder))


def _files(place: Path) -> Iterator[Source]:
    found = manifests.files(place, recursive=True)
    if not found:
        raise CannotRead(f'there are no {", ".join(SUFFIXES)} files in "{place}"')
    for file in found:
        if place.is_dir():
            yield _among(file, file.relative_to(place))
        else:
            yield Source(str(file), Path(file.name), file, _content(str(file)))


def _among(file: Path, target: Path) -> Source:
    """One that cannot be read keeps no other from its turn."""
    try:
        return Source(str(file), target, file, _content(str(file)))
    except CannotRead as error:
        return Source(str(file), target, file, "", str(error).replace(f"{file} is", "it is"))


def _content(file: str) -> str:
    """As it is, with the ends its lines have."""
    try:
        data = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
        return data.decode()
    except OSError as error:
        raise CannotRead(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        what = "standard input" if file == STDIN else file
        raise CannotRead(f"{what} is not text: invalid UTF-8 at byte {error.start}") from error


def others(place: Path) -> list[Path]:
    """The files of a folder that are no manifests, below it; not the history of a repository."""
    found = (path for path in place.rglob("*") if path.is_file() and path.suffix not in SUFFIXES)
    below = (path.relative_to(place) for path in found)
    return sorted(path for path in below if ".git" not in path.parts)


def convert(sources: Sequence[Source]) -> tuple[list[Converted], list[Finding]]:
    """The results and all findings; what concerns several comes last."""
    found = [Converted(source, _converted(source)) for source in sources]
    findings = [_placed(finding, one.source) for one in found for finding in one.result.findings]
    before = [document for one in found for document in one.result.given]
    after = [document for one in found for document in one.result.documents]
    return found, [*findings, *converting.namesakes(before, after)]


def _converted(source: Source) -> Text:
    if source.flaw:
        return Text("", (), (Finding("not converted", source.origin, "", source.flaw),), 0)
    return texts.convert(source.content, source.origin)


def _placed(finding: Finding, source: Source) -> Finding:
    """What has no name is found by its file."""
    is_named = "/" in finding.object and not finding.object.endswith("/?")
    if is_named or finding.object == source.origin:
        return finding
    return replace(finding, object=f"{source.origin}: {finding.object}")


def joined(results: Sequence[Text]) -> str:
    """All texts in one, each a document of its own at least."""
    text = ""
    for result in results:
        if not result.text.strip():
            continue
        if text and not result.text.startswith("---"):
            text += "...\n" if result.text.startswith("%") else "---\n"
        text += result.text if result.text.endswith("\n") else f"{result.text}\n"
    return text


def written(documents: Sequence[JSON]) -> str:
    """Objects as one text."""
    texts = ("".join(f"{line.text}\n" for line in writing.lines(document)) for document in documents)
    return "---\n".join(texts)
