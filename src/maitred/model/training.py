"""Training jobs of Kubeflow, read for one thing: with how many of their pods they can work."""

from maitred.model.meta import Lean, ObjectMeta

API_GROUP = "kubeflow.org"
OPERATOR = "kubeflow.org/training-operator"
"""How their own controller is called in `spec.runPolicy.managedBy`."""
KINDS = ("PyTorchJob", "TFJob", "MPIJob", "JAXJob", "XGBoostJob", "PaddleJob")


class ElasticPolicy(Lean, frozen=True):
    min_replicas: int | None = None


class TrainingGangPolicy(Lean, frozen=True):
    min_available: int | None = None
    priority_class: str = ""


class RunPolicy(Lean, frozen=True):
    suspend: bool = False
    managed_by: str = ""
    active_deadline_seconds: int | None = None
    scheduling_policy: TrainingGangPolicy = TrainingGangPolicy()


class TrainingSpec(Lean, frozen=True):
    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy | None = None

    @property
    def quorum(self) -> int | None:
        """What it says of its gang, else how far it may shrink; None if it takes all its pods."""
        elastic = None if self.elastic_policy is None else self.elastic_policy.min_replicas
        said = (self.run_policy.scheduling_policy.min_available, elastic)
        return next((count for count in said if count is not None and count > 0), None)


class TrainingJob(Lean, frozen=True):
    """A PyTorchJob, which may do with fewer workers than it has."""

    metadata: ObjectMeta
    spec: TrainingSpec = TrainingSpec()
