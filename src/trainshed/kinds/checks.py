"""Checks that many kinds share, each a list of field errors in Kubernetes' own words."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from trainshed.kinds.reading import entries, mapping, sequence, texts
from trainshed.kube import names
from trainshed.kube.faults import FieldError, forbidden, invalid, required, unsupported
from trainshed.kube.objects import JSON, dig, text

Errors = list[FieldError]
NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
PROTOCOLS = ("SCTP", "TCP", "UDP")
MOST_INT32 = 2**31 - 1

_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_PORT_NAME = re.compile(r"[-a-z0-9]+")
_PRINTABLE = re.compile(r"[ -<>-~]+")


# --- numbers ----------------------------------------------------------------------------------------------


def between(least: int, most: int) -> str:
    return f"must be between {least} and {most}, inclusive"


def in_range(field: str, value: JSON, least: int, most: int) -> Errors:
    if not isinstance(value, int) or isinstance(value, bool) or least <= value <= most:
        return []
    return [invalid(field, value, between(least, most))]


def not_negative(field: str, value: JSON) -> Errors:
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return [invalid(field, value, NEGATIVE)]
    return []


def port(field: str, value: JSON) -> Errors:
    return in_range(field, value, 1, 65535)


def port_or_name(field: str, value: JSON) -> Errors:
    """A port by number or by the name of a container's port."""
    if isinstance(value, str):
        return [invalid(field, value, why) for why in port_name_faults(value)]
    return port(field, value)


def port_name_faults(name: str) -> list[str]:
    faults = []
    if len(name) > 15:
        faults.append("must be no more than 15 characters")
    if not _PORT_NAME.fullmatch(name):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        faults.append("must contain at least one letter (a-z)")
    if "--" in name:
        faults.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        faults.append("must not begin or end with a hyphen")
    return faults


# --- words ------------------------------------------------------------------------------------------------


def one_of(field: str, value: JSON, allowed: Sequence[str], *, optional: bool = False) -> Errors:
    """A word from a list; required unless optional."""
    if value in (None, ""):
        return [] if optional else [required(field)]
    return [] if value in allowed else [unsupported(field, value, allowed)]


def named(field: str, value: JSON, check: Callable[[str], str | None], *, optional: bool = False) -> Errors:
    """A name that passes a check; required unless optional."""
    if value in (None, ""):
        return [] if optional else [required(field)]
    why = check(value) if isinstance(value, str) else None
    return [invalid(field, value, why)] if why else []


def qualified(field: str, value: JSON) -> Errors:
    """A qualified name, which may not be empty but is reported as malformed rather than missing."""
    word = value if isinstance(value, str) else ""
    why = names.qualified_name(word)
    return [invalid(field, word, why)] if why else []


@lru_cache(maxsize=4096)
def config_key_faults(key: str) -> tuple[str, ...]:
    """Remembered: the same few keys (`train.py`, `ca.crt`) come with nearly every object."""
    faults = []
    if len(key) > 253:
        faults.append("must be no more than 253 characters")
    if not _CONFIG_KEY.fullmatch(key):
        faults.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  "
            "or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    return (*faults, *_dot_faults(key))


def _dot_faults(key: str) -> list[str]:
    if key in (".", ".."):
        return [f"must not be '{key}'"]
    return ["must not start with '..'"] if key.startswith("..") else []


def env_name_faults(name: str) -> list[str]:
    if _PRINTABLE.fullmatch(name):
        return []
    return [
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
    ]


# --- labels and selectors ---------------------------------------------------------------------------------


def labels(field: str, value: JSON) -> Errors:
    errors = []
    for key, word in mapping(value).items():
        errors += qualified(field, key)
        errors += label_value(field, word)
    return errors


def label_value(field: str, value: JSON) -> Errors:
    why = names.label_value(value) if isinstance(value, str) else None
    return [invalid(field, value, why)] if why else []


def label_selector(field: str, selector: JSON) -> Errors:
    """A LabelSelector (matchLabels, matchExpressions); absent is fine."""
    errors = labels(f"{field}.matchLabels", dig(selector, "matchLabels"))
    for index, requirement in enumerate(entries(selector, "matchExpressions")):
        errors += _requirement(f"{field}.matchExpressions[{index}]", requirement)
    return errors


def _requirement(field: str, requirement: JSON) -> Errors:
    errors = operator_values(field, requirement)
    if text(requirement, "operator") not in ("In", "NotIn", "Exists", "DoesNotExist"):
        errors = [
            invalid(f"{field}.operator", text(requirement, "operator"), "not a valid selector operator")
        ]
    errors += qualified(f"{field}.key", dig(requirement, "key"))
    for index, value in enumerate(texts(requirement, "values")):
        errors += label_value(f"{field}.values[{index}]", value)
    return errors


def operator_values(field: str, requirement: JSON) -> Errors:
    """In and NotIn need values, Exists and DoesNotExist have none."""
    values = sequence(requirement, "values")
    operator = text(requirement, "operator")
    if operator in ("In", "NotIn") and not values:
        return [required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden(f"{field}.values", why)]
    return []


# --- addresses and paths ----------------------------------------------------------------------------------


def ip(field: str, value: JSON) -> Errors:
    if _parsed_ip(value) is not None:
        return []
    return [invalid(field, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]


def ordinary_ip(field: str, value: JSON) -> Errors:
    """An address that other machines can meet: not loopback, not link-local, not unspecified."""
    found = _parsed_ip(value)
    if found is None:
        return [invalid(field, value, "must be a valid IP address")]
    if found.is_unspecified:
        return [invalid(field, value, f"may not be unspecified ({value})")]
    if found.is_loopback:
        return [invalid(field, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")]
    if found.is_link_local:
        return [invalid(field, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")]
    return []


def _parsed_ip(value: JSON) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(value) if isinstance(value, str) else None
    except ValueError:
        return None


def cidr(field: str, value: JSON) -> Errors:
    try:
        ipaddress.ip_network(value if isinstance(value, str) else "", strict=False)
    except ValueError:
        return [invalid(field, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    return (
        []
        if "/" in value
        else [invalid(field, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    )


def inner_path(field: str, path: str) -> Errors:
    """A path below something: relative, and never upwards."""
    errors = [invalid(field, path, "must be a relative path")] if path.startswith("/") else []
    return errors + no_backsteps(field, path)


def no_backsteps(field: str, path: str) -> Errors:
    return [invalid(field, path, "must not contain '..'")] if ".." in path.split("/") else []


def file_path(field: str, path: str) -> Errors:
    """An inner path whose first name does not begin with two dots (those are the volume's own)."""
    errors = inner_path(field, path)
    if path.startswith("..") and not path.startswith("../"):
        errors.append(invalid(field, path, "must not start with '..'"))
    return errors


# --- change -----------------------------------------------------------------------------------------------


def immutable(field: str, new: JSON, old: JSON) -> Errors:
    return [] if same(new, old) else [invalid(field, new, IMMUTABLE)]


def same(new: JSON, old: JSON) -> bool:
    """Equal as Kubernetes sees it: absent, null and empty text, lists or objects are all nothing."""
    if new == old:
        return True  # found out without a call for each value
    if isinstance(new, dict) and isinstance(old, dict):
        return all(same(new.get(key), old.get(key)) for key in new.keys() | old.keys())
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return all(map(same, new, old))
    return _is_nothing(new) and _is_nothing(old)


def _is_nothing(value: JSON) -> bool:
    if isinstance(value, dict):
        return all(_is_nothing(item) for item in value.values())
    return value is None or value in ("", [])
