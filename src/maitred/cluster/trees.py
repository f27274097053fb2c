"""Trees of groups: PodGroups below composites, put together to one group each.

A group names its parent, and a composite may name one, too. The tree is called like the composite at its
top. Where that does not exist yet, the tree waits under its name. A tree that no API server should have let
in (too deep, in a circle, of several Workloads) is one group as well, which is invalid.

Clusters without composites pay nothing for this: only groups that name a parent are looked at.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from maitred.cluster.members import NOT_CREATED
from maitred.cluster.parts import Branch, Parts, root_of
from maitred.cluster.snapshot import GroupView
from maitred.model.group import Composite, Group, TopologyRequest
from maitred.model.healing import NO_WISH, FailureWish
from maitred.model.membership import POD_GROUP, GroupId, common_payer
from maitred.model.runtime import NOT_SAID, together

COMPOSITE_POD_GROUP = "CompositePodGroup"
DEEPEST = 4
"""Levels of a tree, that of its PodGroups included. Kubernetes has the same limit for templates."""


LeafView = Callable[[str], GroupView | None]
"""What the state knows of a PodGroup by itself; nothing where it has no pods."""


@dataclass(slots=True)
class _Composed:
    """A tree as one group, and what it was made of."""

    made_of: tuple[object, ...]
    view: GroupView


@dataclass(slots=True)
class Trees:
    """Which PodGroups are in which tree, kept up to date as they and composites come and go."""

    composites: dict[str, Composite] = field(default_factory=dict)
    _groups: dict[str, Group] = field(default_factory=dict)
    """PodGroups that name a parent,"""
    _leaves: dict[str, dict[str, Group]] = field(default_factory=dict)
    """and by that."""
    _inner: dict[str, set[str]] = field(default_factory=dict)
    """Composites by their parent."""
    _roots: dict[str, str] = field(default_factory=dict)
    _composed: dict[str, _Composed] = field(default_factory=dict)

    def holds(self, id: GroupId) -> bool:
        """Whether a group is a part of a tree."""
        return id.source == POD_GROUP and id.key in self._groups

    def id_of(self, id: GroupId) -> GroupId:
        """What a group is decided as: itself, or the tree that it is in."""
        group = self._groups.get(id.key) if id.source == POD_GROUP else None
        return id if group is None else GroupId(COMPOSITE_POD_GROUP, self._root(group.parent))

    def _root(self, parent: str) -> str:
        found = self._roots.get(parent)
        if found is None:
            found = self._roots[parent] = root_of(parent, self.composites)
        return found

    def leaves_of(self, id: GroupId) -> list[GroupId]:
        """The PodGroups of a tree."""
        found = self.below(id.key) if id.source == COMPOSITE_POD_GROUP else ()
        return [GroupId(POD_GROUP, key) for key in found]

    def put_group(self, key: str, group: Group | None) -> bool:
        """A PodGroup is there, has changed, or is gone. Whether that is news of a tree."""
        known = self._groups.pop(key, None)
        group = group if group is not None and group.parent else None
        if known is not None:
            siblings = self._leaves[known.parent]
            del siblings[key]
            if not siblings:
                del self._leaves[known.parent]
        if group is not None:
            self._groups[key] = self._leaves.setdefault(group.parent, {})[key] = group
        return known != group

    def put(self, key: str, composite: Composite | None) -> bool:
        """A composite is there, has changed, or is gone. Whether that is news."""
        known = self.composites.pop(key, None)
        if composite is not None:
            self.composites[key] = composite
        if known is not None and known.parent:
            self._inner[known.parent].discard(key)
        if composite is not None and composite.parent:
            self._inner.setdefault(composite.parent, set()).add(key)
        self._roots.clear()
        return known != composite

    def below(self, key: str) -> list[str]:
        """The PodGroups in a composite, at any depth."""
        return [group.key for _, groups in self.walk(key) for group in groups]

    def walk(self, key: str) -> Iterator[tuple[str, list[Group]]]:
        """Every composite from this one down, with the PodGroups right below it."""
        seen, left = set[str](), [key]
        while left:
            one = left.pop()
            if one not in seen:
                seen.add(one)
                yield one, list(self._leaves.get(one, {}).values())
                left += sorted(self._inner.get(one, ()))

    def children(self, key: str) -> tuple[list[str], list[Group]]:
        """What is right below a composite: composites, and PodGroups."""
        return sorted(self._inner.get(key, ())), list(self._leaves.get(key, {}).values())

    # -- as one group ----------------------------------------------------------------------------------

    def views(self, roots: Iterable[str], leaf_view: LeafView) -> list[GroupView]:
        """Of each of these trees. One that has not changed since it was last asked for is not made again."""
        found = dict[str, _Composed]()
        for root in roots:
            walked = list(self.walk(root))
            groups = [group for _, below in walked for group in below]
            leaves = {one.key: view for one in groups if (view := leaf_view(one.key)) is not None}
            made_of = (*(self.composites.get(key) for key, _ in walked), *groups, *leaves.values())
            known = self._composed.get(root)
            if known is None or not _same(known.made_of, made_of):
                known = _Composed(made_of, _Composer(self, root, leaves).view())
            found[root] = known
        self._composed = found
        return [composed.view for composed in found.values()]


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(one) == len(other) and all(mine is theirs for mine, theirs in zip(one, other, strict=True))


class _Composer:
    """Puts one tree together. `leaves` are the views of those of its groups that have members."""

    def __init__(self, trees: Trees, root: str, leaves: Mapping[str, GroupView]) -> None:
        self.trees, self.root, self.leaves = trees, root, leaves
        self.order: list[tuple[Group, GroupView | None]] = []
        """The leaves by their numbers."""
        self.seen = set[str]()
        self.problems = list[str]()

    def view(self) -> GroupView:
        branch = self._composite(self.root, 1, self._workload(self.root))
        views = [view for _, view in self.order if view is not None]
        numbered = [(leaf, view) for leaf, (_, view) in enumerate(self.order) if view is not None]
        parts = Parts(
            branch,
            waiting=tuple(leaf for leaf, view in numbered for _ in view.pods),
            seated=tuple(leaf for leaf, view in numbered for _ in view.running),
            succeeded=tuple(0 if view is None else view.succeeded for _, view in self.order),
        )
        owners = {view.owner for view in views}
        return GroupView(
            group=self._group(branch, views),
            pods=_joined(view.pods for view in views),
            uids=_joined(view.uids for view in views),
            orders=_joined(view.orders for view in views),
            shapes=np.concatenate([view.shapes for view in views]),
            gates=_joined(view.gates for view in views),
            running=_joined(view.running for view in views),
            running_shapes=np.concatenate([view.running_shapes for view in views]),
            members=sum(view.members for view in views),
            succeeded=sum(view.succeeded for view in views),
            created=min(view.created for view in views),
            arrived=min(view.arrived for view in views),
            ranks=tuple(sorted({rank for view in views for rank in view.ranks}, key=repr)),
            schedulers=_union(view.schedulers for view in views),
            pending_schedulers=_union(view.pending_schedulers for view in views),
            nominated=_padded([(view.nominated, len(view.pods)) for view in views], ""),
            claims=_padded([(view.claims, len(view.pods)) for view in views], ()),
            device_claims=_padded([(view.device_claims, len(view.pods)) for view in views], ()),
            runtime=together(
                NOT_SAID, {view.runtime for view in views}, {view.runtime.stay for view in views}
            ),
            owner=owners.pop() if len(owners) == 1 else "",
            overruled=next((view.overruled for view in views if view.overruled), ""),
            parts=parts,
            source=(COMPOSITE_POD_GROUP, self.root, ""),
            wishes=_union_of_wishes(views),
            payer=common_payer([(f"group {view.group.key}", view.payer) for view in views]),
            any_model=any(view.any_model for view in views),
            members_by_leaf=tuple(0 if view is None else view.members for _, view in self.order),
        )

    def _group(self, branch: Branch, views: list[GroupView]) -> Group:
        top = self.trees.composites.get(self.root)
        stated = self._priority()
        groups = [group for group, _ in self.order]
        problems = [f"{group.key}: {problem}" for group in groups for problem in group.problems]
        return Group(
            key=self.root,
            quorum=max(1, branch.least()),
            gang=True,
            topology=branch.topology,
            priority=stated.priority,
            priority_class_name=stated.priority_class_name,
            preemption_policy=top.preemption_policy if top is not None else "",
            disruption=top.disruption if top is not None else "Pod",
            exists=top is not None,
            origin=f"{COMPOSITE_POD_GROUP} {self.root}",
            problems=tuple(dict.fromkeys([*self.problems, *problems])),
            warnings=tuple(sorted({w for view in views for w in view.group.warnings})),
        )

    def _priority(self) -> Composite | Group:
        """Who states the priority of the tree: the outermost that does, of several the first."""
        composites = [self.trees.composites.get(key) for key, _ in self.trees.walk(self.root)]
        stated = (one for one in composites if one is not None and one.states_priority)
        groups = (one for one, _ in self.order if one.priority is not None or one.priority_class_name)
        return next(stated, None) or next(groups, Composite(self.root))

    # -- the branches ----------------------------------------------------------------------------------

    def _composite(self, key: str, depth: int, workload: str) -> Branch:
        self.seen.add(key)
        one = self.trees.composites.get(key) or Composite(key)
        if one.parent and key == self.root:
            self._problem(f"composite groups are in each other, in a circle, and {key} is one of them")
        inner, records = self.trees.children(key) if depth < DEEPEST else self._too_deep(key)
        found = [self._leaf(record, workload) for record in sorted(records, key=self._age)]
        for child in inner:
            if child not in self.seen:
                self._check(child, self._workload(child), workload)
                found.append(self._composite(child, depth + 1, workload))
        children = tuple(sorted(found, key=self._branch_age))
        return Branch(key, one.quorum, TopologyRequest(required=one.level), children)

    def _too_deep(self, key: str) -> tuple[list[str], list[Group]]:
        """All groups below, however deep: they belong to the tree, which is not valid if there are any."""
        walked = [
            (one, records) for one, records in self.trees.walk(key) if one == key or one not in self.seen
        ]
        self.seen.update(one for one, _ in walked)
        found = [record for _, records in walked for record in records]
        for record in found[:1]:
            self._problem(
                f"{record.key} is too deep in the tree of {self.root}, which is level 1: PodGroups may be "
                f"at level {DEEPEST} at most"
            )
        return [], found

    def _leaf(self, declared: Group, workload: str) -> Branch:
        view = self.leaves.get(declared.key)
        group = declared if view is None else view.group
        self._check(group.key, group.workload, workload)
        self.order.append((group, view))
        return Branch(group.key, group.quorum, group.topology, leaf=len(self.order) - 1)

    def _check(self, key: str, own: str, workload: str) -> None:
        if own and workload and own != workload:
            self._problem(f"{key} is of Workload {own}, and {self.root} above it of Workload {workload}")

    def _problem(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _workload(self, key: str) -> str:
        one = self.trees.composites.get(key)
        return "" if one is None else one.workload

    def _age(self, record: Group) -> tuple[float, str]:
        view = self.leaves.get(record.key)
        return NOT_CREATED if view is None else view.created, record.key

    def _branch_age(self, branch: Branch) -> tuple[float, str]:
        """Children go by age, as the first of their members has it."""
        views = [self.order[leaf][1] for leaf in branch.leaves()]
        return min((view.created for view in views if view is not None), default=NOT_CREATED), branch.key


def _joined(columns: Iterable[tuple]) -> tuple:  # type: ignore[type-arg]
    return tuple(value for column in columns for value in column)


def _union(columns: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({value for column in columns for value in column}))


def _union_of_wishes(views: Iterable[GroupView]) -> tuple[FailureWish, ...]:
    found = {view.group.on_failure for view in views}.union(*(view.wishes for view in views))
    return tuple(sorted(found - {NO_WISH}, key=repr))


def _padded(columns: list[tuple[tuple, int]], nothing: object) -> tuple:  # type: ignore[type-arg]
    """One value for each pod, where any has one."""
    if not any(column for column, _ in columns):
        return ()
    return _joined(column or (nothing,) * count for column, count in columns)
