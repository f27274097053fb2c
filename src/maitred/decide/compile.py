"""From needs to rules: every hard constraint of a group's shapes against the pods on the nodes of a trial."""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.journal import Selection
from maitred.cluster.nodes import NODE_NAME, Codes, Ints, Mask, NodeView
from maitred.cluster.selection import required_nodes, selected, tolerated_nodes
from maitred.cluster.trial import Trial
from maitred.decide.rules import Company, Conflict, Room, Rules, Spread
from maitred.decide.seats import PASS
from maitred.decide.storage import storage_rules
from maitred.model.categories import Category
from maitred.model.needs import HostPort, Needs, PodTerm, SpreadTerm
from maitred.model.policy import Policy, health_taints
from maitred.model.quantity import LARGEST_AMOUNT
from maitred.model.selector import selector_of

Lift = frozenset[Category]
"""Categories of constraints that are left out, to see whether they are what stands in the way."""


def make_rules(
    trial: Trial,
    shapes: Sequence[int],
    policy: Policy,
    lift: Lift = frozenset(),
    others_may_help: bool = False,
) -> Rules:
    """`others_may_help`: pods and claims that are not there yet may come, so needing them is no obstacle."""
    return _Compiler(trial, tuple(shapes), policy, lift, others_may_help).rules()


def looks_of_rules(trial: Trial, shapes: Sequence[int]) -> int:
    """What it takes to make them: passes over the nodes for each shape, its terms and its volumes."""
    passes, pairs = 0, 0
    for shape in shapes:
        needs, volumes = trial.needs(shape), trial.shape(shape).volumes
        passes += 1 + len(needs.affinity) + len(needs.anti_affinity) + 2 * len(needs.spread) + len(volumes)
        pairs += len(shapes) * (len(needs.affinity) + len(needs.anti_affinity) + len(needs.spread))
    return passes * (PASS + 3 * len(trial.nodes.names)) + 10 * pairs


