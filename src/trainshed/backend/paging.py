"""Which jobs a list shows and where its next page begins; pure.

A page begins behind a place, not at a number: whatever comes and goes meanwhile, a job that is there
throughout is shown once.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from trainshed.backend.rows import Order
from trainshed.kube import ages, selectors
from trainshed.kube.selectors import Requirement

MOST = 500
_PLACE = msgspec.json.Decoder(tuple[int, str, str])


class Listed(Protocol):
    """What can be filtered: jobs that are there and those of the history."""

    @property
    def uid(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def phase(self) -> str: ...
    @property
    def framework(self) -> str: ...
    @property
    def user_id(self) -> str: ...
    @property
    def created(self) -> str: ...
    @property
    def labels(self) -> dict[str, str]: ...


T = TypeVar("T", bound=Listed)


class Filter(msgspec.Struct, frozen=True):
    state: str = ""
    framework: str = ""
    user_id: str = ""
    name: str = ""
    """Part of the name."""
    labels: str = ""
    after: datetime | None = None
    before: datetime | None = None


class Page(NamedTuple, Generic[T]):
    rows: list[T]
    total: int
    token: str
    """Of the next page; empty on the last one."""


class WrongToken(ValueError):
    """The text is no place in this list."""


def chosen(orders: Sequence[Order], rows: Mapping[str, T], wanted: Filter) -> Sequence[Order]:
    """The places of wanted rows: filter by filter, so that most rows are looked at once."""
    for check in _checks(wanted):
        orders = [order for order in orders if check(rows[order.uid])]
    return orders


def _checks(wanted: Filter) -> Iterator[Callable[[Listed], bool]]:
    """Raises a fault for a selector that is none."""
    if wanted.user_id:
        yield lambda row: row.user_id == wanted.user_id
    if wanted.framework:
        yield lambda row: row.framework == wanted.framework
    if wanted.state:
        yield lambda row: wanted.state in (row.state, row.phase)
    if wanted.name:
        yield lambda row: wanted.name in row.name
    # Times as texts: all of one form, so they compare, and a list need not parse thousands.
    if wanted.after is not None:
        after = ages.timestamp(wanted.after)
        yield lambda row: row.created > after
    if wanted.before is not None:
        before = ages.timestamp(_next_second(wanted.before))
        yield lambda row: row.created < before
    for requirement in selectors.parse_labels(wanted.labels).requirements:
        yield _has_label(requirement)


def _next_second(moment: datetime) -> datetime:
    """The moment where it is a whole second; nothing was made in the last one there is."""
    try:
        return moment + timedelta(microseconds=-moment.microsecond % 1_000_000)
    except OverflowError:
        return moment


def _has_label(requirement: Requirement) -> Callable[[Listed], bool]:
    key = requirement.key
    if requirement.operator in ("=", "=="):
        (value,) = requirement.values
        return lambda row: row.labels.get(key) == value
    return lambda row: requirement.matches(row.labels)


# --- places -------------------------------------------------------------------------------------------------


def token(place: Order, scope: str) -> str:
    """A place in the list of this scope, as text."""
    content = msgspec.json.encode((place.age, place.uid, _digest(scope)))
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def place(text: str, scope: str) -> Order:
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        age, uid, digest = _PLACE.decode(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, UnicodeEncodeError) as broken:
        raise WrongToken("it is none that a list has given") from broken
    if digest != _digest(scope):
        raise WrongToken("it belongs to a list with other filters")
    return Order(age, uid)


def scope(namespace: str | None, wanted: Filter) -> str:
    """What has to stay the same from page to page."""
    return msgspec.json.encode((namespace, wanted)).decode()


def begin(orders: Sequence[Order], after: Order | None) -> int:
    return 0 if after is None else bisect.bisect_right(orders, after)


def _digest(scope: str) -> str:
    return hashlib.sha256(scope.encode()).hexdigest()[:12]
