"""Remedies for groups that may not start yet: members that are missing, gates, a PodGroup nobody made.

- `{"kind": "gates", "gates": ["example.com/quota"], "pods": 8}`: the gates that are to go, and from how many
  members;
- `{"kind": "notBefore"}`: the mark that says when it may start is to go;
- `{"kind": "create", "count": 2, "like": "ns/pod"}`: members to be created, like one that is there;
- `{"kind": "group", "group": "ns/name", "quorum": 4}`: the PodGroup to be created, with this minCount.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.explain.remedies.changes import Change, LowerQuorum, available, with_cost, with_group
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.model.membership import POD_GROUP
from maitred.model.plan import Remedy
from maitred.model.timing import NOT_BEFORE
from maitred.model.words import counted

SMALLEST_PART = 4
"""A quorum is not lowered to less than one in so many."""
MOST_SUPPOSED = 20_000
"""Members that are supposed to be created, to see whether they would fit. An owner may say that it makes two
billion, and whoever asks why they are not there must not fill the memory of whoever answers."""


@dataclass(frozen=True, slots=True)
class WithoutGates:
    """Whoever holds the members back lets them go."""

    share: float = 0.0

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        view = snapshot.groups[number]
        return with_group(snapshot, number, replace(view, gates=((),) * len(view.pods)))

    def remedy(self, view: GroupView) -> Remedy:
        gates = sorted({gate for gates in view.gates for gate in gates})
        pods = sum(1 for gates in view.gates if gates)
        names = f"scheduling gate{'' if len(gates) == 1 else 's'} {', '.join(gates)}"
        return Remedy(
            f"remove the {names} from {counted(pods, 'member')}",
            {"kind": "gates", "gates": gates, "pods": pods},
        )


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Its owner does not hold it back any longer."""

    share: float = 0.0

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        view = snapshot.groups[number]
        stay = view.runtime.stay
        timing = msgspec.structs.replace(stay.timing, not_before=None)
        runtime = msgspec.structs.replace(view.runtime, stay=msgspec.structs.replace(stay, timing=timing))
        return with_group(snapshot, number, replace(view, runtime=runtime))

    def remedy(self, view: GroupView) -> Remedy:
        return Remedy(f"take out {NOT_BEFORE}", {"kind": "notBefore"})


@dataclass(frozen=True, slots=True)
class MoreMembers:
    """The missing members are created, like most of those that wait."""

    count: int
    like: int
    """The position of a member."""
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        view = snapshot.groups[number]
        index, created, _ = max(view.orders)
        namespace = view.group.key.partition("/")[0]
        names = [f"{namespace}/~{new:06}" for new in range(self.count)]  # no real pod can be called so
        larger = replace(
            view,
            pods=(*view.pods, *names),
            uids=(*view.uids, *names),
            orders=(*view.orders, *((index, created, name) for name in names)),
            shapes=np.append(view.shapes, np.full(self.count, view.shapes[self.like], view.shapes.dtype)),
            gates=(*view.gates, *((),) * self.count),
            nominated=(*view.nominated, *("",) * self.count) if view.nominated else (),
            claims=(*view.claims, *((),) * self.count) if view.claims else (),
            device_claims=(*view.device_claims, *(view.device_claims[self.like],) * self.count)
            if view.device_claims
            else (),
            made_shapes=(),
            members=view.members + self.count,
        )
        return with_group(snapshot, number, larger)

    def remedy(self, view: GroupView) -> Remedy:
        like = view.pods[self.like]
        return Remedy(
            f"create {counted(self.count, 'more member')} like {like}",
            {"kind": "create", "count": self.count, "like": like},
        )


@dataclass(frozen=True, slots=True)
class NewGroup:
    """The PodGroup that the pods name is created, for all of them."""

    quorum: int
    share: float = 0.0

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        view = snapshot.groups[number]
        group = msgspec.structs.replace(view.group, exists=True, gang=True, quorum=self.quorum)
        return with_group(snapshot, number, replace(view, group=group))

    def remedy(self, view: GroupView) -> Remedy:
        key = view.group.key
        return Remedy(
            f"create the PodGroup {key}, with a minCount of {self.quorum}",
            {"kind": "group", "group": key, "quorum": self.quorum},
        )


def to_start(rehearsal: Rehearsal, ranked: RankedGroup) -> list[Change]:
    """What would let a group start that is held back, as far as it then fits."""
    ways = _ways(rehearsal.snapshot, ranked.view)
    first = ranked.place
    found = (
        (way, rehearsal.works(way.applied, ranked, rehearsal.rivals(ranked, first), first)) for way in ways
    )
    return [with_cost(way, outcome.lost) for way, outcome in found if outcome is not None]


def _ways(snapshot: Snapshot, view: GroupView) -> Iterator[Change]:
    created, quorum = available(view), view.group.quorum
    complete = created >= quorum if view.parts is None else view.parts.root.met(view.parts.possible())
    if complete and view.group.exists and not any(view.gates):
        yield AtOnce()
        return
    if view.parts is not None:
        if any(view.gates) and view.group.exists and complete:
            yield WithoutGates()
        return
    if view.later is not None and created < quorum:
        return  # its owner is about to create the others
    if any(view.gates):
        if view.group.exists and complete:
            yield WithoutGates()
        return
    if not view.group.exists:
        if view.group.origin.startswith(POD_GROUP):  # an owner cannot be made for pods that are there
            yield NewGroup(created)
        return
    shape, _ = Counter(view.shapes.tolist()).most_common(1)[0]
    if not snapshot.shapes[shape].volumes and quorum - created <= MOST_SUPPOSED:
        yield MoreMembers(quorum - created, view.shapes.tolist().index(shape), 1 - created / quorum)
    if created * SMALLEST_PART >= quorum:
        yield LowerQuorum(created, 1 - created / quorum)
