"""From needs to rules: every hard constraint of a group's shapes against the pods on the nodes of a trial."""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.journal import Selection
from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.selection import required_nodes, selected, tolerated_nodes
from maitred.cluster.supply.fit import Company, Conflict, Fit
from maitred.cluster.supply.interface import Lift
from maitred.cluster.trial import Trial
from maitred.decide.rules import Rules, Spread
from maitred.decide.seats import PASS
from maitred.model.needs import Needs, PodTerm, SpreadTerm
from maitred.model.policy import Policy, health_taints
from maitred.model.selector import selector_of


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
    """What it takes to make them: passes over the nodes for each shape, its terms and what it takes."""
    passes, pairs = 0, 0
    for shape in shapes:
        needs = trial.needs(shape)
        passes += len(needs.affinity) + len(needs.anti_affinity) + 2 * len(needs.spread)
        passes += sum(supply.passes(shape) for supply in trial.supplies)
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
        rules = Rules(self.trial, self.shapes, masks, [], [], [], [()] * count, [()] * count, [])
        if "Affinity" not in self.lift:
            for position, shape in enumerate(self.shapes):
                self._avoid_enemies(shape, masks[position])
                rules.companies[position] = self._company(shape, masks[position])
                rules.spreads[position] = self._spreads(shape, masks[position])
        fits = self._fits()
        for fit in fits:
            self._add(rules, fit)
        rules.copies = [self._least(fits, position, mask) for position, mask in enumerate(masks)]
        if "Affinity" not in self.lift:
            rules.conflicts += self._conflicts(rules.copies)
        return rules

    # -- what nodes run out of -------------------------------------------------------------------------

    def _fits(self) -> list[Fit]:
        """What each supply says that any of the shapes takes of, but for those that are left out."""
        return [
            supply.fit(self.shapes, self.lift, self.others_may_help)
            for supply in self.trial.supplies
            if supply.category not in self.lift and any(map(supply.asked_by, self.shapes))
        ]

    @staticmethod
    def _add(rules: Rules, fit: Fit) -> None:
        for position, (mask, tied) in enumerate(zip(fit.masks, fit.companies, strict=True)):
            if mask is not None:
                rules.masks[position] &= mask
            rules.companies[position] += tied
        rules.rooms += fit.rooms
        rules.conflicts += fit.conflicts
        rules.quotas += fit.quotas
        rules.exact &= fit.exact
        rules.sure &= fit.sure
        rules.sure_up_to = min(rules.sure_up_to, fit.sure_up_to)
        if fit.kinds is not None:
            rules.kinds.append(fit.kinds)

    @staticmethod
    def _least(fits: list[Fit], position: int, mask: Mask) -> Ints:
        """How many members of a shape each node has enough of everything for."""
        first, *others = [copies for fit in fits if (copies := fit.copies[position]) is not None]
        least = np.where(mask, first, 0)
        for copies in others:
            np.minimum(least, copies, out=least)
        return least

    # -- neighbours that are already there -------------------------------------------------------------

    def _avoid_enemies(self, shape: int, mask: Mask) -> None:
        """Required anti-affinity, of this shape against the pods there and of theirs against it."""
        trial = self.trial
        for term in trial.needs(shape).anti_affinity:
            self._close_domains(term, trial.neighbours.matching(Selection((term,), True, True)), mask)
        for term, held in trial.neighbours.foes_of(shape):
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
        pods = trial.neighbours.matching(selection)
        provided_by = tuple(trial.neighbours.matches(selection, other) for other in self.shapes)
        if self.others_may_help and not any(provided_by):
            return ()
        present = tuple(occupied_domains(trial.nodes, term.topology_key, pods) for term in terms)
        anywhere = any(bool(domains.any()) for domains in present)
        own = trial.neighbours.matches(selection, shape)
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
        counts = np.bincount(codes, weights=trial.neighbours.matching(selection)[counted], minlength=size)
        return Spread(
            codes=column.codes,
            counted=counted,
            counts=counts.astype(np.int64),
            domains=np.bincount(codes, minlength=size) > 0,
            max_skew=constraint.max_skew,
            min_domains=constraint.min_domains,
            matched_by=tuple(trial.neighbours.matches(selection, other) for other in self.shapes),
            own=trial.neighbours.matches(selection, shape),
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
            for term in trial.needs(shape).anti_affinity:
                for other, neighbour in enumerate(self.shapes):
                    if trial.neighbours.matches(Selection((term,), True), neighbour):
                        matrix = pairs.setdefault(term.topology_key, np.zeros((count, count), dtype=np.bool_))
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
    return acceptable_to(trial.nodes, trial.needs(shape), policy, lifted)


def acceptable_to(nodes: NodeView, needs: Needs, policy: Policy, lifted: bool = False) -> Mask:
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
    return bool(terms or trial.neighbours.foes_of(shape))


def managed_nodes(nodes: NodeView, policy: Policy) -> Mask:
    """Nodes that the policy gives us to seat on: all of them, where it does not say."""
    return selected(nodes, selector_of(policy.nodes.managed) or ())


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
