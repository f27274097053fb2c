"""What the sources of membership have in common."""

from typing import NamedTuple

POD_GROUP, MARKS, OWNER, ALONE = "PodGroup", "maitred.dev", "owner", "pod"
"""Titles of sources that are no kinds: PodGroups of Kubernetes, our own marks, a controller of a kind that we
do not read, and no source at all. A pod of no group is a group of one, called like the pod."""
JOB, JOB_SET, WORKER_SET, RAY_CLUSTER, MPI_JOB = "Job", "JobSet", "LeaderWorkerSet", "RayCluster", "MPIJob"

Indexes = tuple[int, int | None]
"""The first and the last index of a Job that is meant; None: whatever is the last."""
ALL_INDEXES: Indexes = (0, None)


class GroupId(NamedTuple):
    """Groups of one name are different groups if they come from different sources, or from an owner that was
    made anew under its name."""

    source: str
    """The title of the source."""
    key: str
    """`namespace/name`."""
    uid: str = ""
    """Of the owner, where an owner makes the group."""
