"""The laws, checked at every move of a run: by the independent checker, on raw objects, before it is made."""

from collections import Counter
from collections.abc import Container

from benchmarks.soak.raw import breaches, objects
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.simulate.clock import Time
from maitred.simulate.loop import Loop, Watcher
from maitred.simulate.party import Party, Phase
from maitred.simulate.seating.objects import group_key, pod, pod_key
from maitred.simulate.seating.orders import measure_of
from maitred.simulate.seating.seater import Moves, Removal, Seating

MOST_MOVES = 200
"""At one moment. Few parties that move so often at once go round in a circle."""


class Laws(Watcher):
    """A watcher that fails when a law is broken. Pod by pod, gangs are split and racks not kept."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.groups = policy.placement == "whole-groups"
        self.checked = 0
        self._moves: Counter[Time] = Counter()

    def moves(self, loop: Loop, moves: Moves) -> None:
        self._no_cycle(loop, moves)
        if moves.plan is not None:
            self._keeps_all(loop, moves.plan)
        else:
            self._keeps_what_can_be_kept(loop, moves)
        for seating in moves.seatings:
            assert len(seating.seats) + seating.party.sitting >= seating.party.job.quorum or not self.groups

    def _no_cycle(self, loop: Loop, moves: Moves) -> None:
        """Law 6."""
        self._moves[loop.now] += 1
        assert self._moves[loop.now] <= MOST_MOVES

    # -- what `decide` planned -------------------------------------------------------------------------

    def _keeps_all(self, loop: Loop, plan: Plan) -> None:
        asked = {verdict.group for verdict in plan.groups}
        assert breaches(objects(loop, asked), plan, self.policy, loop.now) == []
        self.checked += 1

    # -- what others did -------------------------------------------------------------------------------

    def _keeps_what_can_be_kept(self, loop: Loop, moves: Moves) -> None:
        gone = {removal.party for removal in moves.removals}
        for seating in moves.seatings:
            self._keeps_constraints(loop, seating, gone)
        for removal in moves.removals:
            self._no_upward_eviction(removal, moves, loop.now)
            self._no_vain_eviction(loop, removal.party, gone, moves)

    def _keeps_constraints(self, loop: Loop, seating: Seating, gone: set[Party]) -> None:
        """Laws 1, 2 and 3."""
        kept = (1, 2, 3) if self.groups else (1,)
        assert self._breaches(loop, seating, gone, kept) == []
        self.checked += 1

    def _no_upward_eviction(self, removal: Removal, moves: Moves, now: Time) -> None:
        """Law 4, in the order of the policy."""
        party = removal.party
        preemptor = next(s.party for s in moves.seatings if s.party.name == removal.preemptor)
        measure = measure_of(self.policy.order)
        assert rank(preemptor, measure(preemptor, now)) < rank(party, measure(party, now))
        assert party.phase in (Phase.STARTING, Phase.WORKING, Phase.INCOMPLETE)
        assert removal.members == party.sitters()

    def _no_vain_eviction(self, loop: Loop, party: Party, gone: set[Party], moves: Moves) -> None:
        """Law 5: with this one still there, somebody would have too little room."""
        (seating,) = moves.seatings
        assert self._breaches(loop, seating, gone - {party}, (1,))

    def _breaches(self, loop: Loop, seating: Seating, gone: set[Party], laws: Container[int]) -> list[str]:
        job = seating.party.job
        binds = [
            {
                "pod": pod_key(job, member),
                "uid": pod(seating.party, member).metadata.uid,
                "node": node,
                "group": group_key(job),
            }
            for member, node in seating.seats
        ]
        plan = {"apiVersion": "maitred.dev/v1alpha1", "kind": "Plan", "binds": binds, "groups": []}
        return breaches(objects(loop, {group_key(job)}, gone), plan, self.policy, loop.now, laws)


def rank(party: Party, measure: float) -> tuple[int, float]:
    return -party.job.priority, measure
