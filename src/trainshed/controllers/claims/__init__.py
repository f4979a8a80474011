"""Claims of storage: on one machine every claim is bound at once, to a folder the agent makes for it.

No provisioner, no storage classes: the claim's phase and capacity are all that is written.
"""

from trainshed.controllers.claims.reconcile import controller

__all__ = ["controller"]
