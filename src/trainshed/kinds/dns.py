"""Names in the network, with every fault they have: webhooks report length and letters, not just one."""

from __future__ import annotations

import re

from trainshed.kube import names
from trainshed.kube.faults import FieldError, invalid, required
from trainshed.kube.objects import JSON

TOO_LONG = "must be no more than 63 characters"

_LABEL = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_WORDS = names.rfc1035_label("") or ""
_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_PART}(\.{_PART})*")
_SUBDOMAIN_WORDS = names.dns_subdomain("") or ""
_PATH_TEXT = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH = re.compile(_PATH_TEXT)


def label_faults(name: str) -> list[str]:
    """What keeps a name from being a DNS-1035 label."""
    faults = [TOO_LONG] if len(name) > 63 else []
    return faults if _LABEL.fullmatch(name) else [*faults, _LABEL_WORDS]


def subdomain_faults(name: str) -> list[str]:
    """What keeps a name from being a DNS-1123 subdomain."""
    faults = ["must be no more than 253 characters"] if len(name) > 253 else []
    return faults if _SUBDOMAIN.fullmatch(name) else [*faults, _SUBDOMAIN_WORDS]


def domain_prefixed_path(field: str, value: JSON) -> list[FieldError]:
    """`example.com/some/path`: the form of names that controllers give themselves."""
    if value in (None, ""):
        return [required(field)]
    host, _, path = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not host or not path:
        return [invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(field, host, why) for why in subdomain_faults(host)]
    if not _PATH.fullmatch(path):
        errors.append(invalid(field, path, f"Invalid path (regex used for validation is '{_PATH_TEXT}')"))
    return errors
