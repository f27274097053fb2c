"""What is remembered of an owner of pods that was suspended to make room.

The record is what tells an owner that we have suspended, and will resume, from one that its user has. It is
kept in maitred's own namespace, where no tenant can write. What stands on the owner itself is a line for
people: it may be changed, removed or made up, and nothing follows from that.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import field

from maitred.model.drain import MAINTENANCE, makes_room
from maitred.model.meta import Lean, Timestamp
from maitred.model.owners import BATCH_JOB
from maitred.model.pod import DEFAULT_SCHEDULER
from maitred.model.suspending import OwnerName, TopOwner
from maitred.model.words import counted, moment

SUSPENDED = "maitred.dev/suspended"
"""On an owner that we have suspended: a sentence that says why. Never read back."""
LONGEST_RECORD = 16_384
"""A few names and numbers; what is longer is not ours."""

Name = Annotated[str, msgspec.Meta(max_length=512)]


class Suspension(Lean, frozen=True, omit_defaults=False):
    key: Name = field(name="job")
    """`namespace/name` of the owner, which was always a Job in former times,"""
    uid: Name
    """and which of all that ever had this name."""
    by: Name
    """The scheduler that has suspended it, as pods name it."""
    group: Name
    """The group that its pods were members of,"""
    preemptor: Name = field(name="for")
    """and the group they left for."""
    at: Timestamp
    priority: int
    preemptor_priority: int
    members: int
    """How many pods the owner had, those that waited included: so many are believed to come back."""
    kind: Name = BATCH_JOB.title
    """Of the owner: the title of its row in the table of those that can be suspended."""
    workload: Name = ""
    """The Workload of Kueue that was deactivated instead, if the owner is Kueue's,"""
    workload_uid: Name = ""
    pod_group: Name = ""
    """The PodGroup that they named, which a Job controller adds and the template does not tell."""
    cause: Literal["Preemption", "Reclaim", "Budget", "Healing", "Maintenance", "Reservation"] = "Preemption"
    """`Reclaim`: what they had was lent to their queue, and taken back. `Budget`: they ran without paying,
    because a budget was spent. `Healing`: hardware failed under its
    pods, and all of them start anew together. `Maintenance`: they left nodes that are drained.
    `Reservation`: they left nodes that are reserved for others."""
    scheduler_name: Name = DEFAULT_SCHEDULER
    """Who will seat them when they are back."""

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def owner(self) -> OwnerName:
        return OwnerName(self.kind, self.key)

    @property
    def written(self) -> tuple[OwnerName, str]:
        """What is written to suspend the owner, and to resume it; and the UID of that."""
        return TopOwner(
            self.owner, self.uid, True, workload=self.workload, workload_uid=self.workload_uid
        ).written

    @property
    def line(self) -> str:
        """For whoever looks at the owner, which may be people who must not read names of other namespaces."""
        here = self.preemptor.partition("/")[0] == self.owner.namespace
        group = self.preemptor if here else "a group in another namespace"
        at, pods = moment(int(self.at.timestamp())), counted(self.members, "pod")
        how, after = "suspended", f"the {self.kind} is resumed when it fits again"
        if self.workload:
            how = "deactivated"
            after = f"it is active again as soon as the pods of {self.kind} {self.owner.name} are gone"
        if self.cause == "Healing":
            return f"{how} by {self.by} at {at}: hardware failed, and {pods} start anew together; {after}"
        if self.cause == MAINTENANCE and makes_room(self.preemptor):
            return f"{how} by {self.by} at {at}: {pods} moved, so that another group finds room; {after}"
        if self.cause == MAINTENANCE:
            return f"{how} by {self.by} at {at}: {pods} left nodes that are drained for maintenance; {after}"
        if self.cause == "Reservation":
            return (
                f"{how} by {self.by} at {at}: {pods} left nodes that are reserved for others, as they had "
                f"been warned; {after}"
            )
        if self.cause == "Reclaim":
            return (
                f"{how} by {self.by} at {at}: {pods} had room that was lent to their queue, and gave it "
                f"back to {group}; {after}"
            )
        if self.cause == "Budget":
            return (
                f"{how} by {self.by} at {at}: {pods} ran without paying, because the budget of their queue "
                f"was spent, and made room for {group}, which pays; {after}"
            )
        return (
            f"{how} by {self.by} at {at}: {pods} of priority {self.priority} made room for {group} of "
            f"priority {self.preemptor_priority}; {after}"
        )


def parse_suspension(text: str) -> Suspension | None:
    """None for what we have not written: a record that cannot be read is no evidence."""
    if len(text) > LONGEST_RECORD:
        return None
    try:
        return msgspec.json.decode(text, type=Suspension)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
