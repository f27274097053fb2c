"""Pods on nodes at one moment. Filters look at a World; placing a pod changes it."""

from collections.abc import Iterable, Iterator

from .objects import Cluster, Node
from .pods import Pod


class World:
    """Which pods are on which nodes, and which volumes are as good as taken."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.on: dict[str, list[Pod]] = {name: [] for name in cluster.nodes}
        self.used: dict[str, dict[str, int]] = {name: {} for name in cluster.nodes}
        # Pods whose anti-affinity keeps others away, with their nodes.
        self.wary: list[tuple[Node, Pod]] = []
        # By claim: the node that a volume will be made for, and the existing volume that it will get.
        self.selected: dict[str, str] = {}
        self.taken: dict[str, str] = {}

    def copy(self) -> "World":
        twin = World(self.cluster)
        twin.on = {name: list(pods) for name, pods in self.on.items()}
        twin.used = {name: dict(used) for name, used in self.used.items()}
        twin.wary = list(self.wary)
        twin.selected, twin.taken = dict(self.selected), dict(self.taken)
        return twin

    def put(self, pod: Pod, node: str) -> None:
        """Add a pod to a node. A node that nobody described cannot be judged, so its pods are left out."""
        if node not in self.on:
            return
        self.on[node].append(pod)
        if pod.anti_affinity:
            self.wary.append((self.cluster.nodes[node], pod))
        used = self.used[node]
        for resource, amount in pod.requests.items():
            used[resource] = used.get(resource, 0) + amount

    def pods(self) -> Iterator[tuple[Node, Pod]]:
        for name, pods in self.on.items():
            node = self.cluster.nodes[name]
            for pod in pods:
                yield node, pod

    def free(self, node: Node, resource: str) -> int:
        return node.allocatable.get(resource, 0) - self.used[node.name].get(resource, 0)


def world_of(cluster: Cluster, pods: Iterable[Pod]) -> World:
    """The world in which these pods are where their `nodeName` says and no others exist."""
    world = World(cluster)
    for pod in pods:
        if pod.holds:
            world.put(pod, pod.node_name)
    return world
