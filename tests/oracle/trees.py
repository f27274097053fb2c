"""Small trees of groups, and every way to seat them: whether any way keeps all quorums and domains.

Written from the Kubernetes API and for tiny cases only: each pod that waits goes to each node, or to none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from hypothesis import strategies as st

from tests.oracle.builders import RACK, ZONE, Obj, below, composite, node, pod, pod_group

LEVELS = ("", RACK, ZONE)


@dataclass
class Part:
    """A PodGroup with its pods, as CPUs and the node of those that run; or a composite with its parts."""

    name: str
    quorum: int
    level: str = ""
    parts: "list[Part]" = field(default_factory=list)
    pods: list[tuple[int, str]] = field(default_factory=list)

    def objects(self, parent: str | None = None) -> Iterator[Obj]:
        if self.parts:
            yield composite(self.name, self.quorum, self.level or None, parent=parent)
            for part in self.parts:
                yield from part.objects(self.name)
        else:
            yield pod_group(self.name, self.quorum, self.level or None, spec=below(parent or ""))
            for number, (cpu, at) in enumerate(self.pods):
                yield pod(f"{self.name}-{number}", cpu, group=self.name, node=at or None)

    def leaves(self) -> "Iterator[Part]":
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def is_met(self, placed: dict[str, list[str]]) -> bool:
        count = sum(part.is_met(placed) for part in self.parts) if self.parts else len(placed[self.name])
        return count >= self.quorum

    def is_sound(self, placed: dict[str, list[str]], labels: dict[str, Obj]) -> bool:
        """Whether all that is placed below is whole, and in one domain at each level."""
        there = [name for leaf in self.leaves() for name in placed[leaf.name]]
        if there and not self.is_met(placed):
            return False
        if self.level and len({labels[name].get(self.level) for name in there}) > 1:
            return False
        return all(part.is_sound(placed, labels) for part in self.parts)


@dataclass
class Case:
    nodes: list[Obj]
    tree: Part

    def objects(self) -> list[Obj]:
        return [*self.nodes, *self.tree.objects()]

    def fits(self) -> bool:
        """Whether the quorum of the tree can be seated beside what runs of it."""
        labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in self.nodes}
        room = {one["metadata"]["name"]: int(one["status"]["allocatable"]["cpu"]) for one in self.nodes}
        members = [(leaf.name, cpu, at) for leaf in self.tree.leaves() for cpu, at in leaf.pods]
        for places in product(*([at] if at else ["", *room] for _, _, at in members)):
            taken, placed = dict.fromkeys(room, 0), {leaf.name: list[str]() for leaf in self.tree.leaves()}
            for (leaf, cpu, _), at in zip(members, places, strict=True):
                if at:
                    taken[at] += cpu
                    placed[leaf].append(at)
            if any(taken[name] > room[name] for name in room):
                continue
            if self.tree.is_met(placed) and self.tree.is_sound(placed, labels):
                return True
        return False


@st.composite
def trees(draw: st.DrawFn) -> Case:
    """Up to four nodes in racks and zones, and a tree of two or three levels with up to six pods."""
    nodes = [
        node(f"n{i}", cpu=draw(st.integers(1, 3)), rack=f"r{draw(st.integers(0, 2))}", zone=f"z{i % 2}")
        for i in range(draw(st.integers(2, 4)))
    ]
    names, left = iter("abcdefgh"), draw(st.integers(2, 6))

    def leaf() -> Part:
        nonlocal left
        count = draw(st.integers(1, min(3, left))) if left else 0
        left -= count
        sizes = [(draw(st.integers(1, 2)), "") for _ in range(count)]
        return Part(next(names), draw(st.integers(1, 3)), draw(st.sampled_from(LEVELS)), pods=sizes)

    parts = [leaf() for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        inner = [leaf() for _ in range(draw(st.integers(1, 2)))]
        quorum = draw(st.integers(1, len(inner)))
        parts.append(Part("inner", quorum, draw(st.sampled_from(LEVELS)), parts=inner))
    quorum = draw(st.integers(1, len(parts)))
    return Case(nodes, Part("root", quorum, draw(st.sampled_from(LEVELS)), parts=parts))
