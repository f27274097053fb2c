"""Small changes that may get a group scheduled: what the cluster looks like with each, and how it is told.

The detail of a remedy says what to change, so that a program can do it:

- `{"kind": "quorum", "from": 8, "to": 6}`: the minCount of the group; its members stay;
- `{"kind": "members", "from": 8, "to": 6, "quorum": 6, "without": ["ns/pod", ...]}`: the minCount, and
  the pods that are not to be;
- `{"kind": "topology", "constraint": "required", "from": "rack", "to": "zone"}`: the required level, or that
  of slices where `constraint` is `slice`; null for none;
- `{"kind": "request", "resource": "cpu", "from": "8", "to": "7500m"}`: what each waiting pod asks for in all,
  where that is more;
- all of them with `"instead": ["ns/group"]` where groups of a later turn would lose their seats to it;
- `{"kind": "nodes", "count": 2, "like": "n1", "labels": {}, "ahead": ["ns/group"]}`: new nodes, like one that
  is there but for these labels; `ahead`, if there are any, are groups with an earlier turn that get room too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import msgspec
import numpy as np

from maitred.cluster.snapshot import GroupView, Shape, Snapshot
from maitred.explain.remedies.added import FIRST, LAST, Pattern, with_copies
from maitred.model.needs import Needs
from maitred.model.plan import Detail, Remedy
from maitred.model.quantity import text
from maitred.model.words import counted

NAMES_SHOWN = 5


class Change(Protocol):
    """One change for one group, told in positions, so that it serves every group that is alike."""

    @property
    def share(self) -> float:
        """How much of what the group asks for is given up; see `remedies` for the measure."""

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        """The snapshot as it would be if group `number` had been changed so."""

    def remedy(self, view: GroupView) -> Remedy: ...


@dataclass(frozen=True, slots=True)
class AtACost:
    """A change with which groups that come after this one, and were seated, wait in its place."""

    change: Change
    instead: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.change.share

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        return self.change.applied(snapshot, number)

    def remedy(self, view: GroupView) -> Remedy:
        remedy = self.change.remedy(view)
        words = f"{remedy.change}; {cost_words(self.instead)}"
        return Remedy(words, {**remedy.detail, "instead": list(self.instead)})


def cost_words(instead: tuple[str, ...]) -> str:
    return f"then {shown_names(instead)} would wait"


def shown_names(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    if more > 0:
        return f"{', '.join(names[:NAMES_SHOWN])} and {more} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def with_cost(change: Change, instead: tuple[str, ...]) -> Change:
    return AtACost(change, instead) if instead else change


def available(view: GroupView) -> int:
    """Members that count for the quorum now, or will once they are seated."""
    return len(view.running) + view.succeeded + len(view.pods)


def with_group(snapshot: Snapshot, number: int, view: GroupView) -> Snapshot:
    groups = snapshot.groups
    return replace(snapshot, groups=(*groups[:number], view, *groups[number + 1 :]))


def with_quorum(view: GroupView, quorum: int) -> GroupView:
    return replace(view, group=msgspec.structs.replace(view.group, quorum=quorum))


def with_members_like(
    snapshot: Snapshot, number: int, change: Callable[[Shape, Needs], tuple[Shape, Needs]]
) -> Snapshot:
    """The snapshot with other shapes for the waiting members of a group; what is alike then is one shape."""
    view, needs, shapes = snapshot.groups[number], list(snapshot.needs), list(snapshot.shapes)
    changed: dict[int, int] = {}
    alike: dict[tuple[Needs, Shape], int] = {}
    for shape in dict.fromkeys(view.shapes.tolist()):
        other, asked = change(shapes[shape], needs[shapes[shape].needs])
        found = alike.setdefault((asked, replace(other, needs=0)), len(shapes))
        if found == len(shapes):
            shapes.append(replace(other, needs=len(needs)))
            needs.append(asked)
        changed[shape] = found
    renumbered = np.array([changed[shape] for shape in view.shapes.tolist()], dtype=np.int32)
    return with_group(
        replace(snapshot, needs=tuple(needs), shapes=tuple(shapes)), number, replace(view, shapes=renumbered)
    )


@dataclass(frozen=True, slots=True)
class LowerQuorum:
    """Members stay as they are; those above the new quorum are surplus."""

    quorum: int
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        return with_group(snapshot, number, with_quorum(snapshot.groups[number], self.quorum))

    def remedy(self, view: GroupView) -> Remedy:
        before = view.group.quorum
        return Remedy(
            f"run with {self.quorum} of {available(view)} members: "
            f"lower the quorum from {before} to {self.quorum}",
            {"kind": "quorum", "from": before, "to": self.quorum},
        )


@dataclass(frozen=True, slots=True)
class FewerMembers:
    """A smaller group, all of whose members make up the quorum."""

    dropped: tuple[int, ...]
    """Positions of the members that are left out."""
    quorum: int
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        view, gone = snapshot.groups[number], set(self.dropped)
        kept = [position for position in range(len(view.pods)) if position not in gone]
        smaller = replace(
            with_quorum(view, self.quorum),
            pods=tuple(view.pods[position] for position in kept),
            uids=tuple(view.uids[position] for position in kept),
            orders=tuple(view.orders[position] for position in kept),
            shapes=view.shapes[kept],
            gates=tuple(view.gates[position] for position in kept),
            nominated=tuple(view.nominated[position] for position in kept) if view.nominated else (),
            claims=tuple(view.claims[position] for position in kept) if view.claims else (),
            device_claims=tuple(view.device_claims[position] for position in kept)
            if view.device_claims
            else (),
            members=view.members - len(gone),
        )
        return with_group(snapshot, number, smaller)

    def remedy(self, view: GroupView) -> Remedy:
        before, quorum = available(view), view.group.quorum
        lowered = "" if quorum == before else f", and lower the quorum from {quorum} to {self.quorum}"
        detail = {
            "kind": "members",
            "from": before,
            "to": self.quorum,
            "quorum": self.quorum,
            "without": [view.pods[position] for position in self.dropped],
        }
        return Remedy(f"run with {self.quorum} of {before} members{self._left_out(view)}{lowered}", detail)

    def last_of_their_kind(self, view: GroupView) -> list[str]:
        """Members like whom nobody would be left, such as the launcher."""
        gone, kept = {*self.dropped}, set(view.running_shapes.tolist())
        kept |= {int(shape) for place, shape in enumerate(view.shapes) if place not in gone}
        return [view.pods[place] for place in self.dropped if view.shapes[place] not in kept]

    def _left_out(self, view: GroupView) -> str:
        """Who is not to be, where members differ; plainly if nobody is left of their kind."""
        kinds = {*view.shapes.tolist(), *view.running_shapes.tolist()}
        if len(kinds) == 1 and len({pod.rpartition("-")[0] for pod in view.pods}) == 1:
            return ""
        lone = self.last_of_their_kind(view)
        words = f", without {shown_names([view.pods[place] for place in self.dropped])}"
        return f"{words}; no pod like {shown_names(lone)} would be left" if lone else words


@dataclass(frozen=True, slots=True)
class WiderLevel:
    """The group, or each of its slices, may spread over a wider domain, or over the whole cluster."""

    constraint: Literal["required", "slice"]
    level: str
    """The name of the wider level; empty if none is asked for any more."""
    before: str
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        view = snapshot.groups[number]
        topology = view.group.topology
        if self.constraint == "required":
            marked = self.level if topology.annotated else ""
            topology = msgspec.structs.replace(topology, required=self.level, annotated=marked)
        else:
            size = topology.slice_size if self.level else 0
            topology = msgspec.structs.replace(topology, slice_level=self.level, slice_size=size)
        group = msgspec.structs.replace(view.group, topology=topology)
        return with_group(snapshot, number, replace(view, group=group))

    def remedy(self, view: GroupView) -> Remedy:
        if self.constraint == "required":
            wider = f"require one {self.level} instead of one {self.before}"
            change = wider if self.level else f"do not require one {self.before}"
        else:
            wider = f"keep each slice within one {self.level} instead of one {self.before}"
            change = wider if self.level else f"do not ask for slices within one {self.before}"
        detail = {
            "kind": "topology",
            "constraint": self.constraint,
            "from": self.before,
            "to": self.level or None,
        }
        return Remedy(change, detail)


@dataclass(frozen=True, slots=True)
class SmallerRequest:
    """No member asks for more than this of a resource, all its containers taken together."""

    resource: str
    before: int
    after: int
    alike: bool
    """Whether all members ask for the same now."""
    aside: int = 0
    """What of it their containers do not ask for: overhead, sidecars, larger init containers."""

    @property
    def share(self) -> float:
        return (self.before - self.after) / self.before

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        return with_members_like(snapshot, number, lambda shape, needs: (shape, self._capped(needs)))

    @property
    def _in_all(self) -> str:
        return " in all, init containers and overhead included" if self.aside >= self.after else ""

    def _capped(self, asked: Needs) -> Needs:
        requests = tuple(
            (resource, min(requested, self.after) if resource == self.resource else requested)
            for resource, requested in asked.requests
        )
        if requests == asked.requests:
            return asked
        # Which container asks for how much of a resource of a device class does not matter to its devices.
        extended = tuple(one for one in asked.extended if one.resource != self.resource)
        return replace(asked, requests=requests, extended=extended)

    def remedy(self, view: GroupView) -> Remedy:
        before, after = text(self.resource, self.before), text(self.resource, self.after)
        each = " for each member" if available(view) > 1 else ""
        change = f"ask for {after} instead of {before} {self.resource}{each}{self._in_all}"
        if self.alike and 0 < self.aside < self.after:
            own = [text(self.resource, amount - self.aside) for amount in (self.after, self.before)]
            aside = f"{text(self.resource, self.aside)} for overhead, sidecars or init containers"
            change = f"ask for {own[0]} instead of {own[1]} {self.resource}{each}, in addition to {aside}"
        if not self.alike:
            change = f"ask for at most {after} {self.resource} for each member, instead of up to {before}"
        detail = {"kind": "request", "resource": self.resource, "from": before, "to": after}
        return Remedy(change, detail)


@dataclass(frozen=True, slots=True)
class MoreNodes:
    """Nodes like one that is there, empty but for the pods that belong to such a node."""

    count: int
    like: str
    pattern: Pattern
    offers: str
    """What such a node has, in words."""
    domain: str
    """Where they must be, in words; empty if it does not matter."""
    ahead: tuple[str, ...]
    """Groups with an earlier turn that wait now and are seated too."""
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        return with_copies(snapshot, self.pattern, self.count, FIRST)

    def applied_last(self, snapshot: Snapshot, number: int) -> Snapshot:
        """The same with other names, since names break ties and nobody knows the new ones yet."""
        return with_copies(snapshot, self.pattern, self.count, LAST)

    def remedy(self, view: GroupView) -> Remedy:
        detail: Detail = {
            "kind": "nodes",
            "count": self.count,
            "like": self.like,
            "labels": dict(self.pattern.moved),
        }
        change = f"add {counted(self.count, 'node')} like {self.like} ({self.offers})"
        if self.domain:
            change += f" in {self.domain}"
        if self.ahead:
            detail["ahead"] = list(self.ahead)
            come = "comes" if len(self.ahead) == 1 else "come"
            change += f", enough also for {', '.join(self.ahead)}, which {come} before it"
        return Remedy(change, detail)
