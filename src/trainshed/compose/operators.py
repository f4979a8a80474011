"""The controllers there are, by the names `trainshed operator --controllers` takes."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from trainshed.compose.trouble import WRONG_USAGE, Trouble
from trainshed.controllers.claims.reconcile import controller as claims
from trainshed.controllers.job.reconcile import controller as job
from trainshed.controllers.jobset.reconcile import controller as jobset
from trainshed.controllers.podgc.reconcile import controller as podgc
from trainshed.controllers.scheduler.reconcile import controller as scheduler
from trainshed.controllers.trainjob.reconcile import controller as trainjob
from trainshed.loop.controller import Controller

NAMES = ("trainjob", "jobset", "job", "scheduler", "claims", "podgc")


def chosen(names: Sequence[str] = NAMES, *, relax: bool = False) -> list[Controller]:
    """The controllers of these names. Raises `Trouble` for an unknown one."""
    return [_made(name, relax) for name in dict.fromkeys(names)]


def identity() -> str:
    """This process, for people who look at a Lease."""
    return f"{socket.gethostname()}_{os.getpid()}"


def _made(name: str, relax: bool) -> Controller:
    match name:
        case "trainjob":
            return trainjob()
        case "jobset":
            return jobset()
        case "job":
            return job()
        case "scheduler":
            return scheduler(relax=relax)
        case "claims":
            return claims()
        case "podgc":
            return podgc()
    raise Trouble(f"there is no controller {name!r}", f"there are {', '.join(NAMES)}", WRONG_USAGE)
