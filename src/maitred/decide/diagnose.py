"""Why a group is not seated: one constraint at a time is lifted to see whether it is the one in the way."""

from collections.abc import Iterator, Set
from dataclasses import replace
from functools import cached_property

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Selection
from maitred.cluster.nodes import NodeView
from maitred.cluster.parts import Parts
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.supply import CATEGORIES as OF_SUPPLIES
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.supply.interface import Lift
from maitred.cluster.trial import Trial
from maitred.decide import blockers as say
from maitred.decide.ask import AnyAsk, Ask, Assignment, ask_anew, ask_at_last
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.compile import (
    acceptable,
    make_rules,
    minds_others,
)
from maitred.decide.constraints import LIFTED, in_company
from maitred.decide.context import FULL_RULES, Context, Waiver
from maitred.decide.empty import empty_healthy_cluster, hopeful
from maitred.decide.healing.spares import kept_for_repairs
from maitred.decide.health import gone
from maitred.decide.holding.reserved import Reservations
from maitred.decide.holding.reserved_words import reserved_for_others
from maitred.decide.queues.admission import is_limited, is_refused
from maitred.decide.screen import short_parts, short_words
from maitred.decide.seating import commit
from maitred.decide.seats import Steps
from maitred.model.categories import Category, in_order
from maitred.model.plan import Blocker
from maitred.model.policy import health_taints

Found = tuple[tuple[Blocker, ...], bool]
Seating = tuple[tuple[int, int], ...]
"""Shapes and the rows they were seated on."""
Ahead = say.Ahead
MOST_STEPS = 2_000
ROOM: Category = "Capacity"
"""Lifted like a constraint: the nodes are as good as empty."""


class Grounds:
    """What every diagnosis of one cycle is made on, whatever the cycle has given away by then."""

    def __init__(
        self, snapshot: Snapshot, context: Context, reservations: Reservations | None = None
    ) -> None:
        self.snapshot, self.context, self.reservations = snapshot, context, reservations
        self.hopeless: dict[tuple[AnyAsk, AnyAsk], bool] = {}
        """Whether groups that ask so could never be seated, as far as it was looked into."""

    @cached_property
    def pristine(self) -> Trial:
        """The cluster before this cycle bound anything."""
        return Trial.of(self.snapshot, self.context.meter)

    @cached_property
    def well(self) -> NodeView:
        """The nodes, all of them open and well, with all their devices."""
        return self.snapshot.nodes.hoped().without_taints(health_taints(self.context.policy))

    @cached_property
    def open(self) -> Trial:
        """The same, if all nodes were well."""
        return self.pristine if self.well is self.snapshot.nodes else self.pristine.on(self.well)

    @cached_property
    def empty(self) -> Trial:
        return empty_healthy_cluster(self.snapshot, self.context.policy, self.context.meter)

    @cached_property
    def roomy(self) -> Trial:
        """The cluster with nothing on it but what belongs to its nodes."""
        return Trial.empty(self.snapshot, self.snapshot.nodes, self.context.meter)


