"""Blockers: measured reasons in numbers and words. Each says what is short, where, and by how much."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.devices.served import nodes_without
from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask, NodeView, total
from maitred.cluster.selection import declaring_nodes, required_nodes, tolerated_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.supply.interface import Lift
from maitred.cluster.supply.ports import Ports
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.closed_nodes import closer_words, closers
from maitred.decide.compile import make_rules, managed_nodes
from maitred.decide.context import FULL_RULES, Context
from maitred.decide.empty import template_node
from maitred.decide.rules import Rules
from maitred.decide.seating import commit, required_domain
from maitred.model.needs import Needs
from maitred.model.node import UNSCHEDULABLE
from maitred.model.plan import Blocker, Detail
from maitred.model.policy import health_taints, is_device
from maitred.model.quantity import LARGEST_AMOUNT, PODS, TOO_MUCH, text
from maitred.model.words import counted

NAMES_SHOWN = 5
Ahead = tuple[tuple[str, tuple[int, ...]], ...]
"""Groups, and the rows of the nodes on which they were seated before another."""


Ill = Literal["nodes", "devices", "tainted devices"]
ALL_ILL: frozenset[Ill] = frozenset(("nodes", "devices", "tainted devices"))


@dataclass(frozen=True, slots=True)
class Short:
    """The nearest miss: the node that lacks least for one more member, and what it lacks most of."""

    node: str
    resource: str
    room: int
    """What the node has left of it,"""
    requested: int
    """and what one more member asks for."""
    limit: int
    """What the node has of it in all."""


@dataclass
class Unseated:
    """A group that was not seated: what it asks for, and the most of it that could be seated together."""

    trial: Trial
    context: Context
    ask: Ask
    nearest: Assignment
    ahead: Ahead = ()
    """Who was seated before it."""
    lift: Lift = frozenset()
    """What is left aside in all that is measured."""
    alone: bool = True
    """Whether each constraint, lifted alone, would seat the group."""
    ill: frozenset[Ill] = ALL_ILL
    """What of all that is unwell is in the way."""
    mended: frozenset[int] = frozenset()
    """The nodes on which the group would sit without it, if it would."""

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
        return make_rules(self.trial, self.ask.distinct, self.context.policy, self.lift)

    @cached_property
    def within(self) -> Mask:
        inside = required_domain(self.trial, self.ask, self.context, FULL_RULES)
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
        full = {self.trial.nodes.names[row] for _, row in self.nearest}
        if short is not None and short.node in full:
            short = _short_on(self.trial, waiting, self._taken_by_others(among, short), short.resource)
        self.trial.rollback(checkpoint)
        return short

    def _own(self, column: int) -> Ints:
        """What the nearest seating takes of a resource on every node."""
        own = np.zeros(len(self.trial.nodes.names), dtype=np.int64)
        for member, row in self.nearest:
            own[row] += self.trial.columns.request_column(self.trial.needs(self.ask.shapes[member]))[column]
        return own

    def _taken_by_others(self, among: Mask, short: Short) -> str:
        """The node on which others hold most of what is short; where they hold none, the nearest stays."""
        nodes, column = self.trial.nodes, self.trial.nodes.resource_column(short.resource)
        rows = np.flatnonzero(among & self.eligible)
        if column is None or not len(rows):
            return short.node
        taken = (
            nodes.allocatable[column, rows] - self.trial.columns.free[column, rows] - self._own(column)[rows]
        )
        most = np.lexsort((nodes.name_rank[rows], -taken))[0]
        return nodes.names[rows[most]] if taken[most] > 0 else short.node


def _short_on(trial: Trial, shape: int, node: str, resource: str) -> Short:
    row, column = trial.nodes.rows[node], trial.nodes.resource_column(resource)
    room = 0 if column is None else max(0, int(trial.columns.room_of(column)[row]))
    limit = 0 if column is None else int(trial.nodes.allocatable[column, row])
    return Short(node, resource, room, dict(trial.needs(shape).requests)[resource], limit)


def _short(trial: Trial, shape: int, among: Mask) -> Short | None:
    rows, requests = np.flatnonzero(among), trial.needs(shape).requests
    if not len(rows):
        return None
    lacking = np.array([_lacking(trial, resource, requested, rows) for resource, requested in requests])
    near = np.lexsort((trial.nodes.name_rank[rows], lacking.sum(axis=0), (lacking > 0).sum(axis=0)))[0]
    worst = int(lacking[:, near].argmax())
    if lacking[worst, near] <= 0:
        return None
    return _short_on(trial, shape, trial.nodes.names[rows[near]], requests[worst][0])


def _lacking(trial: Trial, resource: str, requested: int, rows: Rows) -> NDArray[np.float64]:
    """The share of a request that nodes lack."""
    column = trial.nodes.resource_column(resource)
    if column is None:
        return np.ones(len(rows))
    share: NDArray[np.float64] = np.maximum(requested - trial.columns.room_of(column)[rows], 0) / requested
    return share


# -- the request itself --------------------------------------------------------------------------------


def oversized(snapshot: Snapshot, context: Context, ask: Ask) -> Blocker | None:
    """Too few members are small enough for even the largest node there is, or could be."""
    templates = [template_node(template, 0) for template in context.policy.node_templates]
    well = snapshot.nodes.hoped()
    nodes = well.with_nodes(templates) if templates else well
    fitting, worst, aside = 0, None, 0
    for shape in ask.distinct:
        requests = snapshot.needs[snapshot.shapes[shape].needs].requests
        excess = _excess(nodes, tuple(r for r in requests if not _may_be_devices(snapshot, nodes, r[0])))
        if excess is None:
            fitting += ask.shapes.count(shape)
        elif worst is None:
            worst = excess
            aside = dict(snapshot.needs[snapshot.shapes[shape].needs].aside).get(excess[0], 0)
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
    asked = (
        text(resource, requested) if requested < TOO_MUCH else f"more than {text(resource, LARGEST_AMOUNT)}"
    )
    asks = f"a member asks for {asked} {resource}"
    if aside:
        asks += f" ({text(resource, aside)} of it by overhead, sidecars or init containers)"
    return Blocker("Request", f"{asks}; {has}", detail)


def _may_be_devices(snapshot: Snapshot, nodes: NodeView, resource: str) -> bool:
    """Whether devices of a class could stand for a resource on some node, so that no node counts them."""
    return resource in snapshot.device_classes and bool(nodes_without(nodes, resource).any())


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


# -- not enough room -----------------------------------------------------------------------------------


def shortage(unseated: Unseated) -> Blocker:
    """Capacity, or Fragmentation if there is enough in total but not in one place."""
    resource, requested, free = _scarcest(unseated)
    eligible = int(unseated.eligible.sum())
    detail: Detail = {
        "resource": resource,
        "requested": text(resource, requested),
        "free": text(resource, free),
        "eligibleNodes": eligible,
        **unseated.numbers,
    }
    others = shut_out(unseated)
    if others:
        detail["excluded"] = others
    amounts = f"{text(resource, requested)} {resource} for {counted(unseated.needed, 'member')}"
    where = f"{text(resource, free)} free on {counted(eligible, 'eligible node')}"
    if resource == PODS:
        amounts = f"room for {counted(requested, 'more pod')}"
        where = f"and the pod limits of {counted(eligible, 'eligible node')} leave room for {free}"
    if free < requested:
        message = f"needs {amounts}, {where}: {unseated.holds} of {unseated.needed} would fit"
        message += excluded_words(others)
        if not eligible:
            detail["closed"] = closers(unseated.trial, unseated.ask.distinct)
            message += closer_words(detail["closed"])
        return Blocker("Capacity", message + _port_words(unseated), detail)
    short = unseated.short(unseated.eligible)
    detail |= {} if short is None else {"shortOf": short.resource, "node": short.node}
    message = f"needs {amounts}, {where}, but scattered: {unseated.holds} of {unseated.needed} fit"
    message += short_words(unseated, short) + excluded_words(others) + _port_words(unseated)
    return Blocker("Fragmentation", message, detail)


def _scarcest(unseated: Unseated) -> tuple[str, int, int]:
    """The resource of which the eligible nodes have least beside what the missing members ask for; where
    there is none of several, devices are what people wait for."""
    trial, rows = unseated.trial, np.flatnonzero(unseated.eligible)
    requests = {shape: dict(trial.needs(shape).requests) for shape in unseated.ask.distinct}
    found = []
    for resource in sorted(set().union(*requests.values())):
        amounts = {shape: request.get(resource, 0) for shape, request in requests.items()}
        requested = sum(sorted(amounts[shape] for shape in unseated.ask.shapes)[: unseated.needed])
        column = trial.nodes.resource_column(resource)
        free = 0 if column is None else total(np.maximum(trial.columns.room_of(column)[rows], 0))
        if requested and not _may_be_devices(trial.snapshot, trial.nodes, resource):
            is_other = not is_device(unseated.context.policy, resource)
            found.append((free / requested, is_other, resource, requested, free))
    _, _, resource, requested, free = min(found)
    return resource, requested, free


# -- nodes that are not eligible ----------------------------------------------------------------------


def excluded(unseated: Unseated) -> dict[str, int]:
    """How many nodes each kind of constraint keeps a member from, each node under the first that does; where
    shapes differ, those of the one that is kept from most."""
    everywhere = unseated.trial.nodes.alive
    counts = [_excluded(unseated, everywhere, *pair) for pair in enumerate(unseated.ask.distinct)]
    return max(counts, key=lambda reasons: sum(reasons.values()))


def shut_out(unseated: Unseated) -> dict[str, int]:
    """How many nodes no member may be on, each under the first constraint that says so: with those that are
    eligible they are all that there are."""
    return _excluded(unseated, unseated.trial.nodes.alive & ~unseated.eligible, 0, unseated.ask.distinct[0])


def _excluded(unseated: Unseated, among: Mask, position: int, shape: int) -> dict[str, int]:
    counts, left = dict[str, int](), among.copy()
    for reason, mask in _exclusions(unseated, position, shape).items():
        counts[reason] = int(np.count_nonzero(mask & left))
        left &= ~mask
    return {reason: count for reason, count in counts.items() if count}


def _exclusions(unseated: Unseated, position: int, shape: int) -> dict[str, Mask]:
    trial, policy = unseated.trial, unseated.context.policy
    nodes, needs = trial.nodes, trial.needs(shape)
    chosen, tolerated = required_nodes(nodes, needs.node), tolerated_nodes(nodes, needs.tolerations)
    alone = make_rules(trial, (shape,), policy, unseated.lift | {"Affinity"})
    well = tolerated_nodes(nodes.without_taints(health_taints(policy)), needs.tolerations)
    open_ = tolerated_nodes(nodes.without_taints(frozenset({UNSCHEDULABLE})), needs.tolerations)
    return {
        "nodes.managed of the policy": nodes.alive & ~managed_nodes(nodes, policy),
        **{
            f"lack of the feature {feature}": nodes.alive & ~declaring_nodes(nodes, (feature,))
            for feature in needs.node.features
        },
        "node selector or affinity": nodes.alive & ~chosen,
        "taints": nodes.alive & ~well,
        "cordon": nodes.alive & ~tolerated & open_,
        "health": nodes.alive & ~tolerated,
        **{
            f"lack of the label {key}": ~unseated.rules.masks[position] & (nodes.column(key).codes < 0)
            for key in _domain_keys(needs)
        },
        "other pods": chosen & tolerated & alone.masks[0] & ~unseated.rules.masks[position],
        "host ports": trial.supply(Ports).taken(needs.host_ports) & nodes.alive,
        "resource claims": _kept_by_claims(unseated, shape),
        "volumes": nodes.alive & ~alone.masks[0],
        "the domain of its other members": nodes.alive & ~unseated.within,
    }


def _kept_by_claims(unseated: Unseated, shape: int) -> Mask:
    """Nodes that the claims of a shape keep it from, whatever devices are left there: all of them where a
    claim cannot be served, those out of reach where it has its devices."""
    if "Devices" in unseated.lift:
        return np.zeros_like(unseated.trial.nodes.alive)
    (mask,) = unseated.trial.supply(DeviceSupply).fit((shape,), unseated.lift, False).masks
    return np.zeros_like(unseated.trial.nodes.alive) if mask is None else unseated.trial.nodes.alive & ~mask


def _domain_keys(needs: Needs) -> list[str]:
    """Labels that nodes must have for its spread and its company to be measured there."""
    keys = (*(term.topology_key for term in needs.affinity), *(one.pods.topology_key for one in needs.spread))
    return list(dict.fromkeys(keys))


# -- words ---------------------------------------------------------------------------------------------


def short_detail(short: Short | None) -> Detail:
    return {} if short is None else {"resource": short.resource, "node": short.node}


def short_words(unseated: Unseated, short: Short | None) -> str:
    if short is None:
        return ""
    if short.resource == PODS:
        return f"; {short.node} has reached its limit of {counted(short.limit, 'pod')}"
    amounts = f"{text(short.resource, short.room)} of the {text(short.resource, short.requested)}"
    return f"; {short.node} has {amounts} {short.resource} that one more member needs"


def excluded_words(counts: dict[str, int]) -> str:
    reasons = ", ".join(f"{count} by {reason}" for reason, count in counts.items())
    return f"; nodes excluded: {reasons}" if reasons else ""


def _port_words(unseated: Unseated) -> str:
    ports = {port.port for shape in unseated.ask.distinct for port in unseated.trial.needs(shape).host_ports}
    return (
        f"; a node can run only one pod with host port {', '.join(map(str, sorted(ports)))}" if ports else ""
    )


def names_shown(names: list[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN} more"
