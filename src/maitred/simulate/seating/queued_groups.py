"""Whole groups in queues: turns, limits, rights and past use are those of `decide`.

Which queue goes first changes with every group that is seated. So all who could be seated are asked at once.
Of what `decide` says then, only as much is done as it would also have said with everybody asked: up to the
moment from which on the next in line may be one who was not asked.
"""

import math
from collections.abc import Container, Hashable, Iterable, Sequence

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.cluster.queues.book import QueueBook
from maitred.cluster.state import Put
from maitred.decide.agenda import Turn
from maitred.decide.record import CycleRecord, TriedGroup
from maitred.model.duration import milliseconds
from maitred.model.memory import CONTENT, HOME, MemoryObject
from maitred.model.meta import ObjectMeta
from maitred.model.node import Node
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.model.queues import DEFAULT_QUEUE
from maitred.model.requests import pod_requests
from maitred.model.usage import USAGE, UsageMemory
from maitred.simulate.clock import BEGINNING, SECOND, Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.arrangement import Arrangement
from maitred.simulate.seating.same_requests import SameRequests, WaitingTurn, kin_key
from maitred.simulate.seating.seater import Moves
from maitred.simulate.seating.whole_groups import WholeGroups


class QueuedGroups(WholeGroups):
    looked_at = math.inf

    def __init__(self, nodes: Iterable[Node], policy: Policy, heals: bool = False) -> None:
        super().__init__(nodes, policy, heals)
        self._reclaims = policy.preemption.mode != "never"
        self._decays = milliseconds(policy.fair_share.half_life) is not None
        self._tried: dict[str, TriedGroup] = {}
        """Groups of the last decision."""
        self._book: QueueBook | None = None
        """Of the cluster as it was looked at last; None if something happened since."""
        self._settled_again: Time | None = None
        """When past use is to be written down once more; None while nothing is used."""

    def seated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """Others of its queue may have borrowed what they have from now on."""
        super().seated(group, members)
        self._room_made |= self._reclaims

    def cycle(self, now: Time) -> Moves:
        if self._decays and (self._settled_again is None or self._settled_again <= now):
            self._settled_again = None
            self._decide((), now)
        self._book = None
        return super().cycle(now)

    def _kin_key(self, group: SimulatedGroup) -> Hashable:
        return kin_key(group), group.job.queue, group.job.user

    def _asked(self, kin: SameRequests) -> Sequence[WaitingTurn]:
        """Who is first in line depends on what the others get."""
        return kin.waiters if self._holds else super()._asked(kin)

    def _until_passed_over(
        self, heads: Sequence[SameRequests], planned: Arrangement
    ) -> tuple[Sequence[SameRequests], Turn | None]:
        """Up to the first kin of whom others want the same, as their queue may not be the next one by then.
        Turns say nothing of who goes first in another queue."""
        for place, kin in enumerate(heads, 1):
            asked = self._asked(kin)
            if len(asked) < len(kin) and planned.served(asked):
                return heads[:place], None
        return heads, None

    # -- who may be seated -----------------------------------------------------------------------------

    def _could_sit(self, group: SimulatedGroup, free: Ints) -> bool:
        """Or in place of those who have borrowed, whatever their priority."""
        if super()._could_sit(group, free):
            return True
        return self._reclaims and not group.has_quorum and self._may_reclaim(group)

    def _may_reclaim(self, group: SimulatedGroup) -> bool:
        """Whether its queue, or one above, would stay within its guarantee; False is certain."""
        if self.policy.fair_share.reclaim or self._leaving or group.sitting:
            return True
        if self._book is None:
            self._book = QueueBook(self.state.snapshot(), self.policy, None)
        book = self._book
        asked = least_asked(group, book.tree.resources)
        for queue in book.tree.chain[book.tree.number[group.job.queue or DEFAULT_QUEUE]]:
            used = book.used_at_first[book.row(queue)]
            for model in range(len(book.models)):
                more = np.zeros((len(asked), len(book.models)), dtype=np.int64)
                more[:, model] = asked
                if book.within_guarantee(queue, used + more.reshape(-1)):
                    return True
        return False

    # -- what becomes of them --------------------------------------------------------------------------

    def _note(self, record: CycleRecord, plan: Plan, now: Time) -> None:
        super()._note(record, plan, now)
        self._tried = record.by_key
        if record.usage.wake_at is not None:
            self._settled_again = round((record.usage.wake_at / 1000 - BEGINNING.timestamp()) * SECOND)
        if plan.usage is not None:
            self._remember_use(plan.usage)

    def _remember_use(self, usage: UsageMemory) -> None:
        meta = ObjectMeta(name=USAGE, namespace=HOME)
        self.state.apply(Put(MemoryObject(meta, data={CONTENT: str(usage)})))

    def _moves(self, heads: Sequence[SameRequests], plan: Plan, explained: Container[str]) -> Moves:
        return super()._moves(self._as_if_all_were_asked(heads), plan, explained)

    def _as_if_all_were_asked(self, heads: Sequence[SameRequests]) -> list[SameRequests]:
        """In the order in which they had their turns. Once all who were asked of those that ask for the same
        have seats, the next one of these, who was not asked, could be the next in line."""
        moments, last = dict[SameRequests, int](), math.inf
        for kin in heads:
            tried = [self._tried[waiter.turn.key] for waiter in self._asked(kin)]
            moments[kin] = moment_of(tried[0])
            if len(tried) < len(kin) and all(one.seated or one.promised for one in tried):
                last = min(last, max(map(moment_of, tried)))
        return sorted((kin for kin in heads if moments[kin] <= last), key=moments.__getitem__)


def moment_of(group: TriedGroup) -> int:
    """When it got seats, or was last found to get none."""
    return group.first_seated if group.seated or group.promised else group.last_tried


def least_asked(group: SimulatedGroup, resources: Sequence[str]) -> Ints:
    """The least that its quorum requests of each resource."""
    crews = group.job.crews
    amounts = [pod_requests(crew.spec) for crew in crews]
    table = np.array([[one.get(name, 0) for name in resources] for one in amounts], dtype=np.int64)
    members = np.repeat(table, [crew.count for crew in crews], axis=0)
    found: Ints = np.sort(members, axis=0)[: group.job.quorum].sum(axis=0)
    return found
