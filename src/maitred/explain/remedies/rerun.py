"""A cycle run again on a changed cluster, at less cost than the first time: nobody is diagnosed, and who must
fail as others did is not tried."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from maitred.cluster.snapshot import Snapshot
from maitred.decide.ask import Assignment
from maitred.decide.cycle import run
from maitred.decide.scope import KnownResults, Scope
from maitred.model.plan import Verdict
from maitred.model.policy import Policy

PROMISE_UNITS = 20
"""To see who would have to leave for a group takes longer than to see whether it fits."""
NOT_EXPLAINED = Scope(explained=())


@dataclass(frozen=True, slots=True)
class Rerun:
    standings: tuple[Verdict, ...]
    """Of each group of the snapshot. None is `Impossible`: that is not looked into."""
    tried: int
    """How many searches it took, or what took as long as one."""
    steps: int
    """What its searches took."""


def rerun(snapshot: Snapshot, policy: Policy, now: datetime, known: Mapping[str, Assignment]) -> Rerun:
    """`known` are the seats of groups whose turns are as they were, and are not looked for again."""
    groups = run(snapshot, policy, now, NOT_EXPLAINED, KnownResults(seats=known, as_others=True)).groups
    return Rerun(
        standings=tuple(group.standing for group in groups),
        tried=sum(group.tries + PROMISE_UNITS * group.weighed for group in groups),
        steps=sum(group.steps for group in groups),
    )
