"""MPI without sshd: pods that would run one listen with a small program, and mpirun reaches them by it.

MPIJobs of kubeflow.org/v1 go by `kubectl exec`, which the runner delivers. `adapted` changes a plan where it
has to; `remote.py`, `kubectl.py` and the scripts run inside containers, with nothing but what is there.
"""

from pathlib import Path

from trainshed.runner.mpi.adapting import adapted
from trainshed.runner.mpi.delivery import completed

FOLDER = Path(__file__).parent

__all__ = ["FOLDER", "adapted", "completed"]
