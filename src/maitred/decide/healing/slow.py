"""Members that are slow, and how they are replaced, if the policy says so: one after a checkpoint, for which
there is room elsewhere.

Who is slow follows from what members write of themselves. So it concerns their own group and nobody else: no
pod of others leaves for it, room that others wait for is not taken, and no node is blamed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.snapshot import UNKNOWN_TIME, GroupView, Occupant, Snapshot
from maitred.decide.ask import Ask
from maitred.decide.healing.judging import FaultVerdict, verdict_of
from maitred.decide.healing.losses import HurtGroup, LostMember, without
from maitred.decide.healing.members import HealthMembers
from maitred.decide.maintenance.timing import LONGEST, Timings, shield_words
from maitred.decide.preemption.evictable import EvictablePods
from maitred.model.budget import allowed
from maitred.model.health.signals import Signal
from maitred.model.health.steps import slow_members
from maitred.model.policy import Policy

NOBODY: Rows = np.array([], dtype=np.intp)
UNTOLD = "it says nothing of checkpoints, so all of its work might be lost: none is replaced"


@dataclass(frozen=True, slots=True)
class SlowGroup:
    """A gang that works, and whose steps are held up by some of its members."""

    view: GroupView
    signals: tuple[Signal, ...]
    members: tuple[LostMember, ...]
    rows: Rows
    """All of its members, among the pods that are bound,"""
    chosen: Rows
    """and those that are slow."""
    nodes: frozenset[int]
    """The rows of the nodes that slow members are on."""
    why_not: str = ""
    """What keeps them where they are, whatever time it is."""
    at: int | None = None
    """When it saves its work, in milliseconds, if it does not do so now and that is known."""
    is_due: bool = False

    @property
    def key(self) -> str:
        return self.view.group.key

    @property
    def ask(self) -> Ask:
        """Places for those that come instead of them: elsewhere, near the others."""
        gone = {one.pod.partition("/")[2] for one in self.members}
        pairs = zip(self.view.running, self.view.running_shapes.tolist(), strict=True)
        again = [(member.order, shape) for member, shape in pairs if member.order[2] in gone]
        left = without(self.view, self.members)
        return Ask(
            shapes=tuple(shape for _, shape in again),
            orders=tuple(order for order, _ in again),
            need=len(again),
            topology=self.view.group.topology,
            seated=left.running,
            closed=self.nodes,
            account=self.view.account,
            any_model=self.view.any_model,
            lifted=self.view.override is not None,
        )


@dataclass
class SlowGroups:
    """Of one snapshot, if the policy has them replaced."""

    snapshot: Snapshot
    policy: Policy
    now: int
    """In milliseconds."""

    @cached_property
    def found(self) -> dict[str, SlowGroup]:
        if not self.policy.healing.slow.replace:
            return {}
        every = (self._of(view) for view in self.snapshot.hurt if view.group.gang)
        return {one.key: one for one in every if one is not None}

    @cached_property
    def _timings(self) -> Timings:
        return Timings(EvictablePods(self.snapshot, self.policy, self.now))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        seated = enumerate(self.snapshot.seated)
        return {one.group.key: number for number, one in seated if one is not None}

    def _of(self, view: GroupView) -> SlowGroup | None:
        bound, names = self.snapshot.bound, self.snapshot.nodes.names
        number = self._numbers.get(view.group.key)
        if number is None:
            return None
        rows = np.flatnonzero((bound.group == number) & ~bound.terminating & ~bound.fixed)
        occupants: list[Occupant] = bound.occupants[rows].tolist()
        steps, there = bound.step[rows].tolist(), [names[row] for row in bound.node[rows].tolist()]
        times = {one.key: step for one, step in zip(occupants, steps, strict=True) if step}
        nodes = {one.key: node for one, node in zip(occupants, there, strict=True)}
        signals = tuple(slow_members(times, nodes))
        if not signals:
            return None
        slow = {one.pod for one in signals}
        chosen = [place for place, one in enumerate(occupants) if one.key in slow]
        members = tuple(
            LostMember(occupants[at].key, occupants[at].uid, there[at], bool(occupants[at].owner[0]))
            for at in chosen
        )
        found = SlowGroup(
            *(view, signals, members, rows, rows[chosen]), frozenset(bound.node[rows[chosen]].tolist())
        )
        why_not = next(self._obstacles(found), "")
        return replace(found, why_not=why_not) if why_not else self._timed(found)

    def _obstacles(self, slow: SlowGroup) -> Iterator[str]:
        view, snapshot = slow.view, self.snapshot
        if view.parts is not None or view.later is not None:
            yield "it is a tree of groups: none is replaced"
        if len(view.running) + view.succeeded != view.group.quorum or view.pods:
            yield "room is kept for the quorum only, and it has more or fewer members: none is replaced"
        bare = [one.pod.partition("/")[2] for one in slow.members if not one.owned]
        if bare:
            yield f"no controller would recreate {', '.join(sorted(bare)[:3])}: none is replaced"
        if not snapshot.drained.keys().isdisjoint(snapshot.bound.node[slow.rows].tolist()):
            yield "nodes of it are being drained: none is replaced"
        shield = shield_words(self._timings.evictable, slow.rows)
        if shield:
            yield f"it {shield}: none is replaced"
        for name in forbidding(snapshot, slow.chosen):
            yield f"the PodDisruptionBudget {name} does not allow that: none is replaced"

    def _timed(self, slow: SlowGroup) -> SlowGroup:
        if (self.snapshot.bound.started[slow.rows] == UNKNOWN_TIME).any():
            return replace(slow, why_not="not all of its members have started")
        found = self._timings.at_checkpoint(slow.rows, LONGEST)
        if found is None:
            return replace(slow, why_not=UNTOLD)
        at, _ = found
        return replace(slow, is_due=at <= self.now, at=at if self.now < at < LONGEST else None)


def forbidding(snapshot: Snapshot, chosen: Rows, leaving: Rows = NOBODY) -> Iterator[str]:
    """Budgets that do not allow these pods to be disrupted, once those that leave now are."""
    bound = snapshot.bound
    sets = [snapshot.budget_sets[number] for number in bound.budgets[chosen].tolist()]
    for place in sorted({place for places in sets for place in places}):
        of_set = np.array([place in members for members in snapshot.budget_sets])
        matched = of_set[bound.budgets] & ~bound.terminating
        limit = allowed(snapshot.budgets[place], int(matched.sum())) - int(matched[leaving].sum())
        if int(matched[chosen].sum()) > limit:
            yield snapshot.budgets[place].metadata.name


def verdict_about(slow: SlowGroup) -> FaultVerdict:
    found = HealthMembers(slow.key, slow.view.group.quorum, signals=list(slow.signals))
    return verdict_of(found, {})


def as_hurt(slow: SlowGroup) -> HurtGroup:
    """The group once its slow members have left."""
    working = len(slow.view.running) + slow.view.succeeded - len(slow.members)
    below = working < slow.view.group.quorum
    return HurtGroup(slow.view, slow.members, (), (), 0, (), working, below, verdict_about(slow))
