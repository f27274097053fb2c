"""Blockers: measured reasons in numbers and words. Each says what is short, where, and by how much."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.nodes import Mask, NodeView
from maitred.cluster.selection import required_nodes, tolerated_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.trial import Rows, Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.compile import make_rules, managed_nodes, taken_ports
from maitred.decide.empty import template_node
from maitred.decide.house import FULL_RULES, House
from maitred.decide.rules import Rules
from maitred.decide.seating import commit, required_domain
from maitred.model.plan import Blocker, Category, Detail
from maitred.model.policy import health_taints
from maitred.model.quantity import text
from maitred.model.words import counted

NAMES_SHOWN = 5
Ahead = tuple[tuple[str, tuple[int, ...]], ...]
"""Groups, and the rows of the nodes on which they were seated before another."""


@dataclass(frozen=True, slots=True)
class Short:
    """The nearest miss: the node that lacks least for one more member, and what it lacks most of."""

    node: str
    resource: str


@dataclass
class Scene:
    """A group that was not seated: what it asks for, and the most of it that could be seated together."""

    trial: Trial
    house: House
    ask: Ask
    nearest: Assignment

    @property
    def holds(self) -> int:
        return len(self.nearest)

    @property
    def needed(self) -> int:
        return self.ask.need

    @property
    def numbers(self) -> Detail:
        return {"holds": self.holds, "needed": self.needed}

    @cached_property
    def rules(self) -> Rules:
        return make_rules(self.trial, self.ask.distinct, self.house.policy)

    @cached_property
    def within(self) -> Mask:
        inside = required_domain(self.trial, self.ask, self.house, FULL_RULES)
        return np.zeros(len(self.trial.nodes.names), dtype=np.bool_) if inside is None else inside

    @cached_property
    def eligible(self) -> Mask:
        """Nodes that pass every filter of some member but amounts."""
        union: Mask = np.logical_or.reduce(self.rules.masks) & self.within
        return union

    def short(self, among: Mask) -> Short | None:
        """What the next member lacks on the best of these nodes, once the nearest seating is taken."""
        checkpoint = self.trial.checkpoint()
        commit(self.trial, self.ask, self.nearest)
        seated = {member for member, _ in self.nearest}
        waiting = next(shape for member, shape in enumerate(self.ask.shapes) if member not in seated)
        short = _short(self.trial, waiting, among & self.rules.masks[self.ask.distinct.index(waiting)])
        self.trial.rollback(checkpoint)
        full = {self.trial.nodes.names[row] for _, row in self.nearest}
        if short is None or short.node not in full:
            return short
        return Short(self._taken_by_others(among, short), short.resource)

    def _taken_by_others(self, among: Mask, short: Short) -> str:
        """The node on which others hold most of what is short; where they hold none, the nearest stays."""
        nodes, column = self.trial.nodes, self.trial.nodes.resource_column(short.resource)
        rows = np.flatnonzero(among & self.eligible)
        if column is None or not len(rows):
            return short.node
        taken = nodes.allocatable[column, rows] - self.trial.free[column, rows]
        most = np.lexsort((nodes.name_rank[rows], -taken))[0]
        return nodes.names[rows[most]] if taken[most] > 0 else short.node


def _short(trial: Trial, shape: int, among: Mask) -> Short | None:
    rows, requests = np.flatnonzero(among), trial.needs(shape).requests
    if not len(rows):
        return None
    lacking = np.array([_lacking(trial, resource, requested, rows) for resource, requested in requests])
    near = np.lexsort((trial.nodes.name_rank[rows], lacking.sum(axis=0), (lacking > 0).sum(axis=0)))[0]
    worst = int(lacking[:, near].argmax())
    return Short(trial.nodes.names[rows[near]], requests[worst][0]) if lacking[worst, near] > 0 else None


def _lacking(trial: Trial, resource: str, requested: int, rows: Rows) -> NDArray[np.float64]:
    """The share of a request that nodes lack."""
    column = trial.nodes.resource_column(resource)
    if column is None:
        return np.ones(len(rows))
    share: NDArray[np.float64] = np.maximum(requested - trial.room[column, rows], 0) / requested
    return share


# -- the request itself --------------------------------------------------------------------------------


def oversized(snapshot: Snapshot, house: House, ask: Ask) -> Blocker | None:
    """Too few members are small enough for even the largest node there is, or could be."""
    templates = [template_node(template, 0) for template in house.policy.node_templates]
    nodes = snapshot.nodes.with_nodes(templates) if templates else snapshot.nodes
    fitting, worst = 0, None
    for shape in ask.distinct:
        excess = _excess(nodes, snapshot.needs[snapshot.shapes[shape].needs].requests)
        if excess is None:
            fitting += ask.shapes.count(shape)
        elif worst is None:
            worst = excess
    if fitting >= ask.need or worst is None:
        return None
    resource, requested, largest, node = worst
    has = f"the largest node, {node}, has {text(resource, largest)}" if node else "no node has any"
    detail = {
        "resource": resource,
        "requested": text(resource, requested),
        "largest": text(resource, largest),
        "node": node,
    }
    return Blocker("Request", f"a member asks for {text(resource, requested)} {resource}; {has}", detail)


def _excess(
    nodes: NodeView, requests: tuple[tuple[str, int], ...]
) -> tuple[str, int, int, str | None] | None:
    """The resource of which a pod asks for more than any node has: resource, request, largest, whose."""
    worst = None
    for resource, requested in requests:
        column = nodes.resource_column(resource)
        have = nodes.allocatable[column] if column is not None else np.zeros(len(nodes.names), dtype=np.int64)
        largest = int(have.max(initial=0))
        if requested > largest and (worst is None or requested * worst[2] > worst[1] * largest):
            names = sorted(nodes.names[row] for row in np.flatnonzero(nodes.alive & (have == largest)))
            worst = (resource, requested, largest, names[0] if names and largest else None)
    return worst


# -- one constraint in the way -------------------------------------------------------------------------


def priority(scene: Scene, ahead: Ahead) -> Blocker:
    """Who took the room: those with most seats on nodes that the group could have used."""
    seats = {group: int(scene.eligible[list(rows)].sum()) for group, rows in ahead}
    there = [group for group in seats if seats[group]] or list(seats)
    first = sorted(there, key=lambda group: (-seats[group], group))
    message = f"it would fit, but {_names(first)} went first and took the room"
    return Blocker("Priority", message, {**scene.numbers, "ahead": first[:NAMES_SHOWN]})


def topology(scene: Scene) -> Blocker:
    request, nodes = scene.ask.topology, scene.trial.nodes
    level = request.required or request.slice_level
    column = nodes.column(scene.house.key(level))
    name = scene.house.name(scene.house.key(level))
    detail: Detail = {"level": name, "domains": len(column.values), **scene.numbers}
    if not column.values:
        return Blocker("Topology", f"no node has the label {scene.house.key(level)}", detail)
    if not scene.within.any():
        return Blocker("Topology", f"its running members are not all in one {name}", detail)
    if request.slice_size and not scene.nearest:
        return _slice_topology(scene)
    if not scene.nearest:
        return Blocker("Topology", f"no {name} holds a single member", detail)
    code = int(column.codes[scene.nearest[0][1]])
    short = scene.short(column.codes == code)
    detail |= {"domain": column.values[code], **_short_detail(short)}
    message = (
        f"{name} {column.values[code]} holds {scene.holds} of {scene.needed}{_short_words(scene, short)}"
    )
    return Blocker("Topology", message, detail)


def _slice_topology(scene: Scene) -> Blocker:
    """Not one slice fits: where most of one would."""
    request = scene.ask.topology
    key = scene.house.key(request.slice_level)
    column, name = scene.trial.nodes.column(key), scene.house.name(key)
    inside = scene.within & (column.codes >= 0)
    rooms = [np.bincount(column.codes[inside], weights=c[inside], minlength=1) for c in scene.rules.copies]
    room = np.add.reduce(rooms)
    size = min(request.slice_size, len(scene.ask.shapes))
    detail = {
        "level": name,
        "domains": len(column.values),
        **scene.numbers,
        "domain": column.values[room.argmax()],
    }
    nearest = f"{name} {column.values[room.argmax()]} has room for {int(room.max())}"
    return Blocker("Topology", f"no {name} holds a slice of {size}; {nearest}", detail)


def devices(scene: Scene) -> Blocker:
    claims = sorted({c for shape in scene.ask.distinct for c in scene.trial.needs(shape).device_claims})
    message = f"asks for devices by resource claims ({_names(claims)}), which are not allocated yet"
    return Blocker("Devices", message, {**scene.numbers, "claims": claims})


def health(scene: Scene) -> Blocker:
    nodes, health = scene.trial.nodes, health_taints(scene.house.policy)
    ill = [sorted({t.key for t in taints} & health) for taints in nodes.taint_sets]
    rows = np.flatnonzero(np.array([bool(keys) for keys in ill])[nodes.taint_ids] & nodes.alive)
    states = {nodes.names[row]: ill[nodes.taint_ids[row]] for row in rows}
    names = [
        f"{name} ({', '.join(key.rpartition('/')[2] for key in states[name])})" for name in sorted(states)
    ]
    message = f"it would fit with {_names(names)}; the other nodes hold {scene.holds} of {scene.needed}"
    detail = {**scene.numbers, "nodes": sorted(states)[:NAMES_SHOWN], "unwell": len(states)}
    return Blocker("Health", message, detail)


def affinity(scene: Scene) -> Blocker:
    excluded = _excluded(scene)
    message = (
        f"the nodes that accept its pods hold {scene.holds} of {scene.needed}{_excluded_words(excluded)}"
    )
    return Blocker("Affinity", message, {**scene.numbers, "excluded": excluded})


def _excluded_words(excluded: dict[str, int]) -> str:
    reasons = ", ".join(f"{count} by {reason}" for reason, count in excluded.items())
    return f"; nodes excluded: {reasons}" if reasons else ""


def _excluded(scene: Scene) -> dict[str, int]:
    """How many nodes each kind of constraint keeps the first shape from."""
    trial, shape = scene.trial, scene.ask.distinct[0]
    nodes, needs = trial.nodes, trial.needs(shape)
    selected, tolerated = required_nodes(nodes, needs.node), tolerated_nodes(nodes, needs.tolerations)
    policy = scene.house.policy
    alone = make_rules(trial, (shape,), policy, frozenset({"Affinity"}))
    counts = {
        "nodes.managed of the policy": nodes.alive & ~managed_nodes(nodes, policy),
        "node selector or affinity": nodes.alive & ~selected,
        "taints": nodes.alive & ~tolerated,
        "other pods": selected & tolerated & alone.masks[0] & ~scene.rules.masks[0],
        "host ports": taken_ports(trial, needs.host_ports) & nodes.alive,
    }
    return {reason: int(mask.sum()) for reason, mask in counts.items() if mask.any()}


def volume(scene: Scene) -> Blocker:
    needs = [need for shape in scene.ask.distinct for need in scene.trial.shape(shape).volumes]
    problems = sorted({need.problem for need in needs if need.problem})
    message = (
        f"storage is not ready: {'; '.join(problems[:NAMES_SHOWN])}"
        if problems
        else f"nodes that can reach its volumes hold {scene.holds} of {scene.needed}"
    )
    return Blocker("Volume", message, {**scene.numbers, "problems": problems})


LIFTED: dict[Category, Callable[[Scene], Blocker]] = {
    "Topology": topology,
    "Devices": devices,
    "Health": health,
    "Affinity": affinity,
    "Volume": volume,
}


# -- not enough room -----------------------------------------------------------------------------------


def shortage(scene: Scene) -> Blocker:
    """Capacity, or Fragmentation if there is enough in total but not in one place."""
    resource, requested, free = _scarcest(scene)
    eligible = int(scene.eligible.sum())
    detail: Detail = {
        "resource": resource,
        "requested": text(resource, requested),
        "free": text(resource, free),
        "eligibleNodes": eligible,
        **scene.numbers,
    }
    amounts = f"{text(resource, requested)} {resource} for {counted(scene.needed, 'member')}"
    where = f"{text(resource, free)} free on {counted(eligible, 'eligible node')}"
    if free < requested:
        message = f"needs {amounts}, {where}: {scene.holds} of {scene.needed} would fit"
        if not eligible:
            message += _excluded_words(_excluded(scene))
        return Blocker("Capacity", message + _port_words(scene), detail)
    short = scene.short(scene.eligible)
    detail |= {} if short is None else {"shortOf": short.resource, "node": short.node}
    message = f"needs {amounts}, {where}, but not together: {scene.holds} of {scene.needed} fit"
    return Blocker("Fragmentation", message + _short_words(scene, short) + _port_words(scene), detail)


def _scarcest(scene: Scene) -> tuple[str, int, int]:
    """The resource of which the eligible nodes have least beside what the missing members ask for."""
    trial, rows = scene.trial, np.flatnonzero(scene.eligible)
    requests = [dict(trial.needs(shape).requests) for shape in scene.ask.shapes]
    found = []
    for resource in sorted(set().union(*requests)):
        requested = sum(sorted(request.get(resource, 0) for request in requests)[: scene.needed])
        column = trial.nodes.resource_column(resource)
        free = 0 if column is None else int(np.maximum(trial.room[column, rows], 0).sum())
        if requested:
            found.append((free / requested, resource, requested, free))
    _, resource, requested, free = min(found)
    return resource, requested, free


# -- words ---------------------------------------------------------------------------------------------


def _short_detail(short: Short | None) -> Detail:
    return {} if short is None else {"resource": short.resource, "node": short.node}


def _short_words(scene: Scene, short: Short | None) -> str:
    if short is None:
        return ""
    return f"; {counted(scene.needed - scene.holds, 'member')} short by {short.resource} on {short.node}"


def _port_words(scene: Scene) -> str:
    ports = {port.port for shape in scene.ask.distinct for port in scene.trial.needs(shape).host_ports}
    return f"; a node takes one pod with host port {', '.join(map(str, sorted(ports)))}" if ports else ""


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN} more"
