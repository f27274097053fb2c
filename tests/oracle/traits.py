"""What a generated pod or node may ask for beyond its size, one function per feature."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.oracle.builders import ZONE, Obj, amounts, container, expr, near, on_nodes, port, selector, spread

T = TypeVar("T")
Fields = dict[str, Any]

APPS = ("red", "blue", "green")
LEVELS = ("hostname", "rack", "zone")
TEAM = "team"
SPACES = ("default", "other")
RESTART_ALL = "RestartAllContainersOnContainerExits"

FEATURES = (
    "gpu",
    "unwell",
    "memory",
    "pod_count",
    "requests",
    "node_selector",
    "node_affinity",
    "taints",
    "health",
    "unlabelled",
    "ports",
    "affinity",
    "anti_affinity",
    "spread",
    "topology",
    "states",
    "daemons",
    "gates",
    "priority",
    "mixed",
    "namespaces",
    "bound_volumes",
    "waiting_volumes",
    "lost_volumes",
    "rwop",
    "csi",
    "declared",
)


@dataclass(frozen=True)
class Deck:
    """Where choices are drawn from: the example's source of chance and the features it has switched on."""

    draw: DrawFn
    features: frozenset[str]

    def chance(self, feature: str) -> bool:
        return feature in self.features and self.draw(st.booleans())

    def rarely(self, feature: str) -> bool:
        return feature in self.features and self.draw(st.integers(0, 4)) == 4

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def size(self, least: int, most: int) -> int:
        """How many of something: seldom the least, since little goes wrong with few."""
        return self.pick([least, *(n for n in range(least + 1, most + 1) for _ in range(3))])

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))


def half_cpus(units: int) -> str:
    """Sizes are counted in half CPUs, so that packings are tight and not all of them are trivial."""
    return f"{units * 500}m"


# ---- nodes


def node_fields(deck: Deck, index: int, racks: int) -> Fields:
    """Labels, taints and health of the node with that index; racks nest in zones, two racks to a zone."""
    rack, zone = index % racks, (index % racks) // 2
    fields: Fields = {
        "rack": None if deck.rarely("unlabelled") else f"r{rack}",
        "zone": None if deck.rarely("unlabelled") else f"z{zone}",
        "labels": {},
        "taints": [],
    }
    if deck.features & {"node_selector", "node_affinity"}:
        fields["labels"] = {"gen": str(deck.number(1, 3)), **({"disk": "ssd"} if deck.number(0, 1) else {})}
    if deck.chance("taints"):
        fields["taints"].append(deck.pick(["team=red:NoSchedule", "team=blue:NoSchedule", "team:NoExecute"]))
    if deck.rarely("taints"):
        fields["taints"].append("slow=yes:PreferNoSchedule")
    if deck.chance("declared"):
        fields["features"] = [RESTART_ALL]
    if deck.rarely("health"):
        fields["cordoned"] = True
    if deck.rarely("health"):
        fields["ready"] = deck.pick([False, None])
    if deck.rarely("health"):
        key = deck.pick(["disk-pressure", "not-ready", "network-unavailable"])
        fields["taints"].append(f"node.kubernetes.io/{key}:NoSchedule")
    return fields


# ---- what a pod demands of the node alone


def node_demands(deck: Deck, nodes: Sequence[str]) -> Fields:
    fields: Fields = {}
    if deck.chance("node_selector"):
        fields["where"] = deck.pick([{"disk": "ssd"}, {"gen": "1"}, {"gen": "2", "disk": "ssd"}])
    if deck.chance("node_affinity"):
        terms = [_node_term(deck, nodes) for _ in range(deck.number(1, 2))]
        fields["node_affinity"] = terms
    if deck.chance("taints"):
        fields["tolerations"] = deck.pick(
            [["team=red:NoSchedule"], ["team"], ["team:NoExecute"], ["*"], [{"key": "team", "value": "blue"}]]
        )
    if deck.rarely("health"):
        fields["tolerations"] = deck.pick(
            [["node.kubernetes.io/unschedulable"], ["node.kubernetes.io/not-ready"]]
        )
    if deck.chance("ports"):
        fields.update(_ports(deck))
    if deck.chance("declared"):
        fields["restarts_all"] = True
    return fields


def _node_term(deck: Deck, nodes: Sequence[str]) -> Obj:
    exprs = [
        expr("disk", "In", "ssd", "nvme"),
        expr("disk", "NotIn", "ssd"),
        expr("disk", "Exists"),
        expr("disk", "DoesNotExist"),
        expr("gen", "Gt", "1"),
        expr("gen", "Lt", "3"),
        expr(ZONE, "In", "z0"),
    ]
    if deck.rarely("node_affinity"):
        return {"matchFields": [expr("metadata.name", deck.pick(["In", "NotIn"]), deck.pick(nodes))]}
    if deck.rarely("node_affinity"):
        return {"matchExpressions": [deck.pick(exprs)], **on_nodes(deck.pick(nodes))}
    return {"matchExpressions": [deck.pick(exprs) for _ in range(deck.number(1, 2))]}


