"""What a pod of each kind is told about its job: variables, and the container that waits for a master.

One module per kind gives the variables of one pod, pure and in upstream's order; `furnish` puts them into the
pod. Who calls it has made the pod from its template and knows nothing of frameworks.
"""

from trainshed.controllers.v1jobs.environment.furnishing import furnish
from trainshed.controllers.v1jobs.environment.member import CannotFurnish

__all__ = ["CannotFurnish", "furnish"]
