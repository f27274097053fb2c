"""Random clusters: nodes, pods that run on them, and pods that are asked about, with every feature that
filters read.

Values are few and small, so that features meet often enough to decide something. The seed decides everything.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.filters.random_disks import Disks

Obj = dict[str, Any]

NAMESPACES = {"filters-a": {"team": "a"}, "filters-b": {"team": "b", "tier": "x"}}
ZONE, BETA_ZONE, REGION = (
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
HOSTNAME = "kubernetes.io/hostname"
RACK, NUMBER = "example.com/rack", "example.com/number"
GPU, DRA_GPU = "example.com/gpu", "dra.example.com/gpu"
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "Other")
NUMBERS = ("1", "5", "05", "x", "000000000000000000000006", "9223372036854775807", "9223372036854775808")
MEMORY = ("1Gi", "4Gi", "2Pi", "3Pi", "1Ei", "1.5Gi", "100m")
LABELS = ("app", "tier")
OVERHEAD = "filters-overhead"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
THEMES = (
    "amounts",
    "choice",
    "taints",
    "ports",
    "company",
    "distance",
    "spread",
    "features",
    "disks",
    "disks",
)
"""What a cluster is about: with everything at once, hardly any pod would fit anywhere."""


@dataclass
class World:
    """One case: what is there, and who is asked about."""

    seed: int
    objects: list[Obj] = field(default_factory=list)
    probes: list[Obj] = field(default_factory=list)


def make_world(seed: int, nodes: int = 6, probes: int = 6) -> World:
    return _Maker(seed, nodes, probes).world()


class _Maker:
    def __init__(self, seed: int, nodes: int, probes: int) -> None:
        self.random = Random(seed)
        self.prefix = f"s{seed}"
        self.seed, self.probes = seed, probes
        self.nodes = [f"{self.prefix}-n{number}" for number in range(self.random.randint(3, nodes))]
        self.themes = frozenset(self.random.sample(THEMES, 3))
        self.disks = Disks(self.random, self.prefix, self.nodes, tuple(NAMESPACES))

    def world(self) -> World:
        world = World(self.seed)
        world.objects += [self.node(name) for name in self.nodes]
        with_disks = "disks" in self.themes
        if with_disks:
            world.objects += self.disks.objects()
        running = self.random.randint(0, 2 * len(self.nodes))
        world.objects += [self.runner(number, with_disks) for number in range(running)]
        world.probes = [self.probe(number, with_disks) for number in range(self.probes)]
        return world

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def theme(self, name: str, share: float) -> bool:
        """A chance in the clusters that are about this, and a small one in others."""
        return self.chance(share if name in self.themes else share / 20)

    def some(self, share: float, value: Any) -> Any:
        """The value, at times; a missing field otherwise."""
        return value if self.chance(share) else None

    # -- nodes -----------------------------------------------------------------------------------------

    def node(self, name: str) -> Obj:
        labels = {HOSTNAME: name}
        for key, values, share in (
            (ZONE, ("za", "zb"), 0.7),
            (BETA_ZONE, ("za", "zb"), 0.3),
            (REGION, ("ra", "rb"), 0.3),
            (RACK, ("r1", "r2", "r3"), 0.7),
            (NUMBER, NUMBERS, 0.5),
        ):
            if self.chance(share):
                labels[key] = self.random.choice(values)
        taints = [
            self.taint() for _ in range(self.random.choice((0, 1, 2)) if self.theme("taints", 0.7) else 0)
        ]
        cordoned = self.theme("taints", 0.2)
        if cordoned:  # the node controller adds it within a moment
            taints.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
        taints = list({(taint["key"], taint["effect"]): taint for taint in taints}.values())
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints, "unschedulable": cordoned},
            "status": {
                "allocatable": self.amounts(),
                "capacity": {},
                "declaredFeatures": sorted(f for f in FEATURES if self.chance(0.6)),
            },
        }

    def taint(self) -> Obj:
        effect = self.random.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
        return {"key": self.random.choice(("dedicated", "spot")), "value": self.word(), "effect": effect}

    def word(self) -> str:
        return self.random.choice(("", "x", "y"))

    def amounts(self) -> Obj:
        random = self.random
        if "amounts" not in self.themes:
            return {
                "cpu": "64",
                "memory": "1Ei",
                "ephemeral-storage": "4Pi",
                "pods": "110",
                GPU: "16",
                DRA_GPU: "8",
            }
        found = {
            "cpu": random.choice(("1", "2", "4", "1500m")),
            "memory": random.choice(("4Gi", "8Gi", "4Pi", "1Ei")),
            "ephemeral-storage": random.choice(("10Gi", "2Pi")),
            "pods": random.choice(("3", "10", "110")),
        }
        if self.chance(0.7):
            found[GPU] = random.choice(("0", "1", "4"))
        if self.chance(0.5):
            found[DRA_GPU] = random.choice(("0", "2"))
        if self.chance(0.3):
            found["hugepages-2Mi"] = random.choice(("0", "64Mi"))
        return found

    # -- pods ------------------------------------------------------------------------------------------

    def runner(self, number: int, with_disks: bool) -> Obj:
        pod = self.pod(f"{self.prefix}-run{number}")
        # Only what others can see of a pod that runs: what it takes, its labels, ports, disks and enmities.
        affinity = pod["spec"].get("affinity") or {}
        pod["spec"]["affinity"] = {"podAntiAffinity": affinity.get("podAntiAffinity")}
        pod["spec"]["topologySpreadConstraints"] = None
        pod["spec"]["nodeName"] = self.random.choice(self.nodes)
        if with_disks and self.chance(0.7):
            pod["spec"]["volumes"] = self.disks.mounts(pod, bound=True)
        if self.chance(0.1):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        elif self.chance(0.1):
            pod["status"] = {"phase": self.random.choice(("Succeeded", "Failed", "Running"))}
            # kube-scheduler forgets a port once one of two pods that hold it has ended.
            for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
                container.pop("ports", None)
        return pod

    def probe(self, number: int, with_disks: bool) -> Obj:
        pod = self.pod(f"{self.prefix}-probe{number}")
        spec = pod["spec"]
        if self.theme("choice", 0.2):
            spec["nodeSelector"] = {RACK: self.random.choice(("r1", "r2"))}
        spec["tolerations"] = [self.toleration() for _ in range(self.random.choice((0, 1, 2)))]
        if self.chance(0.2):
            spec["tolerations"].append({"operator": "Exists"})
        if with_disks and self.chance(0.9):
            spec["volumes"] = self.disks.mounts(pod)
        if self.chance(0.03):
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        return pod

    def pod(self, name: str) -> Obj:
        spec: Obj = {"containers": [self.container(f"c{n}") for n in range(self.random.choice((1, 1, 2)))]}
        if self.theme("amounts", 0.4):
            count = self.random.choice((1, 2))
            spec["initContainers"] = [self.container(f"i{n}", first=True) for n in range(count)]
        if self.theme("amounts", 0.1):
            spec["resources"] = {"requests": {"cpu": "1500m", "memory": "2Gi"}}
            for container in (*spec["containers"], *spec.get("initContainers", ())):
                container["resources"] = {"requests": {"cpu": "100m"}}
        if self.theme("amounts", 0.15):
            spec["runtimeClassName"] = OVERHEAD
        if self.chance(0.15):
            spec["hostNetwork"] = True
        affinity = {
            "nodeAffinity": self.node_affinity() if self.theme("choice", 0.7) else None,
            "podAffinity": self.pod_affinity() if self.theme("company", 0.4) else None,
            "podAntiAffinity": self.pod_affinity() if self.theme("distance", 0.5) else None,
        }
        spec["affinity"] = affinity if any(affinity.values()) else None
        if self.theme("spread", 0.8):
            spec["topologySpreadConstraints"] = self.spreads()
        labels = {key: self.random.choice(("a", "b")) for key in LABELS if self.chance(0.6)}
        namespace = self.random.choice(tuple(NAMESPACES))
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": spec,
        }

    def container(self, name: str, first: bool = False) -> Obj:
        requests = {
            "cpu": self.some(0.6, self.random.choice(("100m", "500m", "1", "0.0001"))),
            "memory": self.some(0.5, self.random.choice(MEMORY)) if "amounts" in self.themes else "1Gi",
            "ephemeral-storage": self.some(0.1, self.random.choice(("1Gi", "1Pi", "3Pi"))),
        }
        limits = {name: value for name, value in requests.items() if value and self.chance(0.3)}
        if self.chance(0.2):
            requests[GPU] = limits[GPU] = self.random.choice(("1", "2"))
        if self.chance(0.08):
            requests[DRA_GPU] = limits[DRA_GPU] = "1"
        container: Obj = {
            "name": name,
            "image": "example.com/image",
            "resources": {
                "requests": {name: value for name, value in requests.items() if value},
                "limits": limits,
            },
        }
        if self.theme("ports", 0.6):
            container["ports"] = [self.port({"c0": 80, "c1": 81, "i0": 82, "i1": 83}[name])]
        if first and self.chance(0.5):
            container["restartPolicy"] = "Always"
        elif self.theme("features", 0.4):
            container["restartPolicy"] = "Never"
            exits = {"operator": "In", "values": [42]}
            container["restartPolicyRules"] = [{"action": "RestartAllContainers", "exitCodes": exits}]
        return container

    def port(self, number: int) -> Obj:
        """A pod names no port twice."""
        return {
            "containerPort": number,
            "hostPort": number,
            "protocol": self.random.choice(("TCP", "UDP")),
            "hostIP": self.some(0.4, self.random.choice(("127.0.0.1", "0.0.0.0", "10.0.0.1"))),
        }

    def toleration(self) -> Obj:
        operator = self.random.choice(("Exists", "Equal"))
        return {
            "key": self.random.choice(("dedicated", "spot", UNSCHEDULABLE)),
            "operator": operator,
            "value": self.word() if operator == "Equal" else None,
            "effect": self.some(0.5, self.random.choice(("NoSchedule", "NoExecute"))),
        }

    # -- selectors -------------------------------------------------------------------------------------

    def node_affinity(self) -> Obj:
        terms = [self.node_term() for _ in range(self.random.choice((1, 1, 2)))]
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}

    def node_term(self) -> Obj:
        term: Obj = {}
        if self.chance(0.8):
            term["matchExpressions"] = [self.node_requirement() for _ in range(self.random.choice((1, 2)))]
        if self.chance(0.2):
            operator = self.random.choice(("In", "NotIn"))
            name = self.random.choice(self.nodes)
            term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
        return term

    def node_requirement(self) -> Obj:
        if self.chance(0.3):
            operator = self.random.choice(("Gt", "Lt"))
            return {"key": NUMBER, "operator": operator, "values": [self.random.choice(NUMBERS)]}
        return self.requirement((RACK, ZONE), ("r1", "r2", "za"))

    def requirement(self, keys: tuple[str, ...], values: tuple[str, ...]) -> Obj:
        operator = self.random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        found: Obj = {"key": self.random.choice(keys), "operator": operator}
        if operator in ("In", "NotIn"):
            found["values"] = self.random.sample(values, self.random.choice((1, 2)))
        return found

    def selector(self) -> Obj | None:
        if self.chance(0.1):
            return None
        if self.chance(0.15):
            return {}
        return {
            "matchLabels": self.some(0.6, {self.random.choice(LABELS): self.random.choice(("a", "b"))}),
            "matchExpressions": self.some(0.4, [self.requirement(LABELS, ("a", "b", "c"))]),
        }

    def pod_affinity(self) -> Obj:
        terms = [self.pod_term() for _ in range(self.random.choice((1, 1, 2)))]
        return {"requiredDuringSchedulingIgnoredDuringExecution": terms}

    def pod_term(self) -> Obj:
        term = {
            "topologyKey": self.random.choice((HOSTNAME, ZONE, RACK)),
            "labelSelector": self.selector(),
            "namespaces": self.some(0.2, [self.random.choice(tuple(NAMESPACES))]),
            "namespaceSelector": self.some(0.2, {"matchLabels": {"team": self.random.choice(("a", "b"))}}),
        }
        if term["labelSelector"] and self.chance(0.2):
            keys = self.random.choice(("matchLabelKeys", "mismatchLabelKeys"))
            term[keys] = ["unread"]
        return term

    def spreads(self) -> list[Obj]:
        keys = self.random.sample((HOSTNAME, ZONE, RACK), self.random.choice((1, 1, 2)))
        return [self.spread(key) for key in keys]

    def spread(self, key: str) -> Obj:
        return {
            "topologyKey": key,
            "maxSkew": self.random.choice((1, 1, 2)),
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": self.selector(),
            "minDomains": self.some(0.3, self.random.choice((1, 2, 3))),
            "nodeAffinityPolicy": self.some(0.4, self.random.choice(("Honor", "Ignore"))),
            "nodeTaintsPolicy": self.some(0.4, self.random.choice(("Honor", "Ignore"))),
        }
