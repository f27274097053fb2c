"""The laws, checked at every move of a run: by the independent checker, on raw objects, before it is made."""

from collections import Counter
from typing import Any

import msgspec

from maitred.model.policy import Policy
from maitred.simulate.clock import Time
from maitred.simulate.loop import Loop
from maitred.simulate.party import Party, Phase
from maitred.simulate.seating.objects import group_key, is_lone, pod, pod_group, pod_key
from maitred.simulate.seating.orders import MEASURES
from maitred.simulate.seating.seater import Moves, Seating
from maitred.verify import verify

Obj = dict[str, Any]
MOST_MOVES = 200
"""At one moment. Few parties that move so often at once go round in a circle."""


class Laws:
    """A watcher that fails when a law is broken. Pod by pod, gangs are split and racks not kept."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.groups = policy.placement == "whole-groups"
        self.checked = 0
        self._moves: Counter[Time] = Counter()

    def moves(self, loop: Loop, moves: Moves) -> None:
        self._no_cycle(loop, moves)
        gone = {removal.party for removal in moves.removals}
        for seating in moves.seatings:
            self._keeps_constraints(loop, seating, gone)
            assert len(seating.seats) + seating.party.sitting >= seating.party.job.quorum or not self.groups
        for party in gone:
            self._no_upward_eviction(party, moves, loop.now)
            self._no_vain_eviction(loop, party, gone, moves)

    def _no_cycle(self, loop: Loop, moves: Moves) -> None:
        """Law 6."""
        self._moves[loop.now] += 1
        assert self._moves[loop.now] <= MOST_MOVES

    def _keeps_constraints(self, loop: Loop, seating: Seating, gone: set[Party]) -> None:
        """Laws 1, 2 and 3."""
        broken = breaches(loop, seating, gone, self.policy)
        kept = (1, 2, 3) if self.groups else (1,)
        told = [
            f"law {breach.law}: {breach.subject}: {breach.message}" for breach in broken if breach.law in kept
        ]
        assert told == []
        self.checked += 1

    def _no_upward_eviction(self, party: Party, moves: Moves, now: Time) -> None:
        """Law 4, in the order of the policy."""
        removal = next(removal for removal in moves.removals if removal.party is party)
        preemptor = next(s.party for s in moves.seatings if s.party.name == removal.preemptor)
        measure = MEASURES[self.policy.order]
        assert rank(preemptor, measure(preemptor, now)) < rank(party, measure(party, now))
        assert party.phase in (Phase.STARTING, Phase.WORKING, Phase.INCOMPLETE)

    def _no_vain_eviction(self, loop: Loop, party: Party, gone: set[Party], moves: Moves) -> None:
        """Law 5: with this one still there, somebody would have too little room."""
        (seating,) = moves.seatings
        assert [b for b in breaches(loop, seating, gone - {party}, self.policy) if b.law == 1]


def rank(party: Party, measure: float) -> tuple[int, float]:
    return -party.job.priority, measure


def breaches(loop: Loop, seating: Seating, gone: set[Party], policy: Policy) -> list[Any]:
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
    plain: Obj = msgspec.json.decode(msgspec.json.encode(policy))
    return list(verify(objects(loop, gone, seating.party), plan, plain))


def objects(loop: Loop, gone: set[Party], asking: Party) -> list[Obj]:
    """The cluster as it is, but for those who go."""
    found = [raw(place.as_it_is(), "v1", "Node") for place in loop.floor.places.values()]
    for party in loop.parties:
        if party in gone or party.phase == Phase.OVER or not (party.sitting or party is asking):
            continue
        if not is_lone(party.job):
            found.append(raw(pod_group(party.job), "scheduling.k8s.io/v1beta1", "PodGroup"))
        members = range(party.job.members)
        found += [raw(pod(party, member), "v1", "Pod") for member in members]
    return found


def raw(item: object, api_version: str, kind: str) -> Obj:
    return {"apiVersion": api_version, "kind": kind, **msgspec.json.decode(msgspec.json.encode(item))}
