"""CronJobs: kept and shown; their schedule is not run here."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.batch import jobspecs
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import podspecs
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, fill, mapping
from trainshed.kube.faults import invalid, required
from trainshed.kube.objects import Object, dig, text

_POLICIES: Final = ("Allow", "Forbid", "Replace")
_NUMBERS: Final = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_MOST_NAME: Final = 52
"""The names of the jobs it makes add eleven characters to its own and must stay within 63."""


def defaults(cron: Object) -> None:
    tidy(cron, "CronJob")
    spec = child(cron, "spec")
    fill(spec, concurrencyPolicy="Allow", suspend=False)
    fill(spec, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    podspecs.default_template(child(child(spec, "jobTemplate"), "spec"))


def prepare(cron: Object) -> None:
    cron["status"] = {}


def errors(cron: Object, old: Object | None) -> Errors:
    spec, name = mapping(cron, "spec"), text(cron, "metadata", "name")
    found = _schedule("spec.schedule", text(spec, "schedule"))
    for number in _NUMBERS:
        found += checks.not_negative(f"spec.{number}", spec.get(number))
    found += checks.one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), _POLICIES)
    found += jobspecs.errors("spec.jobTemplate.spec", mapping(spec, "jobTemplate", "spec"))
    if selector := dig(spec, "jobTemplate", "spec", "selector"):
        why = "`selector` will be auto-generated"
        found.append(invalid("spec.jobTemplate.spec.selector", selector, why))
    if old is None and len(name) > _MOST_NAME:
        found.append(invalid("metadata.name", name, f"must be no more than {_MOST_NAME} characters"))
    return found


def _schedule(field: str, schedule: str) -> Errors:
    if not schedule:
        return [required(field)]
    if "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return [invalid(field, schedule, why)]
    fields = schedule.split()
    if schedule.startswith("@") or len(fields) == 5:
        return []
    found = f"{len(fields)}: [{' '.join(fields)}]"
    return [invalid(field, schedule, f"expected exactly 5 fields, found {found}")]


RULES = Rules(defaults=defaults, on_create=prepare, validate=errors)
