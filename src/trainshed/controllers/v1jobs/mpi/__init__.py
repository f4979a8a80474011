"""MPIJobs: a launcher whose mpirun reaches sleeping workers by `kubectl exec`; no ssh, no services.

`objects` is what has to be there before the pods are, `role` the rights alone, `furnish` what makes a pod a
launcher or a worker, `conflict` what is said when a name is taken by somebody else. All pure.
"""

from trainshed.controllers.v1jobs.mpi.conflicts import CONFLICT, conflict
from trainshed.controllers.v1jobs.mpi.objects import objects, role
from trainshed.controllers.v1jobs.mpi.pods import furnish

__all__ = ["CONFLICT", "conflict", "furnish", "objects", "role"]
