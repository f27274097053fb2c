"""The verdict of every group that waits, as data: what the floor is drawn from in another process."""

from maitred.explain.situation import Situation
from maitred.model.plan import GroupVerdict, Record
from maitred.model.policy import API_VERSION


class GroupVerdicts(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "GroupVerdicts"
    groups: tuple[GroupVerdict, ...] = ()
    """As in a Plan, without remedies: nothing is tried."""


def group_verdicts(situation: Situation) -> GroupVerdicts:
    waiting = [group.key for group in situation.cycle().groups]
    return GroupVerdicts(groups=situation.plan(waiting).groups)
