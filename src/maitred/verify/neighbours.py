"""Filters that look at other pods: inter-pod affinity, anti-affinity and topology spread."""

from .objects import Node
from .pods import AffinityTerm, Pod, Spread, term_matches
from .selectors import any_term, matches, untolerated
from .world import World


def _matches_all(terms: tuple[AffinityTerm, ...], pod: Pod, world: World) -> bool:
    return all(term_matches(term, pod, world.cluster.namespaces) for term in terms)


def pod_affinity(world: World, pod: Pod, node: Node) -> str | None:
    """Required affinity: in each term's domain some pod must match all the terms.

    The first pod of a series that only matches itself would wait forever, so it may go anywhere that has the
    topology keys, as long as no pod in any such domain matches.
    """
    if not pod.affinity:
        return None
    for term in pod.affinity:
        if term.key not in node.labels:
            return f"{node.name} has no label {term.key}, which its pod affinity needs"
    if all(term.assumed for term in pod.affinity):
        return None
    matching = [place for place, other in world.pods() if _matches_all(pod.affinity, other, world)]
    if all(
        any(place.labels.get(term.key) == node.labels[term.key] for place in matching)
        for term in pod.affinity
    ):
        return None
    keys = {term.key for term in pod.affinity}
    first = not any(keys & place.labels.keys() for place in matching)
    if first and _matches_all(pod.affinity, pod, world):
        return None
    return f"no pod that its pod affinity asks for is in the domain of {node.name}"


def pod_anti_affinity(world: World, pod: Pod, node: Node) -> str | None:
    """Required anti-affinity, of the pod against those already there and of theirs against it."""
    spaces = world.cluster.namespaces
    for term in pod.anti_affinity:
        for place, other in world.pods():
            if _same_domain(term, place, node) and term_matches(term, other, spaces):
                return f"its pod anti-affinity keeps it away from {other.key} on {place.name}"
    for place, other in world.wary:
        for term in other.anti_affinity:
            if _same_domain(term, place, node) and term_matches(term, pod, spaces):
                return f"the pod anti-affinity of {other.key} on {place.name} keeps it away"
    return None


def _same_domain(term: AffinityTerm, a: Node, b: Node) -> bool:
    return term.key in a.labels and a.labels[term.key] == b.labels.get(term.key)


def topology_spread(world: World, pod: Pod, node: Node) -> str | None:
    """Spread constraints that must not be broken: the domain may not get ahead of the emptiest one."""
    keys = {spread.key for spread in pod.spreads}
    for spread in pod.spreads:
        if spread.key not in node.labels:
            return f"{node.name} has no label {spread.key}, which its topology spread needs"
        counts = _domain_counts(world, pod, spread, keys)
        least = 0 if len(counts) < spread.min_domains else min(counts.values(), default=0)
        here = counts.get(node.labels[spread.key], 0) + matches(spread.selector, pod.labels)
        if here - least > spread.max_skew:
            domain = f"{spread.key}={node.labels[spread.key]}"
            return f"{here} pods in {domain} against {least} elsewhere is more than maxSkew {spread.max_skew}"
    return None


def _domain_counts(world: World, pod: Pod, spread: Spread, keys: set[str]) -> dict[str, int]:
    """Matching pods per domain, over the nodes that have all the keys and that the policies include."""
    counts: dict[str, int] = {}
    for name, node in world.cluster.nodes.items():
        if not keys <= node.labels.keys() or not _included(pod, spread, node):
            continue
        domain = node.labels[spread.key]
        matching = sum(_spread_counts(pod, spread, other) for other in world.on[name])
        counts[domain] = counts.get(domain, 0) + matching
    return counts


def _included(pod: Pod, spread: Spread, node: Node) -> bool:
    if spread.honor_affinity and not (
        matches(pod.node_selector, node.labels) and any_term(pod.node_terms, node.labels, node.name)
    ):
        return False
    return not (spread.honor_taints and untolerated(node.taints, pod.tolerations))


def _spread_counts(pod: Pod, spread: Spread, other: Pod) -> bool:
    same = other.namespace == pod.namespace and not other.deleting
    return same and matches(spread.selector, other.labels)
