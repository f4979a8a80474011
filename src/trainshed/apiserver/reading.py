"""get and list: stored bytes joined into answers, decoded only for tables, dialects and field selectors."""

from __future__ import annotations

import asyncio
import base64
from bisect import bisect_right
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from trainshed.apiserver import answers, rendering, selecting, tables
from trainshed.apiserver.answers import Answer
from trainshed.apiserver.call import Call
from trainshed.apiserver.negotiation import Wanted, answer_form
from trainshed.kube import documents, faults
from trainshed.kube.objects import Object, decode, encode
from trainshed.store.faults import Compacted
from trainshed.store.records import Record

_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter."
)


def get(call: Call) -> Answer:
    check_revision(call, call.request.query.get("resourceVersion"))
    record = call.state.store.get(call.key)
    if record is None:
        raise call.not_found()
    return one(call, record)


def one(call: Call, record: Record, status: int = 200) -> Answer:
    """One stored object in the form its reader asked for."""
    wanted = answer_form(call.request.header(b"accept"))
    if wanted.form == "json":
        return Answer(rendering.shown(call.kind, record), status)
    return one_decoded(call, rendering.spoken(call.kind, record), wanted, status)


def one_decoded(call: Call, obj: Object, wanted: Wanted | None = None, status: int = 200) -> Answer:
    wanted = wanted or answer_form(call.request.header(b"accept"))
    if wanted.form == "table":
        revision = str(obj.get("metadata", {}).get("resourceVersion", ""))
        return answers.of(
            tables.table(call.kind, [obj], table_options(call, wanted), {"resourceVersion": revision}), status
        )
    if wanted.form in ("partial", "partial-list"):
        return answers.of(tables.partial(obj, wanted.table_version), status)
    if wanted.form == "yaml":
        return Answer(documents.write_yaml(obj), status, b"application/yaml")
    return answers.of(obj, status)


def table_options(call: Call, wanted: Wanted) -> tables.Options:
    include = call.request.query.get("includeObject")
    if include not in ("", "None", "Metadata", "Object"):
        raise faults.BadRequest(f'unrecognized includeObject value: "{include}"')
    return tables.Options(now=call.state.now(), include=include or "Metadata", version=wanted.table_version)


# --- list -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page:
    records: Sequence[Record]
    metadata: Object


def list_(call: Call) -> Answer | Awaitable[Answer]:
    check_list_parameters(call)
    page = _page(call)
    wanted = answer_form(call.request.header(b"accept"))
    kind = call.kind
    if wanted.form == "json":
        values, skip = rendering.items(kind, page.records)
        return answers.joined_list(kind.list_kind, kind.api_version, page.metadata, values, skip)
    objects = [rendering.spoken(kind, record) for record in page.records]
    return listed(call, objects, page.metadata, wanted)


async def listed(call: Call, objects: Sequence[Object], metadata: Object, wanted: Wanted) -> Answer:
    if wanted.form == "table":
        return answers.of(tables.table(call.kind, objects, table_options(call, wanted), metadata))
    if wanted.form in ("partial", "partial-list"):
        return answers.of(tables.partial_list(objects, metadata, wanted.table_version))
    bare = objects if call.kind.custom else [_bare(obj) for obj in objects]
    whole: Object = {"kind": call.kind.list_kind, "apiVersion": call.kind.api_version, "metadata": metadata}
    whole["items"] = list(bare)
    if wanted.form == "yaml":
        # In a thread: a long list takes seconds, in which nobody else would be answered.
        return Answer(await asyncio.to_thread(documents.write_yaml, whole), 200, b"application/yaml")
    return answers.of(whole)


def _bare(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def _page(call: Call) -> Page:
    store, query = call.state.store, call.request.query
    selection = selecting.parse(query, call.kind)
    revision = store.revision
    if token := query.get("continue"):
        revision, after = _read_token(token)
        records = _as_it_was(call, revision)
        records = records[bisect_right(records, after, key=_position) :]
    elif query.get("resourceVersionMatch") == "Exact":
        revision = int(query.get("resourceVersion"))
        records = _as_it_was(call, revision)
    else:
        records = store.list(call.kind.stored_as, call.namespace or None)
    if not selection.everything:
        records = [record for record in records if selection.matches(record)]
    limit = max(query.integer("limit") or 0, 0)  # upstream reads a negative limit as none
    metadata: Object = {"resourceVersion": str(revision)}
    if limit and len(records) > limit:
        metadata["continue"] = _write_token(revision, records[limit - 1])
        if selection.everything:
            metadata["remainingItemCount"] = len(records) - limit
        records = records[:limit]
    return Page(records, metadata)


def _as_it_was(call: Call, revision: int) -> Sequence[Record]:
    """All pages of a list show one moment: that of the first."""
    try:
        return call.state.store.list_at(call.kind.stored_as, call.namespace or None, revision)
    except Compacted as error:
        raise faults.Expired(_EXPIRED) from error


def _position(record: Record) -> tuple[str, str]:
    return record.key.namespace, record.key.name


def _write_token(revision: int, last: Record) -> str:
    body = encode({"v": "trainshed/v1", "rv": revision, "after": _position(last)})
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, tuple[str, str]]:
    try:
        body = decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = body["after"]
        revision = int(body["rv"])
        if not (isinstance(namespace, str) and isinstance(name, str)):
            raise ValueError("not a position")
    except (ValueError, KeyError, TypeError) as error:
        raise faults.BadRequest("continue key is not valid: it was not issued by this server") from error
    return revision, (namespace, name)


# --- resourceVersion rules --------------------------------------------------------------------------------


def check_list_parameters(call: Call) -> None:
    query = call.request.query
    revision, match = query.get("resourceVersion"), query.get("resourceVersionMatch")
    errors = []
    if query.has("sendInitialEvents"):
        errors.append(faults.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if match and match not in ("Exact", "NotOlderThan"):
        errors.append(faults.unsupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
    elif match and not revision:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        errors.append(faults.forbidden("resourceVersionMatch", why))
    elif match and query.get("continue"):
        errors.append(
            faults.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden for continue")
        )
    elif match == "Exact" and revision == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        errors.append(faults.forbidden("resourceVersionMatch", why))
    if errors:
        raise faults.refuse("ListOptions", "meta.k8s.io", "", errors)
    if query.get("continue") and revision not in ("", "0"):
        raise faults.BadRequest("specifying resource version is not allowed when using continue")
    check_revision(call, revision)


def check_revision(call: Call, text: str) -> int:
    """The revision a reader asks for at least; 0 when it does not care. One from the future is refused."""
    if not text or text == "0":
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        error = faults.invalid("resourceVersion", text[:64], "strconv.ParseUint: parsing: invalid syntax")
        raise faults.refuse("ListOptions", "meta.k8s.io", "", [error])
    revision, newest = int(text), call.state.store.revision
    if revision > newest:
        cause = faults.Cause("ResourceVersionTooLarge", "Too large resource version")
        message = f"Timeout: Too large resource version: {revision}, current: {newest}"
        raise faults.Timeout(message, causes=[cause], retry_after=1)
    return revision
