"""Who makes the groups of a cluster: what its API server has, and what its Job controller does.

No decision reads this. Advice does: marks on the pods of a Job help on one cluster, and on another, whose Job
controller makes PodGroups, they contradict what it says.
"""

from dataclasses import dataclass
from typing import Literal

from maitred.model.group import PodGroup
from maitred.model.meta import controller_of
from maitred.model.owners import BATCH_JOB, kind_of

Release = Literal["1.36", "1.37"]


@dataclass(frozen=True, slots=True)
class GroupApi:
    served: bool | None = None
    """Whether the API server has PodGroups; None where it was not asked."""
    jobs: Release | None = None
    """The release whose Job controller has made PodGroups here; None if none was seen that it made."""


NOT_KNOWN = GroupApi()


def made_by(group: PodGroup) -> Release | None:
    """The release whose Job controller makes such groups; None for one that another client made."""
    owner = controller_of(group.metadata)
    if owner is None or kind_of(owner) != BATCH_JOB.title:
        return None
    return "1.36" if group.spec.pod_group_template_ref.workload.workload_name else "1.37"


class GroupMakers:
    """Kept up to date as PodGroups come and go."""

    def __init__(self) -> None:
        self.served: bool | None = None
        """Set by whoever has asked the API server."""
        self._made: dict[str, Release] = {}

    def put(self, key: str, group: PodGroup | None) -> None:
        release = None if group is None else made_by(group)
        if release is None:
            self._made.pop(key, None)
        else:
            self._made[key] = release

    def view(self) -> GroupApi:
        """Of several releases the newer: the others' groups are left from before."""
        return GroupApi(self.served, max(self._made.values(), default=None))
