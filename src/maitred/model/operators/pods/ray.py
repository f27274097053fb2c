"""The pods of RayClusters and RayJobs, as KubeRay 1.6 makes them."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from maitred.model.job import Job, JobSpec, PodTemplate
from maitred.model.operators.pods.jobs import of_job
from maitred.model.operators.pods.replicas import After, Replicas, made, marked, other_manager, reference
from maitred.model.operators.ray import (
    CLUSTER,
    KUBERAY,
    NODE_TYPE,
    ORIGIN,
    ORIGIN_KIND,
    WORKER_GROUP,
    RayCluster,
    RayClusterSpec,
    RayJob,
    WorkerGroup,
)
from maitred.model.owner_chain import Found
from maitred.model.pod import Container, PodSpec, ResourceRequirements
from maitred.model.selector import Labels

LONGEST_PREFIX = 50
"""Of a name, before what KubeRay and the API server add to it."""
HEAD_GROUP = "headgroup"
REPLICA, REPLICA_NAME, HOST = (
    f"ray.io/{name}"
    for name in ("worker-group-replica-index", "worker-group-replica-name", "replica-host-index")
)
AUTOSCALER = ResourceRequirements({"cpu": "500m", "memory": "512Mi"}, {"cpu": "500m", "memory": "512Mi"})
"""Of the container beside the head, where the cluster says nothing else."""
WAITS_FOR_HEAD = ResourceRequirements({"cpu": "200m", "memory": "256Mi"}, {"cpu": "200m", "memory": "256Mi"})
SUBMITTER = ResourceRequirements({"cpu": "500m", "memory": "200Mi"}, {"cpu": "1", "memory": "1Gi"})


def of_ray_cluster(
    cluster: RayCluster, _: Found | None = None, version: str = "", path: str = "spec"
) -> Iterator[Replicas]:
    spec, name = cluster.spec, cluster.metadata.name
    manager = other_manager(spec.managed_by, KUBERAY, f"{path}.managedBy")
    head = Replicas(
        role="head",
        template=marked_as_ray(head_template(spec), name, "head", HEAD_GROUP, spec.head_group_spec.labels),
        count=1,
        namespace=cluster.metadata.namespace,
        owner=reference(cluster, version),
        name=lambda _: pod_name(name, "head"),
        manager=manager,
        field=f"{path}.headGroupSpec.template",
        count_field=f"{path}.headGroupSpec",
    )
    yield head
    for position, workers in enumerate(spec.worker_group_specs):
        count = 0 if workers.suspend else workers.wanted * workers.num_of_hosts
        if count:
            inside = f"{path}.workerGroupSpecs[{position}]"
            yield of_workers(head, name, workers, count, inside)


def of_workers(head: Replicas, cluster: str, group: WorkerGroup, count: int, path: str) -> Replicas:
    hosts = group.num_of_hosts

    def labels(index: int) -> Labels:
        replica, host = divmod(index, hosts)
        own = {REPLICA: str(replica)}
        if hosts > 1:
            own |= {REPLICA_NAME: f"{group.group_name}-{replica}", HOST: str(host)}
        return own

    return replace(
        head,
        role=group.group_name,
        template=marked_as_ray(worker_template(group), cluster, "worker", group.group_name, group.labels),
        count=count,
        name=lambda index: f"{pod_name(f'{cluster}-{group.group_name}', 'worker')}-{index}",
        labels=labels,
        field=f"{path}.template",
        count_field=f"{path}.replicas",
    )


def pod_name(prefix: str, node_type: str) -> str:
    return f"{prefix[:LONGEST_PREFIX]}-{node_type}".lower()


def marked_as_ray(
    template: PodTemplate, cluster: str, node_type: str, group: str, more: Labels
) -> PodTemplate:
    """Labels of the template stand, but for those that say which part of the cluster a pod is."""
    fixed = {CLUSTER: cluster, NODE_TYPE: node_type, WORKER_GROUP: group}
    usual = {
        "ray.io/is-ray-node": "yes",
        "ray.io/identifier": f"{cluster}-{node_type}"[-63:],
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    return marked(template, {**usual, **template.metadata.labels, **more, **fixed})


def head_template(spec: RayClusterSpec) -> PodTemplate:
    template = spec.head_group_spec.template
    if not spec.enable_in_tree_autoscaling or not template.spec.containers:
        return template
    options = spec.autoscaler_options
    asked = AUTOSCALER if options is None or options.resources is None else options.resources
    return beside(template, Container(template.spec.containers[0].image, asked, name="autoscaler"))


def worker_template(group: WorkerGroup) -> PodTemplate:
    """Workers wait in an init container until the head answers."""
    template = group.template
    if not template.spec.containers:
        return template
    waiting = Container(template.spec.containers[0].image, WAITS_FOR_HEAD, name="wait-gcs-ready")
    spec = msgspec.structs.replace(template.spec, init_containers=(*template.spec.init_containers, waiting))
    return PodTemplate(template.metadata, spec)


def beside(template: PodTemplate, container: Container) -> PodTemplate:
    spec = msgspec.structs.replace(template.spec, containers=(*template.spec.containers, container))
    return PodTemplate(template.metadata, spec)


# -- RayJobs -----------------------------------------------------------------------------------------------


def of_ray_job(job: RayJob, known: Found | None, version: str = "") -> Iterator[Replicas]:
    """Its cluster, unless it runs on one that is there; and what submits to it, once that is ready."""
    manager = other_manager(job.spec.managed_by, KUBERAY, "spec.managedBy")
    cluster = cluster_of(job, known, version)
    if cluster is not None:
        for part in of_ray_cluster(cluster, path="spec.rayClusterSpec"):
            yield replace(
                part,
                between=(cluster,),
                manager=manager or part.manager,
                deadline=job.spec.active_deadline_seconds,
            )
    submitter = submitter_of(job, known, version)
    if submitter is not None:
        for part in of_job(submitter):
            yield replace(
                part,
                role="submitter",
                between=(submitter,),
                after=After.READY,
                manager=manager,
                field="spec.submitterPodTemplate",
                count_field="spec.submitterPodTemplate",
            )


def cluster_of(job: RayJob, known: Found | None, version: str = "") -> RayCluster | None:
    spec = job.spec.ray_cluster_spec
    if spec is None or job.spec.cluster_selector:
        return None
    name = job.status.ray_cluster_name or job.metadata.name
    about = made(RayCluster, name, job, known, version)
    metadata = msgspec.structs.replace(
        about,
        labels={**job.metadata.labels, ORIGIN: job.metadata.name, ORIGIN_KIND: "RayJob"},
        annotations=dict(job.metadata.annotations),
    )
    if job.spec.submission_mode == "SidecarMode":
        head = spec.head_group_spec
        image = next((one.image for one in head.template.spec.containers), "")
        template = beside(head.template, Container(image, SUBMITTER, name="ray-job-submitter"))
        spec = msgspec.structs.replace(spec, head_group_spec=msgspec.structs.replace(head, template=template))
    return RayCluster(metadata, msgspec.structs.replace(spec, suspend=False))


def submitter_of(job: RayJob, known: Found | None, version: str = "") -> Job | None:
    if job.spec.submission_mode != "K8sJobMode":
        return None
    about = made(Job, job.metadata.name, job, known, version)
    labels = {
        ORIGIN: job.metadata.name,
        ORIGIN_KIND: "RayJob",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    template = job.spec.submitter_pod_template
    if template is None:
        cluster = job.spec.ray_cluster_spec
        head = () if cluster is None else cluster.head_group_spec.template.spec.containers
        image = next((one.image for one in head), "")
        template = PodTemplate(
            spec=PodSpec(containers=(Container(image, SUBMITTER, name="ray-job-submitter"),))
        )
    return Job(msgspec.structs.replace(about, labels=labels), JobSpec(template=template, backoff_limit=2))
