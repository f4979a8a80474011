"""MPI without sshd: pods that would run one listen with a small daemon, and mpirun reaches them by it.

`adapted` changes a plan where it has to; `daemon.py` and `reach.py` run inside containers, with nothing but
the standard library of whatever Python is there.
"""

from trainshed.runner.mpi.adapting import adapted

__all__ = ["adapted"]