class _Compiler:
    def __init__(
        self, trial: Trial, shapes: tuple[int, ...], policy: Policy, lift: Lift, others_may_help: bool
    ) -> None:
        self.trial, self.shapes, self.policy, self.lift = trial, shapes, policy, lift
        self.others_may_help = others_may_help

    def rules(self) -> Rules:
        count = len(self.shapes)
        lifted = "Affinity" in self.lift
        masks = [acceptable(self.trial, shape, self.policy, lifted).copy() for shape in self.shapes]
        companies: list[tuple[Company, ...]] = [()] * count
        spreads: list[tuple[Spread, ...]] = [()] * count
        for position, shape in enumerate(self.shapes):
            mask = masks[position]
            self._avoid_taken_ports(shape, mask)
            if "Affinity" not in self.lift:
                self._avoid_enemies(shape, mask)
                companies[position] = self._company(shape, mask)
                spreads[position] = self._spreads(shape, mask)
        rules = Rules(self.trial, self.shapes, masks, [], self._rooms(), [], companies, spreads, [])
        if "Devices" not in self.lift:
            self._await_claims(masks)
        attaching: list[Room] = []
        if "Volume" not in self.lift:
            storage = storage_rules(self.trial, self.shapes, self.others_may_help)
            attaching, rules.quotas = storage.rooms, storage.quotas
            rules.companies = [
                (*company, *sharing) for company, sharing in zip(companies, storage.companies, strict=True)
            ]
            for mask, reachable in zip(masks, storage.masks, strict=True):
                if reachable is not None:
                    mask &= reachable
        rules.rooms += attaching
        for position, (shape, mask) in enumerate(zip(self.shapes, masks, strict=True)):
            copies = np.where(mask, self._copies(position, shape, rules.rooms), 0)
            for room in attaching:
                if room.use[position]:
                    np.minimum(copies, np.maximum(room.free // room.use[position], 0), out=copies)
            rules.copies.append(copies)
        rules.conflicts = self._conflicts(rules.copies)
        return rules

    def _rooms(self) -> list[Room]:
        trial, requests = self.trial, [dict(self.trial.needs(shape).requests) for shape in self.shapes]
        rooms = []
        for resource in sorted(set().union(*requests)):
            column = trial.nodes.resource_column(resource)
            free = trial.room_of(column) if column is not None else np.zeros_like(trial.free[0])
            if "Devices" in self.lift and resource in trial.snapshot.device_classes:
                free = np.where(nodes_without(trial.nodes, resource), LARGEST_AMOUNT, free)
            rooms.append(Room(free, tuple(r.get(resource, 0) for r in requests)))
        return rooms

    def _copies(self, position: int, shape: int, rooms: list[Room]) -> Ints:
        """How many members of a shape each node has room for. Devices that classes serve are not counted by
        nodes, so where they are left aside a node that has none of its own has enough."""
        if "Devices" not in self.lift or not served_by_classes(self.trial, shape):
            return self.trial.copies(shape)
        fit = [room.free // room.use[position] for room in rooms if room.use[position]]
        copies: Ints = np.maximum(np.minimum.reduce(fit), 0)
        return copies

    # -- nodes -----------------------------------------------------------------------------------------

    def _await_claims(self, masks: list[Mask]) -> None:
        """Pods with resource claims wait: claims are not allocated yet, and no pod starts without its own."""
        for shape, mask in zip(self.shapes, masks, strict=True):
            if self.trial.needs(shape).device_claims:
                mask[:] = False

    def _avoid_taken_ports(self, shape: int, mask: Mask) -> None:
        ports = self.trial.needs(shape).host_ports
        if ports:
            mask &= ~taken_ports(self.trial, ports)

    # -- neighbours that are already there -------------------------------------------------------------

    def _avoid_enemies(self, shape: int, mask: Mask) -> None:
        """Required anti-affinity, of this shape against the pods there and of theirs against it."""
        trial = self.trial
        for term in trial.needs(shape).anti_affinity:
            self._close_domains(term, trial.matching(Selection((term,), True, True)), mask)
        for term, held in trial.foes_of(shape):
            self._close_domains(term, held, mask)

    def _close_domains(self, term: PodTerm, pods: Ints, mask: Mask) -> None:
        occupied = occupied_domains(self.trial.nodes, term.topology_key, pods)
        mask &= ~occupied[self._codes(term.topology_key)]

    def _company(self, shape: int, mask: Mask) -> tuple[Company, ...]:
        terms = self.trial.needs(shape).affinity
        if not terms:
            return ()
        trial, selection = self.trial, Selection(terms, True)
        codes = tuple(self._codes(term.topology_key) for term in terms)
        for column in codes:
            mask &= column >= 0
        pods = trial.matching(selection)
        provided_by = tuple(trial.matches(selection, other) for other in self.shapes)
        if self.others_may_help and not any(provided_by):
            return ()
        present = tuple(occupied_domains(trial.nodes, term.topology_key, pods) for term in terms)
        anywhere = any(bool(domains.any()) for domains in present)
        own = trial.matches(selection, shape)
        if any(provided_by):
            return (Company(codes, present, anywhere, provided_by, own),)
        for column, domains in zip(codes, present, strict=True):
            mask &= domains[column]
        return ()

    def _spreads(self, shape: int, mask: Mask) -> tuple[Spread, ...]:
        constraints = self.trial.needs(shape).spread
        if not constraints:
            return ()
        keyed = np.ones_like(mask)
        for constraint in constraints:
            keyed &= self._codes(constraint.pods.topology_key) >= 0
        mask &= keyed
        changing = []
        for constraint in constraints:
            spread = self._spread(shape, constraint, keyed)
            if any(spread.matched_by):
                changing.append(spread)
            else:
                mask &= spread.allowed(spread.counts)
        return tuple(changing)

    def _spread(self, shape: int, constraint: SpreadTerm, keyed: Mask) -> Spread:
        trial, needs = self.trial, self.trial.needs(shape)
        counted = keyed & trial.nodes.alive
        if constraint.honor_affinity:
            counted &= required_nodes(trial.nodes, needs.node.chosen())
        if constraint.honor_taints:
            counted &= tolerated_nodes(trial.nodes, needs.tolerations)
        selection = Selection((constraint.pods,), False)
        column = trial.nodes.column(constraint.pods.topology_key)
        codes, size = column.codes[counted], len(column.values)
        counts = np.bincount(codes, weights=trial.matching(selection)[counted], minlength=size)
        return Spread(
            codes=column.codes,
            counted=counted,
            counts=counts.astype(np.int64),
            domains=np.bincount(codes, minlength=size) > 0,
            max_skew=constraint.max_skew,
            min_domains=constraint.min_domains,
            matched_by=tuple(trial.matches(selection, other) for other in self.shapes),
            own=trial.matches(selection, shape),
        )

    # -- neighbours in the group itself ----------------------------------------------------------------

    def _conflicts(self, copies: list[Ints]) -> list[Conflict]:
        """Pairs of shapes that may not share a domain; one kept off its own kind has its copies capped."""
        conflicts = []
        for key, pairs in sorted(self._pairs().items()):
            codes = self._codes(key)
            alone = self._one_node_each(key)
            if alone:
                for position in np.flatnonzero(pairs.diagonal()):
                    np.minimum(copies[position], 1, out=copies[position], where=codes >= 0)
            conflicts.append(Conflict(codes, pairs, capped=alone and len(self.shapes) == 1))
        return conflicts

    def _pairs(self) -> dict[str, Mask]:
        """Topology key -> which shapes exclude each other within one of its domains."""
        trial, count = self.trial, len(self.shapes)
        pairs: dict[str, Mask] = {}
        for one, shape in enumerate(self.shapes):
            needs = trial.needs(shape)
            if not (needs.anti_affinity or needs.host_ports):
                continue
            for other, neighbour in enumerate(self.shapes):
                keys = set[str]()
                if "Affinity" not in self.lift:
                    keys = {
                        term.topology_key
                        for term in needs.anti_affinity
                        if trial.matches(Selection((term,), True), neighbour)
                    }
                theirs = trial.needs(neighbour).host_ports
                if any(mine.conflicts(port) for mine in needs.host_ports for port in theirs):
                    keys.add(NODE_NAME)
                for key in keys:
                    matrix = pairs.setdefault(key, np.zeros((count, count), dtype=np.bool_))
                    matrix[one, other] = matrix[other, one] = True
        return pairs

    def _one_node_each(self, key: str) -> bool:
        column = self.trial.nodes.column(key)
        return len(column.values) == int(np.count_nonzero(column.codes >= 0))

    def _codes(self, key: str) -> Codes:
        return self.trial.nodes.column(key).codes


def acceptable(trial: Trial, shape: int, policy: Policy, lifted: bool = False) -> Mask:
    """Nodes that maitred manages and that the pod's own spec accepts; but for what it says about nodes and
    taints, if that is lifted."""
    nodes, needs = trial.nodes, trial.needs(shape)
    judged_by = health_taints(policy) if lifted else needs.node
    key = ("acceptable", judged_by, needs.tolerations, selector_of(policy.nodes.managed))
    return nodes.derived(key, lambda: _judge_nodes(nodes, needs, policy, lifted))


def _judge_nodes(nodes: NodeView, needs: Needs, policy: Policy, lifted: bool) -> Mask:
    mask = managed_nodes(nodes, policy)
    if lifted:
        return mask & tolerated_nodes(only_unhealthy(nodes, policy), needs.tolerations)
    return mask & required_nodes(nodes, needs.node) & tolerated_nodes(nodes, needs.tolerations)


def minds_others(trial: Trial, shape: int) -> bool:
    """Whether other pods open or close nodes to a shape, by what it says about them or they about it."""
    needs = trial.needs(shape)
    terms = needs.affinity or needs.anti_affinity or needs.spread or needs.host_ports
    return bool(terms or trial.foes_of(shape))


def managed_nodes(nodes: NodeView, policy: Policy) -> Mask:
    """Nodes that the policy gives us to seat on: all of them, where it does not say."""
    return selected(nodes, selector_of(policy.nodes.managed) or ())


def served_by_classes(trial: Trial, shape: int) -> dict[str, str]:
    """Resources that a shape asks for and that stand for devices of a class, and the class of each."""
    classes = trial.snapshot.device_classes
    if not classes:
        return {}
    return {resource: classes[resource] for resource, _ in trial.needs(shape).requests if resource in classes}


def nodes_without(nodes: NodeView, resource: str) -> Mask:
    """Nodes that have none of a resource of their own: there, devices of a class would stand for it."""
    column = nodes.resource_column(resource)
    return nodes.alive if column is None else nodes.alive & (nodes.allocatable[column] == 0)


def taken_ports(trial: Trial, ports: tuple[HostPort, ...]) -> Mask:
    """Nodes on which another pod holds one of these ports."""
    taken = np.zeros(len(trial.nodes.names), dtype=np.bool_)
    for key, held in trial.all_held().items() if ports else ():
        if isinstance(key, HostPort) and any(port.conflicts(key) for port in ports):
            taken |= held > 0
    return taken


def occupied_domains(nodes: NodeView, key: str, pods: Ints) -> Mask:
    """Domains in which some of these pods are; one entry more, never true, for nodes without the label."""
    column = nodes.column(key)
    occupied = np.zeros(len(column.values) + 1, dtype=np.bool_)
    occupied[column.codes[pods > 0]] = True
    occupied[-1] = False
    return occupied


def only_unhealthy(nodes: NodeView, policy: Policy) -> NodeView:
    """The same nodes with no taints but those that speak of health."""
    health = health_taints(policy)
    others = frozenset(t.key for taints in nodes.taint_sets for t in taints if t.key not in health)
    return nodes.without_taints(others)
