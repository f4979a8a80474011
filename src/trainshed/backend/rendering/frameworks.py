"""What each framework means: its runtimes, who starts its processes, which variables are not the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trainshed.backend.rendering import scripts
from trainshed.backend.rendering.scripts import Script
from trainshed.kinds.trainer.policies import MPI_ENV, TORCH_ENV, XGBOOST_ENV

_NODE = ("node",)
_LAUNCHED = ("launcher", "node")
_MPIRUN = ("mpirun",)
INDEX = "JOB_COMPLETION_INDEX"
_SHELL = (
    "_", "BASH", "BASHOPTS", "BASHPID", "BASH_ARGV0", "BASH_COMMAND", "BASH_ENV", "BASH_EXECUTION_STRING",
    "BASH_SUBSHELL", "BASH_VERSINFO", "BASH_VERSION", "COMP_WORDBREAKS", "EPOCHREALTIME", "EPOCHSECONDS",
    "HISTCMD", "IFS", "LINENO", "OLDPWD", "OPTERR", "OPTIND", "PPID", "PS4", "PWD", "RANDOM", "SHELLOPTS",
    "SHLVL", "SRANDOM",
)  # fmt: skip
"""Bash sets these itself, or runs what they say: another value would not just reach the program."""
_RANKS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True, slots=True)
class Framework:
    name: str
    runtime: str
    """For the short form of the body (`config`)."""
    full_runtime: str = ""
    """For the full form, and for code that is cloned: it has an init container for that."""
    python: str = "python"
    script: Script | None = None
    jobs: tuple[str, ...] = _NODE
    """The replicated jobs whose pods need the code."""
    launcher: tuple[str, ...] = ()
    """What starts the program on all nodes, given to one of them."""
    reserved: tuple[str, ...] = ()
    """Variables that are set by the runtime's policy and refused from anybody else."""

    @property
    def is_launched(self) -> bool:
        return bool(self.launcher)

    @property
    def all_reserved(self) -> frozenset[str]:
        return frozenset((*self.reserved, *_SHELL, INDEX))

    def runtime_for(self, *, full: bool) -> str:
        return self.full_runtime if full and self.full_runtime else self.runtime


_ALL = (
    Framework(
        "pytorch", "pytorch-simple", "pytorch-runtime", script=scripts.PYTORCH, reserved=(*TORCH_ENV, *_RANKS)
    ),
    Framework(
        "tensorflow",
        "tensorflow-distributed",
        "tensorflow-runtime",
        python="python3",
        script=scripts.TENSORFLOW,
        reserved=("PET_NNODES", "JOBSET_NAME", "TF_CONFIG"),
    ),
    Framework("jax", "jax-distributed", python="python3"),
    Framework("xgboost", "xgboost-distributed", reserved=XGBOOST_ENV),
    Framework("mpi", "deepspeed-distributed", jobs=_LAUNCHED, launcher=_MPIRUN, reserved=MPI_ENV),
    Framework("deepspeed", "deepspeed-distributed", jobs=_LAUNCHED, launcher=_MPIRUN, reserved=MPI_ENV),
    Framework("horovod", "horovod-distributed", jobs=_LAUNCHED, launcher=_MPIRUN, reserved=MPI_ENV),
    Framework("plain", "torch-distributed", reserved=TORCH_ENV),
)
FRAMEWORKS: Final[Mapping[str, Framework]] = {found.name: found for found in _ALL}
