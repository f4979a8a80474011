"""The scheduler: pods get nodes, gangs all at once or not at all, first come first served.

`placing` decides and `reasons` explains, both pure, over the `board` of nodes; `ledger` keeps that board
up to date, `reconcile` binds and tells. Gangs are what a JobSet, an Indexed Job or a PodGroup makes; room for
those of their pods that are made late is what `promises` asks for and `reserve` keeps.
"""

from trainshed.controllers.scheduler.reconcile import controller

__all__ = ["controller"]
