"""The controllers there are, by the names `trainshed operator --controllers` takes."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from trainshed.compose.trouble import WRONG_USAGE, Trouble
from trainshed.controllers.claims.reconcile import controller as claims
from trainshed.controllers.job.reconcile import controller as job
from trainshed.controllers.jobset.reconcile import controller as jobset
from trainshed.controllers.nodehealth.reconcile import controller as nodehealth
from trainshed.controllers.podgc.reconcile import controller as podgc
from trainshed.controllers.scheduler.reconcile import controller as scheduler
from trainshed.controllers.trainjob.reconcile import controller as trainjob
from trainshed.controllers.v1jobs import settings as v1settings
from trainshed.controllers.v1jobs.reconcile import controllers as v1jobs
from trainshed.loop.controller import Controller

NAMES = ("trainjob", "jobset", "v1jobs", "job", "scheduler", "claims", "podgc", "nodehealth")


def chosen(names: Sequence[str] = NAMES, *, relax: bool = False) -> list[Controller]:
    """The controllers of these names. Raises `Trouble` for an unknown one."""
    return [made for name in dict.fromkeys(names) for made in _made(name, relax)]


def identity() -> str:
    """This process, for people who look at a Lease."""
    return f"{socket.gethostname()}_{os.getpid()}"


def _made(name: str, relax: bool) -> tuple[Controller, ...]:
    match name:
        case "trainjob":
            return (trainjob(),)
        case "jobset":
            return (jobset(),)
        case "v1jobs":
            return v1jobs(v1settings.read(os.environ))
        case "job":
            return (job(),)
        case "scheduler":
            return (scheduler(relax=relax),)
        case "claims":
            return (claims(),)
        case "podgc":
            return (podgc(),)
        case "nodehealth":
            return (nodehealth(),)
    raise Trouble(f"there is no controller {name!r}", f"there are {', '.join(NAMES)}", WRONG_USAGE)