class Diagnosis:
    """Verdicts on groups that a cycle left waiting. `trial` is the cluster as their turns found it."""

    def __init__(self, grounds: Grounds, trial: Trial) -> None:
        self.grounds, self.trial = grounds, trial
        self.snapshot, self.context = grounds.snapshot, grounds.context
        self.exhausted = False
        self._known: dict[tuple[AnyAsk, Seating, Ahead], tuple[Blocker, ...]] = {}
        self._seated_nearest = dict[tuple[AnyAsk, Lift], Assignment]()
        """By what is asked for, whatever the queue."""
        self._unlimited = dict[AnyAsk, bool]()
        """Who fits now if no limits of queues hold."""
        self._affine = dict[tuple[int, ...], bool]()
        self._fits_with_room = set[AnyAsk]()
        """Who fits once others have left, as was found out before."""

    def of(self, view: GroupView, ask: Ask, own: Seating, ahead: Ahead) -> Found:
        """Blockers, weightiest first, and whether the group could never be seated at all.

        `own` are the members of the group that were seated in this cycle, `ahead` who was seated before it.
        """
        return self._remembered(ask, own, ahead), self._impossible(view)

    def behind_gates(self, ask: Ask) -> tuple[Blocker, ...]:
        """What would be in the way of a group that may not start yet, if it might."""
        if not ask.need or self._fits_without(frozenset(), ask, ()):
            return ()
        return self._remembered(ask, (), ())

    def of_promised(self, ask: Ask, ahead: Ahead) -> tuple[Blocker, ...]:
        """What is in the way of a group that has found places which others have to leave."""
        if not any(map(self._leans_on_others, ask.distinct)):  # no pod that is gone matters to it
            self._fits_with_room.add(ask.unnamed())
        return self._examined(ask, (), ahead)

    def _leans_on_others(self, shape: int) -> bool:
        """Whether pods that would be gone if there were room help it to its places, or may: those that it
        must be near, or that even out its spread."""
        needs, roomy = self.trial.needs(shape), self.grounds.roomy.neighbours
        if needs.affinity:
            return True
        selections = (Selection((constraint.pods,), False, True) for constraint in needs.spread)
        return any((self.trial.neighbours.matching(one) != roomy.matching(one)).any() for one in selections)

    def _remembered(self, ask: Ask, own: Seating, ahead: Ahead) -> tuple[Blocker, ...]:
        key = (ask.unnamed(), own, ahead)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._examined(ask, own, ahead)
        return found

    def _examined(self, ask: Ask, own: Seating, ahead: Ahead) -> tuple[Blocker, ...]:
        """If what is kept for repairs, or for others, would not do either, nothing is said of it."""
        ask = replace(ask, need=max(1, ask.need))
        seats = self._seats(self.trial, ask.opened, FULL_RULES) if ask.closed else []
        if seats:
            kept = sorted({row for _, row in quorum_of(ask, seats)} & ask.closed)
            reservations, nodes = self.grounds.reservations, self.trial.nodes
            reserved = None if reservations is None else reserved_for_others(reservations, nodes, kept)
            return (reserved or kept_for_repairs(nodes, self.context.policy, kept),)
        return tuple(self._blockers(ask.opened, own, ahead))

    def _blockers(self, ask: Ask, own: Seating, ahead: Ahead) -> list[Blocker]:
        first, *others = self._found_blockers(ask, own, ahead)
        if ask.parts is None:
            return [first, *others]
        return [self._with_parts(first, ask, ask.parts), *others]

    def _with_parts(self, blocker: Blocker, ask: Ask, parts: Parts) -> Blocker:
        """Which parts of a tree are short, once as many as fit have their quorums and others what is left."""
        checkpoint = self.trial.checkpoint()
        for loosened in (parts.loosened(leaves=False), parts.loosened()):
            some = replace(ask, need=1, parts=replace(parts, root=loosened))
            found = attempt(self.trial, some, self.context, self._few_steps()) if ask.shapes else None
            if found:
                commit(self.trial, ask, found)
                ask = ask.without(found)
                parts = ask.parts or parts.without([member for member, _ in found])
        self.trial.rollback(checkpoint)
        short = short_parts(parts.root, parts.have())
        if not short:
            return blocker
        detail = {**blocker.detail, "parts": short[: say.NAMES_SHOWN]}
        message = f"{blocker.message}; with as many members as fit now, {short_words(short)}"
        return Blocker(blocker.category, message, detail)

    def _found_blockers(self, ask: Ask, own: Seating, ahead: Ahead) -> list[Blocker]:
        unseated = say.Unseated(self.trial, self.context, ask, self._nearest(ask), ahead)
        found = self._in_the_way(unseated, own)
        if {"Devices", "Health"}.intersection(one.category for one in found) == {"Devices"}:
            lost = gone(unseated)
            found += [] if lost is None else [lost]
        return found

    def _in_the_way(self, unseated: say.Unseated, own: Seating) -> list[Blocker]:
        if not is_refused(self.trial, unseated.ask, self.context.policy):
            return self._beside_quota(unseated, own)
        # Limits forbid it whatever room there is; what else is in the way is what would be without them.
        free = replace(unseated, ask=replace(unseated.ask, account=NO_ACCOUNT))
        if self._fits_but_for_limits(free.ask):
            return [LIFTED["Quota"](unseated)]
        rest = self._beside_quota(replace(free, nearest=self._nearest(free.ask)), own)
        return [in_company(unseated, "Quota", [one.category for one in rest]), *rest]

    def _beside_quota(self, unseated: say.Unseated, own: Seating) -> list[Blocker]:
        ask, ahead = unseated.ask, unseated.ahead
        request = say.oversized(self.snapshot, self.context, ask)
        if request is not None:
            return [request, *self._named(unseated, self._besides(unseated), ["Request"])]
        suspects = self._suspects(ask, ahead)
        full = self._too_full(ask)
        alone = [] if full else [one for one in suspects if self._fits_without({one}, ask, own)]
        if "Health" in alone:
            # Where devices do not count, tainted ones would do too; but what is amiss is their health.
            alone = [one for one in alone if one != "Devices"]
            unseated = self._with_ill(unseated)
        if alone:
            return [LIFTED[category](unseated) for category in alone]
        together, besides = self._together(suspects, ask, own, full), self._besides(unseated)
        if together and ROOM not in together:
            return [say.shortage(unseated), *self._named(unseated, together | besides, [])]
        room = say.shortage(self._once_ready(unseated, besides))
        return [room, *self._named(unseated, together | besides, [room.category])]

    def _with_ill(self, unseated: say.Unseated) -> say.Unseated:
        """What of all that is unwell is in the way, and where the group would sit without it."""
        for ill, view, waiver in self._well_again(unseated.ask):
            seats = self._seats(self.trial.on(view), unseated.ask, waiver)
            if seats:
                rows = frozenset(row for _, row in quorum_of(unseated.ask, seats))
                return replace(unseated, ill=ill, mended=rows)
        return unseated

    def _well_again(self, ask: Ask) -> Iterator[tuple[frozenset[say.Ill], NodeView, Waiver]]:
        """Devices alone, nodes alone, both together, tainted devices, or only all of these. Devices that are
        counted go before those of which nobody says how many there are."""
        nodes, taints = self.trial.nodes, health_taints(self.context.policy)
        whole, hoped, open_ = nodes.whole(), nodes.hoped(), nodes.without_taints(taints)
        for well in (whole,) if hoped is whole else (whole, hoped):
            if well is not nodes:
                yield frozenset({"devices"}), well, FULL_RULES
            if open_ is not nodes and well is whole:
                yield frozenset({"nodes"}), open_, FULL_RULES
            if well is not nodes and open_ is not nodes:
                yield frozenset({"devices", "nodes"}), well.without_taints(taints), FULL_RULES
        if self._minds_taints(ask):
            without = Waiver(frozenset({"Health"}))
            yield frozenset({"tainted devices"}), nodes, without
            yield say.ALL_ILL, self.grounds.well, without

    def _once_ready(self, unseated: say.Unseated, besides: Set[Category]) -> say.Unseated:
        """The same with what is not ready yet left aside, which closes every node: how full they are is
        another matter."""
        lift: Lift = frozenset(besides & OF_SUPPLIES)
        return replace(unseated, nearest=self._nearest(unseated.ask, lift), lift=lift) if lift else unseated

    @staticmethod
    def _named(unseated: say.Unseated, together: Set[Category], first: list[Category]) -> list[Blocker]:
        """Constraints that are in the way together, and beside what was said first."""
        named = in_order(together & LIFTED.keys())
        return [in_company(unseated, category, [*first, *named]) for category in named]

    def _besides(self, unseated: say.Unseated) -> set[Category]:
        """What is wrong whatever room there is, and would still be in the way."""
        trial, ask = self.trial, unseated.ask
        besides = set[Category]()
        if not all(trial.nodes.column(self.context.key(level)).values for level in ask.levels()):
            besides.add("Topology")
        if self._has_affinity(ask) and not self._has_nodes(ask):
            besides.add("Affinity")
        for supply in trial.supplies:
            if supply.category is not None and any(map(supply.never_serves, ask.distinct)):
                besides.add(supply.category)
        return besides

    def _too_full(self, ask: Ask) -> bool:
        """Whether there was too little room before the cycle began, were every node open to the group. Then
        no constraint that is lifted helps, which sums tell sooner than to lift one after the other."""
        rooms = [(shape, int(self.grounds.open.columns.copies(shape).sum())) for shape in ask.distinct]
        return sum(min(room, ask.shapes.count(shape)) for shape, room in rooms) < ask.need

    def _together(self, suspects: list[Category], ask: Ask, own: Seating, full: bool) -> set[Category]:
        """What would have to be lifted at once, room included where the nodes are too full: no more than
        that, and nothing if not even that would help."""
        if len(suspects) > 1 and not full and self._fits_without(set(suspects), ask, own):
            return self._no_more_than(set(suspects), suspects, ask, own)
        if suspects and (ask.unnamed() in self._fits_with_room or self._fits_without({ROOM}, ask, own)):
            return {ROOM}
        if suspects and self._fits_without({*suspects, ROOM}, ask, own):
            return self._no_more_than({*suspects, ROOM}, suspects, ask, own)
        return set()

    def _no_more_than(
        self, lifted: set[Category], suspects: list[Category], ask: Ask, own: Seating
    ) -> set[Category]:
        for category in reversed(suspects):
            if self._fits_without(lifted - {category}, ask, own):
                lifted.discard(category)
        return lifted

    def _suspects(self, ask: Ask, ahead: Ahead) -> list[Category]:
        """Constraints that the group is under at all, in the order in which they are named."""
        suspects = set[Category]({"Priority"} if ahead else ())
        if is_limited(self.trial, ask):
            suspects.add("Quota")
        if ask.levels():
            suspects.add("Topology")
        for supply in self.trial.supplies:
            if supply.category is not None and any(map(supply.asked_by, ask.distinct)):
                suspects.add(supply.category)
        if self.grounds.well is not self.trial.nodes or self._minds_taints(ask):
            suspects.add("Health")
        if self._has_affinity(ask):
            suspects.add("Affinity")
        return in_order(suspects)

    def _minds_taints(self, ask: Ask) -> bool:
        """Whether devices that members could have by claims are tainted."""
        return any(map(self.trial.supply(DeviceSupply).minds_taints, ask.distinct))

    def _has_affinity(self, ask: Ask) -> bool:
        """Whether it closes any node, were nothing else in the way, or ties members to each other."""
        key = ask.distinct
        if key not in self._affine:
            self._affine[key] = self._ties(ask)
        return self._affine[key]

    def _ties(self, ask: Ask) -> bool:
        if not any(minds_others(self._healed, shape) for shape in ask.distinct):
            return any(self._is_choosy(shape) for shape in ask.distinct)
        bound = make_rules(self._healed, ask.distinct, self.context.policy, OF_SUPPLIES)
        free = make_rules(self._healed, ask.distinct, self.context.policy, OF_SUPPLIES | {"Affinity"})
        closed = any(bool((f & ~b).any()) for f, b in zip(free.masks, bound.masks, strict=True))
        return closed or bound.ordered or len(bound.conflicts) > len(free.conflicts)

    def _is_choosy(self, shape: int) -> bool:
        """Whether what a shape says about nodes and taints closes any node."""
        trial, policy = self._healed, self.context.policy
        closed = acceptable(trial, shape, policy, lifted=True) & ~acceptable(trial, shape, policy)
        return bool(closed.any())

    def _has_nodes(self, ask: Ask) -> bool:
        """Whether any member is allowed on any node at all, however full it is."""
        if not any(minds_others(self.trial, shape) for shape in ask.distinct):
            return any(bool(acceptable(self.trial, s, self.context.policy).any()) for s in ask.distinct)
        rules = make_rules(self.trial, ask.distinct, self.context.policy, OF_SUPPLIES)
        return any(bool(mask.any()) for mask in rules.masks)

    @cached_property
    def _healed(self) -> Trial:
        """The cluster with every node open and well."""
        well = self.grounds.well
        return self.trial if well is self.trial.nodes else self.trial.on(well)

    def _fits_without(self, lifted: Set[Category], ask: Ask, own: Seating) -> bool:
        """Whether the group would be seated if these constraints, and no others, were lifted."""
        waiver = Waiver(frozenset(lifted), others_may_help=ROOM in lifted)
        well, roomy, pristine = self.grounds.well, self.grounds.roomy, self.grounds.pristine
        if ROOM in lifted:
            return self._fits(roomy.on(well) if "Health" in lifted else roomy, ask, waiver)
        if "Priority" not in lifted:
            return self._fits(self._healed if "Health" in lifted else self.trial, ask, waiver)
        checkpoint = pristine.checkpoint()
        for shape, row in own:
            pristine.seat(shape, np.array([row], dtype=np.intp), np.ones(1, dtype=np.int64))
        fitted = self._fits(pristine.on(well) if "Health" in lifted else pristine, ask, waiver)
        pristine.rollback(checkpoint)
        return fitted

    def _fits_but_for_limits(self, ask: Ask) -> bool:
        """`ask` is on no account, so the same for groups of all queues."""
        alike = ask.unnamed()
        if alike not in self._unlimited:
            self._unlimited[alike] = self._fits_without(frozenset(), ask, ())
        return self._unlimited[alike]

    def _fits(self, trial: Trial, ask: Ask, waiver: Waiver) -> bool:
        return bool(self._seats(trial, ask, waiver))

    def _seats(self, trial: Trial, ask: Ask, waiver: Waiver) -> Assignment:
        steps = self._few_steps()
        found = attempt(trial, ask, self.context, steps, waiver)
        self.exhausted |= steps.exhausted
        return found or []

    def _nearest(self, ask: Ask, lift: Lift = frozenset()) -> Assignment:
        """As many members as can be seated together now, as far as there is room: what limits of queues leave
        of that is said where they are in the way."""
        ask = replace(ask, account=NO_ACCOUNT)
        key = (ask.unnamed(), lift)
        if key not in self._seated_nearest:
            self._seated_nearest[key] = self._found_nearest(ask, lift)
        return self._seated_nearest[key]

    def _found_nearest(self, ask: Ask, lift: Lift) -> Assignment:
        asks, parts = [replace(ask, need=1)], ask.parts
        if parts is not None and parts.needs_everyone() and not parts.has_wishes():
            asks = [replace(ask, need=1, parts=None)]  # whichever they are
        elif parts is not None:  # whole parts of a tree first, else some members of one
            roots = [parts.loosened(leaves) for leaves in (False, True)]
            asks = [replace(ask, need=1, parts=replace(parts, root=root)) for root in roots]
        for one in asks:
            found = attempt(self.trial, one, self.context, self._few_steps(), Waiver(lift))
            if found:
                return found[: ask.need - 1]
        return []

    def _few_steps(self) -> Steps:
        """There are many questions of what if, and each may have no answer that can be found."""
        return self.context.steps(MOST_STEPS)

    def _impossible(self, view: GroupView) -> bool:
        """Proven only if no seating exists on the empty healthy cluster, and none was overlooked: neither of
        all members anew, nor, where some have ended well, of those that wait once those that run have too.

        Where none has, those that run may wait for the others themselves.
        """
        whole = replace(ask_anew(view), account=NO_ACCOUNT)  # there, no queue uses anything
        rest = whole
        if view.succeeded and view.running:
            rest = replace(ask_at_last(view), account=NO_ACCOUNT)
        known, key = self.grounds.hopeless, (whole.unnamed(), rest.unnamed())
        if key not in known:
            known[key] = self._never(whole) and (rest == whole or self._never(rest))
        return known[key]

    def _never(self, ask: Ask) -> bool:
        steps = self.context.steps()
        empty = self.grounds.empty
        found = attempt(empty, ask, self.context, steps, hopeful(empty, ask))
        self.exhausted |= steps.exhausted
        return not found and not steps.exhausted
