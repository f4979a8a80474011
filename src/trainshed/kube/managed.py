"""The entries of `metadata.managedFields`: who owns which fields, through which operation, since when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from trainshed.kube import faults
from trainshed.kube.fields import FieldSet, decoded, encoded, union
from trainshed.kube.objects import JSON, Object, dig, encode, metadata

Operation = Literal["Apply", "Update"]
MOST_UPDATERS: Final = 10
ANCIENT: Final = "ancient-changes"
"""Who owns what the oldest updaters wrote, once there are more than `MOST_UPDATERS` of them."""


class Entry(NamedTuple):
    manager: str
    operation: Operation
    api_version: str
    fields: FieldSet
    time: str = ""
    subresource: str = ""
    stored: Object | None = None
    """The entry as it was read, to be written back untouched when nothing changed."""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Two entries with the same one are the same owner. An applier stays itself across versions."""
        version = "" if self.operation == "Apply" else self.api_version
        return self.manager, self.operation, version, self.subresource

    @property
    def label(self) -> str:
        """The owner as upstream spells its identity; conflicts are listed in the order of these."""
        full = {"manager": self.manager, "operation": self.operation}
        if self.operation == "Update":
            full["apiVersion"] = self.api_version
        if self.subresource:
            full["subresource"] = self.subresource
        return encode(full).decode()

    @property
    def shown(self) -> str:
        """The owner as conflict messages name it."""
        text = encode(self.manager).decode()
        if self.subresource:
            text += f" with subresource {encode(self.subresource).decode()}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text

    def owning(self, fields: FieldSet) -> Entry:
        return self if fields is self.fields else self._replace(fields=fields, stored=None)

    def body(self) -> Object:
        if self.stored is not None:
            return self.stored
        body: Object = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version}
        if self.time:
            body["time"] = self.time
        body["fieldsType"] = "FieldsV1"
        body["fieldsV1"] = encoded(self.fields)
        if self.subresource:
            body["subresource"] = self.subresource
        return body


# --- reading ----------------------------------------------------------------------------------------------


def entries_of(obj: Object | None) -> list[Entry]:
    """The entries of an object of ours."""
    listed = listed_in(obj)
    return [_trusted(body) for body in listed] if isinstance(listed, list) else []


def listed_in(obj: Object | None) -> JSON:
    """`metadata.managedFields` as it stands, None when absent."""
    return dig(obj, "metadata", "managedFields")


def _trusted(body: Object) -> Entry:
    return Entry(
        body["manager"],
        body["operation"],
        body["apiVersion"],
        body.get("fieldsV1") or {},
        body.get("time") or "",
        body.get("subresource") or "",
        body,
    )


def is_reset(listed: JSON) -> bool:
    """Whether a writer asks to forget all owners: an empty list, or one empty entry."""
    return isinstance(listed, list) and (not listed or (len(listed) == 1 and _is_blank(listed[0])))


def _is_blank(body: JSON) -> bool:
    return isinstance(body, dict) and not any(body.values())


def entries_sent(listed: JSON) -> list[Entry]:
    """The entries a writer sent. BadRequest for what cannot be read, ValueError for what makes no sense."""
    if not isinstance(listed, list) or not all(isinstance(body, dict) for body in listed):
        raise faults.BadRequest("metadata.managedFields must be a list of entries")
    entries = [_checked(index, body) for index, body in enumerate(listed)]
    return list({entry.identity: entry for entry in entries}.values())


def _checked(index: int, body: Object) -> Entry:
    for name in _TEXTS:
        if not isinstance(body.get(name, ""), str | None):
            raise faults.BadRequest(f"metadata.managedFields[{index}].{name} must be a string")
    operation = body.get("operation")
    if operation not in ("Apply", "Update"):
        raise ValueError("operation must be `Apply` or `Update`")
    if not body.get("apiVersion"):
        raise ValueError("apiVersion must not be empty")
    if body.get("fieldsType") != "FieldsV1":
        raise ValueError(f"invalid fieldsType in managed fields entry {index}")
    return Entry(
        body.get("manager") or "",
        operation,
        body["apiVersion"],
        decoded(body.get("fieldsV1")),
        _moment(body.get("time"), index),
        body.get("subresource") or "",
    )


_TEXTS: Final = ("manager", "operation", "apiVersion", "fieldsType", "subresource", "time")


def _moment(text: str | None, index: int) -> str:
    """A time in our spelling: clients send the same moment back as `…+00:00` or with fractions."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError) as error:
        raise faults.BadRequest(f"metadata.managedFields[{index}].time is not a time: {text}") from error


# --- writing ----------------------------------------------------------------------------------------------


def write(obj: Object, entries: Iterable[Entry]) -> None:
    """Set the object's managedFields: appliers first, then by age, name and version; no list when empty."""
    kept = [entry for entry in entries if entry.fields]
    if kept:
        kept.sort(key=_age)
        metadata(obj)["managedFields"] = [entry.body() for entry in kept]
    else:
        metadata(obj).pop("managedFields", None)


def write_only(obj: Object, entry: Entry) -> None:
    """As `write`, of the one owner a new object has: there is nothing to sort."""
    if entry.fields:
        metadata(obj)["managedFields"] = [entry.body()]
    else:
        metadata(obj).pop("managedFields", None)


def _age(entry: Entry) -> tuple[str, ...]:
    return entry.operation, entry.time, entry.manager, entry.api_version, entry.subresource


def capped(entries: list[Entry]) -> list[Entry]:
    """The entries with the oldest updaters of each version put together until `MOST_UPDATERS` are left."""
    updaters = [entry for entry in entries if entry.operation == "Update"]
    surplus = len(updaters) - MOST_UPDATERS
    if surplus <= 0:
        return entries
    result = {entry.identity: entry for entry in entries}
    first: dict[str, Entry] = {}
    for entry in sorted(updaters, key=lambda entry: (entry.time, entry.label)):
        if surplus <= 0:
            break
        older = first.setdefault(entry.api_version, entry)
        bucket = Entry(ANCIENT, "Update", entry.api_version, {}, entry.time)
        if older is entry or entry.identity == bucket.identity:
            continue
        if bucket.identity not in result:
            result.pop(older.identity)
            result[bucket.identity] = bucket.owning(older.fields)
        together = union(entry.fields, result[bucket.identity].fields)
        result.pop(entry.identity)
        result[bucket.identity] = bucket.owning(together)
        surplus -= 1
    return list(result.values())
