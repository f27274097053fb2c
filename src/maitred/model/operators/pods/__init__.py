"""The pods that owners make: names, labels, annotations, controllers and templates, as their operators do it.

There is one way from an owner to its pods, `pods_of`, and whoever needs pods that are not there yet uses it:
plans before submission, stand-ins for suspended owners, places that are held for pods that come later. Which
of them are one group is not said here: the table of membership says it of the pods, as of those that exist.

Nothing is bounded here but by the types: whoever reads `pods_of` stops where it has enough. Every `Replicas`
has at least one pod.
"""

from collections.abc import Callable, Iterator
from typing import Any

from maitred.model.job import Job
from maitred.model.kinds import row_of
from maitred.model.objects import Object
from maitred.model.operators.jobset import JobSet, TrainJob
from maitred.model.operators.leaderworkerset import LeaderWorkerSet
from maitred.model.operators.pods.jobs import of_job, of_job_set
from maitred.model.operators.pods.leaderworkersets import of_leader_worker_set
from maitred.model.operators.pods.ray import of_ray_cluster, of_ray_job
from maitred.model.operators.pods.replicas import (
    After,
    Manager,
    MissingObject,
    Replicas,
    other_manager,
    reference,
)
from maitred.model.operators.pods.training import of_mpi_job, of_pytorch_job, of_training_job
from maitred.model.operators.pods.trainjobs import of_train_job
from maitred.model.operators.pods.volcano import of_volcano_job
from maitred.model.operators.ray import RayCluster, RayJob
from maitred.model.operators.volcano import VolcanoJob
from maitred.model.owner_chain import Found
from maitred.model.training import JAXJob, MPIJob, PaddleJob, PyTorchJob, TFJob, XGBoostJob

__all__ = [
    "MAKERS",
    "After",
    "Found",
    "Manager",
    "MissingObject",
    "Replicas",
    "is_new",
    "of_job",
    "other_manager",
    "pods_of",
    "reference",
]

MAKERS: dict[type[Object], Callable[[Any, Found | None, str], Iterator[Replicas]]] = {
    Job: of_job,
    JobSet: of_job_set,
    TrainJob: of_train_job,
    LeaderWorkerSet: of_leader_worker_set,
    RayCluster: of_ray_cluster,
    RayJob: of_ray_job,
    PyTorchJob: of_pytorch_job,
    TFJob: of_training_job("tfReplicaSpecs"),
    JAXJob: of_training_job("jaxReplicaSpecs"),
    XGBoostJob: of_training_job("xgbReplicaSpecs"),
    PaddleJob: of_training_job("paddleReplicaSpecs"),
    MPIJob: of_mpi_job,
    VolcanoJob: of_volcano_job,
}


def pods_of(owner: Object, known: Found | None = None, version: str = "") -> Iterator[Replicas]:
    """The pods of an owner while it is not suspended, in the order in which they are made.

    `known` finds what an owner refers to, and what it has made already; `version` is the apiVersion in which
    the owner was written, where it is known. Raises MissingObject if the templates are not there.
    """
    return MAKERS[row_of(type(owner)).type](owner, known, version)


def is_new(owner: Object) -> bool:
    """Whether it is a manifest that was not created yet, of an owner whose pods would be made at once."""
    if type(owner) not in MAKERS or owner.metadata.uid:
        return False
    spec, status = (getattr(owner, part) for part in ("spec", "status"))
    suspended = spec.run_policy.suspend if hasattr(spec, "run_policy") else getattr(spec, "suspend", False)
    return status == type(status)() and not suspended
