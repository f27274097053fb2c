"""What is said of reservations: to groups that may not start there, and to whoever reads a Plan."""

from collections.abc import Iterator, Sequence

from maitred.cluster.ends import NEVER
from maitred.cluster.nodes import NodeView
from maitred.cluster.snapshot import GroupView
from maitred.decide.blockers import NAMES_SHOWN, names_shown
from maitred.decide.holding.reserved import KeptReservation, Reservations
from maitred.decide.holding.words import said
from maitred.model.duration import written
from maitred.model.plan import Blocker, Detail
from maitred.model.queues import EVERY_MODEL

RESERVED = "Reserved"
SECOND = 1000


def reserved_for_others(reservations: Reservations, nodes: NodeView, rows: Sequence[int]) -> Blocker | None:
    """What is in the way of a group that would fit if it might have these nodes; None if none is reserved."""
    kept = reservations.on(rows)
    return None if kept is None else _blocker(kept, nodes, rows)


def _blocker(kept: KeptReservation, nodes: NodeView, rows: Sequence[int]) -> Blocker:
    begin, end = kept.span
    names = sorted(nodes.names[row] for row in rows if row in kept.rows)
    message = (
        f"it would fit, but {names_shown(names)} {'is' if len(names) == 1 else 'are'} reserved for "
        f"{kept.said.beneficiary} from {said(begin)} to {said(end)} (reservation {kept.said.name})"
    )
    detail: Detail = {
        "cause": RESERVED,
        "nodes": names[:NAMES_SHOWN],
        "kept": len(names),
        "reservation": kept.said.name,
        "for": str(kept.said.beneficiary),
        "from": said(begin),
        "until": said(end),
    }
    return Blocker("Reservation", message, detail)


def with_end(
    blockers: tuple[Blocker, ...], reservations: Reservations, nodes: NodeView, view: GroupView, end: int
) -> tuple[Blocker, ...]:
    """Which reservation is in the way of this group, which ends by then if it starts now. Before that begins,
    it also hears what would help."""
    first, *others = blockers
    if first.detail.get("cause") != RESERVED:
        return blockers
    rows = [nodes.rows[name] for name in first.detail["nodes"]]
    kept = reservations.on(rows, view, end)
    if kept is None:
        return blockers
    if kept.said.name != first.detail["reservation"]:
        first = _blocker(kept, nodes, rows)
    message, detail, spare = first.message, first.detail, kept.span[0] - reservations.now
    if spare > 0:
        words = "nobody enforces an end of the group"
        if end < NEVER:
            words, detail = f"the group would end at {said(end)} by its limit", {**detail, "ends": said(end)}
        message += f"; {words}; a group that ends within {written(spare // SECOND * SECOND)} could start now"
    return (Blocker(first.category, message, detail), *others)


def warnings_of(reservations: Reservations) -> Iterator[str]:
    for over in reservations.over:
        yield f"reservation {over.name} is over, and does not come again; remove it from the policy"
    if reservations.snapshot.unread_reservations:
        yield reservations.snapshot.unread_reservations
    for one in reservations.snapshot.reservations.reservations:
        if why := reservations.why_not(one.said):
            yield f"reservation {one.said.name} does not count: {why}; cancel it, or correct the policy"
    for kept in reservations.kept:
        yield from _short(kept)


def _short(kept: KeptReservation) -> Iterator[str]:
    one, devices = kept.said, kept.said.devices
    if devices is None and not len(kept.rows):
        yield f"reservation {one.name}: no node has these labels; correct its selector"
    elif devices is not None and kept.have < devices.count:
        where = f" in one {one.within}" if one.within else ""
        model = "" if devices.model == EVERY_MODEL else f" on {devices.model}"
        yield (
            f"reservation {one.name} asks for {devices.count} {devices.resource}{model}{where}, and "
            f"{kept.have} are there that are well and not reserved for others; ask for fewer, or add nodes"
        )
