"""Node selectors over columns: a requirement is judged once per distinct label value, not once per node."""

import numpy as np

from maitred.cluster.nodes import NODE_NAME, Mask, NodeView
from maitred.model.needs import NodeRequirements
from maitred.model.node import tolerates_all
from maitred.model.pod import NodeSelector, NodeSelectorTerm, Toleration
from maitred.model.selector import Requirement, Selector, holds
from maitred.model.storage import TopologyTerm

REPELLING = ("NoSchedule", "NoExecute")


def selected_by(nodes: NodeView, requirement: Requirement, field: str | None = None) -> Mask:
    """Nodes whose label, or field, meets one requirement."""
    column = nodes.column(field or requirement.key)
    if requirement.operator == "In":
        return column.among(requirement.values) & nodes.alive
    missing = holds(requirement, {})
    return column.select(lambda value: holds(requirement, {requirement.key: value}), missing) & nodes.alive


def selected(nodes: NodeView, selector: Selector) -> Mask:
    mask = nodes.alive.copy()
    for requirement in selector:
        mask &= selected_by(nodes, requirement)
    return mask


def in_term(nodes: NodeView, term: NodeSelectorTerm) -> Mask:
    """A term without any requirement selects nothing."""
    requirements = (*term.match_expressions, *term.match_fields)
    if not requirements:
        return np.zeros(len(nodes.names), dtype=np.bool_)
    mask = selected(nodes, term.match_expressions)
    for requirement in term.match_fields:
        mask &= selected_by(nodes, requirement, field=NODE_NAME)
    return mask


def in_any_term(nodes: NodeView, terms: tuple[NodeSelectorTerm, ...]) -> Mask:
    mask = np.zeros(len(nodes.names), dtype=np.bool_)
    for term in terms:
        mask |= in_term(nodes, term)
    return mask


def required_nodes(nodes: NodeView, requirements: NodeRequirements) -> Mask:
    return nodes.derived(("required", requirements), lambda: _required_nodes(nodes, requirements))


def _required_nodes(nodes: NodeView, requirements: NodeRequirements) -> Mask:
    mask = selected(nodes, requirements.selector)
    return mask if requirements.terms is None else mask & in_any_term(nodes, requirements.terms)


def reachable_nodes(nodes: NodeView, affinity: NodeSelector | None) -> Mask:
    """Nodes from which a volume with this affinity can be used."""
    if affinity is None:
        return nodes.alive
    return nodes.derived(("reachable", affinity), lambda: in_any_term(nodes, affinity.node_selector_terms))


def tolerated_nodes(nodes: NodeView, tolerations: tuple[Toleration, ...]) -> Mask:
    return nodes.derived(("tolerated", tolerations), lambda: _tolerated_nodes(nodes, tolerations))


def _tolerated_nodes(nodes: NodeView, tolerations: tuple[Toleration, ...]) -> Mask:
    table = [tolerates_all(tolerations, taints, REPELLING) for taints in nodes.taint_sets]
    mask: Mask = np.array(table, dtype=np.bool_)[nodes.taint_ids] & nodes.alive
    return mask


def provisionable_nodes(nodes: NodeView, topologies: tuple[TopologyTerm, ...]) -> Mask:
    """Nodes for which a class can make a volume; no topologies means everywhere."""
    if not topologies:
        return nodes.alive
    mask = np.zeros(len(nodes.names), dtype=np.bool_)
    for term in topologies:
        inside = nodes.alive.copy()
        for values in term.match_label_expressions:
            inside &= selected_by(nodes, Requirement(values.key, "In", values.values))
        mask |= inside
    return mask
