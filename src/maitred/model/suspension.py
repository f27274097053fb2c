"""The record on a Job that was suspended to make room.

It is what tells a Job that we have suspended, and will resume, from one that its user has. All that a
scheduler which was just started needs to know of the Job's return is in it and in the Job itself.
"""

from typing import Annotated

import msgspec
from msgspec import field

from maitred.model.meta import Lean, Timestamp
from maitred.model.pod import DEFAULT_SCHEDULER

SUSPENDED = "maitred.dev/suspended"
"""On a Job that we have suspended: why, and for whom. Without it a suspended Job is its user's."""
LONGEST_RECORD = 16_384
"""Four names and a sentence; what is longer is not ours."""
LONGEST_REASON = 1024

Name = Annotated[str, msgspec.Meta(max_length=512)]


class Suspension(Lean, frozen=True, omit_defaults=False):
    group: Name
    """The group that its pods were members of,"""
    preemptor: Name = field(name="for")
    """and the group they left for."""
    at: Timestamp
    reason: str
    members: int
    """How many of its pods left."""
    pod_group: Name = ""
    """The PodGroup that they named, which a Job controller adds and the template does not tell."""
    scheduler_name: Name = DEFAULT_SCHEDULER
    """Who will seat them when they are back."""

    def __str__(self) -> str:
        brief = msgspec.structs.replace(self, reason=self.reason[:LONGEST_REASON])
        return msgspec.json.encode(brief).decode()


def parse_suspension(text: str) -> Suspension | None:
    """None for what we have not written: a record that cannot be read is no evidence."""
    if len(text) > LONGEST_RECORD:
        return None
    try:
        return msgspec.json.decode(text, type=Suspension)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
