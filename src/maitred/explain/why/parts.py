"""The parts of a tree of groups that waits for nothing: what of it runs, level by level."""

from maitred.cluster.parts import Branch
from maitred.cluster.snapshot import Snapshot
from maitred.model.group import TopologyRequest
from maitred.model.plan import GroupVerdict, Verdict


def running_tree(snapshot: Snapshot, key: str) -> tuple[GroupVerdict, ...]:
    """The tree and its parts, as a Plan has them; parts of which nothing runs and nothing waits are not
    known. Nothing for a group that is no tree."""
    if key not in snapshot.composites:
        return ()
    tree = _Running(snapshot)
    root = tree.branch(key)
    return tuple(tree.verdict(branch, parent) for branch, parent in root.walk())


class _Running:
    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.have = [0 if one is None else one.counted for one in snapshot.seated]
        self._seen = set[str]()

    def branch(self, key: str) -> Branch:
        self._seen.add(key)
        composite, seated = self.snapshot.composites[key], enumerate(self.snapshot.seated)
        leaves = [
            Branch(one.group.key, one.group.quorum, one.group.topology, leaf=number)
            for number, one in seated
            if one is not None and one.group.parent == key
        ]
        inner = sorted(name for name, one in self.snapshot.composites.items() if one.parent == key)
        found = [self.branch(name) for name in inner if name not in self._seen]
        children = sorted([*leaves, *found], key=lambda branch: branch.key)
        return Branch(key, composite.quorum, TopologyRequest(required=composite.level), tuple(children))

    def verdict(self, branch: Branch, parent: str) -> GroupVerdict:
        counted = branch.counted(self.have)
        members = counted if branch.is_leaf else len(branch.children)
        state: Verdict = "Scheduled" if branch.met(self.have) else "Waiting"
        return GroupVerdict(
            branch.key,
            state,
            members,
            branch.quorum,
            counted,
            parent=parent,
            counts="members" if branch.is_leaf else "parts",
        )
