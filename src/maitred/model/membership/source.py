"""What the sources of membership have in common."""

from typing import NamedTuple, Protocol, TypeVar

from maitred.model.objects import Object

POD_GROUP, MARKS, OWNER, ALONE = "PodGroup", "maitred.dev", "owner", "pod"
"""Titles of sources that are no kinds: PodGroups of Kubernetes, our own marks, a controller of a kind that we
do not read, and no source at all. A pod of no group is a group of one, called like the pod."""
JOB, JOB_SET, WORKER_SET, RAY_CLUSTER, PYTORCH_JOB, MPI_JOB, VOLCANO_JOB = (
    "Job",
    "JobSet",
    "LeaderWorkerSet",
    "RayCluster",
    "PyTorchJob",
    "MPIJob",
    "Job.batch.volcano.sh",
)

T = TypeVar("T", bound=Object)


class GroupId(NamedTuple):
    """Groups of one name are different groups if they come from different sources, or from an owner that was
    made anew under its name."""

    source: str
    """The title of the source."""
    key: str
    """`namespace/name`."""
    uid: str = ""
    """Of the owner, where an owner makes the group."""


class Known(Protocol):
    """The objects that whoever asks knows of."""

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """The object with this key; with a UID, none but the one that has it."""
