"""Pods on nodes: what each takes of its node, and its row among those that hold a place."""

from collections.abc import Iterable, Mapping

from maitred.cluster.bound import BoundTable
from maitred.cluster.budgets import BudgetTable
from maitred.cluster.claims import ClaimTable
from maitred.cluster.interning import Interner
from maitred.cluster.members import NOT_BOUND, Member, State
from maitred.cluster.news import News
from maitred.cluster.nodes import Charge, Ints, NodeTable
from maitred.cluster.payers import PayerTable
from maitred.cluster.seated_groups import SeatedTable
from maitred.cluster.snapshot import NO_GROUP
from maitred.cluster.stays import StayTable
from maitred.model.categories import Effect

FORGOTTEN = -1
"""The needs of a finished pod, which nothing reads any more."""


class SeatTable:
    def __init__(self, interner: Interner, claims: ClaimTable, news: News) -> None:
        self.nodes = NodeTable()
        self.bound = BoundTable()
        self.groups = SeatedTable()
        self.budgets = BudgetTable()
        self.payers = PayerTable()
        self.stays = StayTable()
        self._interner = interner
        self._claims = claims
        self._news = news
        self._charges: dict[int, Charge] = {}

    def seat(self, member: Member) -> None:
        row, namespace = self.nodes.row(member.node), member.key.partition("/")[0]
        member.node_row = row
        self.nodes.charge(row, self._charge_of(member.needs), member.fixed)
        member.bound_row = self.bound.take(
            member.occupant,
            node=row,
            needs=member.needs,
            labels=member.label_class,
            terminating=member.state == State.TERMINATING,
            fixed=member.fixed,
            standing=member.standing_number,
            group=NO_GROUP if member.record is None else self.groups.arrive(member.record),
            budgets=self.budgets.number(namespace, member.labels),
            controller=member.controller,
            payer=self.payers.number(member, namespace),
            stay=self.stays.number(member.crew.settled.stay),
            working=member.working,
            bound_at=member.bound_at,
            started=member.started,
            checkpoint=member.checkpoint,
            due=member.due,
            grace=member.grace,
            step=member.step,
        )
        if member.claims:
            self._claims.mount(member.claims, row)
        self._news.effects |= Effect.COMPANY
        self._news.nodes.add(member.node)

    def unseat(self, member: Member) -> None:
        self.nodes.give_back(member.node_row, self._charge_of(member.needs), member.fixed)
        self.bound.give_back(member.bound_row)
        if member.record is not None:
            self.groups.depart(member.record)
        if member.claims:
            self._claims.unmount(member.claims, member.node_row)
        self._news.effects |= Effect.ROOM | Effect.COMPANY
        self._news.nodes.add(member.node)
        self.nodes.release(member.node_row)

    def _charge_of(self, needs: int) -> Charge:
        """What a pod of these needs takes."""
        charge = self._charges.get(needs)
        if charge is None:
            charge = self._charges[needs] = self.nodes.charge_for(self._interner.needs[needs].requests)
        return charge

    def charge_more(self, members: Iterable[Member], known: int) -> None:
        """A node has what none had before, beyond so many resources, and pods on nodes may take it. Rare."""
        nodes, self._charges = self.nodes, {}
        for member in members:
            if member.bound_row != NOT_BOUND:
                asked = self._interner.needs[member.needs].requests
                more = [(name, amount) for name, amount in asked if nodes.resources.get(name, -1) >= known]
                nodes.charge(member.node_row, nodes.charge_for(more), member.fixed)

    # -- numbers of pods -------------------------------------------------------------------------------

    def renumber(self, member: Member, numbers: dict[int, int] | None) -> None:
        """What it is known by has changed; its needs have other numbers, where there are any."""
        if numbers is not None:
            self._charges.clear()
            member.needs = numbers.get(member.needs, FORGOTTEN)
        member.label_class = self.label_class(member)
        if member.bound_row != NOT_BOUND:
            payer = self.payers.number(member, member.key.partition("/")[0])
            places = (member.needs, member.label_class, member.standing_number)
            stay = self.stays.number(member.crew.settled.stay)
            self.bound.renumber(member.bound_row, *places, payer, stay)

    def charge_to(self, member: Member) -> None:
        """On whose account it is may have changed: what others may use of a quota has, then. And so may have
        how long it stays."""
        if member.bound_row != NOT_BOUND:
            self.bound.set_stay(member.bound_row, self.stays.number(member.crew.settled.stay))
            payer = self.payers.number(member, member.key.partition("/")[0])
            if self.bound.set_payer(member.bound_row, payer):
                self._news.effects |= Effect.COMPANY

    def look_at_budgets(self, members: Iterable[Member]) -> None:
        """Budgets have come or gone, or speak of others: number the pods of their namespaces anew. Rare."""
        stale, self.budgets.stale = self.budgets.stale, set()
        for member in members if stale else ():
            namespace = member.key.partition("/")[0]
            if namespace in stale and member.bound_row != NOT_BOUND:
                self.bound.set_budgets(member.bound_row, self.budgets.number(namespace, member.labels))

    def label_class(self, member: Member) -> int:
        return self._interner.label_class(member.key.partition("/")[0], member.labels)

    # -- reading ---------------------------------------------------------------------------------------

    def fits_where_it_is(self, member: Member) -> bool:
        """Whether the node of a member has all that it takes, with everyone else who is there."""
        charge, row, nodes = self._charge_of(member.needs), member.node_row, self.nodes
        room = (nodes.used[charge.columns, row] <= nodes.allocatable[charge.columns, row]).all()
        return bool(room) and not charge.fits_none and not nodes.overloaded(row)

    def has_room_for(self, places: Mapping[str, str], pods: Mapping[str, Member]) -> bool:
        """Whether these pods, which wait, could all be on these nodes, as far as amounts go."""
        nodes = self.nodes
        left: dict[int, Ints] = {}
        for pod, node in places.items():
            row, charge = nodes.rows.get(node), self._charge_of(pods[pod].needs)
            if row is None or charge.fits_none:
                return False
            room = left.setdefault(row, nodes.allocatable[:, row] - nodes.used[:, row])
            room[: len(charge.amounts)] -= charge.amounts
            if (room[charge.columns] < 0).any():
                return False
        return True
