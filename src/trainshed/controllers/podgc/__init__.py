"""Ends pods whose node does not exist: nobody else will ever tell what became of them.

`desired` decides what is due for one pod, `reconcile` does it once the node has been missing for a while.
"""

from trainshed.controllers.podgc.reconcile import controller

__all__ = ["controller"]
