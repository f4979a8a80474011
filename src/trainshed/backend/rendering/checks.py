"""What values may be: each check returns its value or raises an `Unacceptable` that names the field."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final

from trainshed.backend.rendering import naming
from trainshed.backend.rendering.unacceptable import Unacceptable
from trainshed.kube import names, quantities

MOST_COMMAND: Final = 32 * 1024
_IMAGE: Final = re.compile(r"[a-z0-9A-Z][a-zA-Z0-9._\-/:@]{0,499}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL: Final = re.compile(r"(?P<scheme>https?|ssh|git|file)://(?P<host>[^/\s]*)(?P<path>/\S+)")
_SCP: Final = re.compile(r"[A-Za-z0-9][\w.-]*@[A-Za-z0-9][\w.-]*:[^\s:-]\S*")
_REF_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-/.]|[/.]$")
_SECRET_HINT: Final = "put the credentials into a Secret of the namespace and name it in git.secret"


def shown(value: str) -> str:
    """A bad value in a message: one line, never long."""
    printed = ascii(value) if not value.isprintable() else repr(value)
    return printed if len(printed) <= 60 else f"{printed[:57]}...{printed[0]}"


def text(field: str, value: str) -> str:
    """Text that can be stored and handed to a program."""
    if "\0" in value:
        raise Unacceptable(field, "must not contain a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unacceptable(field, "must be Unicode text: it has half of a surrogate pair") from None
    return value


def line(field: str, value: str) -> str:
    """Text on one line."""
    if not text(field, value).isprintable():
        raise Unacceptable(field, f"must be printable and on one line, not {shown(value)}")
    return value


def user(field: str, value: str) -> str:
    if not value or names.label_value(value):
        why = f"must be 1 to {naming.MOST_USER} letters, digits, '-', '_' or '.', not {shown(value)}"
        raise Unacceptable(
            field, why, "it becomes part of names and labels; use the user's id, not an address"
        )
    return value


def namespace(field: str, value: str) -> str:
    return _named(field, value, names.dns_label)


def job(field: str, value: str) -> str:
    if len(value) > naming.MOST_NAME:
        raise Unacceptable(field, f"must be no more than {naming.MOST_NAME} characters")
    return _named(field, value, names.rfc1035_label)


def label(field: str, value: str) -> str:
    return _named(field, value, names.dns_label)


def subdomain(field: str, value: str) -> str:
    return _named(field, value, names.dns_subdomain)


def label_pair(field: str, key: str, value: str) -> tuple[str, str]:
    """The field of a value is named after its key, once that is one."""
    field = f"{field}.{_named(field, key, names.qualified_name)}"
    if wrong := names.label_value(value):
        raise Unacceptable(field, f"{shown(value)}: {wrong}")
    if key.startswith(("trainshed.dev/", "app.kubernetes.io/managed-by")):
        raise Unacceptable(field, f"{key} is set by the backend", "choose another name")
    return key, value


def _named(field: str, value: str, rule: Callable[[str], str | None]) -> str:
    if wrong := rule(value):
        raise Unacceptable(field, f"{shown(value)}: {wrong}")
    return value


def image(field: str, value: str) -> str:
    if not _IMAGE.fullmatch(value):
        raise Unacceptable(
            field, f"must be the name of an image such as pytorch/pytorch:2.2.2, not {shown(value)}"
        )
    return value


def variable(field: str, value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        why = f"must be letters, digits and '_', not starting with a digit, not {shown(value)}"
        raise Unacceptable(field, why)
    return value


def quantity(field: str, value: str | float) -> str:
    written = str(value)
    if len(written) > 64 or not quantities.is_quantity(written):
        raise Unacceptable(field, f"must be a quantity such as 2, '500m' or '16Gi', not {shown(written)}")
    if quantities.parse(written) <= 0:
        raise Unacceptable(field, f"must be more than nothing, not {shown(written)}")
    return written


# --- paths ------------------------------------------------------------------------------------------------


def mount_path(field: str, value: str) -> str:
    """An absolute folder, in one way of writing it."""
    line(field, value)
    if not value.startswith("/") or ".." in value.split("/") or ":" in value or len(value.encode()) > 1024:
        raise Unacceptable(field, f"must be an absolute path without '..' and ':', not {shown(value)}")
    path = "/" + str(PurePosixPath(value)).strip("/")
    if path == "/":
        raise Unacceptable(field, "must not be the root folder")
    return path


def relative(field: str, value: str, *, what: str = "path") -> str:
    """A path inside a folder that it cannot leave."""
    if not text(field, value).isprintable() or "\\" in value:
        raise Unacceptable(field, f"the {what} {shown(value)} must be printable, with '/' between folders")
    parts = value.split("/")
    long = len(value.encode()) > 1024 or any(len(part.encode()) > 255 for part in parts)
    if long or any(part in ("", ".", "..") for part in parts):
        raise Unacceptable(
            field, f"the {what} {shown(value)} must be relative, without '.', '..' and empty parts"
        )
    return value


# --- git --------------------------------------------------------------------------------------------------


def git_url(field: str, value: str) -> str:
    found = _URL.fullmatch(line(field, value))
    if (found is None and not _SCP.fullmatch(value)) or len(value) > 2048:
        why = f"must be an https, ssh, git or file URL, or user@host:path, not {shown(value)}"
        raise Unacceptable(field, why)
    if found is not None:
        _git_host(field, found["scheme"], found["host"])
    return value


def _git_host(field: str, scheme: str, host: str) -> None:
    login, at, address = host.rpartition("@")
    if at and (scheme != "ssh" or ":" in login):
        raise Unacceptable(field, "must not carry credentials", _SECRET_HINT)
    if (
        not re.fullmatch(r"([A-Za-z0-9][\w.-]*|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?", address)
        and scheme != "file"
    ):
        raise Unacceptable(field, f"must name a host, not {shown(address)}")
    if login and not re.fullmatch(r"[A-Za-z0-9][\w.-]*", login):
        raise Unacceptable(field, f"must have a plain user name, not {shown(login)}")


def git_ref(field: str, value: str) -> str:
    line(field, value)
    if len(value.encode()) > 244 or _REF_FORBIDDEN.search(value) or value == "@":
        raise Unacceptable(field, f"must be a branch, a tag or a commit, not {shown(value)}")
    return value
