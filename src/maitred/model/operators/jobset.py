"""JobSets: several Jobs that are one piece of work; and TrainJobs, which make a JobSet of their own name."""

from maitred.model.job import JobSpec, TemplateMeta
from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import Name, OperatorCondition, Several, Size
from maitred.model.pod import Affinity, ResourceRequirements, SchedulingGate, Toleration, Volume

JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
"""Among the Jobs of its replicated job,"""
JOB_KEY = "jobset.sigs.k8s.io/job-key"
"""By which pods of one Job find each other where each Job has a topology domain."""
JOB_GLOBAL_INDEX = "jobset.sigs.k8s.io/job-global-index"
"""and among all of its JobSet."""
EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""On a JobSet, or on a replicated job of it: its Jobs get a topology domain each, after their first pod."""
NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
"""The same by labels that were put on the nodes beforehand: then all pods of its Jobs are created at once."""
JOB_SET_CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"
"""How its own controller is called in `spec.managedBy`."""
TRAIN_JOB_CONTROLLER = "trainer.kubeflow.org/trainjob-controller"


class ReplicatedJobSpec(JobSpec, frozen=True):
    completion_mode: str = "Indexed"
    """Unlike that of a Job by itself."""


class ReplicatedJobTemplate(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: ReplicatedJobSpec = ReplicatedJobSpec()


class Dependency(Lean, frozen=True):
    name: Name = ""
    status: Name = ""
    """`Ready` or `Complete`: what must be of the other replicated job before this one is created."""


class ReplicatedJob(Lean, frozen=True):
    name: Name = ""
    group_name: Name = "default"
    template: ReplicatedJobTemplate = ReplicatedJobTemplate()
    replicas: Size = 1
    depends_on: Several[Dependency] = ()


class StartupPolicy(Lean, frozen=True):
    startup_policy_order: Name = "AnyOrder"
    """`InOrder`: each replicated job is created when those before it are ready."""


class JobSetSpec(Lean, frozen=True):
    replicated_jobs: Several[ReplicatedJob] = ()
    startup_policy: StartupPolicy = StartupPolicy()
    suspend: bool = False
    managed_by: Name = ""


class ReplicatedJobStatus(Lean, frozen=True):
    """Jobs, not pods."""

    name: Name = ""
    ready: Size = 0
    succeeded: Size = 0
    failed: Size = 0
    active: Size = 0
    suspended: Size = 0


class JobSetStatus(Lean, frozen=True):
    conditions: Several[OperatorCondition] = ()
    restarts: Size = 0
    terminal_state: Name = ""
    """`Completed` or `Failed`; empty while it has work to do."""
    replicated_jobs_status: Several[ReplicatedJobStatus] = ()


class JobSet(Object, frozen=True):
    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()


class RuntimeRef(Lean, frozen=True):
    name: Name = ""
    api_group: Name = "trainer.kubeflow.org"
    kind: Name = "ClusterTrainingRuntime"


class Trainer(Lean, frozen=True):
    num_nodes: Size | None = None
    resources_per_node: ResourceRequirements | None = None


class PodSpecPatch(Lean, frozen=True):
    """What of a pod may be patched and matters to scheduling."""

    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[Volume, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class PodTemplatePatch(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpecPatch = PodSpecPatch()


class JobSpecPatch(Lean, frozen=True):
    template: PodTemplatePatch = PodTemplatePatch()


class JobTemplatePatch(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: JobSpecPatch = JobSpecPatch()


class ReplicatedJobPatch(Lean, frozen=True):
    name: Name = ""
    template: JobTemplatePatch = JobTemplatePatch()


class JobSetSpecPatch(Lean, frozen=True):
    replicated_jobs: Several[ReplicatedJobPatch] = ()


class JobSetPatch(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: JobSetSpecPatch = JobSetSpecPatch()


class RuntimeSpecPatch(Lean, frozen=True):
    template: JobSetPatch = JobSetPatch()


class RuntimePatch(Lean, frozen=True):
    training_runtime_spec: RuntimeSpecPatch = RuntimeSpecPatch()


class TrainJobSpec(Lean, frozen=True):
    runtime_ref: RuntimeRef = RuntimeRef()
    """Where the templates of its pods are. The JobSet that is made of it has them too."""
    trainer: Trainer = Trainer()
    runtime_patches: Several[RuntimePatch] = ()
    """Changes of what the runtime says."""
    suspend: bool = False
    managed_by: Name = ""
    active_deadline_seconds: int | None = None


class TrainJobStatus(Lean, frozen=True):
    conditions: Several[OperatorCondition] = ()


class TrainJob(Object, frozen=True):
    spec: TrainJobSpec = TrainJobSpec()
    status: TrainJobStatus = TrainJobStatus()
