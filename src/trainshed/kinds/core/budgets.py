"""How much of each ResourceQuota of one namespace is taken, kept object by object; pure.

A charge remembers what an object took when it was last looked at, so what is given back is exactly what was
taken, whatever time or the object did in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from trainshed.kinds.core import resources, usage
from trainshed.kinds.core.usage import Taken
from trainshed.kinds.reading import mapping
from trainshed.kube import quantities
from trainshed.kube.objects import Object, text

_ZERO = Decimal(0)

Place = tuple[str, str]
"""The resource and the name of an object in the namespace."""


@lru_cache(4096)
def _amount(quantity: str) -> Decimal:
    return quantities.parse(quantity)


@dataclass(slots=True)
class Budget:
    """One quota: what it allows, and what of that is taken."""

    name: str
    spec: Object
    hard: Mapping[str, Decimal]
    used: dict[str, Decimal] = field(default_factory=dict)
    _like: dict[str, str] = field(default_factory=dict)
    """A quantity in whose family the used amount is written."""
    _drawn: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, quota: Object) -> Budget:
        spec = mapping(quota, "spec")
        read = {name: resources.parsed(value) for name, value in mapping(spec, "hard").items()}
        return cls(
            text(quota, "metadata", "name"),
            spec,
            {name: found for name, found in read.items() if found is not None},
        )

    def drawn_by(self, resource: str) -> frozenset[str]:
        """The names of this quota that objects of a kind draw on."""
        found = self._drawn.get(resource)
        if found is None:
            own = usage.account(resource)
            found = self._drawn[resource] = frozenset(filter(own.draws_on, self.hard))
        return found

    def begin(self, names: Iterable[str]) -> None:
        """Say of these that they are counted, even while there is nothing to count."""
        for name in names:
            self.used.setdefault(name, _ZERO)

    def move(self, taken: Taken, names: Iterable[str], sign: int) -> None:
        for name in names:
            if quantity := taken.get(name):
                before = self.used.get(name, _ZERO)
                self.used[name] = before + sign * _amount(quantity)
                if not before:
                    self._like[name] = quantity

    def shortage(self, extra: Mapping[str, Decimal], like: Taken) -> str:
        """Why this much more does not fit, in the real server's words; or nothing."""
        short = sorted(
            name
            for name, more in extra.items()
            if name in self.hard and self.used.get(name, _ZERO) + more > self.hard[name]
        )
        if not short:
            return ""
        asked = ",".join(f"{name}={quantities.format(extra[name], like[name])}" for name in short)
        used = ",".join(f"{name}={self._written(name)}" for name in short)
        hard = ",".join(f"{name}={self.spec['hard'][name]}" for name in short)
        return f"exceeded quota: {self.name}, requested: {asked}, used: {used}, limited: {hard}"

    def _written(self, name: str) -> str:
        return quantities.format(self.used.get(name, _ZERO), self._like.get(name, "0"))

    def status(self) -> Object:
        used = {name: self._written(name) for name in self.hard if name in self.used}
        parts = {"hard": dict(mapping(self.spec, "hard")), "used": used}
        return {name: amounts for name, amounts in parts.items() if amounts}


@dataclass(frozen=True, slots=True)
class Charge:
    taken: Taken
    budgets: tuple[Budget, ...]


class Budgets:
    """All quotas of one namespace."""

    def __init__(self, quotas: Iterable[Object]) -> None:
        self.each = {budget.name: budget for budget in map(Budget.of, quotas)}
        self._charges: dict[Place, Charge] = {}

    def concern(self, resource: str) -> bool:
        return any(budget.drawn_by(resource) for budget in self.each.values())

    def begin(self, resources_served: Iterable[str]) -> None:
        for budget in self.each.values():
            for resource in resources_served:
                budget.begin(budget.drawn_by(resource))

    def note(self, place: Place, obj: Object | None, now: datetime) -> bool:
        """An object is now so, or gone; whether that changed what is used."""
        before = self._charges.pop(place, None)
        after = None if obj is None else self._charge(place[0], obj, now)
        if after is not None:
            self._charges[place] = after
        if before == after:
            return False
        self._move(place[0], before, -1)
        self._move(place[0], after, +1)
        return True

    def _charge(self, resource: str, obj: Object, now: datetime) -> Charge | None:
        own, covering = usage.account(resource), self._covering(resource, obj)
        return Charge(own.take(obj, now), covering) if covering else None

    def _covering(self, resource: str, obj: Object) -> tuple[Budget, ...]:
        own = usage.account(resource)
        return tuple(
            budget
            for _, budget in sorted(self.each.items())
            if budget.drawn_by(resource) and usage.is_covered(obj, budget.spec, own)
        )

    def _move(self, resource: str, charge: Charge | None, sign: int) -> None:
        if charge is not None:
            for budget in charge.budgets:
                budget.move(charge.taken, budget.drawn_by(resource), sign)

    def refusal(self, resource: str, new: Object, old: Object | None, now: datetime) -> str:
        """Why an object may not become so, in the real server's words; or nothing."""
        own = usage.account(resource)
        if old is not None and not own.may_grow(new, old):
            return ""
        covering = self._covering(resource, new)
        for budget in covering:
            if resource == "pods" and (why := usage.unsaid(new, budget.drawn_by(resource))):
                return f"failed quota: {budget.name}: {why}"
        taken = own.take(new, now) if covering else {}
        for budget in covering:
            covered = old is not None and usage.is_covered(old, budget.spec, own)
            before = own.take(old, now) if covered and old is not None else {}
            if why := budget.shortage(_growth(taken, before), taken):
                return why
        return ""


def _growth(new: Taken, old: Taken) -> dict[str, Decimal]:
    """What grows; what shrinks or stays is no reason to refuse."""
    extra = {name: _amount(amount) - _amount(old.get(name, "0")) for name, amount in new.items()}
    return {name: more for name, more in extra.items() if more > 0}
