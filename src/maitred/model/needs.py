"""What a pod asks of its node and of its neighbours, resolved and hashable.

Pods with equal needs, equal labels (as far as anyone reads them) and equal volumes are of one shape.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from maitred.model.devices.extended import ExtendedResource, extended_resources
from maitred.model.features import needed_features
from maitred.model.meta import Lean
from maitred.model.pod import (
    Affinity,
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    PodSpec,
    PreferredNodeTerm,
    Toleration,
    TopologySpreadConstraint,
)
from maitred.model.requests import pod_requests, requests_aside
from maitred.model.selector import Labels, Requirement, Selector, canonical, matches, selector_of


class PodTerm(Lean, frozen=True):
    """Which other pods a term speaks of: those in these namespaces that the selector matches."""

    selector: Selector | None
    namespaces: tuple[str, ...]
    namespace_selector: Selector | None
    topology_key: str

    def matches(self, namespace: str, namespace_labels: Labels, labels: Labels) -> bool:
        """Whether a pod in `namespace`, with these labels of both, is one of those pods."""
        inside = namespace in self.namespaces or matches(self.namespace_selector, namespace_labels)
        return inside and matches(self.selector, labels)


class SpreadTerm(Lean, frozen=True):
    """A topology spread constraint."""

    pods: PodTerm
    max_skew: int
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


class NodeRequirements(Lean, frozen=True):
    """Node selector and required node affinity: all of `selector`, and one of `terms` if there are any."""

    selector: Selector = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    features: tuple[str, ...] = ()
    """What the kubelet of the node must declare that it can do."""

    def chosen(self) -> "NodeRequirements":
        """The part that the user wrote as a choice of nodes."""
        return NodeRequirements(self.selector, self.terms) if self.features else self


class HostPort(Lean, frozen=True):
    port: int
    protocol: str
    ip: str

    def conflicts(self, other: "HostPort") -> bool:
        same_port = self.port == other.port and self.protocol == other.protocol
        return same_port and (self.ip == other.ip or "0.0.0.0" in (self.ip, other.ip))


@dataclass(frozen=True, slots=True)
class Needs:
    namespace: str
    requests: tuple[tuple[str, int], ...]
    node: NodeRequirements
    preferred_nodes: tuple[PreferredNodeTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred_pods: tuple[tuple[int, PodTerm], ...] = ()
    spread: tuple[SpreadTerm, ...] = ()
    preferred_spread: tuple[SpreadTerm, ...] = ()
    images: tuple[str, ...] = ()
    device_claims: tuple[str, ...] = ()
    extended: tuple[ExtendedResource, ...] = ()
    """What of `requests` devices of a class may serve, by container."""
    aside: tuple[tuple[str, int], ...] = ()
    """What of `requests` its containers do not ask for: overhead, sidecars, larger init containers."""

    def pod_terms(self) -> Iterator[PodTerm]:
        """Every term that reads the labels of pods."""
        yield from self.affinity
        yield from self.anti_affinity
        yield from (term for _, term in self.preferred_pods)
        yield from (constraint.pods for constraint in (*self.spread, *self.preferred_spread))


def needs_of(pod: Pod) -> Needs:
    spec, namespace, labels = pod.spec, pod.metadata.namespace or "default", pod.metadata.labels
    affinity = spec.affinity or Affinity()
    pods, anti = affinity.pod_affinity, affinity.pod_anti_affinity
    preferred = [(p.weight, pod_term(p.pod_affinity_term, namespace, labels)) for p in pods.preferred]
    preferred += [(-p.weight, pod_term(p.pod_affinity_term, namespace, labels)) for p in anti.preferred]
    spread = spec.topology_spread_constraints
    return Needs(
        namespace=namespace,
        requests=tuple(sorted(pod_requests(spec).items())),
        node=node_requirements(spec, affinity),
        preferred_nodes=affinity.node_affinity.preferred,
        tolerations=tuple(sorted(set(spec.tolerations), key=repr)),
        host_ports=host_ports(spec),
        affinity=tuple(pod_term(term, namespace, labels) for term in pods.required),
        anti_affinity=tuple(pod_term(term, namespace, labels) for term in anti.required),
        preferred_pods=tuple(preferred),
        spread=tuple(
            spread_term(c, namespace, labels) for c in spread if c.when_unsatisfiable == "DoNotSchedule"
        ),
        preferred_spread=tuple(
            spread_term(c, namespace, labels) for c in spread if c.when_unsatisfiable == "ScheduleAnyway"
        ),
        images=tuple(sorted({c.image for c in (*spec.init_containers, *spec.containers) if c.image})),
        device_claims=tuple(claim.name for claim in spec.resource_claims),
        extended=extended_resources(spec),
        aside=requests_aside(spec),
    )


def node_requirements(spec: PodSpec, affinity: Affinity) -> NodeRequirements:
    exact = tuple(Requirement(key, "In", (value,)) for key, value in spec.node_selector.items())
    required = affinity.node_affinity.required
    terms = required.node_selector_terms if required else None
    return NodeRequirements(canonical(exact), terms, needed_features(spec))


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    sidecars = [c for c in spec.init_containers if c.restart_policy == "Always"]
    ports = set()
    for container in (*spec.containers, *sidecars):
        for port in container.ports:
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number:
                ports.add(HostPort(number, port.protocol or "TCP", port.host_ip or "0.0.0.0"))
    return tuple(sorted(ports, key=lambda p: (p.port, p.protocol, p.ip)))


def pod_term(term: PodAffinityTerm, namespace: str, labels: Labels) -> PodTerm:
    selector = with_own_labels(
        selector_of(term.label_selector), labels, term.match_label_keys, term.mismatch_label_keys
    )
    namespaces = tuple(sorted(set(term.namespaces)))
    if not namespaces and term.namespace_selector is None:
        namespaces = (namespace,)
    return PodTerm(selector, namespaces, selector_of(term.namespace_selector), term.topology_key)


def spread_term(constraint: TopologySpreadConstraint, namespace: str, labels: Labels) -> SpreadTerm:
    """An empty selector counts no pods, as in kube-scheduler: the constraint asks for the label alone."""
    selector = with_own_labels(
        selector_of(constraint.label_selector), labels, constraint.match_label_keys, ()
    )
    return SpreadTerm(
        pods=PodTerm(selector or None, (namespace,), None, constraint.topology_key),
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains,
        honor_affinity=constraint.node_affinity_policy == "Honor",
        honor_taints=constraint.node_taints_policy == "Honor",
    )


def with_own_labels(
    selector: Selector | None, labels: Labels, same: tuple[str, ...], different: tuple[str, ...]
) -> Selector | None:
    """`matchLabelKeys` and `mismatchLabelKeys` compare with the pod's own labels, where it has them."""
    if selector is None:
        return None
    own = [Requirement(key, "In", (labels[key],)) for key in same if key in labels]
    own += [Requirement(key, "NotIn", (labels[key],)) for key in different if key in labels]
    return canonical((*selector, *own))
