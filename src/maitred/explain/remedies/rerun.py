"""A cycle run again on a changed cluster, at less cost than the first time."""

from collections.abc import Hashable, Mapping
from datetime import datetime

import numpy as np

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.ask import Assignment
from maitred.decide.cycle import Case, Cycle
from maitred.model.needs import Needs
from maitred.model.plan import GroupVerdict, Plan, Verdict
from maitred.model.policy import Policy

PROMISE_UNITS = 20
"""To see who would have to leave for a group takes longer than to see whether it fits."""


def needs_of(snapshot: Snapshot, view: GroupView) -> list[Needs]:
    return [snapshot.needs[snapshot.shapes[shape].needs] for shape in np.unique(view.shapes).tolist()]


def kin(view: GroupView) -> Hashable:
    """Groups of one kin ask for the same: on the same trial, the same becomes of them."""
    topology = view.group.topology
    return (
        view.shapes.tobytes(),
        view.missing,
        topology,
        tuple((member.node, member.order) for member in view.running),
        view.orders if topology.slice_size else None,
    )


def plain(snapshot: Snapshot, view: GroupView) -> bool:
    """Whether more pods elsewhere can only make it harder to seat the group, never easier."""
    if view.group.topology.slice_size:
        return False
    shapes = [snapshot.shapes[shape] for shape in np.unique(view.shapes).tolist()]
    needs = [snapshot.needs[shape.needs] for shape in shapes]
    return not any(shape.volumes for shape in shapes) and not any(
        need.affinity or need.anti_affinity or need.spread for need in needs
    )


class Rehearsal(Cycle):
    """The same cycle at less cost: nobody is diagnosed, and who must fail as others did is not tried."""

    def __init__(
        self, snapshot: Snapshot, policy: Policy, now: datetime, known: Mapping[str, Assignment]
    ) -> None:
        """`known` are the seats of groups whose turns are as they were, and are not looked for again."""
        super().__init__(snapshot, policy, now, explained=())
        self._known = known
        self._failed: set[Hashable] = set()
        self.tried = 0

    @property
    def steps(self) -> int:
        """What its searches took."""
        return sum(case.steps for case in self.cases)

    def serve(self, case: Case) -> bool:
        asked = kin(case.view) if plain(self.snapshot, case.view) and case.ask.need else None
        if asked in self._failed:
            return False
        self.tried += case.key not in self._known
        self.exhausted = False
        surplus = super().serve(case)
        if asked is not None and case.ask.need and not case.promised and not self.exhausted:
            self._failed.add(asked)
        self.tried += PROMISE_UNITS * bool(case.promised or case.refusal)
        return surplus

    def _attempt(self, case: Case) -> Assignment | None:
        return self._known.get(case.key) or super()._attempt(case)

    def plan(self) -> Plan:
        return Plan(groups=tuple(self._standing(case) for case in self.cases))

    def _standing(self, case: Case) -> GroupVerdict:
        view = case.view
        placed = len(view.running) + view.succeeded + len(case.seated)
        stands = placed >= view.group.quorum and view.group.exists and not case.screening.problems
        verdict: Verdict = "Scheduled" if stands else "Preempting" if case.promised else "Waiting"
        return GroupVerdict(case.key, verdict, view.members, view.group.quorum, placed)
