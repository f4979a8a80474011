"""Flux: not run here. Said at once, instead of leaving a job that never starts."""

from __future__ import annotations

from trainshed.controllers.trainjob.draft import Draft
from trainshed.controllers.trainjob.plugins.plugin import Plugin
from trainshed.controllers.trainjob.refusals import UNSUPPORTED, Refusal
from trainshed.kube.objects import text


def applies(draft: Draft) -> bool:
    return draft.policy("flux") is not None


def enforce(draft: Draft) -> None:
    runtime = text(draft.runtime, "metadata", "name")
    raise Refusal(
        UNSUPPORTED, f'runtime "{runtime}" has a flux policy, which is not supported here; use one with mpi'
    )


PLUGIN = Plugin("flux", applies, enforce)
