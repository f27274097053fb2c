"""More nodes as a remedy: of which kind, where, and how few of them will do."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from maitred.cluster.devices.counted import NOTHING
from maitred.cluster.devices.hardware import tallies
from maitred.cluster.nodes import BASE_RESOURCES, Ints, Mask
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.alike import needs_of
from maitred.decide.ask import Ask, ask_of
from maitred.decide.attempt import quorum_of
from maitred.decide.compile import make_rules
from maitred.decide.seating import commit
from maitred.explain.remedies.added import Pattern, with_copies
from maitred.explain.remedies.attempt_budget import Latest
from maitred.explain.remedies.changes import Change, MoreNodes, with_cost
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.model.node import HOSTNAME
from maitred.model.policy import health_taints, is_device
from maitred.model.quantity import CPU, MEMORY, PODS, text
from maitred.model.storage import PLACE_LABELS
from maitred.model.words import counted

MOST_NODES = 64
MOST_PATTERNS = 3
MOST_AHEAD = 4
MOST_MOMENTS = 2
"""At which a cluster with more nodes is kept: in the turn of a group, and before anybody was seated."""
SHORT = ("resource", "shortOf")
"""Where blockers say what is scarce."""
VIEW_UNITS = 30
"""What it takes to make columns with more nodes, in units of effort."""
TRIAL_UNITS = 5
"""What it takes to seat again on them who was seated before a turn."""


@dataclass(frozen=True, slots=True)
class Grown:
    """The cluster with as many new nodes as there may be. At 5,000 nodes it takes 20 to 30 MB with what is
    derived from it, and nearly every group has patterns of its own: no more are kept than one group has."""

    snapshot: Snapshot
    trials: Latest[Hashable, Trial]
    """At the moments at which it was looked at."""


class Growth:
    """Tries more nodes for groups of one cycle. What is asked again is remembered."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.rehearsal, self.snapshot = rehearsal, rehearsal.snapshot
        well = self.snapshot.nodes.whole().without_taints(health_taints(rehearsal.policy))
        self._empty = Trial.empty(self.snapshot, well)
        self._grown = Latest[Pattern, Grown](MOST_PATTERNS)

    def more_nodes(self, ranked: RankedGroup) -> Change | None:
        best: tuple[int, int, int, Pattern] | None = None
        for pattern, room in self._patterns(ranked):
            most = MOST_NODES if best is None else best[0]
            count, used = self._fewest(ranked, pattern, most)
            if count and (best is None or (count, room) < best[:2]):
                best = (count, room, used, pattern)
        if best is None:
            return None
        count, _, used, pattern = best
        return self._verified(ranked, self._change(ranked, pattern, count, used))

    def _verified(self, ranked: RankedGroup, change: MoreNodes) -> Change | None:
        """The change if it works, with those of the groups ahead that it really seats."""
        self.rehearsal.effort.spend(2 * VIEW_UNITS)
        rivals, ahead, instead = self._rivals(ranked, change.pattern), change.ahead, set[str]()
        for way in (change.applied, change.applied_last):
            outcome = self.rehearsal.works(way, ranked, rivals, first=0)
            if outcome is None:
                return None
            ahead = tuple(group for group in ahead if group in outcome.gained)
            instead.update(outcome.lost)
        return with_cost(replace(change, ahead=ahead), tuple(sorted(instead)))

    def _change(self, ranked: RankedGroup, pattern: Pattern, count: int, used: int) -> MoreNodes:
        nodes, context, request = self.snapshot.nodes, self.rehearsal.context, ranked.view.group.topology
        domain = ""
        if request.required and (key := context.key(request.required)) != HOSTNAME:
            value = dict(pattern.moved).get(key) or nodes.labels[pattern.row].get(key)
            domain = f"{context.name(key)} {value}"
        like = nodes.names[pattern.row]
        ahead = tuple(other.view.group.key for other in self._ahead(ranked, pattern))
        share = count / max(used, count)
        return MoreNodes(count, like, pattern, self._offers(ranked, pattern.row), domain, ahead, share)

    def _offers(self, ranked: RankedGroup, row: int) -> str:
        """What a node has, most telling first, with all that is scarce or out of the ordinary."""
        nodes, policy = self.snapshot.nodes, self.rehearsal.policy
        devices = sorted(resource for resource in nodes.resources if is_device(policy, resource))
        have = dict(zip(nodes.resources, nodes.whole().allocatable[:, row].tolist(), strict=True))
        asked = {name for need in needs_of(self.snapshot, ranked.view) for name, _ in need.requests}
        short = {blocker.detail.get(name) for blocker in self.rehearsal.blockers(ranked) for name in SHORT}
        special = {name for name in asked if name not in BASE_RESOURCES or name in short}
        listed = dict.fromkeys((*devices, CPU, MEMORY, *sorted(special)))
        shown = [resource for resource in listed if have.get(resource)]
        amounts = [
            counted(have[PODS], "pod") if resource == PODS else f"{text(resource, have[resource])} {resource}"
            for resource in shown
        ]
        return ", ".join([*self._claimable(nodes.names[row]), *amounts])

    def _claimable(self, node: str) -> list[str]:
        """The devices of a node that claims are for, by driver."""
        counts = Counter[str]()
        for pool in self.snapshot.inventory.on_node.get(node, ()):
            uses = self.snapshot.allocated.by_pool.get(pool.id, NOTHING)
            for kind, tally in tallies(pool, uses).items():
                counts[kind.driver] += tally.total
        return [f"{counted(counts[driver], 'device')} of {driver}" for driver in sorted(counts)]

    # -- of which kind, and where ----------------------------------------------------------------------

    def _patterns(self, ranked: RankedGroup) -> list[tuple[Pattern, int]]:
        """Kinds of nodes that could hold a member, with how many: the roomiest first, then the commonest."""
        rehearsal = self.rehearsal
        key = ("patterns", rehearsal.kin(ranked), self._moment(ranked))
        return rehearsal.memory.recall(rehearsal.effort, key, lambda: self._find_patterns(ranked))

    def _find_patterns(self, ranked: RankedGroup) -> list[tuple[Pattern, int]]:
        ask, nodes = ask_of(ranked.view), self.snapshot.nodes
        rules = make_rules(self._empty, ask.distinct, self.rehearsal.policy, others_may_help=True)
        room: Ints = np.minimum(np.max(rules.copies, axis=0), ask.need)
        able, sample = self._within_reach(ranked, ask, room > 0)
        rows = np.flatnonzero(able)
        # Nobody takes a node with broken devices for a model if there is another.
        unwell = np.isin(rows, list(nodes.unwell))
        rows = rows[np.lexsort((nodes.name_rank[rows], unwell))]
        if not len(rows):
            return []
        told_apart = [*self._traits(ask, sample is None), room]  # by devices, too
        traits = np.stack([column[rows] for column in told_apart], axis=1)
        _, first, counts = np.unique(traits, axis=0, return_index=True, return_counts=True)
        order = np.lexsort((first, -counts, -room[rows[first]]))[:MOST_PATTERNS]
        return [(self._pattern(int(row), sample), int(room[row])) for row in rows[first[order]]]

    def _traits(self, ask: Ask, anywhere: bool) -> list[Ints]:
        """What the group can tell nodes apart by: free amounts, and the domains that its constraints name."""
        nodes, empty = self.snapshot.nodes, self._empty
        needs = [empty.needs(shape) for shape in ask.distinct]
        asked = sorted({resource for need in needs for resource, _ in need.requests})
        columns = [nodes.resource_column(resource) for resource in asked]
        traits = [empty.columns.free[column] for column in columns if column is not None]
        keys = {term.topology_key for need in needs for term in need.pod_terms()}
        topology, context = ask.topology, self.rehearsal.context
        levels = [topology.slice_level, topology.required if anywhere else ""]
        keys |= {context.key(level) for level in levels if level}
        traits += [nodes.column(key).codes.astype(np.int64) for key in sorted(keys - {HOSTNAME})]
        return [*traits, empty.nodes.taint_ids.astype(np.int64)]

    def _within_reach(self, ranked: RankedGroup, ask: Ask, able: Mask) -> tuple[Mask, int | None]:
        """Nodes to take as a model, and one that is where the group has to be, if that is known."""
        required = ask.topology.required
        if not required:
            return able, None
        key = self.rehearsal.context.key(required)
        codes = self.snapshot.nodes.column(key).codes
        # A new node is a domain of its own where each node is one.
        near = None if key == HOSTNAME else self._nearest(ranked, ask)
        if near is None or codes[near] < 0:
            return able & (codes >= 0), None
        inside: Mask = able & (codes == codes[near])
        return (inside if inside.any() else able), near

    def _nearest(self, ranked: RankedGroup, ask: Ask) -> int | None:
        """A node in the domain where the group is already, or where most of it could be seated."""
        if ask.seated:
            return ask.seated[0].node
        found = self.rehearsal.probe(self.snapshot, ranked, need=1)
        return found[0][1] if found else None

    def _pattern(self, row: int, sample: int | None) -> Pattern:
        nodes, well = self.snapshot.nodes, self._empty.nodes
        moved = {}
        if sample is not None:
            keys = {*(level.key for level in self.rehearsal.context.levels), *PLACE_LABELS} - {HOSTNAME}
            there, here = nodes.labels[sample], nodes.labels[row]
            moved = {key: there[key] for key in sorted(keys & there.keys()) if here.get(key) != there[key]}
        return Pattern(row, well.taint_sets[well.taint_ids[row]], tuple(moved.items()))

    # -- how many --------------------------------------------------------------------------------------

    def _fewest(self, ranked: RankedGroup, pattern: Pattern, most: int) -> tuple[int, int]:
        """The fewest new nodes with which the group fits, and how many nodes it is on then; 0 if none do."""
        ahead = self._ahead(ranked, pattern)
        if len(ahead) > MOST_AHEAD:
            self.rehearsal.effort.crowded = True
            return 0, 0
        asks = [ask_of(other.view) for other in ahead]
        most = min(most, sum(other.need for other in asks) + ranked.view.missing)
        if not self._nodes_used(ranked, pattern, most, asks):
            return 0, 0
        low, high = 0, 1
        while not (used := self._nodes_used(ranked, pattern, high, asks)):
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = (low + high) // 2
            found = self._nodes_used(ranked, pattern, middle, asks)
            low, high, used = (low, middle, found) if found else (middle, high, used)
        return high, used

    def _nodes_used(self, ranked: RankedGroup, pattern: Pattern, count: int, ahead: list[Ask]) -> int:
        """How many nodes the group is on once it is seated, with so many new ones; 0 if it is not."""
        context, most, ask = self.rehearsal.context, self._trial(pattern, ranked), ask_of(ranked.view)
        trial = most.on(most.nodes)
        trial.columns.free[:, len(self.snapshot.nodes.names) + count :] = 0
        for other in ahead:
            commit(trial, other, quorum_of(other, self.rehearsal.seats(trial, other, context)))
        found = self.rehearsal.seats(trial, ask, context)
        rows = {row for _, row in found[: ask.need]}
        return len(rows | {member.node for member in ask.seated}) if found else 0

    def _moment(self, ranked: RankedGroup) -> Hashable:
        """Groups of one moment find the same in their turns."""
        return (self.rehearsal.taken_before(ranked), ranked.priority)

    def _trial(self, pattern: Pattern, ranked: RankedGroup | None) -> Trial:
        """With as many new nodes as there may be: in the turn of a group, or before all that the Plan
        binds."""
        grown, moment = self._with_most(pattern), ranked and self._moment(ranked)
        self.rehearsal.effort.spend_once((pattern, moment), TRIAL_UNITS)
        snapshot = grown.snapshot
        return grown.trials.get(
            moment,
            lambda: Trial.of(snapshot) if ranked is None else self.rehearsal.leftover(snapshot, ranked),
        )

    def _with_most(self, pattern: Pattern) -> Grown:
        self.rehearsal.effort.spend_once(pattern, VIEW_UNITS)
        return self._grown.get(
            pattern,
            lambda: Grown(with_copies(self.snapshot, pattern, MOST_NODES), Latest(MOST_MOMENTS)),
        )

    # -- who else would take them ----------------------------------------------------------------------

    def _rivals(self, ranked: RankedGroup, pattern: Pattern) -> list[RankedGroup]:
        """Groups that wait now and might be seated with new nodes, before this one or in somebody's way."""
        last = self.rehearsal.last_to_matter(ranked)
        return [
            other
            for other in self.rehearsal.ranked_groups[:last]
            if other.waits and other is not ranked and self._interested(other, pattern)
        ]

    def _interested(self, other: RankedGroup, pattern: Pattern) -> bool:
        """Whether it could be seated with new nodes, had nobody else been; so too if there is no telling."""
        return not self.rehearsal.plain(other) or self._would_fit(other, pattern, None)

    def _ahead(self, ranked: RankedGroup, pattern: Pattern) -> list[RankedGroup]:
        """Groups that come first and would be seated on the new nodes; one more than matters at most. Where
        there is no time to find out, all who wait are taken for such."""
        found: list[RankedGroup] = []
        for other in self.rehearsal.ranked_groups[: ranked.place]:
            if other.waits and (
                not self.rehearsal.effort.allows() or self._would_fit(other, pattern, ranked)
            ):
                found.append(other)
            if len(found) > MOST_AHEAD:
                break
        return found

    def _would_fit(self, other: RankedGroup, pattern: Pattern, ranked: RankedGroup | None) -> bool:
        """With what is left in the turn of a group, or where nobody had been seated."""
        rehearsal, trial = self.rehearsal, self._trial(pattern, ranked)
        key = ("fits", rehearsal.kin(other), pattern, ranked and self._moment(ranked))
        return rehearsal.memory.recall(
            rehearsal.effort, key, lambda: bool(rehearsal.seats(trial, ask_of(other.view), rehearsal.context))
        )
