"""Trees: PodGroups below CompositePodGroups are one decision, with a quorum and a topology at every level.

From the Kubernetes API: a composite is met when `minGroupCount` of its children are (one, where it is
basic), a PodGroup when `minCount` of its pods are. What is placed of a composite is in one domain of its
topology key.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

from .case import Breach, Case, breach
from .fields import Doc
from .filters import place
from .groups import Group, ancestors, parent_of
from .objects import Cluster, Node
from .placement import Seats, domains_of, find_placement
from .pods import Pod
from .priorities import agree_on_priority, states_priority
from .rules import Bind, group_rule, one_domain
from .world import World

DEEPEST = 4
WAYS = 200
"""Choices of children that are tried when a placement is looked for."""


@dataclass(eq=False)
class Composite:
    key: str
    quorum: int
    topology: str
    children: "list[Composite | Group]" = field(default_factory=list)

    def leaves(self) -> Iterator[Group]:
        for child in self.children:
            yield from child.leaves() if isinstance(child, Composite) else (child,)

    def parts(self) -> "Iterator[tuple[Composite | Group, str]]":
        """All that is below, each with the key of what it is in."""
        for child in self.children:
            yield child, self.key
            if isinstance(child, Composite):
                yield from child.parts()


Part = Composite | Group


def counted(part: Part, more: Collection[str] = ()) -> int:
    """What counts for the quorum of a part, with these pods bound as well."""
    if isinstance(part, Composite):
        return sum(is_met(child, more) for child in part.children)
    return part.counted + sum(pod.key in more for pod in part.pending)


def is_met(part: Part, more: Collection[str] = ()) -> bool:
    return part.quorum is not None and counted(part, more) >= part.quorum


def lacking(part: Part, running: bool = True) -> int:
    """The fewest pods that could make a part met, with those that run or without."""
    if isinstance(part, Composite):
        return sum(sorted(lacking(child, running) for child in part.children)[: part.quorum])
    return max(0, (part.quorum or 0) - (part.counted if running else part.succeeded))


@dataclass(eq=False)
class Tree(Group):
    """A tree as a group. Its quorum counts children, as its entry in a Plan does."""

    root: Composite = field(default_factory=lambda: Composite("", 1, ""))

    @property
    def leaves(self) -> list[Group]:
        return list(self.root.leaves())

    @property
    def needed(self) -> int | None:
        return None if self.quorum is None else lacking(self.root)

    @property
    def anew(self) -> int:
        return lacking(self.root, running=False)

    @property
    def short(self) -> bool:
        return not self.met({pod.key for pod in self.pending})

    def met(self, more: Collection[str] = ()) -> bool:
        return not self.missing and is_met(self.root, more)

    def tally(self, more: Collection[str]) -> tuple[int, int | None, int]:
        return len(self.root.children), self.root.quorum, counted(self.root, more)

    def rule(self, running: list[Bind], new: list[Bind]) -> str | None:
        """Why members may not come to sit where they do: a leaf in part, or a domain that is left."""
        bound = {pod.key for pod, _ in new}
        for part, _ in ((self.root, ""), *self.root.parts()):
            inside = {pod.key for leaf in _leaves(part) for pod in leaf.members}
            mine, before = [s for s in new if s[0].key in inside], [s for s in running if s[0].key in inside]
            if mine and not is_met(part, bound):
                return f"{part.key} is placed in part: {counted(part, bound)} of a quorum of {part.quorum}"
            if not mine:
                continue
            if isinstance(part, Composite):
                broken = one_domain(part.topology, before + mine, part.key) if part.topology else None
            else:
                broken = group_rule(part, before, mine)
            if broken is not None:
                return broken
        return None

    def placement(
        self, world: World, pods: Sequence[Pod], nodes: Sequence[Node], fixed: Sequence[Bind]
    ) -> Seats | None:
        """Seats for the quorum, if a search finds any: one part after the other, in every domain."""
        found = next(_ways(self.root, world, {pod.key: pod for pod in pods}, list(nodes), fixed), None)
        return None if found is None else found[1]


def rule_of(group: Group, running: list[Bind], new: list[Bind]) -> str | None:
    """Why members of a group, or of a tree, may not come to sit where they do, beside those that run."""
    return group.rule(running, new) if isinstance(group, Tree) else group_rule(group, running, new)


def placement_of(
    world: World,
    group: Group,
    pods: Sequence[Pod],
    need: int,
    nodes: Sequence[Node],
    fixed: Sequence[Bind] = (),
) -> Seats | None:
    """Seats for so many of the pods, and of a tree for its quorum; None if none were found."""
    if isinstance(group, Tree):
        return group.placement(world, pods, nodes, fixed)
    return find_placement(world, group, pods, need, nodes, fixed)


def _leaves(part: Part) -> list[Group]:
    return list(part.leaves()) if isinstance(part, Composite) else [part]


Way = tuple[World, Seats]


def _ways(
    part: Part, world: World, pods: dict[str, Pod], nodes: list[Node], fixed: Sequence[Bind]
) -> Iterator[Way]:
    members = {pod.key for leaf in _leaves(part) for pod in leaf.members}
    mine = [seat for seat in fixed if seat[0].key in members]
    for choice in domains_of(part.topology, nodes, mine):
        if isinstance(part, Group):
            waiting = [pods[pod.key] for pod in part.members if pod.key in pods]
            need = (part.quorum or 0) - part.succeeded - len(mine)
            seats = find_placement(world, part, waiting, need, choice, mine)
            if seats is not None:
                after = world.copy()
                for key, node in seats.items():
                    place(after, pods[key], node)
                yield after, seats
            continue
        for chosen in islice(combinations(part.children, min(part.quorum, len(part.children))), WAYS):
            yield from islice(_in_turn(list(chosen), world, pods, choice, fixed), WAYS)


def _in_turn(
    parts: list[Part], world: World, pods: dict[str, Pod], nodes: list[Node], fixed: Sequence[Bind]
) -> Iterator[Way]:
    if not parts:
        yield world, {}
        return
    for after, seats in islice(_ways(parts[0], world, pods, nodes, fixed), WAYS):
        for last, more in _in_turn(parts[1:], after, pods, nodes, fixed):
            yield last, {**seats, **more}


# -- reading -------------------------------------------------------------------------------------------------


def read_trees(groups: Iterable[Group], cluster: Cluster) -> list[Group]:
    """The groups, with those that are in one tree put together. PodGroups without pods are children, too."""
    alone, below = list[Group](), dict[str, list[Group]]()
    for group in groups:
        if group.parent:
            below.setdefault(_top(group.parent, cluster), []).append(group)
        else:
            alone.append(group)
    known = {group.key for leaves in below.values() for group in leaves}
    for key, doc in sorted(cluster.pod_groups.items()):
        parent = parent_of(key, doc.doc("spec"))
        if parent and key not in known and (top := _top(parent, cluster)) in below:
            below[top].append(_bare(key, parent, doc.doc("spec")))
    trees = [_Reader(cluster, top, leaves).tree() for top, leaves in sorted(below.items())]
    return sorted([*alone, *trees], key=lambda group: (group.key, group.kind))


def _top(key: str, cluster: Cluster) -> str:
    """The outermost composite that is named; of a circle the first by name."""
    seen: list[str] = []
    while key not in seen:
        seen.append(key)
        above = parent_of(key, cluster.composites[key].doc("spec")) if key in cluster.composites else ""
        if not above:
            return key
        key = above
    return min(seen[seen.index(key) :])


def _bare(key: str, parent: str, spec: Doc) -> Group:
    gang = spec.doc("schedulingPolicy").doc("gang")
    return Group(
        "PodGroup", key, [], gang.integer("minCount") if gang.given("minCount") else 1, parent=parent
    )


class _Reader:
    def __init__(self, cluster: Cluster, top: str, leaves: list[Group]) -> None:
        self.cluster, self.top, self.leaves = cluster, top, leaves
        self.problems: list[str] = []
        self.seen: set[str] = set()

    def tree(self) -> Tree:
        root = self._composite(self.top, 1)
        members = sorted((pod for leaf in self.leaves for pod in leaf.members), key=Pod.order)
        missing = self.top not in self.cluster.composites
        tree = Tree(
            "composite", self.top, members, None if missing else root.quorum, missing, gang=True, root=root
        )
        tree.topology = root.topology
        tree.problems = [*self.problems, *(problem for leaf in self.leaves for problem in leaf.problems)]
        tree.doubts = [doubt for leaf in self.leaves for doubt in leaf.doubts]
        tree.inherited = {key: marks for leaf in self.leaves for key, marks in leaf.inherited.items()}
        tree.removed = sum(leaf.removed for leaf in self.leaves)
        tree.since = [moment for leaf in self.leaves for moment in leaf.since]
        self._read_priority(tree)
        if len({pod.scheduler for pod in tree.active}) > 1:
            tree.problems.append("members name different schedulers")
        return tree

    def _composite(self, key: str, depth: int) -> Composite:
        self.seen.add(key)
        doc = self.cluster.composites.get(key)
        spec = Doc(None, key) if doc is None else doc.doc("spec")
        if key == self.top and parent_of(key, spec):
            self.problems.append("composites in a circle")
        gang, levels = (
            spec.doc("schedulingPolicy").doc("gang"),
            spec.doc("schedulingConstraints").docs("topology"),
        )
        quorum = gang.integer("minGroupCount") if gang.given("minGroupCount") else 1
        found = Composite(key, quorum, levels[0].text("key") if levels else "")
        if depth == DEEPEST:
            deep = [
                leaf
                for leaf in self.leaves
                if leaf.parent not in self.seen - {key} and self._is_below(leaf, key)
            ]
            self.problems += [f"{leaf.key} is too deep" for leaf in deep]
            found.children += deep
            return found
        found.children += [leaf for leaf in self.leaves if leaf.parent == key]
        for child in sorted(self.cluster.composites):
            if child not in self.seen and parent_of(child, self.cluster.composites[child].doc("spec")) == key:
                found.children.append(self._composite(child, depth + 1))
        for part in found.children:
            self._check_workload(part.key, isinstance(part, Composite))
        return found

    def _is_below(self, leaf: Group, key: str) -> bool:
        return key in ancestors(self.cluster, leaf)

    def _check_workload(self, key: str, composite: bool) -> None:
        table = self.cluster.composites if composite else self.cluster.pod_groups
        docs = [doc for doc in (table.get(key), self.cluster.composites.get(self.top)) if doc is not None]
        named = {doc.doc("spec").doc("workloadRef").text("workloadName") for doc in docs} - {""}
        if len(named) > 1:
            self.problems.append(f"{key} is of another Workload than {self.top}")

    def _read_priority(self, tree: Tree) -> None:
        """The root says it. Where it does not, others may, and it is left open which of them counts."""
        doc = self.cluster.composites.get(self.top)
        spec = Doc(None, self.top) if doc is None else doc.doc("spec")
        agree_on_priority(tree, spec, self.cluster)
        below = [part.key for part, _ in tree.root.parts()]
        docs = (self.cluster.composites.get(key) or self.cluster.pod_groups.get(key) for key in below)
        if not states_priority(spec) and any(d is not None and states_priority(d.doc("spec")) for d in docs):
            tree.doubts.append("parts of it state a priority, and the root does not")


# -- judging -------------------------------------------------------------------------------------------------


def judge_parts(case: Case) -> Iterator[Breach]:
    """Laws 2 and 7 for what a Plan says of the parts of trees: each once, with its own numbers."""
    told: dict[tuple[str, str], list[Doc]] = {}
    for entry in case.parts:
        told.setdefault((entry.text("group"), entry.text("parent")), []).append(entry)
    for tree in case.groups:
        if not isinstance(tree, Tree) or not case.allowed(tree):
            continue
        bound = {pod.key for pod, _ in case.bound(tree)}
        for part, parent in tree.root.parts():
            entries = told.pop((part.key, parent), [])
            if len(entries) > 1 or (not entries and case.due(tree)):
                yield breach(
                    7, part.key, f"is a part of {parent}, and the Plan names it {len(entries)} times"
                )
            for entry in entries:
                yield from _judge_part(case, tree, part, entry, bound)
    for key, parent in sorted(told):
        yield breach(7, key, f"the Plan has it as a part of {parent}, which it is not")


def _judge_part(case: Case, tree: Tree, part: Part, entry: Doc, bound: set[str]) -> Iterator[Breach]:
    size = len(part.children) if isinstance(part, Composite) else part.size
    counts = {"members": size, "quorum": part.quorum, "placed": counted(part, bound)}
    for name, number in counts.items():
        if entry.raw.get(name) != number:
            yield breach(2, part.key, f"{name} is {entry.raw.get(name)}, should be {number}")
    verdict, met = entry.text("verdict"), is_met(part, bound)
    whole = {one.text("verdict") for one in case.entries.get(tree.key, [])}
    if (verdict == "Invalid") != ("Invalid" in whole):
        yield breach(7, part.key, f"{verdict} in a tree that is {', '.join(sorted(whole))}")
    elif verdict != "Invalid" and not tree.missing and (verdict == "Scheduled") != met:
        yield breach(2, part.key, f"{verdict} with {counted(part, bound)} of a quorum of {part.quorum}")
    if verdict != "Scheduled" and not entry.docs("blockers"):
        yield breach(7, part.key, f"{verdict} without a blocker")
