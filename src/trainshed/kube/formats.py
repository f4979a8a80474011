"""String formats of OpenAPI that custom resource schemas enforce; any other format is only a hint."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from trainshed.kube import names


def is_known(format: str) -> bool:
    return format in _CHECKS


def fits(format: str, text: str) -> bool:
    """Whether the text has the format; unknown formats fit everything."""
    check = _CHECKS.get(format)
    return check is None or check(text)


_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_USUAL: Final = 64
_DURATION: Final = re.compile(r"[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_WORDY_DURATION: Final = re.compile(
    r"\s*[0-9]+\s*(ns|nano|nanos|nanosecond|nanoseconds|us|µs|micro|micros|microsecond|microseconds"
    r"|ms|milli|millis|millisecond|milliseconds|s|sec|secs|second|seconds|m|min|mins|minute|minutes"
    r"|h|hr|hour|hours|d|day|days|w|week|weeks|wk)\s*"
)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2006-01-02")


def _is_date_time(text: str) -> bool:
    return _is_moment(text) if len(text) <= _USUAL else _is_moment.__wrapped__(text)


@lru_cache(maxsize=1024)
def _is_moment(text: str) -> bool:
    """Remembered: most times in an object, and in those written with it, are the same few."""
    day, found, time = text.lower().partition("t")
    parts = _TIME.fullmatch(time)
    if not found or not _is_date(day) or parts is None:
        return False
    return parts[1] <= "23" and parts[2] <= "59" and parts[3] <= "59"


def _is_duration(text: str) -> bool:
    return bool(_DURATION.fullmatch(text) or _WORDY_DURATION.fullmatch(text))


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _is_cidr(text: str) -> bool:
    return "/" in text and _parses(lambda given: ipaddress.ip_network(given, strict=False))(text)


def _is_uri(text: str) -> bool:
    """What Go accepts as a request target: an absolute path or something with a scheme."""
    if not text or any(character <= " " for character in text):
        return False
    try:
        return bool(text.startswith("/") or urlsplit(text).scheme)
    except ValueError:
        return False


def _matches(pattern: str) -> Callable[[str], bool]:
    expression = re.compile(pattern)
    return lambda text: expression.fullmatch(text) is not None


_HEX: Final = "[0-9a-fA-F]"
_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    "byte": _matches("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"),
    "cidr": _is_cidr,
    "date": _is_date,
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _matches(r"[^@\s]+@[^@\s]+"),
    "hostname": _matches(r"(?=.{1,255}$)[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]"
                         r"([-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*\.?"),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "k8s-long-name": lambda text: names.dns_subdomain(text) is None,
    "k8s-short-name": lambda text: names.dns_label(text) is None,
    "mac": _matches(f"{_HEX}{{2}}([:-]{_HEX}{{2}}){{5}}"),
    "uri": _is_uri,
    "uuid": _matches(f"{_HEX}{{8}}-?({_HEX}{{4}}-?){{3}}{_HEX}{{12}}"),
}  # fmt: skip
