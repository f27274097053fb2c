"""What each queue may have, has, has borrowed and has lent, and what waits for it, at one moment."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints
from maitred.cluster.queues.book import Limit, QueueBook
from maitred.cluster.queues.tree import TOP, Bounds
from maitred.cluster.snapshot import Snapshot
from maitred.decide.preemption.evictable import EvictablePods
from maitred.decide.queues.budgets import unit_words
from maitred.decide.queues.standings import Standings
from maitred.explain.queues.answer import (
    BudgetState,
    ClusterAmounts,
    LiftedGroup,
    QueueAmounts,
    QueueReservation,
    Queues,
    QueueState,
)
from maitred.explain.queues.lending import lent
from maitred.explain.situation import Situation
from maitred.explain.why.names import Names
from maitred.model.overrides import note_of
from maitred.model.quantity import text
from maitred.model.queues import EVERY_MODEL, Payer
from maitred.model.words import moment

DIGITS = 3
"""Of what is spent."""


def queues(situation: Situation, namespaces: Collection[str] | None = None) -> Queues:
    """`namespaces`: only queues that these may use, and those above them; None for all."""
    at, book = moment(int(situation.now.timestamp())), situation.snapshot.book
    if book is None:
        return Queues(at=at)
    everyone = frozenset(range(len(book.tree)))
    told = everyone if namespaces is None else book.usable_by(namespaces)
    survey = QueueSurvey(situation, book, namespaces)
    return Queues(
        at=at,
        queues=tuple(survey.state(queue) for queue in survey.in_order() if queue in told),
        elsewhere=len(everyone) - len(told),
        cluster=tuple(survey.cluster()),
    )


class QueueSurvey:
    def __init__(self, situation: Situation, book: QueueBook, namespaces: Collection[str] | None) -> None:
        self.situation, self.book, self.tree = situation, book, book.tree
        self.namespaces = namespaces
        self.used = book.used_at_first
        every = book.hardware - self.used[0]
        self.free: Ints = np.maximum(every, 0)

    def in_order(self, above: int = TOP) -> Iterator[int]:
        for queue in self.tree.below[above]:
            yield queue
            yield from self.in_order(queue)

    def state(self, queue: int) -> QueueState:
        row, known = self.book.row(queue), self.tree.queues[queue]
        return QueueState(
            queue=known.name,
            parent=known.parent,
            weight=known.weight,
            share=self.book.share(queue, self._paid(queue)),
            waiting_groups=int(self._waiting[0][row]),
            amounts=tuple(self._amounts(queue)),
            budget=self._budget(queue),
            lifted=tuple(self._lifted.get(queue, ())),
            reserved=tuple(self._reserved.get(queue, ())),
        )

    def cluster(self) -> Iterator[ClusterAmounts]:
        for resource in self.tree.resources:
            for place in self.book.kinds_in(resource, EVERY_MODEL).tolist():
                there, used = int(self.book.hardware[place]), int(self.used[0][place])
                if there or used:
                    model = self.book.models[place % len(self.book.models)]
                    yield ClusterAmounts(resource, model, text(resource, there), text(resource, used))

    def _paid(self, queue: int) -> Ints:
        """What it has, without those who do not pay, as turns compare it. A row that is younger than what was
        counted is of those who would only begin to run without paying."""
        free = self.book.rows_of_scavengers.get(queue)
        used: Ints = self.used[self.book.row(queue)]
        return used if free is None or free >= len(self.used) else used - self.used[free]

    def _budget(self, queue: int) -> BudgetState | None:
        balances, budget = self.situation.snapshot.balances, self.tree.queues[queue].budget
        if balances is None or budget is None:
            return None
        row = balances.queues.index(queue)
        spent, committed = float(balances.spent[row]), float(balances.committed[row, 0])
        return BudgetState(
            unit=unit_words(budget, self.situation.policy),
            budget=budget.amount,
            period=budget.period,
            spent=round(spent, DIGITS),
            committed=round(committed, DIGITS),
            left=round(max(0.0, budget.amount - spent - committed), DIGITS),
            until=moment(int(balances.bounds[row, 1]) // 1000),
            on_spent=budget.on_spent,
            unpaid=round(self._unpaid(queue, int(balances.units[row])), DIGITS),
        )

    def _unpaid(self, queue: int, unit: int) -> float:
        """What an hour of those would cost who run in a queue, and below it, without paying."""
        book, bound = self.book, self.situation.snapshot.bound
        inside = np.array([one.queue >= 0 and queue in self.tree.chain[one.queue] for one in book.accounts])
        pods = np.flatnonzero(book.unpaid & inside[book.account_of_bound])
        models = book.model_of(self.situation.snapshot.nodes)[bound.node[pods]]
        return float(book.charges.of_bound(pods, np.full(len(pods), unit), models).sum())

    # -- one queue ---------------------------------------------------------------------------------------

    def _amounts(self, queue: int) -> Iterator[QueueAmounts]:
        """Of every resource that it may use or uses: all models together first."""
        used = self.used[self.book.row(queue)]
        for place, resource in enumerate(self.tree.resources):
            said: dict[str, list[Limit]] = {EVERY_MODEL: []}
            for limit in self.book.limits[queue]:
                if limit.bounds.resource == resource:
                    said.setdefault(limit.bounds.model, []).append(limit)
            every = self.book.kinds_in(resource, EVERY_MODEL)
            waiting = int(self._waiting[1][self.book.row(queue), place])
            if any(said.values()) or waiting or used[every].any():
                for model, limits in said.items():
                    kinds = limits[0].kinds if limits else every
                    asked = text(resource, waiting) if model == EVERY_MODEL else None
                    yield self._of_kinds(queue, Bounds(resource, model), limits, kinds, asked)
                if resource in self._by_model:
                    yield from self._of_unnamed(queue, resource, said)

    def _of_unnamed(
        self, queue: int, resource: str, said: Mapping[str, Sequence[Limit]]
    ) -> Iterator[QueueAmounts]:
        """What it uses of models that its limits do not name."""
        book, used = self.book, self.used[self.book.row(queue)]
        named = {kind for model in said if model != EVERY_MODEL for kind in said[model][0].kinds.tolist()}
        for kind in book.kinds_in(resource, EVERY_MODEL).tolist():
            model = book.models[kind % len(book.models)]
            if model and used[kind] and kind not in named:
                kinds = np.array([kind], dtype=np.intp)
                yield self._of_kinds(queue, Bounds(resource, model), (), kinds, None)

    def _of_kinds(
        self, queue: int, about: Bounds, limits: Sequence[Limit], kinds: Rows, waiting: str | None
    ) -> QueueAmounts:
        used = int(self.used[self.book.row(queue)][kinds].sum())
        bounds = [limit.bounds for limit in limits]
        guarantee = first_said(one.guarantee for one in bounds)
        sizes = (
            guarantee,
            first_said(one.cap for one in bounds),
            first_said(one.per_user for one in bounds),
            None if guarantee is None else lent(guarantee, used, int(self.free[kinds].sum())),
        )
        stated, cap, per_user, given = (one if one is None else text(about.resource, one) for one in sizes)
        return QueueAmounts(
            resource=about.resource,
            model=about.model,
            guarantee=stated,
            cap=cap,
            per_user=per_user,
            used=text(about.resource, used),
            borrowed=text(about.resource, int(self._borrowed[queue][kinds].sum())),
            lent=given,
            waiting=waiting,
        )

    # -- all queues at once --------------------------------------------------------------------------------

    @cached_property
    def _by_model(self) -> frozenset[str]:
        """Resources of which some limit tells models apart."""
        every = (one for bounds in self.tree.bounds for one in bounds)
        return frozenset(one.resource for one in every if one.model != EVERY_MODEL)

    @cached_property
    def _borrowed(self) -> Ints:
        """What each queue has of every kind in groups that are not entitled there."""
        evictable = EvictablePods(
            self.situation.snapshot, self.situation.policy, round(self.situation.now.timestamp() * 1000)
        )
        standings = Standings(self.book, evictable)
        found = np.zeros((len(self.tree), self.book.kinds), dtype=np.int64)
        for level, borrowed in enumerate(standings.borrowed):
            pods = np.flatnonzero(borrowed)
            np.add.at(found, standings.above[pods, level], self.book.kinds_of(pods))
        return found

    @cached_property
    def _lifted(self) -> Mapping[int, Sequence[LiftedGroup]]:
        """By queue: groups that wait and are lifted now, and those that run and were."""
        found = defaultdict[int, list[LiftedGroup]](list)
        names, snapshot = Names(self.situation.snapshot), self.situation.snapshot
        waiting = {group.key: group.view for group in self.situation.cycle().groups}
        for override in snapshot.overrides.at(self.situation.now).overrides:
            told = self.namespaces is None or override.group.partition("/")[0] in self.namespaces
            view, rows = waiting.get(override.group), names.rows_of(override.group)
            if told and view is not None and view.override is not None:
                account = view.account
            elif told and view is None and override.is_as_old_as(_created(snapshot, rows)):
                account = int(self.book.account_of_bound[rows[0]])
            else:
                continue
            if account != NO_ACCOUNT:
                note = note_of(override)
                known = LiftedGroup(override.group, note.by, note.reason, note.until)
                found[self.book.accounts[account].queue].append(known)
        return found

    @cached_property
    def _reserved(self) -> Mapping[int, Sequence[QueueReservation]]:
        """By queue: what is kept for it, or for those who use it."""
        found = defaultdict[int, list[QueueReservation]](list)
        for one in self.situation.decided().reservations:
            kind, _, name = one.beneficiary.partition(" ")
            queue = self.tree.number.get(name) if kind == "queue" else None
            if kind != "queue":
                queue = self.book.queue_of_running(Payer(name.partition("/")[0]))
            if queue is not None:
                there, idle = self._on_nodes(one.nodes)
                told = (one.name, one.begin, one.until, one.state, len(one.nodes), there, idle)
                found[queue].append(QueueReservation(*told))
        return found

    def _on_nodes(self, names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """What some nodes have, and what of it is idle, by resource."""
        snapshot, there, idle = self.situation.snapshot, dict[str, str](), dict[str, str]()
        rows = [snapshot.nodes.rows[name] for name in names]
        for resource in self.tree.resources:
            column = snapshot.nodes.resource_column(resource)
            have = 0 if column is None else int(snapshot.nodes.allocatable[column, rows].sum())
            if column is not None and have:
                free = snapshot.nodes.allocatable[column, rows] - snapshot.used[column, rows]
                there[resource] = text(resource, have)
                idle[resource] = text(resource, int(np.maximum(free, 0).sum()))
        return there, idle

    @cached_property
    def _waiting(self) -> tuple[Ints, Ints]:
        """In every row: how many groups wait, and what they ask for of every resource."""
        book, cycle = self.book, self.situation.cycle()
        groups = np.zeros(book.height, dtype=np.int64)
        amounts = np.zeros((book.height, len(self.tree.resources)), dtype=np.int64)
        for group, found in zip(cycle.groups, cycle.decided.decisions, strict=True):
            if found.verdict in ("Scheduled", "Invalid") or group.view.account == NO_ACCOUNT:
                continue
            rows = book.accounts[group.view.account].rows
            groups[rows] += 1
            amounts[rows] += self._asked(group.view.shapes)
        return groups, amounts

    def _asked(self, shapes: Codes) -> Ints:
        """What so many pods ask for; claims that they share count once."""
        found = np.zeros(len(self.tree.resources), dtype=np.int64)
        shared = dict[str, Ints]()
        for shape, count in zip(
            *(one.tolist() for one in np.unique(shapes, return_counts=True)), strict=True
        ):
            known = self.situation.snapshot.shapes[shape]
            needs = self.situation.snapshot.needs[known.needs]
            found += count * self.book.amounts_of(needs, known.devices)
            shared |= self.book.shared_by(known.devices)
        return sum(shared.values(), start=found)


def _created(snapshot: Snapshot, rows: Rows) -> float:
    """When the first of these pods was created, in seconds since 1970; infinity where there are none."""
    return min((member.order[1] for member in snapshot.bound.occupants[rows].tolist()), default=math.inf)


def first_said(sizes: Iterable[int | None]) -> int | None:
    return next((size for size in sizes if size is not None), None)
