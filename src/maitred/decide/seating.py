"""Seats for an ask on some nodes of a trial: rules, ladder and placement put together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from maitred.cluster.journal import Rows, Seated
from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment, hand_out
from maitred.decide.compile import acceptable, looks_of_rules, make_rules
from maitred.decide.context import FULL_RULES, Context, Waiver
from maitred.decide.levels import Ladder, codes_inside, codes_of, position_of
from maitred.decide.place import place
from maitred.decide.rules import Rules
from maitred.decide.scoring import has_soft_company
from maitred.decide.seats import PASS, Demand, Seats, Steps


def required_domain(trial: Trial, ask: Ask, context: Context, waiver: Waiver) -> Mask | None:
    """Nodes that the required level allows, without those that are kept free for others; None when members
    sit in two of its domains, or outside."""
    inside = _in_required_domain(trial, ask, context, waiver)
    if inside is not None and ask.closed:
        inside = inside.copy()
        inside[list(ask.closed)] = False
    return inside


def _in_required_domain(trial: Trial, ask: Ask, context: Context, waiver: Waiver) -> Mask | None:
    if not ask.topology.required or "Topology" in waiver.lift:
        return trial.nodes.alive
    codes = codes_of(trial.nodes, context.key(ask.topology.required))
    inside: Mask = codes >= 0
    if ask.seated:
        taken = np.unique(codes[ask.anchors()])
        if len(taken) > 1 or taken[0] < 0:
            return None
        inside &= codes == taken[0]
    return inside


def rules_for(trial: Trial, ask: Ask, context: Context, waiver: Waiver) -> Rules:
    context.meter.take(looks_of_rules(trial, ask.distinct))
    return make_rules(trial, ask.distinct, context.policy, waiver.lift, waiver.others_may_help)


def seat_within(
    trial: Trial, ask: Ask, within: Mask, context: Context, steps: Steps, waiver: Waiver
) -> Assignment | None:
    """Seats on these nodes for at least `ask.need` members, and as many more as fit."""
    if _too_full(trial, ask, within, context, waiver):
        return None
    ladder, devices = make_ladder(trial.nodes, ask, context, waiver), trial.supply(DeviceSupply)
    seats, demand = None, ask.demand()
    for count in range(1, max(map(devices.choices, ask.distinct), default=0)):
        with devices.first_choices(count):
            rules = rules_for(trial, ask, context, waiver)
        everyone = Demand(demand.counts, demand.want, demand.want)
        seats = place(rules, within, ladder, everyone, context.policy, steps)
        if seats is not None and (waiver is not FULL_RULES or _is_served(devices, ask, seats)):
            break
        seats = None
    if seats is None:
        rules = rules_for(trial, ask, context, waiver)
        seats = place(rules, within, ladder, demand, context.policy, steps)
        steps.exhausted |= demand.want > rules.sure_up_to and seats is None
    if seats is None:
        return None
    found = hand_out(ask, seats, any_order=not rules.ordered)
    if len(found) < 2 or not any(has_soft_company(trial.needs(shape)) for shape in ask.distinct):
        return found
    inside = within & _narrowest_domain(trial, ladder, found)
    in_turn = _seat_one_by_one(trial, ask, inside, context, steps, waiver)
    return in_turn if len(in_turn) >= len(found) else found


def _is_served(devices: DeviceSupply, ask: Ask, seats: Seats) -> bool:
    """Whether there are devices with all alternatives too: the search for them may have been given up."""
    return devices.serves([(ask.distinct[position], row, copies) for position, row, copies in seats.runs])


def _narrowest_domain(trial: Trial, ladder: Ladder, found: Assignment) -> Mask:
    """The nodes of the narrowest level that holds all these seats: preferences may move members within it."""
    rows = [row for _, row in found]
    for codes in (*ladder.rungs, ladder.widest):
        domains = np.unique(codes[rows])
        if len(domains) == 1 and domains[0] >= 0:
            inside: Mask = codes == domains[0]
            return inside
    return trial.nodes.alive


def _seat_one_by_one(
    trial: Trial, ask: Ask, within: Mask, context: Context, steps: Steps, waiver: Waiver
) -> Assignment:
    """Each member where it likes it best, given where the others are: preferences change as they sit down."""
    checkpoint, seated = trial.checkpoint(), list[tuple[int, int]]()
    for member, shape in enumerate(ask.shapes):
        alone = replace(ask, shapes=(shape,), orders=(ask.orders[member],), need=1)
        found = seat_within(trial, alone, within, context, steps, waiver)
        if found:
            commit(trial, alone, found)
            seated.append((member, found[0][1]))
    trial.rollback(checkpoint)
    return seated


def _too_full(trial: Trial, ask: Ask, within: Mask, context: Context, waiver: Waiver) -> bool:
    """Whether the nodes that accept its pods have too little room for the group, were there no other rules.
    Most who wait wait for room, and this is seen sooner than rules are made."""
    context.meter.take(PASS + len(within) * len(ask.distinct))
    room, lifted = 0, "Affinity" in waiver.lift
    for shape, count in zip(ask.distinct, ask.demand().counts, strict=True):
        there = within & acceptable(trial, shape, context.policy, lifted)
        room += min(int(trial.columns.copies(shape) @ there), count)
    return room < max(1, ask.need)


def make_ladder(nodes: NodeView, ask: Ask, context: Context, waiver: Waiver) -> Ladder:
    """Levels to try, narrow to wide: those that the group prefers, or else all below its required one."""
    request = ask.topology
    required = context.key(request.required) if request.required and "Topology" not in waiver.lift else ""
    if request.preferred:
        keys = [context.key(level) for level in request.preferred]
    else:
        top = position_of(required, context.levels) if required else None
        keys = [level.key for level in reversed(context.levels[0 if top is None else top + 1 :])]
    keys = [key for key in keys if key != required]
    widest: Codes = codes_of(nodes, required) if required else np.zeros(len(nodes.names), dtype=np.int32)
    rungs = tuple(codes_inside(nodes, key, required) if required else codes_of(nodes, key) for key in keys)
    return Ladder(rungs, widest, ask.anchors())


def commit(trial: Trial, ask: Ask, assignment: Assignment) -> list[Seated]:
    """Take the seats: what each shape takes from each node at once."""
    return [
        trial.seat(shape, rows, copies, ask.account)
        for shape, rows, copies in per_node(by_shape(ask, assignment))
    ]


def by_shape(ask: Ask, assignment: Assignment) -> dict[int, list[int]]:
    """The rows of the seats of each shape."""
    if len(ask.distinct) == 1:
        return {ask.shapes[0]: [row for _, row in assignment]}
    taken: dict[int, list[int]] = {}
    for member, row in assignment:
        taken.setdefault(ask.shapes[member], []).append(row)
    return taken


def per_node(taken: Mapping[int, Sequence[int]]) -> Iterator[tuple[int, Rows, Ints]]:
    """Each shape, the rows of its seats, and how many it has on each."""
    for shape, rows in taken.items():
        if rows:
            distinct, copies = np.unique(np.array(rows, dtype=np.intp), return_counts=True)
            yield shape, distinct, copies.astype(np.int64, copy=False)
