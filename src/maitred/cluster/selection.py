"""Node selectors over columns: a requirement is judged once per distinct label value, not once per node."""

from collections.abc import Container

import numpy as np

from maitred.cluster.nodes import NODE_NAME, Mask, NodeView
from maitred.model.needs import NodeRequirements
from maitred.model.node import tolerates_all
from maitred.model.pod import NodeSelector, NodeSelectorTerm, Toleration
from maitred.model.selector import Requirement, Selector, holds
from maitred.model.storage import PLACE_LABELS, Place, TopologyTerm

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


def tainted_nodes(nodes: NodeView, keys: Container[str], effects: Container[str] | None = None) -> Mask:
    """Nodes with a taint of one of these keys and effects; None: whatever its effect."""
    table = [
        any(taint.key in keys and (effects is None or taint.effect in effects) for taint in taints)
        for taints in nodes.taint_sets
    ]
    mask: Mask = np.array(table, dtype=np.bool_)[nodes.taint_ids]
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
    if requirements.features:
        mask &= declaring_nodes(nodes, requirements.features)
    return mask if requirements.terms is None else mask & in_any_term(nodes, requirements.terms)


def declaring_nodes(nodes: NodeView, features: tuple[str, ...]) -> Mask:
    """Nodes whose kubelets declare all of these features."""
    table = [all(feature in declared for feature in features) for declared in nodes.feature_sets]
    mask: Mask = np.array(table, dtype=np.bool_)[nodes.feature_ids] & nodes.alive
    return mask


def reachable_nodes(nodes: NodeView, affinity: NodeSelector | None) -> Mask:
    """Nodes from which a volume with this affinity can be used."""
    if affinity is None:
        return nodes.alive
    return nodes.derived(("reachable", affinity), lambda: _reachable_nodes(nodes, affinity))


def _reachable_nodes(nodes: NodeView, affinity: NodeSelector) -> Mask:
    """Volumes are compared with the labels of a node, never with its name: what a term says of fields counts
    for nothing, and one that says nothing else takes every node."""
    mask = np.zeros(len(nodes.names), dtype=np.bool_)
    for term in affinity.node_selector_terms:
        if term.match_expressions or term.match_fields:
            mask |= selected(nodes, term.match_expressions)
    return mask


def placed_nodes(nodes: NodeView, places: tuple[Place, ...]) -> Mask:
    """Nodes in the zones and regions that the labels of a volume name."""
    mask = nodes.alive.copy()
    for place in places:
        inside = selected_by(nodes, Requirement(place.key, "In", place.values))
        if place.modern != place.key:
            lacking = nodes.column(place.key).codes < 0
            inside |= lacking & selected_by(nodes, Requirement(place.modern, "In", place.values))
        mask &= inside
    return mask | (nodes.alive & ~_placed(nodes)) if places else mask


def _placed(nodes: NodeView) -> Mask:
    """Nodes that say in which zone or region they are; the others take volumes of every place."""
    return nodes.derived(
        "placed", lambda: np.logical_or.reduce([nodes.column(key).codes >= 0 for key in PLACE_LABELS])
    )


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
