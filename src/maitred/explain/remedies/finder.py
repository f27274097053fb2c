"""Remedies: for each group that waits for room, the smallest changes that would get it scheduled now.

Every remedy has been tried: the cycle was run again on the changed cluster, it seated the group, and, but for
a higher priority, it left out no group that comes before it. Groups that come after it and would lose their
seats to it are named. At most one of each kind is offered:

- nodes that are cordoned or unwell, and devices that are, brought back: as few as will do (`mending`);
- fewer members: the most that fit now, if they are at least a quarter of the quorum. An elastic group lowers
  its quorum and keeps its members; of a group that needs them all, or whose surplus would be in the way of
  others, the rest is left out;
- a wider topology level, for the group or for its slices: the next that works, or none at all;
- of a tree of groups, one part of it that starts with less, or that has a wider level (`trees`);
- a smaller request of what it is short of: the largest that fits, in steps of 100m of cpu, whole Mi (from
  16Gi on, Gi) of memory, whole devices;
- one constraint less, or a wider one: a selector, a taint, pods nearby, a spread, a host port (`loosening`);
- storage that is ready and within reach (`supplying`);
- of claims for devices: the values of devices that are there in the selectors of a request, a wider link
  (`other_devices`), one selector or constraint less, another class, fewer devices, less of each (`asking`);
- more nodes, as few as will do, of a kind that exists (as far as the group can tell kinds apart), in the
  domain that is nearest to holding the group if it has to be in one. Groups that wait ahead of it take of the
  new nodes first, so one that has many ahead is not offered any;
- a higher priority, where others took the room. It alone is at the cost of those ahead, and says whose
  (`outranking`);
- other rights of queues, in the policy: higher limits and budgets of its queue and of those above, no higher
  than it needs; a queue that borrows, or another that lends, or a higher guarantee instead (`raising`);
- and for a group that may not start yet, whatever room there is: missing members created, or a lower quorum,
  or gates removed (`starting`).

The three smallest are told. Their measure is the share of what was asked for that is given up: of the quorum;
of the rungs from its level up to the whole cluster, those that it climbs (from rack past zone to the cluster:
two of three); of the request; of its constraints; and for nodes, which are not given up but paid for, the
share of new ones among all that the group would then be on; and for a priority the share of those that would
wait instead. Ties go in the order above.

What stands in a manifest from which other groups are made too (the pods of a Job that is no gang, the
replicas of a LeaderWorkerSet) works for the group alone, and if all of them are changed (`_shared_with`).

All tries for one group together are bounded, in attempts and never by a clock, and so are those for all
groups of a Plan (`seeking`). Groups that ask for the same at the same point of the cycle are tried once. This
is for people who ask, and no part of scheduling.
"""

from collections.abc import Callable, Hashable, Iterator
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from maitred.cluster.snapshot import GroupView
from maitred.decide.alike import needs_of
from maitred.decide.ask import Assignment
from maitred.decide.levels import position_of
from maitred.explain.remedies.asking import OtherClaim, looser_claims, smaller_claims
from maitred.explain.remedies.changes import (
    AtACost,
    Change,
    FewerMembers,
    LowerQuorum,
    SmallerRequest,
    WiderLevel,
    available,
    with_cost,
)
from maitred.explain.remedies.growth import Growth
from maitred.explain.remedies.loosening import Loosened, Loosening, loosenings
from maitred.explain.remedies.mending import Mending
from maitred.explain.remedies.other_devices import fitting_claims
from maitred.explain.remedies.outranking import higher_rank
from maitred.explain.remedies.raising import other_rights
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.explain.remedies.starting import to_start
from maitred.explain.remedies.supplying import supplies
from maitred.explain.remedies.trees import LowerPart, WiderPart, lower_parts, wider_parts
from maitred.model.policy import is_device
from maitred.model.quantity import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, amount

MOST_RESOURCES = 3
SMALLEST_PART = 4
"""Members are worth nothing if they are fewer than one in so many of the quorum."""
LOOSENED = ("Affinity", "Capacity", "Fragmentation")
"""Categories in which constraints other than levels may be in the way; host ports are part of the room."""
HUGE_PAGES = "hugepages-"

T = TypeVar("T")


