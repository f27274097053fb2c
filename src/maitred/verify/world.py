"""Pods on nodes at one moment. Filters look at a World; placing a pod changes it."""

from collections.abc import Iterable, Iterator

from .objects import Cluster, Node
from .pods import Pod


class World:
    """Which pods are on which nodes, and which volumes are as good as taken.

    Copies share what neither of them changes: most look at a few nodes only.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.on: dict[str, list[Pod]] = {name: [] for name in cluster.nodes}
        self.used: dict[str, dict[str, int]] = {name: {} for name in cluster.nodes}
        # Pods whose anti-affinity keeps others away, with their nodes.
        self.wary: list[tuple[Node, Pod]] = []
        # By claim: the node that a volume will be made for, and the existing volume that it will get.
        self.selected: dict[str, str] = {}
        self.taken: dict[str, str] = {}
        # By claim: the existing volume that a Plan says it gets; empty where it says that one is made.
        self.given: dict[str, str] = {}
        self._own = set(cluster.nodes)
        # Who was there when all began; of an empty cluster nobody asks what is still attached.
        self.at_first: dict[str, list[Pod]] = {name: [] for name in cluster.nodes}
        for pod in cluster.pods.values():
            if pod.holds and pod.node_name in self.at_first:
                self.at_first[pod.node_name].append(pod)
        self.occupied = True

    def copy(self) -> "World":
        twin = World.__new__(World)
        twin.cluster = self.cluster
        twin.on, twin.used = dict(self.on), dict(self.used)
        twin.wary = list(self.wary)
        twin.selected, twin.taken = dict(self.selected), dict(self.taken)
        twin.given = self.given
        twin.at_first, twin.occupied = self.at_first, self.occupied
        twin._own = set()
        self._own = set()
        return twin

    def put(self, pod: Pod, node: str) -> None:
        """Add a pod to a node. A node that nobody described cannot be judged, so its pods are left out."""
        if node not in self.on:
            return
        self._make_own(node)
        self.on[node].append(pod)
        if pod.anti_affinity:
            self.wary.append((self.cluster.nodes[node], pod))
        used = self.used[node]
        for resource, amount in pod.requests.items():
            used[resource] = used.get(resource, 0) + amount

    def remove(self, pod: Pod) -> None:
        """Take a pod off the node that it runs on."""
        node = pod.node_name
        if node not in self.on:
            return
        self._make_own(node)
        self.on[node].remove(pod)
        if pod.anti_affinity:
            self.wary = [entry for entry in self.wary if entry[1] is not pod]
        for resource, amount in pod.requests.items():
            self.used[node][resource] -= amount

    def _make_own(self, node: str) -> None:
        if node not in self._own:
            self.on[node], self.used[node] = list(self.on[node]), dict(self.used[node])
            self._own.add(node)

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
