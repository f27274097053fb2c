"""The laws, checked at every move of a run: by the independent checker, on raw objects, before it is made."""

from collections import Counter
from collections.abc import Container

from benchmarks.soak.raw import breaches, objects
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.simulate.clock import Time
from maitred.simulate.group import Phase, SimulatedGroup
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.seating.objects import group_key, pod, pod_key
from maitred.simulate.seating.orders import measure_of
from maitred.simulate.seating.seater import Moves, Removal, SeatAssignment

MOST_MOVES = 200
"""At one moment. Few groups that move so often at once go round in a circle."""


class Laws(RunObserver):
    """A watcher that fails when a law is broken. Pod by pod, gangs are split and racks not kept."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.groups = policy.placement == "whole-groups"
        self.checked = 0
        self._moves: Counter[Time] = Counter()

    def moves(self, loop: Simulation, moves: Moves) -> None:
        self._no_cycle(loop, moves)
        for loss in moves.losses:
            assert set(loss.members) <= loss.group.dead  # Healing touches nobody who works.
        if moves.plan is not None:
            self._keeps_all(loop, moves.plan)
        else:
            self._keeps_what_can_be_kept(loop, moves)
        for seating in moves.seatings:
            assert len(seating.seats) + seating.group.sitting >= seating.group.job.quorum or not self.groups

    def _no_cycle(self, loop: Simulation, moves: Moves) -> None:
        """Law 6."""
        self._moves[loop.now] += 1
        assert self._moves[loop.now] <= MOST_MOVES

    # -- what `decide` planned -------------------------------------------------------------------------

    def _keeps_all(self, loop: Simulation, plan: Plan) -> None:
        asked = {verdict.group for verdict in plan.groups}
        found = breaches(objects(loop, asked), plan, self.policy, loop.now)
        assert not found, found
        self.checked += 1

    # -- what others did -------------------------------------------------------------------------------

    def _keeps_what_can_be_kept(self, loop: Simulation, moves: Moves) -> None:
        gone = {removal.group for removal in moves.removals}
        for seating in moves.seatings:
            self._keeps_constraints(loop, seating, gone)
        for removal in moves.removals:
            self._no_upward_eviction(removal, moves, loop.now)
            self._no_vain_eviction(loop, removal.group, gone, moves)

    def _keeps_constraints(
        self, loop: Simulation, seating: SeatAssignment, gone: set[SimulatedGroup]
    ) -> None:
        """Laws 1, 2 and 3."""
        kept = (1, 2, 3) if self.groups else (1,)
        found = self._breaches(loop, seating, gone, kept)
        assert not found, found
        self.checked += 1

    def _no_upward_eviction(self, removal: Removal, moves: Moves, now: Time) -> None:
        """Law 4, in the order of the policy."""
        group = removal.group
        preemptor = next(s.group for s in moves.seatings if s.group.name == removal.preemptor)
        measure = measure_of(self.policy.order)
        assert rank(preemptor, measure(preemptor, now)) < rank(group, measure(group, now))
        assert group.phase in (Phase.STARTING, Phase.WORKING, Phase.INCOMPLETE, Phase.STALLED)
        assert removal.members == group.sitters()

    def _no_vain_eviction(
        self, loop: Simulation, group: SimulatedGroup, gone: set[SimulatedGroup], moves: Moves
    ) -> None:
        """Law 5: with this one still there, somebody would have too little room."""
        (seating,) = moves.seatings
        assert self._breaches(loop, seating, gone - {group}, (1,))

    def _breaches(
        self, loop: Simulation, seating: SeatAssignment, gone: set[SimulatedGroup], laws: Container[int]
    ) -> list[str]:
        job = seating.group.job
        binds = [
            {
                "pod": pod_key(job, member),
                "uid": pod(seating.group, member).metadata.uid,
                "node": node,
                "group": group_key(job),
            }
            for member, node in seating.seats
        ]
        plan = {"apiVersion": "maitred.dev/v1alpha1", "kind": "Plan", "binds": binds, "groups": []}
        return breaches(objects(loop, {group_key(job)}, gone), plan, self.policy, loop.now, laws)


def rank(group: SimulatedGroup, measure: float) -> tuple[int, float]:
    return -group.job.priority, measure
