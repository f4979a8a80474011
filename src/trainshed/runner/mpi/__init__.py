"""MPI without sshd: pods that would run one listen with a small program, and mpirun reaches them by it.

`adapted` changes a plan where it has to; `remote.py` runs inside containers, with nothing but the standard
library of whatever Python is there.
"""

from pathlib import Path

from trainshed.runner.mpi.adapting import adapted

FOLDER = Path(__file__).parent

__all__ = ["FOLDER", "adapted"]
