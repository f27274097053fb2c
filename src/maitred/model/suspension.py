"""What is remembered of a Job that was suspended to make room.

The record is what tells a Job that we have suspended, and will resume, from one that its user has. It is kept
in maitred's own namespace, where no tenant can write. What stands on the Job itself is a line for people: it
may be changed, removed or made up, and nothing follows from that.
"""

from typing import Annotated

import msgspec
from msgspec import field

from maitred.model.meta import Lean, Timestamp
from maitred.model.pod import DEFAULT_SCHEDULER
from maitred.model.words import counted, moment

SUSPENDED = "maitred.dev/suspended"
"""On a Job that we have suspended: a sentence that says why. Never read back."""
LONGEST_RECORD = 16_384
"""A few names and numbers; what is longer is not ours."""

Name = Annotated[str, msgspec.Meta(max_length=512)]


class Suspension(Lean, frozen=True, omit_defaults=False):
    job: Name
    """`namespace/name`,"""
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
    """How many pods the Job had, those that waited included: so many are believed to come back."""
    pod_group: Name = ""
    """The PodGroup that they named, which a Job controller adds and the template does not tell."""
    scheduler_name: Name = DEFAULT_SCHEDULER
    """Who will seat them when they are back."""

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def line(self) -> str:
        """For whoever looks at the Job, which may be people who must not read names of other namespaces."""
        namespace = self.job.partition("/")[0]
        here = self.preemptor.partition("/")[0] == namespace
        group = self.preemptor if here else "a group in another namespace"
        at, pods = moment(int(self.at.timestamp())), counted(self.members, "pod")
        return (
            f"suspended by {self.by} at {at}: {pods} of priority {self.priority} made room for {group} of "
            f"priority {self.preemptor_priority}; the Job is resumed when it fits again"
        )


def parse_suspension(text: str) -> Suspension | None:
    """None for what we have not written: a record that cannot be read is no evidence."""
    if len(text) > LONGEST_RECORD:
        return None
    try:
        return msgspec.json.decode(text, type=Suspension)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
