"""Which containers take part in an MPI job, and what they need for it; pure."""

from __future__ import annotations

from trainshed.runner.plan import ContainerPlan


def adapted(plan: ContainerPlan) -> ContainerPlan:
    return plan
