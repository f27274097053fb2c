"""Pods as the oracle's filters see them: everything that decides about a seat, worked out once per pod."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.oracle.builders import REQUIRED, Obj, expr
from tests.oracle.reading import terminating
from tests.oracle.selectors import amount, selector_matches

Amounts = dict[str, int]
Port = tuple[str, str, int]
Spaces = Mapping[str, Mapping[str, str]]
"""The labels of every namespace there is an object for."""


@dataclass(frozen=True, eq=False)
class Term:
    """A required affinity or anti-affinity term of one pod."""

    key: str
    selector: Obj | None
    namespaces: frozenset[str]
    namespace_selector: Obj | None

    def matches(self, guest: "Guest", spaces: Spaces) -> bool:
        named = guest.namespace in self.namespaces
        if not named and self.namespace_selector is not None:
            labels = {**spaces.get(guest.namespace, {}), "kubernetes.io/metadata.name": guest.namespace}
            named = selector_matches(self.namespace_selector, labels)
        return named and selector_matches(self.selector, guest.labels)


@dataclass(frozen=True, eq=False)
class Spread:
    """A DoNotSchedule constraint of one pod."""

    key: str
    selector: Obj | None
    skew: int
    min_domains: int
    heeds_affinity: bool
    heeds_taints: bool


@dataclass(frozen=True, eq=False)
class Guest:
    """A pod, reduced to what filters read. Compared by identity: two guests are never the same pod."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    terminating: bool
    requests: Amounts
    ports: tuple[Port, ...]
    where: Mapping[str, str]
    node_terms: list[Obj] | None
    tolerations: list[Obj]
    together: tuple[Term, ...]
    apart: tuple[Term, ...]
    spread: tuple[Spread, ...]
    claims: tuple[str, ...]
    features: frozenset[str]


def guest(pod: Obj) -> Guest:
    meta, spec = pod["metadata"], pod["spec"]
    space, labels = meta.get("namespace", "default"), meta.get("labels", {})
    affinity = spec.get("affinity", {})
    wanted = affinity.get("nodeAffinity", {}).get(REQUIRED, {})
    volumes = (volume.get("persistentVolumeClaim") for volume in spec.get("volumes", ()))
    return Guest(
        name=meta["name"],
        namespace=space,
        labels=labels,
        terminating=terminating(pod),
        requests=requests(spec),
        ports=tuple(_ports(spec)),
        where=spec.get("nodeSelector", {}),
        node_terms=wanted.get("nodeSelectorTerms"),
        tolerations=spec.get("tolerations", []),
        together=tuple(term(t, space, labels) for t in affinity.get("podAffinity", {}).get(REQUIRED, ())),
        apart=tuple(term(t, space, labels) for t in affinity.get("podAntiAffinity", {}).get(REQUIRED, ())),
        spread=tuple(_spread(spec, labels)),
        claims=tuple(f"{space}/{claim['claimName']}" for claim in volumes if claim),
        features=frozenset(_features(spec)),
    )


def _features(spec: Obj) -> Iterable[str]:
    """What the kubelet has to declare before it is given the pod."""
    for container in [*spec.get("containers", ()), *spec.get("initContainers", ())]:
        if any(rule["action"] == "RestartAllContainers" for rule in container.get("restartPolicyRules", ())):
            yield "RestartAllContainersOnContainerExits"


def term(raw: Obj, space: str, labels: Mapping[str, str]) -> Term:
    """The term with its default namespace and with the pod's own label values written into the selector."""
    namespaces, chosen = raw.get("namespaces", []), raw.get("namespaceSelector")
    if not namespaces and chosen is None:
        namespaces = [space]
    selector = _narrowed(raw.get("labelSelector"), raw.get("matchLabelKeys", ()), "In", labels)
    selector = _narrowed(selector, raw.get("mismatchLabelKeys", ()), "NotIn", labels)
    return Term(raw["topologyKey"], selector, frozenset(namespaces), chosen)


def _narrowed(
    selector: Obj | None, keys: Iterable[str], operator: str, labels: Mapping[str, str]
) -> Obj | None:
    more = [expr(key, operator, labels[key]) for key in keys if key in labels]
    if selector is None or not more:
        return selector
    return {**selector, "matchExpressions": [*selector.get("matchExpressions", []), *more]}


def _spread(spec: Obj, labels: Mapping[str, str]) -> Iterable[Spread]:
    for raw in spec.get("topologySpreadConstraints", ()):
        if raw["whenUnsatisfiable"] == "DoNotSchedule":
            yield Spread(
                key=raw["topologyKey"],
                # kube-scheduler counts nobody for an empty selector.
                selector=_narrowed(raw.get("labelSelector"), raw.get("matchLabelKeys", ()), "In", labels)
                or None,
                skew=raw["maxSkew"],
                min_domains=raw.get("minDomains", 1),
                heeds_affinity=raw.get("nodeAffinityPolicy", "Honor") == "Honor",
                heeds_taints=raw.get("nodeTaintsPolicy", "Ignore") == "Honor",
            )


def requests(spec: Obj) -> Amounts:
    """What the pod takes of a node: kubelet's sum over containers, and one of its pods."""
    total: Amounts = {}
    for container in spec.get("containers", ()):
        _add(total, _asked(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers", ()):
        step = dict(sidecars)
        _add(step, _asked(container))
        if container.get("restartPolicy") == "Always":
            sidecars = step
        peak = {name: max(peak.get(name, 0), step.get(name, 0)) for name in peak | step}
    _add(total, sidecars)
    total = {name: max(total.get(name, 0), peak.get(name, 0)) for name in total | peak}
    total.update(_asked(spec))
    _add(total, {name: amount(name, value) for name, value in spec.get("overhead", {}).items()})
    return {**total, "pods": 1}


def _asked(holder: Obj) -> Amounts:
    resources = holder.get("resources", {})
    asked = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {name: amount(name, value) for name, value in asked.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _ports(spec: Obj) -> Iterable[Port]:
    for container in spec.get("containers", ()):
        for port in container.get("ports", ()):
            number = port.get("hostPort") or (port["containerPort"] if spec.get("hostNetwork") else 0)
            if number:
                yield port.get("hostIP") or "0.0.0.0", port.get("protocol", "TCP"), number
