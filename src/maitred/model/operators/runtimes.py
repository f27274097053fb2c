"""Training runtimes of Kubeflow Trainer: the templates that TrainJobs name."""

from maitred.model.job import TemplateMeta
from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.jobset import JobSetSpec, ReplicatedJob, ReplicatedJobSpec
from maitred.model.operators.parts import Name, Several, Size
from maitred.model.pod import Container, PodSpec


class NamedContainer(Container, frozen=True):
    name: Name = ""
    """TrainJobs say what a container of some name is to have."""


class RuntimePodSpec(PodSpec, frozen=True):
    containers: tuple[NamedContainer, ...] = ()


class RuntimePodTemplate(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: RuntimePodSpec = RuntimePodSpec()


class RuntimeJobSpec(ReplicatedJobSpec, frozen=True):
    template: RuntimePodTemplate = RuntimePodTemplate()  # type: ignore[assignment]  # it has more


class RuntimeJobTemplate(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: RuntimeJobSpec = RuntimeJobSpec()


class RuntimeJob(ReplicatedJob, frozen=True):
    template: RuntimeJobTemplate = RuntimeJobTemplate()  # type: ignore[assignment]  # it has more


class RuntimeJobSetSpec(JobSetSpec, frozen=True):
    replicated_jobs: Several[RuntimeJob] = ()


class RuntimeTemplate(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: RuntimeJobSetSpec = RuntimeJobSetSpec()


class MpiPolicy(Lean, frozen=True):
    run_launcher_as_node: bool = False


class TrainingPolicy(Lean, frozen=True):
    num_nodes: Size | None = None
    mpi: MpiPolicy | None = None


class RuntimeSpec(Lean, frozen=True):
    ml_policy: TrainingPolicy | None = None
    template: RuntimeTemplate = RuntimeTemplate()


class AnyRuntime(Object, frozen=True):
    spec: RuntimeSpec = RuntimeSpec()


class TrainingRuntime(AnyRuntime, frozen=True):
    """For the TrainJobs of its namespace."""


class ClusterTrainingRuntime(AnyRuntime, frozen=True):
    pass
