"""Places that others must leave first: kept for a group that was promised them, or promised to it now."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import numpy as np

from maitred.cluster.journal import Rows, Seated, Selection
from maitred.cluster.leaving import leaving_pods, stuck_from
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.book import QueueBook
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.ask import AnyAsk, Ask, Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.context import Context
from maitred.decide.holds import Hold, fits, still_kept
from maitred.decide.preemption.choice import Choice, choose
from maitred.decide.preemption.evictable import NEVER, EvictablePods, OwnerOfPods
from maitred.decide.preemption.feasibility import Feasibility, only_quorum
from maitred.decide.preemption.outlook import Outlook
from maitred.decide.preemption.receipts import evictions
from maitred.decide.preemption.units import Units
from maitred.decide.queues.admission import narrowed
from maitred.decide.queues.rights import QueueRights, Rule, Yielding, by_priority
from maitred.decide.queues.standings import Standings
from maitred.decide.seating import by_shape, commit, per_node
from maitred.model.duration import milliseconds
from maitred.model.overrides import note_of
from maitred.model.plan import NO_LESSER, Eviction
from maitred.model.policy import evicts_by_priority, grace_limit, preempts
from maitred.model.priority import Rank
from maitred.model.words import counted, moment

TAKEN_BY_OTHERS = "groups of higher priority, which evict no pod, would take the room"
CUT_SHORT = "the search for pods to evict stopped at its limit of steps"


@dataclass(frozen=True, slots=True)
class Preemptor:
    """A group whose quorum has no room now."""

    view: GroupView
    ask: Ask
    rank: Rank

    @property
    def key(self) -> str:
        return self.view.group.key

    @property
    def complete_since(self) -> float:
        """When the youngest of those who wait was created."""
        return max((created for _, created, _ in self.view.orders), default=0.0)

    def hold(self, snapshot: Snapshot) -> Hold:
        """What is kept for it: the places that its members are nominated to, on nodes that still exist."""
        rows = snapshot.nodes.rows
        places = [(member, rows[node]) for member, node in enumerate(self.view.nominated) if node in rows]
        return Hold(self.key, self.ask, places, self.rank)


@dataclass(frozen=True, slots=True)
class Promise:
    seats: Assignment
    displaced: Mapping[str, Set[str]] = field(default_factory=dict)
    """Who leaves for it: groups, and the names of their pods."""


@dataclass(frozen=True, slots=True)
class Deal:
    """A group, and those who leave for it."""

    preemptor: Preemptor
    units: Units
    choice: Choice
    rule: Rule


class Promises:
    """What one cycle promises. `leaving` grows with every group for which others must go."""

    def __init__(
        self, snapshot: Snapshot, context: Context, now: datetime, kept_until: Callable[[GroupView], float]
    ) -> None:
        """`kept_until` tells how long room is kept for a group, in seconds since 1970."""
        self.snapshot, self.context = snapshot, context
        self.now = round(now.timestamp() * 1000)
        self.leaving: Mask = leaving_pods(snapshot, grace_limit(context.policy), self.now).copy()
        self._kept_until = kept_until
        self.exhausted = False
        self.wake_at: int | None = None
        """In milliseconds: when time alone may allow what it forbids now."""
        self._deals: list[Deal] = []
        self.needed: Mask = np.zeros_like(self.leaving)
        """Pods that must stay: a group that was promised a place must be near them, or their group has got
        seats that count on them."""
        self._asked = False
        """Whether there was a group without room."""
        self._weighed_for: int | None = None
        """The highest priority for which a pod might have had to leave."""
        self._refused: dict[tuple[AnyAsk, Rank, tuple[str, ...]], str] = {}
        self._exempt = dict[int, int]()
        """How many pods rank below a priority, and stay."""
        self._outlook: Outlook | None = None
        self._known_standings: Standings | None = None
        self._units: Units | None = None
        """Who could leave for the group that was looked at last."""
        self._seen: tuple[int, int] = (0, 0)
        self._too_large: set[AnyAsk] = set()
        """Who would not fit either once those who leave have left."""

    @cached_property
    def evictable(self) -> EvictablePods:
        return EvictablePods(self.snapshot, self.context.policy, self.now)

    def warnings(self) -> Iterator[str]:
        """Of pods whose room was asked for and is not there, and of marks that had to be weighed."""
        if self._asked:
            yield from self.evictable.stuck_warnings()
        if self._weighed_for is not None:
            yield from self.evictable.warnings(self._weighed_for)

    def evictions(self) -> Iterable[Eviction]:
        """With their receipts, once it is known who leaves for others."""
        failing = self.evictable.by_owner(self.leaving) if self._deals else Counter[OwnerOfPods]()
        for deal in self._deals:
            preemptor = deal.preemptor
            priority = preemptor.rank.priority
            override = None if preemptor.view.override is None else note_of(preemptor.view.override)
            yield from evictions(
                deal.units, deal.choice, preemptor.key, priority, deal.rule, failing, override
            )

    # -- one group -------------------------------------------------------------------------------------

    def find(self, trial: Trial, preemptor: Preemptor, ahead: Callable[[], Sequence[Ask]]) -> Promise | str:
        """Places for the missing quorum, and who must leave for them; or why there are none.

        `ahead` tells what groups of higher rank would like to have, for which no pod leaves. It is asked only
        when one would have to.
        """
        self._asked = True
        if np.count_nonzero(self.leaving) or trial.columns.later is not None:  # sooner known than by `any`
            found = self._without_more(self.once_left(trial), preemptor)
            if found is not None:
                return found
        refusal = self._refusal(preemptor)
        if refusal:
            return refusal
        key = (preemptor.ask.unnamed(), preemptor.rank, preemptor.view.pending_schedulers)
        if key not in self._refused:
            result = self._preempt(trial, preemptor, ahead)
            if isinstance(result, Promise):
                return result
            self._refused[key] = result
        return self._refused[key]

    def reconsider(self) -> None:
        """Pods were seated that others need near them, or for their balance: what was refused is looked at
        again."""
        self._refused.clear()

    def hold(self, trial: Trial, ask: Ask, seats: Assignment) -> list[Seated]:
        """Keep these places on the trial against all who come after, and the company that they need there."""
        held = []
        for shape, rows, copies in per_node(by_shape(ask, seats)):
            held.append(trial.hold(shape, rows, copies, self.leaving, ask.account))
            if terms := trial.needs(shape).affinity:
                self.needed |= trial.neighbours.pods_matching(Selection(terms, True))
        return held

    def spare(self, groups: Set[str]) -> None:
        """No pod of these groups is made to leave from now on: they have got seats or promises in this cycle,
        which are worth nothing without those that run."""
        seated = enumerate(self.snapshot.seated)
        tree_of = self.snapshot.tree_of
        numbers = [number for number, one in seated if one is not None and tree_of(one.group) in groups]
        if numbers:
            self.needed |= np.isin(self.snapshot.bound.group, numbers)

    @contextmanager
    def kept(self, trial: Trial, preemptors: Iterable[Preemptor]) -> Iterator[None]:
        """Places that were promised are held for as long as the block runs, where the promise stands."""
        needed, held = self.needed.copy(), list[Seated]()
        for preemptor in preemptors:
            held += self.hold_promised(trial, preemptor)
        try:
            yield
        finally:
            for entry in held:
                trial.let_go(entry)
            self.needed = needed

    def standing(self, preemptor: Preemptor) -> Assignment:
        """The places that it was promised before, and that it needs still."""
        return preemptor.hold(self.snapshot).needed

    def ready(self, trial: Trial, preemptor: Preemptor) -> Assignment | None:
        """The places that it was promised, if those who had to leave have left."""
        hold = preemptor.hold(self.snapshot)
        return hold.needed if hold.needed and fits(trial, hold, hold.needed, self.context) else None

    def hold_promised(self, trial: Trial, preemptor: Preemptor) -> list[Seated]:
        """Keep the places that it was promised, if it can still have them, sooner or later."""
        if preemptor.view.later is not None or preemptor.view.kept_from is not None:
            return self.hold(trial, preemptor.ask, self.room_for(trial, preemptor))
        hold = preemptor.hold(self.snapshot)
        if still_kept(self.once_left(trial), hold, self.context) is None:
            return []
        return self.hold(trial, hold.ask, hold.places)

    def room_for(self, trial: Trial, preemptor: Preemptor) -> Assignment:
        """Pods that are not there have no places of their own: where there is room for all of it, once those
        who leave have left."""
        ask = only_quorum(preemptor.ask).as_group()
        self._wake_when_over(preemptor.view)
        found = attempt(self.once_left(trial), ask, self.context, self.context.steps())
        return [] if found is None else quorum_of(ask, found)

    def some_room_for(self, trial: Trial, preemptor: Preemptor) -> Assignment:
        """The same where there is not room for all of it: for as many as there is."""
        ask = only_quorum(preemptor.ask)
        some = replace(ask, need=1, parts=None)
        return attempt(self.once_left(trial), some, self.context, self.context.steps()) or []

    def _wake_when_over(self, view: GroupView) -> None:
        """Once the time is over for which room is kept, others may have it."""
        until = self._kept_until(view)
        if math.isfinite(until):
            self._wake(round(until * 1000))

    # -- those who are leaving anyway ------------------------------------------------------------------

    def once_left(self, trial: Trial) -> Trial:
        """The trial once those who leave have left."""
        seen = (trial.changes, len(self._deals))
        if seen != self._seen:
            self._seen = seen
            self._too_large.clear()
        return self._outlook_from(trial).ahead

    def _outlook_from(self, trial: Trial) -> Outlook:
        if self._outlook is None or self._outlook.trial is not trial:
            self._outlook = Outlook(trial, self.leaving)
        return self._outlook

    def _without_more(self, ahead: Trial, preemptor: Preemptor) -> Promise | str | None:
        """What will be there once those who leave have left; None if that is not enough."""
        kept = still_kept(ahead, preemptor.hold(self.snapshot), self.context)
        if kept is not None:
            self._wake_if_stuck(kept)
            return Promise(kept)
        ask, steps = only_quorum(preemptor.ask), self.context.steps()
        alike = ask.unnamed()
        found = attempt(ahead, ask, self.context, steps) if alike not in self._too_large else None
        if found is None:
            self._too_large.add(alike)
            return None
        seats = quorum_of(ask, found)
        near = self._wake_if_stuck(seats)
        lesser = near & (self.evictable.priority < preemptor.rank.priority)
        if any(preemptor.view.nominated) or (lesser.any() and not self._forbidden(preemptor)):
            return Promise(seats)
        return f"it only has to wait for {counted(int(near.sum()), 'terminating pod')} to leave"

    def _wake_if_stuck(self, seats: Assignment) -> Mask:
        """Who leaves these nodes. If one of them is there too long, it is no longer waited for."""
        rows = np.array([row for _, row in seats], dtype=np.intp)
        near: Mask = self.leaving & np.isin(self.snapshot.bound.node, rows)
        soonest = int(stuck_from(self.snapshot)[near & self.snapshot.bound.terminating].min(initial=NEVER))
        if soonest != NEVER:
            self._wake(soonest)
        return near

    # -- those who need not ----------------------------------------------------------------------------

    def _forbidden(self, preemptor: Preemptor) -> str:
        """Why no pod may be made to leave for it, whatever the hour."""
        policy = self.context.policy
        if policy.preemption.mode == "never":
            return "the policy allows no preemption"
        if not evicts_by_priority(policy.order) and not policy.queues:
            order = policy.order if isinstance(policy.order, str) else ", ".join(policy.order)
            return f"the policy's order is {order}, in which no group preempts another"
        if preemptor.rank.preemption_policy == "Never":
            return "its preemptionPolicy is Never"
        return ""

    def _refusal(self, preemptor: Preemptor) -> str:
        forbidden = self._forbidden(preemptor)
        if forbidden:
            return forbidden
        delay = self.context.policy.preemption.delay
        wait = milliseconds(delay) or 0
        if not wait:
            return ""
        until = wait + round(min(preemptor.complete_since * 1000, self.now))
        if until > self.now:
            self._wake(until)
            return f"the policy delays preemption by {delay}, until {not_before(until)}"
        return ""

    def _preempt(
        self, trial: Trial, preemptor: Preemptor, ahead: Callable[[], Sequence[Ask]]
    ) -> Promise | str:
        """Make lesser ones leave for it, or say why that does not help."""
        rank = preemptor.rank.priority
        self._weighed_for = rank if self._weighed_for is None else max(rank, self._weighed_for)
        refusal = ""
        for ask, yielding in self._asks(trial, preemptor):
            result = self._make_leave(trial, preemptor, ask, yielding, ahead)
            if isinstance(result, Promise):
                return result
            refusal = refusal or result
        return refusal or self._nobody(rank)

    def _asks(self, trial: Trial, preemptor: Preemptor) -> Iterator[tuple[Ask, Yielding]]:
        """What it may ask for, and who would have to leave for that: where there are queues, for devices of
        one model after the other."""
        rank, schedulers = preemptor.rank, preemptor.view.pending_schedulers
        use = self.once_left(trial).queues
        if use is None:
            yield preemptor.ask, by_priority(self.evictable, rank.priority, schedulers)
            return
        by_rank = preempts(self.context.policy)
        rights = QueueRights(use, self._standings(use.book), self.context.policy, by_rank)
        account = preemptor.ask.account
        for ask, amounts in narrowed(
            use,
            preemptor.ask,
            self.context.policy,
            lambda amounts: rights.might_yield(account, amounts, rank, schedulers),
        ):
            yield ask, rights.over(account, amounts, rank, schedulers)

    def _standings(self, book: QueueBook) -> Standings:
        if self._known_standings is None:
            self._known_standings = Standings(book, self.evictable)
        return self._known_standings

    def _make_leave(
        self,
        trial: Trial,
        preemptor: Preemptor,
        ask: Ask,
        yielding: Yielding,
        ahead: Callable[[], Sequence[Ask]],
    ) -> Promise | str:
        lower = yielding.pods & ~self.leaving & ~self.needed
        ripe = lower & (yielding.until <= self.now)
        if not lower.any():
            return ""
        feasibility = self._feasibility(trial, ask, ripe)
        choice = choose(feasibility)
        self.exhausted |= feasibility.exhausted
        if choice is None:
            if self.context.meter.over:
                return CUT_SHORT
            return self._not_enough(trial, ask, lower, yielding.until)
        victims = feasibility.units.pods_of(choice.best.chosen)
        if self._would_be_taken(feasibility, victims, ahead()):
            return TAKEN_BY_OTHERS
        self.expect(trial, victims)
        self._deals.append(Deal(preemptor, feasibility.units, choice, yielding.rule))
        return Promise(choice.best.seats, self.displaced(victims))

    def _would_be_taken(self, feasibility: Feasibility, victims: Rows, ahead: Sequence[Ask]) -> bool:
        """Whether the room would go to others, who rank higher, and the group would not fit after that."""
        if not ahead:
            return False
        trial, checkpoint = feasibility.trial, feasibility.trial.checkpoint()
        trial.evict(victims)
        too_large = set[AnyAsk]()
        for ask in ahead:
            alike, steps = ask.unnamed(), self.context.steps()
            found = attempt(trial, ask, self.context, steps) if alike not in too_large else None
            if found:
                commit(trial, ask, found)
            else:
                too_large.add(alike)
        left = attempt(trial, feasibility.ask, self.context, self.context.steps())
        trial.rollback(checkpoint)
        return left is None

    def displaced(self, victims: Rows) -> dict[str, set[str]]:
        """Groups, and the names of their pods that leave."""
        found: dict[str, set[str]] = {}
        for pod in victims.tolist():
            group = self.evictable.group_of(pod)
            if group is not None:
                found.setdefault(self.snapshot.tree_of(group), set()).add(
                    self.snapshot.bound.occupants[pod].key.partition("/")[2]
                )
        return found

    def _feasibility(self, trial: Trial, ask: Ask, candidates: Mask) -> Feasibility:
        standing = ~self.leaving
        known = self._units
        units = (
            Units(self.evictable, standing, candidates)
            if known is None
            else known.after(standing, candidates)
        )
        self._units = units
        ahead, outlook = self.once_left(trial), self._outlook_from(trial)
        return Feasibility(ahead, outlook.without(candidates), ask, self.context, units)

    def _nobody(self, rank: int) -> str:
        if rank not in self._exempt:
            self._exempt[rank] = int((self.evictable.ranks_below(rank) & ~self.leaving).sum())
        exempt = self._exempt[rank]
        return (
            f"of {counted(exempt, 'pod')} with a lower priority none may be evicted" if exempt else NO_LESSER
        )

    def _not_enough(self, trial: Trial, ask: Ask, lower: Mask, until: Ints) -> str:
        """Whether time would help: some of those who would leave have not run yet for as long as they may."""
        unripe = until[lower & (until > self.now)]
        if len(unripe):
            everyone = self._feasibility(trial, ask, lower)
            if len(everyone.units) and everyone.seats(everyone.units.closed(everyone.helpful)) is not None:
                return self._too_early(unripe)
        return f"it would not fit even after evicting all pods that it may evict ({int(lower.sum())})"

    def _too_early(self, until: Ints) -> str:
        soonest, pods = int(until.min()), counted(len(until), "pod")
        if soonest == NEVER:
            return (
                f"{pods} could make room, but no pod may be evicted before it has started and run for "
                f"its minimum time"
            )
        self._wake(soonest)
        return (
            f"{pods} could make room, but may not be evicted yet; the first may be from "
            f"{not_before(soonest)} on"
        )

    def expect(self, trial: Trial, victims: Rows) -> None:
        """These leave from now on: their places can be promised."""
        self._outlook_from(trial).expect(victims)
        self.leaving[victims] = True
        self._refused.clear()
        self._exempt.clear()

    def _wake(self, at: int) -> None:
        self.wake_at = at if self.wake_at is None else min(at, self.wake_at)


def not_before(milliseconds: int) -> str:
    """A moment too early would be one in vain."""
    return moment(-(-milliseconds // 1000))
