"""RayClusters: a head and groups of workers; and RayJobs, which make a RayCluster for one job."""

from maitred.model.job import PodTemplate
from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import ByName, Name, OperatorCondition, Several, Size
from maitred.model.pod import ResourceRequirements

CLUSTER, NODE_TYPE, WORKER_GROUP = "ray.io/cluster", "ray.io/node-type", "ray.io/group"
"""Labels of the pods of a RayCluster."""
ORIGIN, ORIGIN_KIND = "ray.io/originated-from-cr-name", "ray.io/originated-from-crd"
"""Labels of what is made for a RayJob or a RayService."""
KUBERAY = "ray.io/kuberay-operator"
"""How its own operator is called in `spec.managedBy`."""


class HeadGroup(Lean, frozen=True):
    template: PodTemplate = PodTemplate()
    labels: ByName[str] = {}


class WorkerGroup(Lean, frozen=True):
    group_name: Name = ""
    replicas: Size | None = None
    min_replicas: Size | None = None
    max_replicas: Size | None = None
    num_of_hosts: Size = 1
    """Pods in a replica."""
    suspend: bool = False
    template: PodTemplate = PodTemplate()
    labels: ByName[str] = {}

    @property
    def least(self) -> int:
        return self.min_replicas or 0

    @property
    def wanted(self) -> int:
        """Replicas that it has now, or is to have, within its bounds, as the operator keeps them."""
        if self.replicas is None or self.replicas < self.least:
            return self.least
        return self.replicas if self.max_replicas is None else min(self.replicas, self.max_replicas)


class AutoscalerOptions(Lean, frozen=True):
    resources: ResourceRequirements | None = None


class RayClusterSpec(Lean, frozen=True):
    head_group_spec: HeadGroup = HeadGroup()
    worker_group_specs: Several[WorkerGroup] = ()
    enable_in_tree_autoscaling: bool = False
    autoscaler_options: AutoscalerOptions | None = None
    suspend: bool = False
    managed_by: Name = ""

    @property
    def pods(self) -> int:
        """The head and all workers, those of groups that are suspended left out."""
        return 1 + sum(one.wanted * one.num_of_hosts for one in self.worker_group_specs if not one.suspend)

    @property
    def quorum(self) -> int:
        """With an autoscaler, workers beyond the least number of each group come and go with the load."""
        if not self.enable_in_tree_autoscaling:
            return self.pods
        return 1 + sum(one.least * one.num_of_hosts for one in self.worker_group_specs if not one.suspend)


class RayClusterStatus(Lean, frozen=True):
    state: Name = ""
    conditions: Several[OperatorCondition] = ()


class RayCluster(Object, frozen=True):
    spec: RayClusterSpec = RayClusterSpec()
    status: RayClusterStatus = RayClusterStatus()


class RayJobSpec(Lean, frozen=True):
    ray_cluster_spec: RayClusterSpec | None = None
    cluster_selector: ByName[str] = {}
    """A RayCluster that is there already. Then the job is not suspended."""
    shutdown_after_job_finishes: bool = False
    submission_mode: Name = "K8sJobMode"
    submitter_pod_template: PodTemplate | None = None
    suspend: bool = False
    managed_by: Name = ""
    active_deadline_seconds: int | None = None

    @property
    def may_be_suspended(self) -> bool:
        """As KubeRay validates it."""
        return self.shutdown_after_job_finishes and not self.cluster_selector


class RayJobStatus(Lean, frozen=True):
    ray_cluster_name: Name = ""
    job_status: Name = ""
    job_deployment_status: Name = ""


class RayJob(Object, frozen=True):
    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()
