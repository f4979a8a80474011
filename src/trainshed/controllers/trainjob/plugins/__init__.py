"""What each framework needs to know of a job's topology: one module each, pure, run in this order.

Upstream keeps its plugins in a map and runs them in random order; ours is a tuple.
"""

from __future__ import annotations

from trainshed.controllers.trainjob.plugins import (
    elastic,
    flux,
    jax,
    mpi,
    plain,
    podgroups,
    tensorflow,
    torch,
    torchtune,
    xgboost,
)
from trainshed.controllers.trainjob.plugins.plugin import Plugin

PLUGINS: tuple[Plugin, ...] = (
    flux.PLUGIN,
    torch.PLUGIN,
    torchtune.PLUGIN,
    elastic.PLUGIN,
    mpi.PLUGIN,
    jax.PLUGIN,
    xgboost.PLUGIN,
    plain.PLUGIN,
    tensorflow.PLUGIN,
    podgroups.COSCHEDULING,
    podgroups.VOLCANO,
)
