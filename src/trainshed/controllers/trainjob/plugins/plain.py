"""No framework at all: the number of nodes and the TrainJob's variables are everything there is."""

from __future__ import annotations

from trainshed.controllers.trainjob.draft import Draft
from trainshed.controllers.trainjob.plugins.plugin import Plugin


def applies(draft: Draft) -> bool:
    """Also beside XGBoost, as upstream."""
    return all(draft.policy(name) is None for name in ("torch", "mpi", "jax"))


def enforce(draft: Draft) -> None:
    """Counts and variables are stages of their own."""


PLUGIN = Plugin("plain", applies, enforce, env_first=True)