def _ports(deck: Deck) -> Fields:
    wanted = deck.pick(
        [[80], [80, 443], [port(80, "UDP")], [port(80, "TCP", "10.0.0.1")], [port(80, "TCP", "0.0.0.0")]]
    )
    if deck.rarely("ports"):
        return {"ports": wanted, "spec": {"hostNetwork": True}}
    return {"ports": wanted}


# ---- what a pod demands of other pods


def pod_demands(deck: Deck, app: str) -> Fields:
    fields: Fields = {}
    if deck.chance("affinity"):
        fields["affinity"] = [_near(deck, app) for _ in range(2 if deck.rarely("affinity") else 1)]
    if deck.chance("anti_affinity"):
        fields["anti_affinity"] = [_near(deck, app)]
    if deck.chance("spread"):
        levels = deck.draw(st.lists(st.sampled_from(LEVELS), min_size=1, max_size=2, unique=True))
        fields["spread"] = [_spread(deck, app, level) for level in levels]
    return fields


def _match(deck: Deck, app: str) -> Obj:
    """Mostly its own kind, sometimes others."""
    return deck.pick(
        [
            selector({"app": app}),
            selector({"app": app, "role": "lead"}),
            selector({"app": app}),
            selector({"app": APPS[0]}),
            selector({}, expr("app", "NotIn", app)),
            selector({}, expr("role", "Exists")),
            selector({}, expr("role", "DoesNotExist")),
            selector({}, expr("app", "In", *APPS[:2])),
        ]
    )


def _near(deck: Deck, app: str) -> Obj:
    level = deck.pick(LEVELS)
    if deck.chance("namespaces"):
        reach: Fields = deck.pick(
            [
                {"namespaces": ["other"]},
                {"namespaces": list(SPACES)},
                {"namespace_selector": {}},
                {"namespace_selector": selector({TEAM: "ml"})},
                {"namespace_selector": selector({"kubernetes.io/metadata.name": "default"})},
            ]
        )
        return near(level, _match(deck, app), **reach)
    if deck.draw(st.integers(0, 7)) == 7:
        narrowed: Fields = {deck.pick(["match_label_keys", "mismatch_label_keys"]): ["role"]}
        return near(level, selector({"app": app}), **narrowed)
    if deck.draw(st.integers(0, 15)) == 15:
        return near(level, deck.pick([{}, None]))
    return near(level, _match(deck, app))


def _spread(deck: Deck, app: str, level: str) -> Obj:
    more: Fields = {}
    if deck.rarely("spread"):
        more["min_domains"] = deck.number(1, 3)
    if deck.rarely("spread"):
        more["affinity_policy"] = deck.pick(["Honor", "Ignore"])
        more["taints_policy"] = deck.pick(["Ignore", "Honor"])
    if deck.rarely("spread"):
        return spread(
            level, selector({"app": app}), skew=deck.number(1, 2), match_label_keys=["role"], **more
        )
    if deck.rarely("spread"):
        more["soft"] = True
        more.pop("min_domains", None)
    if deck.draw(st.integers(0, 15)) == 15:
        return spread(level, deck.pick([{}, None]), **more)
    return spread(level, _match(deck, app), skew=deck.number(1, 2), **more)


# ---- how much a pod takes


def size_fields(deck: Deck, cpu: int) -> Fields:
    """A request of so many half CPUs, said in one of the ways Kubernetes knows, plus the other resources."""
    fields: Fields = {"requests": {}}
    if deck.chance("gpu"):
        fields["gpu"] = deck.number(1, 2)
    if deck.chance("memory"):
        fields["memory"] = deck.pick(["1Gi", "1536Mi", "2G"])
    if not deck.chance("requests"):
        return {**fields, "cpu": half_cpus(cpu)}
    way = deck.pick(["limits", "init", "sidecar", "overhead", "pod"])
    if way == "limits":
        return {**fields, "limits": amounts(half_cpus(cpu))}
    if way == "init":
        return {**fields, "cpu": "100m", "init": [container("setup", amounts(half_cpus(cpu)))]}
    if way == "sidecar":
        helper = container("helper", amounts("250m"), sidecar=True)
        return {**fields, "cpu": f"{cpu * 500 - 250}m", "init": [helper]}
    if way == "overhead":
        return {**fields, "cpu": f"{cpu * 500 - 100}m", "overhead": amounts("100m")}
    return {**fields, "cpu": "10m", "spec": {"resources": {"requests": amounts(half_cpus(cpu))}}}
