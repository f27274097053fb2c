"""The record of one cycle: what each group asked for, when it was tried, what it got, and what that took.

The cycle writes it while it gives every group its turn. Verdicts and all later answers read it, so that what
is explained is what was decided.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Seated
from maitred.cluster.nodes import Mask
from maitred.cluster.queues.scavenging import identity
from maitred.cluster.snapshot import GroupView, RunningMember, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import QueueBranch, Turn, parting, rank
from maitred.decide.ask import Ask, Assignment, ask_anew, ask_of
from maitred.decide.budget import Budget
from maitred.decide.context import Context
from maitred.decide.deadlines import NOT_DUE, goes_by_deadline, urgency
from maitred.decide.diagnose import Ahead, Diagnosis, Grounds
from maitred.decide.healing.deciding import SlowDecision, heal, with_replaced
from maitred.decide.healing.slow import SlowGroup
from maitred.decide.healing.spares import spare_nodes
from maitred.decide.healing.stand_ins import as_healed
from maitred.decide.hindsight import Hindsight
from maitred.decide.holding.beginning import Beginnings
from maitred.decide.holding.calendar import HeldPlaces
from maitred.decide.holding.reserved import NOT_CLOSED
from maitred.decide.holding.waiting import PlannedGroup, WaitingHolds
from maitred.decide.idle_devices import IdleRoom, KeptShape, rooms
from maitred.decide.levels import known_levels
from maitred.decide.limits import LimitKeeper
from maitred.decide.maintenance.deciding import Maintenance
from maitred.decide.maintenance.movers import LeavingUnit
from maitred.decide.preemption.promises import Preemptor, Promises
from maitred.decide.queues import budgets, past_use
from maitred.decide.queues.affording import Overspend
from maitred.decide.queues.budgets import BudgetOutcome
from maitred.decide.queues.overriding import settle_overrides
from maitred.decide.queues.turns import asked, branches_of, no_share
from maitred.decide.ranks import RankOrder
from maitred.decide.scope import Scope
from maitred.decide.screen import Screening, screen
from maitred.model.duration import milliseconds
from maitred.model.plan import Blocker, Verdict
from maitred.model.policy import Policy, preempts
from maitred.model.spending import SETTLED_EVERY, Scavenger, SpendingMemory

NEVER_YET = -1


@dataclass(frozen=True, slots=True)
class Sight:
    """What a group found in its turn, kept because it is gone once places are held for the group."""

    diagnosis: Diagnosis
    view: GroupView
    ask: Ask
    ahead: Ahead

    def blockers(self) -> tuple[Blocker, ...]:
        return self.diagnosis.of(self.view, self.ask, (), self.ahead)[0]


@dataclass(slots=True)
class TriedGroup:
    """What one cycle did with one group."""

    view: GroupView
    screening: Screening
    ask: Ask
    """What is still asked for."""
    waiting: list[int]
    """Positions in the view of the members in `ask`."""
    turn: Turn | None = None
    """Its first, as it was handed out: whoever asks need not work out the order again."""
    seated: Assignment = field(default_factory=list)
    """Members, by position in the view, and their rows."""
    promised: Assignment = field(default_factory=list)
    """Members, by position in the view, and the rows that they take once others have left; after the members
    those that come later."""
    reserved: Assignment = field(default_factory=list)
    """Rows that are kept while nothing is bound there: for those that come later, or for the whole group if
    it is one that comes next. By position too."""
    places: list[tuple[int, Seated]] = field(default_factory=list)
    """What it has on the trial, and since which moment: seats, and places that are held for it."""
    first_seated: int = NEVER_YET
    last_tried: int = 0
    """At which of the cycle's moments these were."""
    tries: int = 0
    """How often seats were looked for."""
    weighed: int = 0
    """How often it was looked for others who could leave for it."""
    steps: int = 0
    """What the searches for its seats took."""
    exhausted: bool = False
    """Whether one of these was cut off by the bound of steps."""
    cut: bool = False
    """Whether its namespace had used its share of the cycle's budget when it was its turn."""
    plan: PlannedGroup | None = None
    """Where and when it begins at the latest, if it has a hold."""
    beside: tuple[HeldPlaces, ...] = ()
    """Holds of others that it could delay, as it found them in its last turn."""
    too_dear: Overspend | None = None
    """The budget that could not pay for it, if it is to run without paying."""
    refusal: str = ""
    """Why no pod leaves for it, if it could not be seated."""
    blockers: tuple[Blocker, ...] = ()
    """What was in the way when it was promised its places, if that was to be explained at once."""
    sight: Sight | None = None
    """The same, if that may be asked later."""
    branches: tuple[QueueBranch, ...] | None = None
    """How it stands in its queue and in those above, as the cycle began; None as long as nobody asked."""
    key: str = field(init=False)
    shapes: tuple[int, ...] = field(init=False)
    """Of all that it asked for at first, by position. Who moves asks for more than its members that wait."""
    _taken: "Taken | None" = None

    def __post_init__(self) -> None:
        self.key = self.view.group.key
        self.shapes = self.ask.shapes

    @classmethod
    def of(
        cls, view: GroupView, screening: Screening, avoided: frozenset[int], closed: frozenset[int]
    ) -> "TriedGroup":
        ask = ask_of(view, avoided, closed)
        return cls(view, screening, ask, list(range(len(ask.shapes))))

    @property
    def blocked(self) -> bool:
        """Whether it may not be tried: it is not valid, or may not start yet."""
        return bool(self.screening.problems or self.screening.obstacles)

    @property
    def held(self) -> list[Seated]:
        """The places that it was promised, while they are held for it."""
        return [place for _, place in self.places if place.held]

    @property
    def coming(self) -> Ask:
        """What it asks for once claims that are not made yet are made: room is kept for that."""
        made = self.view.made_shapes
        if not made:
            return self.ask
        places = zip(self.waiting, self.ask.shapes, strict=True)
        return replace(self.ask, shapes=tuple(made[n] if n < len(made) else shape for n, shape in places))

    @property
    def preemptor(self) -> Preemptor:
        return Preemptor(self.view, self.ask, self.screening.rank)

    @property
    def taken(self) -> "Taken":
        """Its seats and the places that it was promised: every group after it asks for them."""
        if self._taken is None:
            rows = tuple(int(row) for _, row in (*self.seated, *self.reserved, *self.promised))
            self._taken = (self, (self.key, rows))
        return self._taken

    @property
    def placed(self) -> int:
        return len(self.view.running) + self.view.succeeded + len(self.seated)

    @property
    def is_met(self) -> bool:
        """Whether it has its quorum; a tree, with that of its parts."""
        parts = self.view.parts
        return self.placed >= self.view.group.quorum if parts is None else parts.root.met(self.by_leaf)

    @property
    def by_leaf(self) -> list[int]:
        """How many members of each leaf of a tree are placed."""
        parts = self.view.parts
        return [] if parts is None else parts.have(member for member, _ in self.seated)

    @property
    def standing(self) -> Verdict:
        """What is known of it without looking into what is in its way."""
        if self.screening.problems:
            return "Invalid"
        if self.is_met and self.view.group.exists:
            return "Scheduled"
        return "Preempting" if self.promised else "Waiting"

    def seated_identities(self) -> Iterator[str]:
        """What its pods that have got seats are remembered by."""
        return (identity(self.view.uids[member], self.view.pods[member]) for member, _ in self.seated)

    def is_there(self, member: int) -> bool:
        """Whether it is a pod, and none that comes later."""
        return member < len(self.view.pods)

    @property
    def kept(self) -> Assignment:
        """Places where nothing is bound or nominated in this cycle: kept for pods that come, by position."""
        return self.reserved + [place for place in self.promised if not self.is_there(place[0])]

    def kept_shapes(self) -> Iterator[tuple[str, int, int, int]]:
        """Of room for pods that are not there: their group, the row, the shape, and for how many."""
        if self.view.later is not None:
            for member, row in self.reserved:
                yield self.comes_as(member), row, self.shapes[member], 1
        elif self.reserved:
            for entry in self.held:
                for row, copies in zip(entry.rows.tolist(), entry.copies.tolist(), strict=True):
                    yield self.key, row, entry.shape, copies

    @property
    def payer(self) -> int:
        """The account that pays for what is kept for it. Who begins without paying pays nothing."""
        return self.ask.account if self.seated else self.view.account

    def comes_as(self, member: int) -> str:
        """The group that it is in, or will be in."""
        later = self.view.later
        return self.key if later is None else later.parts.leaf(later.parts.waiting[member]).key

    def promise(self, places: Assignment) -> None:
        self.promised, self._taken = places, None

    def take(self, assignment: Assignment) -> None:
        waiting = self.waiting
        for member, row in assignment:
            (self.seated if self.is_there(waiting[member]) else self.reserved).append((waiting[member], row))
        self._taken = None
        gone = {member for member, _ in assignment}
        self.waiting = [place for member, place in enumerate(waiting) if member not in gone]
        self.ask = self.ask.without(assignment)

    def sit_in_rank_order(self, ranks: RankOrder) -> None:
        """Members change seats once all have theirs, so that neighbours are together: what each shape has on
        each node stays as it is."""
        running = self.view.running
        self.seated = ranks.of(self.view, self.seated, running)
        if self.promised:
            added = [RunningMember(self.view.orders[member], row) for member, row in self.seated]
            own = [place for place in self.promised if self.is_there(place[0])]
            later = [place for place in self.promised if not self.is_there(place[0])]
            self.promised = [*ranks.of(self.view, own, (*running, *added)), *later]


