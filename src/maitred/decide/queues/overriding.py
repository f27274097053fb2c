"""What overrides mean for a decision: which groups they lift now, and what is to be remembered of them.

An override lifts one group past the limits of its own queue and of those above (caps, limits of users, what
they may not borrow), and before groups of the same priority that stand as it does. It makes no group entitled
and raises no priority: who must leave for whom goes by these alone, and what queues do not lend stays theirs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.model.overrides import Override, OverrideMemory


def with_overrides(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The same cluster, in which groups have the overrides that lift them now."""
    if not snapshot.overrides.overrides:
        return snapshot
    found = {one.group: one for one in snapshot.overrides.at(now).overrides} if snapshot.book else {}

    def lifted(views: tuple[GroupView, ...]) -> tuple[GroupView, ...]:
        known = [_override_of(view, snapshot, found) for view in views]
        if all(view.override == one for view, one in zip(views, known, strict=True)):
            return views
        return tuple([replace(view, override=one) for view, one in zip(views, known, strict=True)])

    groups, awaited, hurt = map(lifted, (snapshot.groups, snapshot.awaited, snapshot.hurt))
    leaving, away = map(lifted, (snapshot.leaving, snapshot.away))
    before = (snapshot.groups, snapshot.awaited, snapshot.hurt, snapshot.leaving, snapshot.away)
    if all(one is other for one, other in zip(before, (groups, awaited, hurt, leaving, away), strict=True)):
        return snapshot
    return replace(snapshot, groups=groups, awaited=awaited, hurt=hurt, leaving=leaving, away=away)


def _override_of(view: GroupView, snapshot: Snapshot, known: dict[str, Override]) -> Override | None:
    found = known.get(view.group.key)
    return found if found is not None and not why_not(found, view, snapshot) else None


def why_not(override: Override, view: GroupView, snapshot: Snapshot) -> str:
    """Why an override does not lift the group of its name; empty if it does."""
    book = snapshot.book
    if book is None or view.account == NO_ACCOUNT:
        return "the group is in no queue"
    if not override.is_of(view.source, view.created):
        return "it is about an earlier group of this name"
    return override.excess(asked_by(view, snapshot), book.tree.resources)


def asked_by(view: GroupView, snapshot: Snapshot) -> dict[str, int]:
    """What all members ask for together, of resources that pods request and of those that limits speak of:
    those that wait, that have places, and that come later. A claim counts once, whoever shares it."""
    book = snapshot.book
    assert book is not None, "without queues nobody is lifted"
    later = () if view.later is None else view.later.shapes
    shapes = np.concatenate((view.shapes, view.running_shapes, np.array(later, dtype=np.int64)))
    requested, counted, claims = Counter[str](), Counter[str](), dict[str, list[int]]()
    for number, members in zip(
        *(part.tolist() for part in np.unique(shapes, return_counts=True)), strict=True
    ):
        shape = snapshot.shapes[number]
        needs = snapshot.needs[shape.needs]
        for resource, amount in needs.requests:
            requested[resource] += amount * members
        own = book.amounts_of(needs, shape.devices).tolist()
        counted.update({name: n * members for name, n in zip(book.tree.resources, own, strict=True)})
        claims |= {claim: amounts.tolist() for claim, amounts in book.shared_by(shape.devices)}
    for amounts in claims.values():
        counted.update(dict(zip(book.tree.resources, amounts, strict=True)))
    return {**requested, **{name: amount for name, amount in counted.items() if amount}}


@dataclass(frozen=True)
class OverrideOutcome:
    memory: OverrideMemory | None = None
    """What is to be remembered from now on; None if that is what was."""
    wake_at: int | None = None
    """In milliseconds since 1970."""
    warnings: tuple[str, ...] = ()


def settle_overrides(snapshot: Snapshot, now: datetime) -> OverrideOutcome:
    known = snapshot.overrides
    left = known.at(now)
    ends = min((one.until for one in left.overrides), default=None)
    return OverrideOutcome(
        None if left is known else left,
        None if ends is None else round(ends.timestamp() * 1000),
        tuple(_warnings(snapshot, left)),
    )


def _warnings(snapshot: Snapshot, left: OverrideMemory) -> Iterator[str]:
    if snapshot.unread_overrides:
        yield snapshot.unread_overrides
    known = {one.group: one for one in left.overrides} if snapshot.book else {}
    for view in snapshot.groups if known else ():
        override = known.get(view.group.key)
        if override is not None and (why := why_not(override, view, snapshot)):
            yield f"the override of {view.group.key} does not count: {why}"
