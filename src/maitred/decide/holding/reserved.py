"""Reservations, as one cycle keeps them: which nodes each is for, and who may start there until when.

A reservation is for whole nodes. Where it asks for devices, it has as many nodes as have these together,
chosen anew in every cycle: those on which fewest pods of others will be left when it begins. Others who start
meanwhile do not change that, as they are not started there unless they end before. Once it has begun, nodes
come first on which those for whom it is have started since, so that it stays where they are.

It yields to no rank, and waits for those who are inside; `beginning.py` says who leaves where it does not.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from maitred.cluster.device_models import models_told
from maitred.cluster.ends import NEVER
from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.queues.book import NO_QUEUE
from maitred.cluster.selection import selected, tainted_nodes
from maitred.cluster.snapshot import NO_GROUP, GroupView, Snapshot
from maitred.decide.budget import namespace_of
from maitred.decide.compile import managed_nodes
from maitred.decide.context import Context
from maitred.decide.holding.provisioned import ProvisionedNodes, provisioned
from maitred.decide.levels import codes_of, key_of_level
from maitred.model.duration import milliseconds
from maitred.model.policy import health_taints, matches_model
from maitred.model.queues import Payer
from maitred.model.reservations import (
    BEGUN,
    COMING,
    GIVEN_BACK,
    Beneficiary,
    Reservation,
    ReservedDevices,
    ReservedNodes,
    Span,
    is_over,
    overlap,
    spans_of,
)
from maitred.model.selector import selector_of
from maitred.model.words import moment

NOT_CLOSED: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class KeptReservation:
    """A reservation that is not over."""

    said: Reservation
    spans: tuple[Span, ...]
    """The one that is now or comes next, and those after it."""
    by: str = ""
    """Who has made it; empty: it is in the policy."""
    rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    have: int = 0
    """Devices on these nodes, if it asks for any."""
    others: int = 0
    """Pods of others that will be there when it begins, or are there still."""
    given_back: bool = False
    """Others may have its nodes until it comes again."""

    @property
    def lead(self) -> int:
        return milliseconds(self.said.lead_time) or 0

    @property
    def span(self) -> Span:
        """The first that others are kept off for."""
        return self.spans[1] if self.given_back and len(self.spans) > 1 else self.spans[0]

    def is_in_the_way(self, begin: int, end: int) -> bool:
        """Whether others who start then, and end by then at the latest, would be there in its time. Of whom
        it is not known when they end, only shortly before it begins."""
        place = bisect_right(self.spans, begin, lo=self.given_back, key=lambda span: span[1])
        if place == len(self.spans):
            return False
        begins = self.spans[place][0]
        return begins - self.lead <= begin if end >= NEVER else begins < end


def _of_newcomers(one: ProvisionedNodes) -> KeptReservation:
    begin, until = (moment(at // 1000) for at in (one.begin, one.until))
    who = Beneficiary(group=one.group)
    said = Reservation(name=one.name, beneficiary=who, begin=begin, until=until, lead_time="0s")
    return KeptReservation(said, ((one.begin, one.until),), rows=one.rows)


class Reservations:
    """Where there are none, nothing of this is looked at."""

    def __init__(self, snapshot: Snapshot, context: Context, now: int, ends: Callable[[], Ints]) -> None:
        """`ends`: by when each pod on a node has ended for certain."""
        self.snapshot, self.context, self.now = snapshot, context, now
        self._ends = ends
        self.over: list[Reservation] = []
        there_are = context.policy.reservations or snapshot.reservations.reservations
        asks = there_are or context.policy.provisioning.class_name
        self.kept: tuple[KeptReservation, ...] = tuple(self._all()) if asks else ()
        """In the order in which they begin."""

    def _all(self) -> Iterator[KeptReservation]:
        coming = list[KeptReservation]()
        for said in self.context.policy.reservations:
            spans = spans_of(said, self.now)
            if spans:
                coming.append(KeptReservation(said, spans))
            elif is_over(said, self.now):
                self.over.append(said)
        made = self.snapshot.reservations.reservations
        for other in made:
            spans = spans_of(other.said, self.now)
            if spans and not self.why_not(other.said):
                coming.append(KeptReservation(other.said, spans, other.by))
        found = list(map(_of_newcomers, provisioned(self.snapshot, self.context.policy, self.now)))
        for one in sorted(coming, key=lambda kept: (kept.said.devices is not None, kept.spans[0])):
            found.append(self._placed(one, found))
        yield from sorted(found, key=lambda kept: kept.spans[0])

    def why_not(self, made: Reservation) -> str:
        """Why one that somebody has made does not count beside the policy as it is now; empty if it does."""
        if any(one.name == made.name for one in self.context.policy.reservations):
            return "the policy has one of this name by now"
        queue, book = made.beneficiary.queue, self.snapshot.book
        if queue and (book is None or queue not in book.tree.number):
            return f"the policy has no queue {queue} any more"
        return ""

    # -- for whom --------------------------------------------------------------------------------------

    def is_for(self, said: Reservation, view: GroupView) -> bool:
        return self.is_for_group(said, view.group.key, view.payer)

    def is_for_group(self, said: Reservation, key: str, payer: Payer) -> bool:
        who = said.beneficiary
        return key == who.group if who.group else self._is_of(who, payer, payer.namespace)

    def _is_of(self, who: Beneficiary, payer: Payer, namespace: str) -> bool:
        """Who names a queue that it may not use is not in it."""
        if who.namespace:
            return namespace == who.namespace
        book = self.snapshot.book
        queue = NO_QUEUE if book is None or payer.problem else book.queue_of(payer)
        if book is None or queue == NO_QUEUE or book.tree.number[who.queue] not in book.tree.chain[queue]:
            return False
        return book.may_use(queue, payer.namespace)

    def theirs(self, who: Beneficiary) -> Mask:
        """Which of the pods on nodes are theirs."""
        bound, snapshot = self.snapshot.bound, self.snapshot
        if not who.group:
            of_payer = [self._is_of(who, payer, payer.namespace) for payer in snapshot.payers]
            return np.array([*of_payer, False], dtype=np.bool_)[bound.payer]
        grouped = [one is not None and snapshot.tree_of(one.group) == who.group for one in snapshot.seated]
        found: Mask = np.array([*grouped, False], dtype=np.bool_)[bound.group]
        home = [payer.namespace == namespace_of(who.group) for payer in snapshot.payers]
        alone = (bound.group == NO_GROUP) & np.array([*home, False], dtype=np.bool_)[bound.payer]
        pods = np.flatnonzero(alone)
        found[pods] = [bound.occupants[pod].key == who.group for pod in pods.tolist()]
        return found

    def _waits(self, said: Reservation) -> bool:
        """Whether a group waits for whom it is, and might start."""
        return any(not any(view.gates) and self.is_for(said, view) for view in self.snapshot.groups)

    # -- where -----------------------------------------------------------------------------------------

    def _placed(self, one: KeptReservation, before: list[KeptReservation]) -> KeptReservation:
        """On nodes that no other reservation has at the same time. Those that are named go before those that
        are chosen."""
        begin, bound, nodes = one.spans[0][0], self.snapshot.bound, self.snapshot.nodes
        theirs = self.theirs(one.said.beneficiary)
        stay = (self._ends() > max(begin, self.now)) & ~bound.fixed
        others = np.bincount(bound.node[stay & ~theirs], minlength=len(nodes.names))
        inside = theirs & ~bound.terminating & ~bound.fixed
        if one.said.devices is None:
            named = selected(nodes, selector_of(one.said.nodes) or ())
            for other in before:
                named[other.rows] &= not overlap(one.spans[:1], other.spans[:1])
            rows, have = np.flatnonzero(named), 0
        else:
            fresh = inside & (bound.started >= begin)
            mine = np.bincount(bound.node[fresh], minlength=len(nodes.names))
            rows, have = self._chosen(one, one.said.devices, before, mine, others)
        release = milliseconds(one.said.release_after)
        given_back = (
            release is not None
            and begin + release <= self.now
            and not np.isin(bound.node[inside], rows).any()
            and not self._waits(one.said)
        )
        return replace(one, rows=rows, have=have, others=int(others[rows].sum()), given_back=given_back)

    def _chosen(
        self,
        one: KeptReservation,
        wanted: ReservedDevices,
        before: list[KeptReservation],
        mine: Ints,
        others: Ints,
    ) -> tuple[Rows, int]:
        """The nodes of one domain that have enough, and how many they have; the most that there are, if that
        is not enough."""
        nodes = self.snapshot.nodes
        devices, codes = self._devices(wanted), self._domains(one.said.within)
        later = np.zeros(len(nodes.names), dtype=np.int64)
        for other in before:
            if overlap(one.spans[:1], other.spans[:1]):
                devices[other.rows] = 0
            elif overlap(one.spans, other.spans):
                later[other.rows] = 1
        rows = np.flatnonzero((devices > 0) & (codes >= 0))
        if not len(rows):
            return rows, 0
        rank = (nodes.name_rank[rows], later[rows], others[rows], -mine[rows], codes[rows])
        rows = rows[np.lexsort(rank)]
        code, count = codes[rows], devices[rows]
        total = np.cumsum(count)
        first = np.searchsorted(code, code)
        so_far = total - count - (total[first] - count[first])
        needed = so_far < wanted.count
        rows, code, count = rows[needed], code[needed], count[needed]
        domains = np.unique(code)
        sums = [np.bincount(code, weights=column[rows])[domains] for column in (devices, mine, others, later)]
        have = np.minimum(sums[0], wanted.count)
        best = domains[np.lexsort((domains, sums[3], sums[2], -sums[1], -have))[0]]
        rows = np.sort(rows[code == best])
        return rows, int(devices[rows].sum())

    def _devices(self, wanted: ReservedDevices) -> Ints:
        """How many each node has, where it is open and well."""
        nodes, policy = self.snapshot.nodes, self.context.policy
        place = nodes.resource_column(wanted.resource)
        if place is None:
            return np.zeros(len(nodes.names), dtype=np.int64)
        names, codes = models_told(nodes, policy, self.snapshot.inventory)
        model = np.array([matches_model(wanted.model, name) for name in names], dtype=np.bool_)
        ill = tainted_nodes(nodes, health_taints(policy))
        fit = managed_nodes(nodes, policy) & nodes.alive & ~ill & model[codes]
        return np.where(fit, nodes.allocatable[place], 0)

    def _domains(self, level: str) -> Codes:
        nodes = self.snapshot.nodes
        if not level:
            return np.zeros(len(nodes.names), dtype=np.int32)
        return codes_of(nodes, key_of_level(level, self.context.levels))

    # -- what others may do ----------------------------------------------------------------------------

    @property
    def rows(self) -> frozenset[int]:
        """Of all nodes that are kept for anybody."""
        return frozenset(row for one in self.kept for row in one.rows.tolist())

    def closed_to(self, view: GroupView, begin: int, end: int) -> frozenset[int]:
        """Nodes on which it may not start then, if it ends by then at the latest."""
        return self.closed_to_group(view.group.key, view.payer, begin, end)

    def closed_to_group(self, key: str, payer: Payer, begin: int, end: int) -> frozenset[int]:
        if not self.kept:
            return NOT_CLOSED
        kept = (one for one in self.kept if one.is_in_the_way(begin, end))
        others = (one for one in kept if not self.is_for_group(one.said, key, payer))
        return frozenset(row for one in others for row in one.rows.tolist())

    def wish(self, view: GroupView) -> Ints | None:
        """Nodes that are kept for it now are taken before others; None if none are."""
        return self.wish_at(self.now, view.group.key, view.payer)

    def wish_at(self, moment: int, key: str, payer: Payer) -> Ints | None:
        """The same at a later moment."""
        begun = (one for one in self.kept if any(begin <= moment < end for begin, end in one.spans))
        now = [one for one in begun if self.is_for_group(one.said, key, payer)]
        if not now:
            return None
        wish = np.ones(len(self.snapshot.nodes.names), dtype=np.int64)
        for one in now:
            wish[one.rows] = 0
        return wish

    # -- what is said of them --------------------------------------------------------------------------

    def on(
        self, rows: Collection[int], view: GroupView | None = None, end: int = NEVER
    ) -> KeptReservation | None:
        """The first that has one of these nodes; of a group that ends by then, if it starts now: the first
        that is in its way."""
        for one in self.kept:
            stops = view is None or not (self.is_for(one.said, view) or not one.is_in_the_way(self.now, end))
            if stops and np.isin(one.rows, list(rows)).any():
                return one
        return None

    @property
    def openings(self) -> tuple[int, ...]:
        """When others may have nodes again."""
        return tuple(sorted({one.spans[0][1] for one in self.kept}))

    @property
    def wake_at(self) -> int | None:
        """When somebody may start who might not before, or might before and may not any more."""
        return min((at for one in self.kept for at in self._changes(one) if at > self.now), default=None)

    def _changes(self, one: KeptReservation) -> Iterator[int]:
        begin, end = one.spans[0]
        yield from (begin - one.lead, begin, end)
        release = milliseconds(one.said.release_after)
        if release is not None:
            yield begin + release

    def told(self) -> Iterator[ReservedNodes]:
        names = self.snapshot.nodes.names
        for one in self.kept:
            begin, end = (moment(at // 1000) for at in one.spans[0])
            state = GIVEN_BACK if one.given_back else BEGUN if one.spans[0][0] <= self.now else COMING
            nodes = tuple(sorted(names[row] for row in one.rows.tolist()))
            yield ReservedNodes(
                one.said.name, str(one.said.beneficiary), begin, end, nodes, state, one.others, one.by
            )
