"""Smaller wishes of a tree of groups: a part that starts with less, or that may spread wider.

The detail of such a remedy names the part:

- `{"kind": "quorum", "part": "ns/group", "counts": "parts", "from": 3, "to": 2}`: the minGroupCount of
  a composite, or, where `counts` is `members`, the minCount of a PodGroup;
- `{"kind": "topology", "part": "ns/group", "constraint": "required", "from": "rack", "to": null}`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from maitred.cluster.parts import Branch, Parts
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.context import Context
from maitred.decide.levels import position_of
from maitred.explain.remedies.changes import with_group
from maitred.model.plan import Remedy

Way = tuple[int, ...]
"""From the root of a tree to one of its parts: which child each time."""
MOST_LOOSENED = 24
"""Parts of one tree that are looked at."""


def parts_of(parts: Parts) -> Iterator[tuple[Way, Branch, str]]:
    """The parts of a tree from the top down, each with the level that those above it must share."""
    waiting: list[tuple[Way, Branch, str]] = [((), parts.root, "")]
    for way, branch, above in waiting:
        yield way, branch, above
        inside = branch.topology.required or above
        waiting += [((*way, place), child, inside) for place, child in enumerate(branch.children)]
        if len(waiting) > MOST_LOOSENED:
            del waiting[MOST_LOOSENED:]


def part_at(parts: Parts, way: Way) -> Branch:
    branch = parts.root
    for place in way:
        branch = branch.children[place]
    return branch


def with_part(snapshot: Snapshot, number: int, way: Way, part: Branch) -> Snapshot:
    """The snapshot with another part in the tree that is group `number`."""
    view = snapshot.groups[number]
    assert view.parts is not None
    root = _grafted(view.parts.root, way, part)
    group = msgspec.structs.replace(view.group, quorum=max(1, root.least()), topology=root.topology)
    return with_group(snapshot, number, replace(view, group=group, parts=replace(view.parts, root=root)))


def _grafted(branch: Branch, way: Way, part: Branch) -> Branch:
    if not way:
        return part
    children = list(branch.children)
    children[way[0]] = _grafted(children[way[0]], way[1:], part)
    return replace(branch, children=tuple(children))


@dataclass(frozen=True, slots=True)
class LowerPart:
    """A part is met with less: members of a leaf, parts of a composite. All of them stay."""

    way: Way
    quorum: int
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        return with_part(snapshot, number, self.way, self._lowered(snapshot.groups[number]))

    def _lowered(self, view: GroupView) -> Branch:
        assert view.parts is not None
        return replace(part_at(view.parts, self.way), quorum=self.quorum)

    def remedy(self, view: GroupView) -> Remedy:
        assert view.parts is not None
        part = part_at(view.parts, self.way)
        counts, field = ("members", "minCount") if part.is_leaf else ("parts", "minGroupCount")
        there = view.parts.possible()[part.leaf] if part.is_leaf else len(part.children)
        return Remedy(
            f"run {part.key} with {self.quorum} of {there} {counts}: "
            f"lower its {field} from {part.quorum} to {self.quorum}",
            {"kind": "quorum", "part": part.key, "counts": counts, "from": part.quorum, "to": self.quorum},
        )


@dataclass(frozen=True, slots=True)
class WiderPart:
    """A part may spread over a wider domain, or over all that the tree may."""

    way: Way
    level: str
    before: str
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        view = snapshot.groups[number]
        assert view.parts is not None
        part = part_at(view.parts, self.way)
        topology = msgspec.structs.replace(part.topology, required=self.level, annotated="")
        return with_part(snapshot, number, self.way, replace(part, topology=topology))

    def remedy(self, view: GroupView) -> Remedy:
        assert view.parts is not None
        part = part_at(view.parts, self.way)
        wider = f"require one {self.level} instead of one {self.before} for {part.key}"
        detail = {
            "kind": "topology",
            "part": part.key,
            "constraint": "required",
            "from": self.before,
            "to": self.level or None,
        }
        return Remedy(wider if self.level else f"do not require one {self.before} for {part.key}", detail)


def lower_parts(view: GroupView) -> Iterator[tuple[int, Callable[[int], LowerPart]]]:
    """For each part that needs more than one, the highest of its lower quorums, and the change to any of
    them. What is given up is the share of the members that the tree cannot start without."""
    assert view.parts is not None
    for way, branch, _ in parts_of(view.parts):
        if branch.quorum > 1:
            yield branch.quorum - 1, partial(_lower, view.parts.root, way, branch)


def _lower(root: Branch, way: Way, branch: Branch, quorum: int) -> LowerPart:
    left = _grafted(root, way, replace(branch, quorum=quorum)).least()
    return LowerPart(way, quorum, 1 - left / max(1, root.least()))


def wider_parts(view: GroupView, context: Context) -> Iterator[WiderPart]:
    """Levels between that of a part and that of what it is in; then none. What is given up is the share of
    the rungs, as for a group, among the parts that have a level."""
    assert view.parts is not None
    bound = [one for one in parts_of(view.parts) if one[1].topology.required]
    for way, branch, above in bound:
        key = context.key(branch.topology.required)
        own = position_of(key, context.levels) or 0
        least = position_of(context.key(above), context.levels) if above else None
        first = 0 if least is None else least + 1
        names = [level.name for level in reversed(context.levels[first:own])]
        for step, name in enumerate((*names, ""), 1):
            yield WiderPart(way, name, context.name(key), step / (len(names) + 2) / len(bound))
