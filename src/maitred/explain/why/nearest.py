"""Where a group that waits is nearest to fitting: how many members each place holds, and what the next lacks.

Places are the domains of the level that the group has to be within; without one, they are nodes, or kinds of
nodes where there are many. All are counted at once, as decisions count them; the best few are then tried.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import NODE_NAME, Codes, Ints, Mask, NodeView
from maitred.cluster.parts import Branch
from maitred.cluster.selection import declaring_nodes, required_nodes, tolerated_nodes
from maitred.cluster.supply.columns import Requests, copies_that_fit
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.supply.ports import Ports
from maitred.cluster.supply.volumes import Volumes
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt
from maitred.decide.compile import make_rules, managed_nodes
from maitred.decide.context import FULL_RULES, Context
from maitred.decide.place import candidates
from maitred.decide.queues.admission import is_admitted
from maitred.decide.rules import Rules
from maitred.decide.seating import commit, required_domain
from maitred.decide.seats import Demand, Steps
from maitred.explain.why.answer import Nearest, NearPlace
from maitred.model.node import UNSCHEDULABLE
from maitred.model.policy import is_device
from maitred.model.quantity import CPU, MEMORY, PODS, amount, text
from maitred.model.words import counted

MOST_PLACES = 5
MOST_TRIED = 12
"""Counting may promise too much where members differ or keep apart: then a few more are tried."""
NODES_ONE_BY_ONE = 8
"""More nodes than this are told by kinds."""
STEPS = 2_000
MOST_LEAVES = 4
"""Groups of a tree that are taken for less one by one."""
ROUND = {CPU: amount(CPU, "1"), MEMORY: amount(MEMORY, "1Gi")}
"""Nodes of one kind differ in what their system keeps for itself."""
OWN_RULES = (
    "the rules between its own members (anti-affinity, spread, ports, volumes or slices) allow no more"
)
OWN_QUEUE = "a limit or the budget of its queue allows no more"
NO_DEVICES = "no node here has devices left for its claims"
RULES_OF_PARTS = "the quorums and levels of its parts, or the rules of its members, allow no more"


@dataclass(frozen=True)
class Map:
    """Nodes in places: for each node the number of its place, -1 for none."""

    level: str | None
    codes: Codes
    names: tuple[str, ...]


def nearest_to(trial: Trial, ask: Ask, context: Context) -> Nearest:
    """`trial` is what others leave to the group, `ask` what it lacks."""
    return _Survey(trial, replace(ask, need=max(1, ask.need)), context).nearest()


class _Survey:
    def __init__(self, trial: Trial, ask: Ask, context: Context) -> None:
        self.trial, self.ask, self.context = trial, ask, context
        self.nodes = trial.nodes
        inside = required_domain(trial, ask, context, FULL_RULES)
        self.within: Mask = np.zeros_like(self.nodes.alive) if inside is None else inside

    @cached_property
    def rules(self) -> Rules:
        return make_rules(self.trial, self.ask.distinct, self.context.policy)

    @cached_property
    def accepting(self) -> Mask:
        """Nodes that pass every filter of some member but amounts."""
        accepting: Mask = np.logical_or.reduce(self.rules.masks) & self.within
        return accepting

    def nearest(self) -> Nearest:
        places = self._map()
        found = sorted(self._tried(places), key=lambda place: -place.holds)[:MOST_PLACES]
        return Nearest(places.level, self.ask.need, len(places.names), tuple(found))

    # -- which places ----------------------------------------------------------------------------------

    def _map(self) -> Map:
        required = self.ask.topology.required
        if required:
            key = self.context.key(required)
            column = self.nodes.column(key)
            return Map(self.context.name(key), column.codes, column.values)
        if int(self.nodes.alive.sum()) <= NODES_ONE_BY_ONE:
            column = self.nodes.column(NODE_NAME)
            return Map(None, column.codes, column.values)
        return self._kinds()

    def _kinds(self) -> Map:
        """Nodes are of one kind if they have the same, in round numbers, of what is asked for."""
        nodes, policy = self.nodes, self.context.policy
        asked = {resource for shape in self.ask.distinct for resource, _ in self._requests(shape)}
        shown = [r for r in nodes.resources if r in asked and (is_device(policy, r) or r in (CPU, MEMORY))]
        shown.sort(key=lambda resource: (not is_device(policy, resource), resource))
        rows = np.flatnonzero(nodes.alive)
        traits = np.stack([self.accepting[rows], *(self._rounded(r)[rows] for r in shown)], axis=1)
        kinds, number = np.unique(traits, axis=0, return_inverse=True)
        codes: Codes = np.full(len(nodes.names), -1, dtype=np.int32)
        codes[rows] = number.reshape(-1)
        return Map(None, codes, tuple(self._kind_name(shown, kind.tolist()) for kind in kinds))

    def _rounded(self, resource: str) -> Ints:
        column = self.nodes.resource_column(resource)
        have: Ints = np.zeros(len(self.nodes.names), dtype=np.int64)
        if column is not None:
            have = self.nodes.whole().allocatable[column]
        unit = ROUND.get(resource, 1)
        return -(-have // unit) * unit

    def _kind_name(self, resources: list[str], kind: list[int]) -> str:
        amounts = [f"{text(r, have)} {r}" for r, have in zip(resources, kind[1:], strict=True) if have]
        return f"nodes with {', '.join(amounts)}" if amounts else "other nodes"

    def _tried(self, places: Map) -> Iterable[NearPlace]:
        """Best first by counting; tried until no other can hold more than the best that are known."""
        demand = Demand(self.ask.demand().counts, 1, len(self.ask.shapes))
        found = candidates(
            self.rules, self.within, places.codes, self.ask.anchors(), demand, self.context.policy
        )
        held = list[int]()
        for number, most in found[:MOST_TRIED]:
            if len(held) >= MOST_PLACES and sorted(held, reverse=True)[MOST_PLACES - 1] >= most:
                return
            place = self._place(places, number)
            held.append(place.holds)
            yield place
        for number in self._without_room(places, {number for number, _ in found})[: MOST_PLACES - len(held)]:
            yield self._place(places, number)

    def _without_room(self, places: Map, roomy: set[int]) -> list[int]:
        """Places that hold nobody: those that lack least first, too small ones last."""
        inside = self.within & (places.codes >= 0)
        least = np.full(len(places.names), np.inf)
        shape = self.ask.shapes[0]
        able = self.accepting & (
            copies_that_fit(self.nodes.allocatable.__getitem__, self.nodes, self._requests(shape)) > 0
        )
        lacking = np.where(able, self._lacking(shape), np.inf)
        np.minimum.at(least, places.codes[inside], lacking[inside])
        there = np.unique(places.codes[inside]).tolist()
        return sorted((n for n in there if n not in roomy), key=lambda n: (least[n], places.names[n]))

    def _requests(self, shape: int) -> Requests:
        return self.trial.needs(shape).requests

    def _lacking(self, shape: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """The share of a request that each node lacks, all resources together."""
        room, total = self.trial.columns.room, np.zeros(len(self.nodes.names))
        for resource, requested in self._requests(shape):
            column = self.nodes.resource_column(resource)
            have = 0 if column is None else room[column]
            total += np.maximum(requested - have, 0) / requested
        return total

    # -- one place -------------------------------------------------------------------------------------

    def _place(self, places: Map, number: int) -> NearPlace:
        among: Mask = self.within & (places.codes == number)
        seats = self._seats(among)
        checkpoint = self.trial.checkpoint()
        commit(self.trial, self.ask, seats)
        node, lacks, why = self._next(among, seats)
        self.trial.rollback(checkpoint)
        return NearPlace(places.names[number], int(among.sum()), len(seats), node, lacks, why)

    def _seats(self, among: Mask) -> Assignment:
        """As many members as fit there; of a tree the most that were found with some of its quorums at 1."""
        parts, asks = self.ask.parts, [replace(self.ask, need=1)]
        if parts is not None:
            leaves = sorted(parts.root.leaves())
            some = [frozenset({leaf}) for leaf in leaves[:MOST_LEAVES]]
            roots = [_some_of(parts.root, chosen) for chosen in (*some, frozenset(leaves))]
            roots += [parts.loosened(single) for single in (False, True)]
            asks = [replace(asks[0], parts=replace(parts, root=root)) for root in roots]
        limit = min(self.context.policy.search.steps, STEPS)
        found = (attempt(self.trial, one, self.context, Steps(limit), among=among) or [] for one in asks)
        return max(found, key=len)

    def _next(self, among: Mask, seats: Assignment) -> tuple[str | None, dict[str, str], str]:
        """The node that lacks least for one more member, what it lacks, and why it does not fit."""
        seated = {member for member, _ in seats}
        waiting = [shape for member, shape in enumerate(self.ask.shapes) if member not in seated]
        if not waiting:
            return None, {}, ""
        shape = waiting[0]
        accepting = among & self.rules.masks[self.ask.distinct.index(shape)]
        rows = np.flatnonzero(accepting)
        if not len(rows):
            return None, {}, self._exclusion(shape, among)
        lacking = self._lacking(shape)[rows]
        row = self._most_taken(shape, rows[lacking == lacking.min()], seats)
        lacks = self._lacks(shape, row)
        if not lacks:
            if not self._has_devices(shape, rows):
                return self.nodes.names[row], {}, NO_DEVICES
            if not is_admitted(self.trial, self.ask.only([self.ask.shapes.index(shape)]), [(0, row)]):
                return self.nodes.names[row], {}, OWN_QUEUE
            return self.nodes.names[row], {}, OWN_RULES if self.ask.parts is None else RULES_OF_PARTS
        return self.nodes.names[row], lacks, self._lack_words(row, lacks)

    def _has_devices(self, shape: int, rows: Rows) -> bool:
        """Whether some of these nodes have devices left for the claims of one more member."""
        supply = self.trial.supply(DeviceSupply)
        if not supply.asked_by(shape):
            return True
        (copies,) = supply.fit((shape,), frozenset(), False).copies
        return copies is None or bool((copies[rows] > 0).any())

    def _lack_words(self, row: int, lacks: dict[str, str]) -> str:
        name, column = self.nodes.names[row], self.nodes.resource_column(PODS)
        parts = [f"{amount} {resource}" for resource, amount in lacks.items() if resource != PODS]
        words = [f"lacks {' and '.join(parts)}"] if parts else []
        if PODS in lacks and column is not None:
            limit = int(self.nodes.allocatable[column, row])
            words.append(f"has reached its limit of {counted(limit, 'pod')}")
        return f"{name} {' and '.join(words)}"

    def _most_taken(self, shape: int, rows: Rows, seats: Assignment) -> int:
        """Of nodes that lack as much, the one on which others hold most of it."""
        scarce = next(iter(self._lacks(shape, int(rows[0]))), None)
        column = None if scarce is None else self.nodes.resource_column(scarce)
        names = self.nodes.name_rank[rows]
        if column is None:
            return int(rows[names.argmin()])
        own = np.zeros(len(self.nodes.names), dtype=np.int64)
        for member, row in seats:
            own[row] += dict(self._requests(self.ask.shapes[member])).get(scarce or "", 0)
        taken = self.nodes.allocatable[column] - self.trial.columns.free[column] - own
        return int(rows[np.lexsort((names, -taken[rows]))[0]])

    def _lacks(self, shape: int, row: int) -> dict[str, str]:
        room, short = self.trial.columns.room, {}
        for resource, requested in self._requests(shape):
            column = self.nodes.resource_column(resource)
            missing = requested - (0 if column is None else max(int(room[column, row]), 0))
            if missing > 0:
                short[resource] = text(resource, missing)
        return short

    def _exclusion(self, shape: int, among: Mask) -> str:
        """Why none of these nodes takes a member, by the first thing that keeps it from most of them."""
        nodes, needs, policy = self.nodes, self.trial.needs(shape), self.context.policy
        if not among.any():
            return "its running members are elsewhere"
        reasons = {
            "nodes.managed of the policy": ~managed_nodes(nodes, policy),
            "kubelets without a required feature": ~declaring_nodes(nodes, needs.node.features),
            "node selector or affinity": ~required_nodes(nodes, needs.node),
            taint_words(nodes, ~tolerated_nodes(nodes, needs.tolerations) & among): ~tolerated_nodes(
                nodes, needs.tolerations
            ),
            "host ports": self.trial.supply(Ports).taken(needs.host_ports),
            self._claim_words(shape): self._kept_by_claims(shape),
            self._volume_words(shape): self._out_of_reach(shape),
        }
        counts = {reason: int((mask & among).sum()) for reason, mask in reasons.items()}
        worst = max(counts, key=lambda reason: counts[reason])
        if not counts[worst]:
            return f"{counted(int(among.sum()), 'node')} excluded by other pods"
        return f"{counted(counts[worst], 'node')} excluded by {worst}"

    def _kept_by_claims(self, shape: int) -> Mask:
        """Nodes that its claims keep it from, whatever devices are left there."""
        (open_,) = self.trial.supply(DeviceSupply).fit((shape,), frozenset(), False).masks
        return np.zeros_like(self.nodes.alive) if open_ is None else ~open_

    def _claim_words(self, shape: int) -> str:
        problems = sorted({need.problem for need in self.trial.shape(shape).devices if need.problem})
        return f"resource claims ({problems[0]})" if problems else "resource claims"

    def _out_of_reach(self, shape: int) -> Mask:
        """Nodes that cannot have its volumes."""
        (reachable,) = self.trial.supply(Volumes).fit((shape,)).masks
        return np.zeros_like(self.nodes.alive) if reachable is None else ~reachable

    def _volume_words(self, shape: int) -> str:
        problems = sorted({need.problem for need in self.trial.shape(shape).volumes if need.problem})
        return f"volumes ({problems[0]})" if problems else "volumes"


def _some_of(branch: Branch, leaves: frozenset[int]) -> Branch:
    """A tree in which one member is enough for each of these groups."""
    children = tuple(_some_of(child, leaves) for child in branch.children)
    return replace(branch, quorum=1 if branch.leaf in leaves else branch.quorum, children=children)


def taint_words(nodes: NodeView, rows: Mask) -> str:
    keys = sorted(
        {taint.key for number in np.unique(nodes.taint_ids[rows]) for taint in nodes.taint_sets[number]}
    )
    if keys == [UNSCHEDULABLE]:
        return "cordon"
    return f"taints ({', '.join(keys[:3])})" if keys else "taints"
