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
    port_name: str
    port: int
    """What the default container serves its peers on, unless it has a port of that name."""
    restart_policy: str = "Never"
    """Of replicas that name none."""
    adds_port: bool = True
    has_services: bool = True
    folds_case: bool = True
    """Are `worker` and `WORKER` taken for `Worker`?"""
    optional_types: tuple[str, ...] = ()
    """Types of which there are none unless their number is given."""
    masters: tuple[str, ...] = ()
    """Types whose pods are labelled as the job's masters: clients read their logs."""
    worker_leads: bool = False
    """Is worker 0 the master of a job without any of those types?"""
    tells_selector: bool = False
    """Does its status say how to find the pods of a type, as autoscalers ask?"""
    honours_manager: bool = True
    """Does it leave jobs alone that are managed by somebody else?"""
    has_webhook: bool = True
    checks_types: bool = True
    one_master: bool = False
    needs_master: bool = False
    checks_manager: bool = True
    quotes_container: bool = False

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def operator(self) -> str:
        """The controller of the kind, as labels and events name it."""
        return f"{self.singular}-controller"

    @property
    def webhook(self) -> str:
        return f"validator.{self.kind.lower()}.training-operator.kubeflow.org"

    @property
    def resource(self) -> str:
        return f"{self.plural}.kubeflow.org"


PYTORCH = Family(
    "PyTorchJob",
    "pytorchjobs",
    "pytorchReplicaSpecs",
    ("Master", "Worker"),
    "pytorch",
    "pytorchjob-port",
    23456,
    "OnFailure",
    masters=("Master",),
    worker_leads=True,
    tells_selector=True,
    one_master=True,
)
TENSORFLOW = Family(
    "TFJob",
    "tfjobs",
    "tfReplicaSpecs",
    ("Chief", "Master", "Worker", "PS", "Evaluator"),
    "tensorflow",
    "tfjob-port",
    2222,
    masters=("Chief", "Master"),
    worker_leads=True,
    checks_types=False,
)
XGBOOST = Family(
    "XGBoostJob",
    "xgboostjobs",
    "xgbReplicaSpecs",
    ("Master", "Worker"),
    "xgboost",
    "xgboostjob-port",
    9999,
    masters=("Master",),
    one_master=True,
    needs_master=True,
)
PADDLE = Family(
    "PaddleJob",
    "paddlejobs",
    "paddleReplicaSpecs",
    ("Master", "Worker"),
    "paddle",
    "master",
    36543,
    "OnFailure",
    masters=("Master",),
    tells_selector=True,
    quotes_container=True,
)
JAX = Family(
    "JAXJob",
    "jaxjobs",
    "jaxReplicaSpecs",
    ("Worker",),
    "jax",
    "jaxjob-port",
    6666,
    worker_leads=True,
    tells_selector=True,
    honours_manager=False,
    checks_manager=False,
)
MPI = Family(
    "MPIJob",
    "mpijobs",
    "mpiReplicaSpecs",
    ("Launcher", "Worker"),
    "mpi",
    "mpi-port",
    9999,
    masters=("Launcher",),
    adds_port=False,
    has_services=False,
    folds_case=False,
    optional_types=("Worker",),
    has_webhook=False,
)
MXNET = Family(
    "MXJob",
    "mxjobs",
    "mxReplicaSpecs",
    ("Scheduler", "Server", "Worker", "TunerTracker", "TunerServer", "Tuner"),
    "mxnet",
    "mxjob-port",
    9091,
    masters=("Server",),
    has_webhook=False,
)
FAMILIES = (PYTORCH, TENSORFLOW, XGBOOST, PADDLE, JAX, MPI, MXNET)
LATER_MPI = "kubeflow.org/v2beta1"
"""The MPIJobs of an operator for them alone, which came later. They are not served."""
