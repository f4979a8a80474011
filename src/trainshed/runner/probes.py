"""Probes: what is asked how often, and when enough answers make a verdict; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trainshed.kinds.reading import mapping, number
from trainshed.kube.objects import Object

Kind = Literal["startup", "liveness", "readiness"]
_FIELDS: dict[Kind, str] = {
    "startup": "startupProbe",
    "liveness": "livenessProbe",
    "readiness": "readinessProbe",
}


@dataclass(frozen=True, slots=True)
class Probe:
    kind: Kind
    action: Object
    delay: float
    period: float
    timeout: float
    successes: int
    """How many in a row make it good."""
    failures: int
    """How many in a row make it bad."""
    grace: int | None
    """Seconds to end in after a failed startup or liveness probe, where they differ from the pod's."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Equal answers in a row, and the verdict so far (None: none yet)."""

    good: int = 0
    bad: int = 0
    verdict: bool | None = None

    def after(self, was_good: bool, probe: Probe) -> Tally:
        good, bad = (self.good + 1, 0) if was_good else (0, self.bad + 1)
        if good >= probe.successes:
            return Tally(good, bad, True)
        if bad >= probe.failures:
            return Tally(good, bad, False)
        return Tally(good, bad, self.verdict)


def probe_of(container: Object, kind: Kind) -> Probe | None:
    spec = mapping(container, _FIELDS[kind])
    if not spec:
        return None
    return Probe(
        kind,
        spec,
        delay=float(number(spec, "initialDelaySeconds") or 0),
        period=float(number(spec, "periodSeconds") or 10),
        timeout=float(number(spec, "timeoutSeconds") or 1),
        successes=number(spec, "successThreshold") or 1,
        failures=number(spec, "failureThreshold") or 3,
        grace=number(spec, "terminationGracePeriodSeconds"),
    )


def probes_of(container: Object) -> dict[Kind, Probe]:
    found = {kind: probe_of(container, kind) for kind in _FIELDS}
    return {kind: probe for kind, probe in found.items() if probe is not None}
