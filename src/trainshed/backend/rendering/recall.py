"""A job as it was asked for: its request and its code, read back from what was made of them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from trainshed.backend.rendering import code
from trainshed.backend.rendering.trainjob import REQUEST
from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer import pod_changes
from trainshed.kube.objects import JSON, Object, decode, dig, text

_CODE = ("training_code", "files", "git")
_NOT_AGAIN = ("name", "namespace", "idempotency_key", "suspend")
"""What belongs to one submission only."""
_DEEPEST = 32


def request(job: Object) -> Object | None:
    """The body the job came from, without its code; None where no request made it.

    Whoever may change the job may have written anything there.
    """
    try:
        found = decode(text(job, "metadata", "annotations", REQUEST).encode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and _is_shallow(found, _DEEPEST) else None


def _is_shallow(value: JSON, most: int) -> bool:
    """Whether it can be walked through without fear."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most > 0 and all(_is_shallow(one, most - 1) for one in inner)


def repeated(before: Object, changes: Object) -> Object:
    """The earlier body without what must be new, and without its code where there is other code now."""
    gone = {*_NOT_AGAIN, *(_CODE if any(changes.get(name) is not None for name in _CODE) else ())}
    return {name: value for name, value in before.items() if name not in gone}


def files(job: Object, config_map: Object) -> dict[str, bytes]:
    """The files of a job's code by their path."""
    content = {key: str(value).encode() for key, value in mapping(config_map, "data").items()}
    content |= {key: _decoded(value) for key, value in mapping(config_map, "binaryData").items()}
    paths = {text(item, "key"): text(item, "path") for item in _items(job)}
    return {paths.get(key, key): value for key, value in content.items()}


def is_one_script(job: Object) -> bool:
    return not any(True for _ in _items(job))


def _items(job: Object) -> Iterator[Object]:
    for change in pod_changes.changes(job):
        for volume in entries(change.pod, "volumes"):
            if text(volume, "name") == code.CODE_VOLUME:
                yield from entries(volume, "configMap", "items")
                return


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except binascii.Error:
        return b""


def is_finished(job: Object) -> bool:
    conditions = dig(job, "status", "conditions") or []
    ends = ("Complete", "Failed")
    return any(text(found, "type") in ends and text(found, "status") == "True" for found in conditions)
