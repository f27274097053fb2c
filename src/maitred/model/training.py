"""Training jobs of Kubeflow: their roles, and with how many of their pods they can work."""

from maitred.model.job import PodTemplate
from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import ByName, Name, OperatorCondition, Several, Size

API_GROUP = "kubeflow.org"
OPERATOR, MPI_OPERATOR = "kubeflow.org/training-operator", "kubeflow.org/mpi-operator"
"""How their own controllers are called in `spec.runPolicy.managedBy`."""
KINDS = ("PyTorchJob", "TFJob", "MPIJob", "JAXJob", "XGBoostJob", "PaddleJob")
LAUNCHER, WORKER = "Launcher", "Worker"
"""Roles of an MPIJob."""


class ElasticPolicy(Lean, frozen=True):
    min_replicas: int | None = None
    max_replicas: int | None = None


class TrainingGangPolicy(Lean, frozen=True):
    min_available: int | None = None
    priority_class: str = ""


class RunPolicy(Lean, frozen=True):
    suspend: bool = False
    managed_by: str = ""
    active_deadline_seconds: int | None = None
    scheduling_policy: TrainingGangPolicy = TrainingGangPolicy()


class Role(Lean, frozen=True):
    replicas: Size = 1
    template: PodTemplate = PodTemplate()


class TrainingSpec(Lean, frozen=True):
    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy | None = None

    @property
    def roles(self) -> dict[str, Role]:
        """Each kind has them in a field of its own name."""
        return {}

    @property
    def quorum(self) -> int | None:
        """What it says of its gang, else how far it may shrink; None if it takes all its pods."""
        elastic = None if self.elastic_policy is None else self.elastic_policy.min_replicas
        said = (self.run_policy.scheduling_policy.min_available, elastic)
        return next((count for count in said if count is not None and count > 0), None)


class PyTorchJobSpec(TrainingSpec, frozen=True):
    pytorch_replica_specs: ByName[Role] = {}

    @property
    def roles(self) -> dict[str, Role]:
        return self.pytorch_replica_specs


class TFJobSpec(TrainingSpec, frozen=True):
    tf_replica_specs: ByName[Role] = {}

    @property
    def roles(self) -> dict[str, Role]:
        return self.tf_replica_specs


class JAXJobSpec(TrainingSpec, frozen=True):
    jax_replica_specs: ByName[Role] = {}

    @property
    def roles(self) -> dict[str, Role]:
        return self.jax_replica_specs


class XGBoostJobSpec(TrainingSpec, frozen=True):
    xgb_replica_specs: ByName[Role] = {}

    @property
    def roles(self) -> dict[str, Role]:
        return self.xgb_replica_specs


class PaddleJobSpec(TrainingSpec, frozen=True):
    paddle_replica_specs: ByName[Role] = {}

    @property
    def roles(self) -> dict[str, Role]:
        return self.paddle_replica_specs


class MPIJobSpec(TrainingSpec, frozen=True):
    """v2beta1, and v1 of the training operator, which has no policy for its launcher."""

    mpi_replica_specs: ByName[Role] = {}
    launcher_creation_policy: Name = "AtStartup"
    """`WaitForWorkersReady`: the launcher is created when the workers are ready."""

    @property
    def roles(self) -> dict[str, Role]:
        return self.mpi_replica_specs


class TrainingStatus(Lean, frozen=True):
    conditions: Several[OperatorCondition] = ()


class TrainingJob(Object, frozen=True):
    """What they all have. One with an elastic policy may do with fewer workers than it has."""

    spec: TrainingSpec = TrainingSpec()
    status: TrainingStatus = TrainingStatus()


class PyTorchJob(TrainingJob, frozen=True):
    spec: PyTorchJobSpec = PyTorchJobSpec()


class TFJob(TrainingJob, frozen=True):
    spec: TFJobSpec = TFJobSpec()


class JAXJob(TrainingJob, frozen=True):
    spec: JAXJobSpec = JAXJobSpec()


class XGBoostJob(TrainingJob, frozen=True):
    spec: XGBoostJobSpec = XGBoostJobSpec()


class PaddleJob(TrainingJob, frozen=True):
    spec: PaddleJobSpec = PaddleJobSpec()


class MPIJob(TrainingJob, frozen=True):
    spec: MPIJobSpec = MPIJobSpec()
