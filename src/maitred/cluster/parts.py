"""Parts of a tree of groups: what each of them needs, and which member belongs to which of them.

A tree is one group. Its leaves have the members; a composite above them has a quorum of its own, which
counts the parts in it. A leaf is met with as many members as its quorum, a composite with as many parts
that are met.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from maitred.model.group import Composite, TopologyRequest

ANYWHERE = TopologyRequest()
COMPOSITE = -1
"""In place of the number of a leaf."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A leaf, with the number that its members are known by, or a composite."""

    key: str
    quorum: int
    topology: TopologyRequest = ANYWHERE
    children: tuple["Branch", ...] = ()
    leaf: int = COMPOSITE

    @property
    def is_leaf(self) -> bool:
        return self.leaf != COMPOSITE

    def walk(self, parent: str = "") -> Iterator[tuple["Branch", str]]:
        """All of it from the top down, each with the key of what it is in."""
        yield self, parent
        for child in self.children:
            yield from child.walk(self.key)

    def leaves(self) -> frozenset[int]:
        return frozenset(branch.leaf for branch, _ in self.walk() if branch.is_leaf)

    def met(self, have: Sequence[int]) -> bool:
        """Whether it has its quorum with so many members in each leaf."""
        return self.counted(have) >= self.quorum

    def counted(self, have: Sequence[int]) -> int:
        """What counts for its quorum: members of a leaf, parts of a composite that are met."""
        return have[self.leaf] if self.is_leaf else sum(child.met(have) for child in self.children)

    def lacking(self, have: Sequence[int]) -> int:
        """The fewest members that have to join for it to be met; of parts that do not exist, none."""
        if self.is_leaf:
            return max(0, self.quorum - have[self.leaf])
        return sum(sorted(child.lacking(have) for child in self.children)[: self.quorum])

    def least(self) -> int:
        """The least number of members with which it is met."""
        if self.is_leaf:
            return self.quorum
        return sum(sorted(child.least() for child in self.children)[: self.quorum])

    def loosened(self, leaves: bool) -> "Branch":
        if self.is_leaf:
            return replace(self, quorum=1) if leaves else self
        return replace(self, quorum=1, children=tuple(child.loosened(leaves) for child in self.children))

    def levels(self) -> Iterator[str]:
        """Every level that it, or a part of it, must share a domain of."""
        for branch, _ in self.walk():
            request = branch.topology
            yield from (level for level in (request.required, request.slice_level) if level)


@dataclass(frozen=True, slots=True)
class Parts:
    """A tree, with the leaves of the members of a group."""

    root: Branch
    waiting: tuple[int, ...]
    """The leaf of each member that waits,"""
    seated: tuple[int, ...]
    """and of each that has a place."""
    succeeded: tuple[int, ...]
    """How many members of each leaf have ended well."""

    def have(self, more: Iterable[int] = ()) -> list[int]:
        """How many members of each leaf count, with some more of those that wait."""
        counts = list(self.succeeded)
        for leaf in self.seated:
            counts[leaf] += 1
        for member in more:
            counts[self.waiting[member]] += 1
        return counts

    def possible(self) -> list[int]:
        """How many would count if all who wait had their places."""
        return self.have(range(len(self.waiting)))

    def lacking(self) -> int:
        return self.root.lacking(self.have())

    def leaf(self, number: int) -> Branch:
        return next(branch for branch, _ in self.root.walk() if branch.leaf == number)

    def needs_everyone(self) -> bool:
        """Whether no member that waits can be left out."""
        return self.lacking() == len(self.waiting)

    def has_wishes(self) -> bool:
        """Whether a part below the top says where its members are to be."""
        return any(branch.topology != ANYWHERE for branch, parent in self.root.walk() if parent)

    def loosened(self, leaves: bool = True) -> Branch:
        """The same tree in which a single part is enough, to see how many fit; with `leaves`, a single member
        of it."""
        return self.root.loosened(leaves)

    def broken(self) -> list[Branch]:
        """The outermost parts that have members on nodes and not their quorum."""
        have, there = self.have(), frozenset(self.seated)

        def look(branch: Branch) -> list[Branch]:
            if not branch.met(have) and branch.leaves() & there:
                return [branch]
            return [one for child in branch.children for one in look(child)]

        return look(self.root)

    def without(self, members: Sequence[int]) -> "Parts":
        """Once these of the members that wait have their places, in this order."""
        gone = set(members)
        left = tuple(leaf for member, leaf in enumerate(self.waiting) if member not in gone)
        return replace(self, waiting=left, seated=(*self.seated, *(self.waiting[m] for m in members)))


def root_of(parent: str, composites: Mapping[str, Composite]) -> str:
    """The top of the tree that a group with this parent is in: the outermost composite that anything names.
    In a circle, the first of it by name."""
    path = dict[str, None]()
    key = parent
    while key not in path:
        path[key] = None
        above = composites.get(key)
        if above is None or not above.parent:
            return key
        key = above.parent
    circle = list(path)
    return min(circle[circle.index(key) :])
