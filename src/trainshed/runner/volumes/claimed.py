"""The folders of claims, each with a note whose they are: data goes with the claim that asked for it.

<claims>/<namespace>/<claim>/          what pods see
<claims>/<namespace>/.<claim>.json     the claim's uid, and that of the cluster it was in
<claims>/<namespace>/.kept-<uid>/      what a claim of this uid left, to be kept

A namespace and a claim may be somebody else's the next time, so names say nothing about whose data it is.
Kept data is for the claim that names the uid of the former one: only who could read that one knows it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from trainshed.kube import names
from trainshed.kube.objects import Object, text

KEEP: Final = "trainshed.dev/keep-data"
"""The annotation of a claim whose folder stays when it is deleted."""
FROM: Final = "trainshed.dev/data-from"
"""The annotation of a claim that takes over kept data: the uid of the claim that left it."""
_TRASH: Final = ".gone-"
_KEPT: Final = ".kept-"


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    uid: str
    cluster: str
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Claimed:
    """A folder and whose it is."""

    namespace: str
    name: str
    note: Note


@dataclass(frozen=True, slots=True)
class ClaimFolders:
    root: Path
    cluster: str
    """Which one our claims are in: what those of another have left is not ours to remove."""
    _moving: Lock = field(default_factory=Lock, repr=False, compare=False)
    """Held while a folder and its note change together."""

    def ready(self, claim: Object, *, is_in_use: bool) -> Path:
        """The folder of a claim, empty at first; a former claim's data is not shown to a later one."""
        found = Claimed(
            text(claim, "metadata", "namespace"), text(claim, "metadata", "name"), self._note(claim)
        )
        before = self._read(found.namespace, found.name)
        if before is not None and _is_outlived(before, found.note) and not is_in_use:
            self.remove(Claimed(found.namespace, found.name, before))
        with self._moving:
            folder = self._folder(found.namespace, found.name)
            if not folder.is_dir():
                self._make(folder, text(claim, "metadata", "annotations", FROM))
            if self._read(found.namespace, found.name) != found.note:
                self._write(found)
        return folder

    def _make(self, folder: Path, source: str) -> None:
        """Empty, or what was kept of the claim it names, which is its own from then on."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        is_uid = names.dns_label(source) is None
        if is_uid and (kept := folder.with_name(f"{_KEPT}{source}")).is_dir():
            os.replace(kept, folder)
        else:
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777)

    def learn(self, claim: Object) -> None:
        """It changed; only what its note says of it counts here."""
        namespace, name = text(claim, "metadata", "namespace"), text(claim, "metadata", "name")
        before, now = self._read(namespace, name), self._note(claim)
        if before is not None and before.uid == now.uid and before != now:
            self._write(Claimed(namespace, name, now))

    def outlived(self, uids: set[str]) -> list[Claimed]:
        """Folders whose claim is not among these, which are all there are."""
        return [one for one in self._all() if one.note.cluster == self.cluster and one.note.uid not in uids]

    def of(self, claim: Object) -> Claimed | None:
        """The folder of a claim, where it has one."""
        namespace, name = text(claim, "metadata", "namespace"), text(claim, "metadata", "name")
        note = self._read(namespace, name)
        is_its = note is not None and note.uid == text(claim, "metadata", "uid")
        return Claimed(namespace, name, note) if note is not None and is_its else None

    def remove(self, claimed: Claimed) -> None:
        """Its data, unless it is another claim's by now; set aside if it is to stay. Blocks on the disk."""
        prefix = _KEPT if claimed.note.keep else _TRASH
        folder = self._folder(claimed.namespace, claimed.name)
        aside = folder.with_name(f"{prefix}{claimed.note.uid}")
        with self._moving:
            if self._read(claimed.namespace, claimed.name) != claimed.note:
                return
            # The folder before its note: whenever this is broken off, no later claim finds any of it, and
            # it goes on with the next start.
            if folder.is_dir():
                os.replace(folder, aside)
            self._path(claimed.namespace, claimed.name).unlink(missing_ok=True)
        if not claimed.note.keep:
            shutil.rmtree(aside, ignore_errors=True)

    def sweep(self) -> None:
        """What a former life has not come to remove."""
        for path in self.root.glob(f"*/{_TRASH}*"):
            shutil.rmtree(path, ignore_errors=True)

    def _note(self, claim: Object) -> Note:
        kept = text(claim, "metadata", "annotations", KEEP) == "true"
        return Note(text(claim, "metadata", "uid"), self.cluster, kept)

    def _folder(self, namespace: str, name: str) -> Path:
        return self.root / namespace / name

    def _path(self, namespace: str, name: str) -> Path:
        return self.root / namespace / f".{name}.json"

    def _read(self, namespace: str, name: str) -> Note | None:
        try:
            return msgspec.json.decode(self._path(namespace, name).read_bytes(), type=Note)
        except (OSError, ValueError):
            return None

    def _write(self, claimed: Claimed) -> None:
        path = self._path(claimed.namespace, claimed.name)
        fresh = path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(claimed.note))
        fresh.replace(path)

    def _all(self) -> Iterator[Claimed]:
        for path in sorted(self.root.glob("*/.*.json")):
            namespace, name = path.parent.name, path.name[1:].removesuffix(".json")
            note = self._read(namespace, name)
            if note is not None:
                yield Claimed(namespace, name, note)


def _is_outlived(before: Note, now: Note) -> bool:
    return before.cluster == now.cluster and before.uid != now.uid
