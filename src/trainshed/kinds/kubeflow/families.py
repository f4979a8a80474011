"""How the job kinds of the Training Operator differ: one row each (1.9.4, and MXJob of 1.8.1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    kind: str
    plural: str
    replicas: str
    """The field of the spec that maps replica types to replicas."""
    types: tuple[str, ...]
    container: str
    """The container that trains; MPIJobs may call it anything."""
    has_webhook: bool = True
    checks_types: bool = True
    one_master: bool = False
    needs_master: bool = False
    checks_manager: bool = True
    quotes_container: bool = False

    @property
    def webhook(self) -> str:
        return f"validator.{self.kind.lower()}.training-operator.kubeflow.org"

    @property
    def resource(self) -> str:
        return f"{self.plural}.kubeflow.org"


PYTORCH = Family(
    "PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs", ("Master", "Worker"), "pytorch", one_master=True
)
TENSORFLOW = Family(
    "TFJob",
    "tfjobs",
    "tfReplicaSpecs",
    ("Chief", "Master", "Worker", "PS", "Evaluator"),
    "tensorflow",
    checks_types=False,
)
XGBOOST = Family(
    "XGBoostJob",
    "xgboostjobs",
    "xgbReplicaSpecs",
    ("Master", "Worker"),
    "xgboost",
    one_master=True,
    needs_master=True,
)
PADDLE = Family(
    "PaddleJob", "paddlejobs", "paddleReplicaSpecs", ("Master", "Worker"), "paddle", quotes_container=True
)
JAX = Family("JAXJob", "jaxjobs", "jaxReplicaSpecs", ("Worker",), "jax", checks_manager=False)
MPI = Family("MPIJob", "mpijobs", "mpiReplicaSpecs", ("Launcher", "Worker"), "mpi", has_webhook=False)
MXNET = Family(
    "MXJob",
    "mxjobs",
    "mxReplicaSpecs",
    ("Scheduler", "Server", "Worker", "TunerTracker", "TunerServer", "Tuner"),
    "mxnet",
    has_webhook=False,
)
FAMILIES = (PYTORCH, TENSORFLOW, XGBOOST, PADDLE, JAX, MPI, MXNET)