class Finder:
    def __init__(self, rehearsal: Rehearsal) -> None:
        self.rehearsal = rehearsal
        self.growth, self.mending = Growth(rehearsal), Mending(rehearsal)

    def changes(self, ranked: RankedGroup) -> list[Change]:
        """All that would help: first what costs nobody a seat, and of that the smallest."""
        found = to_start(self.rehearsal, ranked) if ranked.held_back else self._room_for(ranked)
        return sorted(found, key=lambda change: (isinstance(change, AtACost), change.share))

    def _room_for(self, ranked: RankedGroup) -> list[Change]:
        changes = [
            *self.mending.brought_back(ranked),
            *self.own_changes(ranked),
            *self._alike("constraints", ranked, self._constraints),
            self.growth.more_nodes(ranked),
            higher_rank(self.rehearsal, ranked),
            *other_rights(self.rehearsal, ranked),
        ]
        return [change for change in changes if change is not None]

    def own_changes(self, ranked: RankedGroup) -> list[Change]:
        """Smaller wishes: fewer members, a wider level, a smaller request."""
        return self._alike("wishes", ranked, self._wishes)

    def _alike(
        self, kind: str, ranked: RankedGroup, find: Callable[[RankedGroup], list[Change]]
    ) -> list[Change]:
        """Changes of the group itself. What helps one group helps those like it, while nobody else moves."""
        likeness = self._likeness(ranked)
        if likeness is None or self.rehearsal.siblings(ranked):
            return find(ranked)
        return self._recall((kind, likeness), lambda: find(ranked))

    def _recall(self, key: Hashable, find: Callable[[], T]) -> T:
        return self.rehearsal.memory.recall(self.rehearsal.effort, key, find)

    def _wishes(self, ranked: RankedGroup) -> list[Change]:
        ways = (self._fewer_members, self._wider_level, self._smaller_request)
        return [change for change in (way(ranked) for way in ways) if change is not None]

    def _constraints(self, ranked: RankedGroup) -> list[Change]:
        return [*self._looser(ranked), *self._supplies(ranked), *self._claims(ranked)]

    def _likeness(self, ranked: RankedGroup) -> Hashable:
        """What the changes depend on; None if there is no telling."""
        view, rehearsal = ranked.view, self.rehearsal
        if not rehearsal.plain(ranked):
            return None
        ages = tuple(order[1] > view.created for order in view.orders)
        asks = (rehearsal.kin(ranked), view.group.quorum, view.succeeded, view.members, ages)
        return (asks, ranked.priority, rehearsal.seated_before(ranked))

    def _working(self, change: Change, ranked: RankedGroup) -> Change | None:
        """The change, with its cost to others, if it works. Who makes one leader for some workers makes no
        workers without a leader."""
        if isinstance(change, FewerMembers) and ranked.view.owner and change.last_of_their_kind(ranked.view):
            return None
        wider = isinstance(change, WiderLevel | WiderPart)
        levels_move = wider and not self.rehearsal.policy.topology.levels
        first = 0 if levels_move else ranked.place
        outcome = self.rehearsal.works(change.applied, ranked, self.rehearsal.rivals(ranked, first), first)
        siblings = [] if outcome is None else self._shared_with(change, ranked)
        if outcome is None or not siblings:
            return None if outcome is None else with_cost(change, outcome.lost)
        first = min(first, *(other.place for other in siblings))
        together = self.rehearsal.outcome_for_all(change.applied, ranked, siblings, first)
        if together is None or together.wronged:
            return None
        return with_cost(change, tuple(sorted({*outcome.lost, *together.lost})))

    def _shared_with(self, change: Change, ranked: RankedGroup) -> list[RankedGroup]:
        """The groups that change too, if the manifest is changed that they are made from."""
        return [other for other in self.rehearsal.siblings(ranked) if is_shared(change, ranked, other)]

    def _probe(self, change: Change, ranked: RankedGroup) -> bool:
        """Whether the group would fit beside all that others got before its turn."""

        def probe() -> Assignment:
            return self.rehearsal.probe(change.applied(self.rehearsal.snapshot, ranked.number), ranked)

        return bool(self._recall((*self._turn(ranked), change), probe))

    def _turn(self, ranked: RankedGroup) -> tuple[Hashable, ...]:
        """Groups for which this is equal ask for the same of the same."""
        return (self.rehearsal.kin(ranked), self.rehearsal.taken_before(ranked), ranked.priority)

    def _largest(self, most: int, make: Callable[[int], Change], ranked: RankedGroup) -> Change | None:
        """The change of the largest size that works, of those up to `most`."""
        found = self._working(make(most), ranked) if most else None
        if found is not None:
            return found
        size = largest(most - 1, lambda size: self._working(make(size), ranked) is not None)
        return self._working(make(size), ranked) if size else None

    # -- fewer members ---------------------------------------------------------------------------------

    def _fewer_members(self, ranked: RankedGroup) -> Change | None:
        view = ranked.view
        if view.parts is not None:
            return self._lower_part(ranked)
        if view.later is not None:  # what its owner creates later counts with it, as it is written
            return None
        found = (self._of_every_kind(ranked) or self._nearest(ranked))[: view.missing - 1]
        placed = len(view.running) + view.succeeded
        if (placed + len(found)) * SMALLEST_PART < view.group.quorum:
            return None

        def lower(seats: int) -> Change:
            return LowerQuorum(placed + seats, 1 - (placed + seats) / view.group.quorum)

        def drop(seats: int) -> Change:
            seated = {member for member, _ in found[:seats]}
            dropped = tuple(position for position in range(len(view.pods)) if position not in seated)
            return FewerMembers(dropped, placed + seats, 1 - (placed + seats) / view.group.quorum)

        ways = [lower]
        if found and keeps_its_age(view, {member for member, _ in found[:1]}):
            ways.insert(0 if view.group.quorum == available(view) else 1, drop)
        for way in ways:
            works = self._working(way(len(found)), ranked)
            if works is not None:
                return works
        return self._largest(len(found) - 1, ways[0], ranked)

    def _of_every_kind(self, ranked: RankedGroup) -> Assignment:
        """As many as fit with one of each kind among them, first: a group is little use without its launcher.
        None where members are alike, or that cannot be."""
        view = ranked.view
        if len(np.unique(view.shapes)) == 1 or view.group.topology.slice_size:
            return []
        return self._recall((*self._turn(ranked), "kinds"), lambda: self.rehearsal.probe_kinds(ranked))

    def _nearest(self, ranked: RankedGroup) -> Assignment:
        """As many members as fit beside all that others got before its turn."""
        rehearsal = self.rehearsal
        return self._recall(
            (*self._turn(ranked), "nearest"), lambda: rehearsal.probe(rehearsal.snapshot, ranked, need=1)
        )

    def _lower_part(self, ranked: RankedGroup) -> Change | None:
        """The part of a tree that does with less, so that the least is given up; what is left of the tree is
        not less than a quarter."""
        fitting = list[LowerPart]()
        for most, make in lower_parts(ranked.view):
            found = self._most_that_fits(most, make, ranked)
            fitting += [make(found)] if found else []
        fitting = [one for one in fitting if (1 - one.share) * SMALLEST_PART >= 1]
        tried = (self._working(one, ranked) for one in sorted(fitting, key=lambda one: one.share))
        return next((works for works in tried if works is not None), None)

    def _most_that_fits(self, most: int, make: Callable[[int], Change], ranked: RankedGroup) -> int:
        return largest(most, lambda size: self._probe(make(size), ranked))

    # -- a wider level ---------------------------------------------------------------------------------

    def _wider_level(self, ranked: RankedGroup) -> Change | None:
        for change in self._wider_levels(ranked.view):
            works = self._working(change, ranked) if self._probe(change, ranked) else None
            if works is not None:
                return works
        return None

    def _wider_levels(self, view: GroupView) -> Iterator[WiderLevel | WiderPart]:
        if view.parts is not None:
            yield from sorted(wider_parts(view, self.rehearsal.context), key=lambda one: one.share)
        if view.tree is not None:
            return
        context, request = self.rehearsal.context, view.group.topology
        required = position_of(context.key(request.required), context.levels) if request.required else None
        if request.required:
            names = [level.name for level in reversed(context.levels[: required or 0])]
            before = context.name(context.key(request.required))
            for step, name in enumerate((*names, ""), 1):
                yield WiderLevel("required", name, before, step / (len(names) + 2))
        if request.slice_size:
            own = position_of(context.key(request.slice_level), context.levels) or 0
            names = [level.name for level in reversed(context.levels[required or 0 : own])]
            before = context.name(context.key(request.slice_level))
            for step, name in enumerate((*names, ""), 1):
                yield WiderLevel("slice", name, before, step / (len(names) + 2))

    # -- other constraints -----------------------------------------------------------------------------

    def _looser(self, ranked: RankedGroup) -> list[Change]:
        """One of each kind: of selectors, taints, pods nearby, spreads and ports."""
        if not any(blocker.category in LOOSENED for blocker in self.rehearsal.blockers(ranked)):
            return []
        if (
            ranked.view.later is not None
        ):  # which templates the change is for cannot be said of the group alone
            return []
        found = dict[type[Loosening], Change]()
        for change in loosenings(self.rehearsal, ranked.view):
            kind = type(change.loosening)
            if kind in found or not self._probe(change, ranked):
                continue
            works = self._working(change, ranked)
            if works is not None:
                found[kind] = works
        return list(found.values())

    def _supplies(self, ranked: RankedGroup) -> list[Change]:
        if all(blocker.category != "Volume" for blocker in self.rehearsal.blockers(ranked)):
            return []
        found = (self._working(change, ranked) for change in supplies(self.rehearsal, ranked))
        return list(islice((change for change in found if change is not None), 1))

    def _claims(self, ranked: RankedGroup) -> list[Change]:
        """One of each kind: a wider link or a constraint less, the values of devices that are there or a
        selector less, another class, and smaller requests."""
        blockers, snapshot = self.rehearsal.blockers(ranked), self.rehearsal.snapshot
        if all(blocker.category not in ("Devices", "Health") for blocker in blockers):
            return []
        if ranked.view.later is not None:
            return []
        found = dict[str, Change]()
        number = ranked.number
        for change in chain(fitting_claims(snapshot, number), looser_claims(snapshot, number)):
            if not self.rehearsal.effort.allows():
                break
            if change.kind not in found and self._probe(change, ranked):
                self._add(found, change.kind, self._working(change, ranked))
        for most, make in smaller_claims(snapshot, number):
            kind = make(most).kind
            tried = kind in found or not self.rehearsal.effort.allows()
            size = 0 if tried else self._most_that_fits(most, make, ranked)
            self._add(found, kind, self._largest(size, make, ranked))
        return list(found.values())

    @staticmethod
    def _add(found: dict[str, Change], kind: str, change: Change | None) -> None:
        if change is not None:
            found.setdefault(kind, change)

    # -- a smaller request -----------------------------------------------------------------------------

    def _smaller_request(self, ranked: RankedGroup) -> Change | None:
        if ranked.view.later is not None:
            return None
        requests = [dict(needs.requests) for needs in needs_of(self.rehearsal.snapshot, ranked.view)]
        for resource in self._resources(ranked, set().union(*requests)):
            change = self._largest_request(ranked, resource, {r.get(resource, 0) for r in requests})
            if change is not None:
                return change
        return None

    def _resources(self, ranked: RankedGroup, asked: set[str]) -> list[str]:
        """What to ask for less of: first what a blocker says is short, then devices, then the others."""
        short = [blocker.detail.get("resource") for blocker in self.rehearsal.blockers(ranked)]
        rest = sorted(asked, key=lambda resource: (not is_device(self.rehearsal.policy, resource), resource))
        ordered = dict.fromkeys([resource for resource in short if resource in asked] + rest)
        flexible = [name for name in ordered if name != PODS and not name.startswith(HUGE_PAGES)]
        return flexible[:MOST_RESOURCES]

    def _largest_request(self, ranked: RankedGroup, resource: str, asked: set[int]) -> Change | None:
        before = max(asked)
        step = step_of(resource, before)
        asides = [
            dict(needs.aside).get(resource, 0) for needs in needs_of(self.rehearsal.snapshot, ranked.view)
        ]
        alike, aside = len(asked) == 1 == len(set(asides)), max(asides)

        def ask_for(steps: int) -> Change:
            return SmallerRequest(resource, before, steps * step, alike, aside)

        most = self._most_that_fits((before - 1) // step, ask_for, ranked)
        return self._largest(most, ask_for, ranked)


def is_shared(change: Change, ranked: RankedGroup, other: RankedGroup) -> bool:
    """Whether a change of one group stands where it changes another of the same workload too. Pods are made
    from its templates; marks on it are for all of its groups; and groups of one size are its replicas."""
    own, theirs = ranked.view, other.view
    match change:
        case SmallerRequest() | Loosened() | OtherClaim():
            return True
        case WiderLevel():
            return own.group.topology == theirs.group.topology
        case LowerQuorum() | FewerMembers():
            return (own.group.quorum, len(own.pods)) == (theirs.group.quorum, len(theirs.pods))
    return False


def keeps_its_age(view: GroupView, kept: set[int]) -> bool:
    """Whether the group is as old as before with these of its pending members: else its turn comes later."""
    ages = [(order[1], position in kept) for position, order in enumerate(view.orders)]
    ages += [(member.order[1], True) for member in view.running]
    oldest = [stays for created, stays in ages if created == view.created]
    return any(oldest) or not oldest


def step_of(resource: str, requested: int) -> int:
    """The steps in which people change a request."""
    if resource == CPU:
        return amount(CPU, "100m")
    if resource in (MEMORY, EPHEMERAL_STORAGE):
        return amount(MEMORY, "1Gi" if requested >= amount(MEMORY, "16Gi") else "1Mi")
    return 1


def largest(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number from 1 to `most` for which something holds; if it fails for 1, it fails for all."""
    if most < 1 or not holds(1):
        return 0
    low, high = 1, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