Taken = tuple[TriedGroup, tuple[str, tuple[int, ...]]]
"""A group that has places, its name, and the rows of these."""


class CycleRecord:
    def __init__(self, snapshot: Snapshot, policy: Policy, now: datetime, scope: Scope) -> None:
        self.snapshot, self.scope, self.now = snapshot, scope, now
        self.context = Context(policy, known_levels(policy, snapshot))
        self.budget = Budget(scope.rotation, self.context.meter, policy.search.steps)
        self.trial = Trial.of(snapshot, self.context.meter)
        """The cluster with all that the cycle has given away so far."""
        self.promises = Promises(snapshot, self.context, now, self.room_kept_until)
        self.healing = heal(snapshot, policy, now, scope.scheduler)
        self.usage = past_use.settle(snapshot, policy, now)
        self.budgets = budgets.settle(snapshot, policy, now)
        self.overrides = settle_overrides(snapshot, now)
        self.holds = WaitingHolds(snapshot, self.context, now, self.promises.leaving)
        self.limits = LimitKeeper(snapshot, policy, round(now.timestamp() * 1000))
        self.maintenance = Maintenance(snapshot, self.context, now, self.promises, scope.scheduler)
        self.reservations = self.holds.reservations
        self.beginnings = Beginnings(snapshot, self.reservations, self.promises, scope.scheduler)
        self.spares = spare_nodes(self.trial, policy, self._lent_to, self.reservations.rows)
        """The rows of nodes that are kept free for repairs."""
        self.grounds = Grounds(snapshot, self.context, self.reservations)
        self.moment = 0
        """Every attempt to seat a group, and every place that is held, has its own."""
        self.groups = list[TriedGroup]()
        """Those that are decided, in the order of the snapshot."""
        self.bystanders = list[TriedGroup]()
        """They are not decided, but were promised places, which they keep."""
        for view in map(self._as_healed, snapshot.groups):
            if self._is_decided(view):
                self.groups.append(self._new(view))
            elif view.nominated or self.keeps_room_for(view) or self.holds.remembered(view) is not None:
                self.bystanders.append(self._new(view))
        awaited = (*snapshot.awaited, *self.healing.hurt)
        self.bystanders += [self._new(view) for view in awaited if self.keeps_room_for(view)]
        away = (view for view in snapshot.away if self.keeps_room_for(view))
        self.bystanders += [self._anew(view, ask_anew(view)) for view in away]

    def _is_ours(self, view: GroupView) -> bool:
        scheduler = self.scope.scheduler
        return scheduler is None or scheduler in view.pending_schedulers

    def _is_decided(self, view: GroupView) -> bool:
        groups = self.scope.groups
        return self._is_ours(view) and (groups is None or view.group.key in groups)

    def keeps_room_for(self, view: GroupView) -> bool:
        """Whether room is kept for it, for as long as the policy says: because those that come before it have
        their places, or because it has lost members."""
        return self.room_kept_until(view) > self.now.timestamp()

    def held_until(self, group: str) -> datetime | None:
        """How long room is kept for a group that has lost members, or was told to leave its nodes."""
        return self.healing.held_until.get(group) or self.maintenance.held_until.get(group)

    @cached_property
    def rooms(self) -> tuple[IdleRoom, ...]:
        """What is kept for pods that are not there. To be asked once the cycle is over."""
        kept = (
            KeptShape(key, row, group.view.owned_by, group.payer, shape, copies)
            for group in self.everyone
            for key, row, shape, copies in group.kept_shapes()
        )
        seated = ((group.view, group.seated) for group in self.groups if group.seated)
        return rooms(self.snapshot, self.context.policy, kept, seated)

    @cached_property
    def _budgets_at_last(self) -> BudgetOutcome:
        """With what stands idle in these rooms from now on."""
        idle = [room for room in self.rooms if room.devices]
        if not idle:
            return self.budgets
        return budgets.settle(self.snapshot, self.context.policy, self.now, idle)

    def budgets_memory(self) -> SpendingMemory | None:
        """With those who begin to run without paying in this cycle; None if it need not be written down."""
        begun = [group for group in self.groups if group.ask.scavenges and group.seated]
        if not begun:
            return self._budgets_at_last.memory
        return budgets.with_scavengers(
            self._budgets_at_last.known,
            [Scavenger(group.key, tuple(group.seated_identities())) for group in begun],
        )

    @property
    def budgets_wake_at(self) -> int | None:
        """When to look again at what queues spend: soon, also if somebody has only now got seats."""
        use, at = self.trial.queues, self._budgets_at_last.wake_at
        begun = use is not None and bool(use.committed.any())
        soon = round(self.now.timestamp() * 1000) + SETTLED_EVERY
        return min(at, soon) if begun and at is not None else at

    def room_kept_until(self, view: GroupView) -> float:
        """In seconds since 1970; infinity where it is not known when that began."""
        until = self.held_until(view.group.key)
        if until is not None:
            return until.timestamp()
        if view.kept_from is None or not self._is_ours(view):
            return -math.inf
        return view.kept_from + (milliseconds(self.context.policy.workloads.keep_room) or 0) / 1000

    def _as_healed(self, view: GroupView) -> GroupView:
        """What is told to leave by this Plan counts until it leaves, as all that is told to leave does."""
        if self.held_until(view.group.key) is None:
            return view
        return as_healed(view, (), self.healing.had.get(view.group.key))

    def _new(self, view: GroupView) -> TriedGroup:
        avoided = self.healing.avoided.get(view.group.key, NOT_CLOSED)
        screening = screen(view, self.snapshot, self.context, self.now)
        return TriedGroup.of(view, screening, avoided, self._closed_to(view, screening))

    # -- slow members ----------------------------------------------------------------------------------

    def replaced_by(self, slow: SlowGroup) -> TriedGroup:
        """Those that come instead of its slow members, on other nodes."""
        group = self._anew(slow.view, slow.ask)
        group.ask = replace(group.ask, closed=self.spares | self._reserved_from(group.view) | slow.nodes)
        return group

    def settle_slow(self, begun: Sequence[SlowDecision]) -> None:
        room = Counter[str]()
        for group in self.everyone:
            room[group.key] += len(group.reserved)
        self.healing = with_replaced(self.healing, self.snapshot, self.context.policy, self.now, begun, room)

    # -- spares ----------------------------------------------------------------------------------------

    def _closed_to(self, view: GroupView, screening: Screening) -> frozenset[int]:
        """What is reserved for others; and the spares, but for groups that are healed, and for those to which
        they are lent."""
        policy, reserved = self.context.policy, self._reserved_from(view)
        if not self.spares:
            return reserved
        lent = preempts(policy) and screening.rank.priority < policy.healing.spares.below
        return reserved if lent or view.group.key in self.healing.healed else self.spares | reserved

    def _reserved_from(self, view: GroupView) -> frozenset[int]:
        return self.holds.from_now(view).closed if self.reservations.kept else NOT_CLOSED

    def _lent_to(self) -> Mask:
        """Pods that leave when a group is healed: to them spares are lent."""
        policy, evictable = self.context.policy, self.promises.evictable
        if not preempts(policy):
            return np.zeros(len(self.snapshot.bound.node), dtype=np.bool_)
        own = () if self.scope.scheduler is None else (self.scope.scheduler,)
        ripe = evictable.protected_until <= self.promises.now
        return evictable.below(policy.healing.spares.below, own) & ripe

    # -- what is decided about -------------------------------------------------------------------------

    def _anew(self, view: GroupView, ask: Ask) -> TriedGroup:
        """A group that asks for other places than those that it has."""
        screening = screen(view, self.snapshot, self.context, self.now)
        ask = replace(ask, closed=self._closed_to(view, screening))
        return TriedGroup(view, screening, ask, list(range(len(ask.shapes))))

    def moving(self, unit: LeavingUnit) -> LeavingUnit:
        """The same, on the nodes that are open to its groups. What they have counts for their queues where
        they are: no limit is in the way of that somewhere else."""
        asks = tuple((mover.view, replace(mover.ask, account=NO_ACCOUNT)) for mover in self.movers(unit))
        return replace(unit, asks=asks)

    def movers(self, unit: LeavingUnit) -> list[TriedGroup]:
        """Its groups, as they ask for all that they have."""
        return [self._anew(view, ask) for view, ask in unit.asks]

    def move(self, view: GroupView, ask: Ask, seats: Assignment) -> TriedGroup:
        """A group that leaves its nodes has been found these places, and is a bystander from now on."""
        group = self._anew(view, ask)
        if self.maintenance.is_kept(view.group.key):
            group.reserved = seats
        self.bystanders.append(group)
        return group

    @property
    def everyone(self) -> tuple[TriedGroup, ...]:
        return (*self.groups, *self.bystanders)

    @cached_property
    def undecided(self) -> list[TriedGroup]:
        """Groups that wait and that this cycle does not decide: not ours, or nothing has happened to them."""
        known = {id(group.view) for group in self.everyone}
        return [self._new(view) for view in self.snapshot.groups if id(view) not in known]

    @cached_property
    def by_key(self) -> dict[str, TriedGroup]:
        """Of several groups that are decided under one name, the last."""
        return {group.key: group for group in self.groups}

    def waited_long(self, view: GroupView) -> float:
        """Since when a group waits whom the shares of queues have held up for longer than the policy says;
        infinity for others. An eviction begins this anew: pods that ran have not waited."""
        patience = milliseconds(self.context.policy.fair_share.longest_wait)
        if patience is None or not self.context.policy.queues:
            return math.inf
        longest = self.now.timestamp() - patience / 1000
        if view.created > longest:
            return math.inf
        since = min((created for _, created, _ in view.orders), default=math.inf)
        return since if since <= longest else math.inf

    def urgency(self, view: GroupView) -> float:
        """The deadline by which a group goes, if the order has deadlines; infinity for others."""
        if not goes_by_deadline(self.context.policy.order):
            return NOT_DUE
        return urgency(view, self.snapshot.book, self.now.timestamp() * 1000)

    @cached_property
    def held_back_until(self) -> int | None:
        """When the first group may start that is not to start before; in milliseconds since 1970."""
        now = self.now.timestamp() * 1000
        firsts = (group.view.runtime.stay.timing.not_before for group in self.groups)
        return min((at for at in firsts if at is not None and at > now), default=None)

    def rank(self, group: TriedGroup) -> int:
        return rank(group.screening.rank.priority, self.context.policy.order)

    def outranks(self, group: TriedGroup, other: TriedGroup) -> bool:
        """Whether a group ranks higher: where the branches of their queues part, as the cluster was when the
        cycle began."""
        if group.ask.scavenges != other.ask.scavenges:
            return other.ask.scavenges
        mine, theirs = self._branches(group), self._branches(other)
        level = parting(mine, theirs)
        if level is not None and mine[level].borrows != theirs[level].borrows:
            return theirs[level].borrows
        return self.rank(group) < self.rank(other)

    def _branches(self, group: TriedGroup) -> tuple[QueueBranch, ...]:
        if group.branches is None:
            use = self.grounds.pristine.queues
            if use is None:
                group.branches = ()
            else:
                group.branches = branches_of(use, asked(use, group.ask, self.context.policy), no_share)
        return group.branches

    def is_explained(self, group: TriedGroup) -> bool:
        return self.scope.explained is None or group.key in self.scope.explained

    # -- what the cycle notes --------------------------------------------------------------------------

    def note_turn(self, group: TriedGroup) -> None:
        self.moment += 1
        group.last_tried = self.moment

    def note_places(self, group: TriedGroup, places: Sequence[Seated]) -> None:
        """From now on it is in the way of others."""
        group.first_seated = self.moment if group.first_seated == NEVER_YET else group.first_seated
        group.places += [(self.moment, place) for place in places]
        self.holds.entered(group.view, places)

    def note_sight(self, group: TriedGroup) -> None:
        """What is in its way now is gone once its places are held for it."""
        if self.is_explained(group):
            diagnosis = Diagnosis(self.grounds, self.trial)
            group.blockers = diagnosis.of_promised(group.ask, self.ahead_of(group, self.taken()))
        elif self.scope.explainable:
            diagnosis = Diagnosis(self.grounds, self.trial.on(self.trial.nodes))
            group.sight = Sight(diagnosis, group.view, group.ask, self.ahead_of(group, self.taken()))

    def note_displaced(self, group: TriedGroup, pods: Set[str]) -> None:
        """Members that leave for others count no more; the group, which ranks lower, is yet to be served."""
        view = group.view
        stays = [place for place, member in enumerate(view.running) if member.order[2] not in pods]
        running = tuple(view.running[place] for place in stays)
        parts = view.parts
        if parts is not None:
            parts = replace(parts, seated=tuple(parts.seated[place] for place in stays))
        group.view = replace(view, running=running, running_shapes=view.running_shapes[stays], parts=parts)
        group.screening = screen(group.view, self.snapshot, self.context, self.now)
        group.ask = ask_of(group.view, group.ask.avoided, self._closed_to(group.view, group.screening))

    # -- what others read ------------------------------------------------------------------------------

    def taken(self) -> list[Taken]:
        """Every group that has got places in this cycle, or was promised some."""
        found = list[Taken]()
        for group in self.everyone:
            rows = tuple(int(row) for held in group.held for row in held.rows)
            if group.seated or group.promised:
                found.append(group.taken)
            elif rows:
                found.append((group, (group.key, rows)))
        return found

    def ahead_of(self, group: TriedGroup, taken: Sequence[Taken]) -> Ahead:
        """Groups that had places when this one last tried in vain, with the rows of all of them."""
        return tuple(
            rows for other, rows in taken if other is not group and other.first_seated < group.last_tried
        )

    @cached_property
    def hindsight(self) -> Hindsight:
        """The cluster as each group found it. To be asked once the cycle is over."""
        places = (place for group in self.everyone for place in group.places)
        return Hindsight(self.grounds, self.trial, places)
