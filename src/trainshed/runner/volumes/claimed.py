"""The folders of claims, each with a note whose they are: data goes with the claim that asked for it.

<claims>/<namespace>/<claim>/          what pods see
<claims>/<namespace>/.<claim>.json     the claim's uid, and that of the cluster it was in
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from trainshed.kube.objects import Object, text

KEEP: Final = "trainshed.dev/keep-data"
"""The annotation of a claim whose folder stays when it is deleted."""
_TRASH: Final = ".gone-"


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

    def ready(self, claim: Object, *, is_in_use: bool) -> Path:
        """The folder of a claim, empty at first; a former claim's data is not shown to a later one."""
        found = Claimed(
            text(claim, "metadata", "namespace"), text(claim, "metadata", "name"), self._note(claim)
        )
        before = self._read(found.namespace, found.name)
        if before is not None and _is_outlived(before, found.note) and not is_in_use:
            self.remove(Claimed(found.namespace, found.name, before))
        folder = self._folder(found.namespace, found.name)
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o777)
        if before != found.note:
            self._write(found)
        return folder

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
        """All of its data, unless it is to be kept or has become another claim's. Blocks on the disk."""
        if self._read(claimed.namespace, claimed.name) != claimed.note:
            return
        self._path(claimed.namespace, claimed.name).unlink(missing_ok=True)
        if claimed.note.keep:
            return
        # Under another name first: the next claim of this name finds none of it, however long that takes.
        folder, trash = self._folder(claimed.namespace, claimed.name), f"{_TRASH}{claimed.note.uid}"
        if folder.is_dir():
            os.replace(folder, folder.with_name(trash))
        shutil.rmtree(folder.with_name(trash), ignore_errors=True)

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
