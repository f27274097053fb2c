"""Who is told what the API server says of pods and nodes."""

from collections.abc import Iterable, Mapping

from maitred.sandbox.kubelets.kubelet import Kubelet
from maitred.sandbox.kubelets.objects import Node, Pod


class NodeHandler:
    """Tells every kubelet how its node looks to others."""

    def __init__(self, kubelets: Mapping[str, Kubelet]) -> None:
        self._kubelets = kubelets

    def put(self, node: Node) -> None:
        kubelet = self._kubelets.get(node.metadata.name)
        if kubelet is not None:
            kubelet.node = node

    def gone(self, key: str) -> None:
        """A kubelet does not notice: what it runs, it runs on."""

    def settled(self) -> None:
        """Nothing waits for it."""


class PodHandler:
    """Hands pods to the kubelets of their nodes."""

    def __init__(self, kubelets: Mapping[str, Kubelet]) -> None:
        self._kubelets = kubelets
        self._nodes: dict[str, str] = {}
        """The node of each pod, by its key."""
        self._pods: dict[str, dict[str, Pod]] = {}
        """The pods of each node, by their keys; also of nodes that have no kubelet yet."""
        self._is_open = False

    def put(self, pod: Pod) -> None:
        key, node = f"{pod.metadata.namespace}/{pod.metadata.name}", pod.spec.node_name
        self._nodes[key] = node
        self._pods.setdefault(node, {})[key] = pod
        if self._is_open:
            self._hand_over([pod])

    def gone(self, key: str) -> None:
        node = self._nodes.pop(key)
        pod = self._pods[node].pop(key)
        if not self._pods[node]:
            del self._pods[node]
        kubelet = self._kubelets.get(node)
        if kubelet is not None:
            kubelet.lose(pod.metadata.uid)

    def settled(self) -> None:
        """Pods are attended to as they arrive."""

    def open(self) -> None:
        """All that was there before is known."""
        self._is_open = True
        for node in self._kubelets:
            self.welcome(node)

    def welcome(self, node: str) -> None:
        """This node has a kubelet now; pods may have been bound to it before."""
        if self._is_open:
            self._hand_over(sorted(self._pods.get(node, {}).values(), key=seniority))

    def _hand_over(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            kubelet = self._kubelets.get(pod.spec.node_name)
            if kubelet is not None:
                kubelet.take(pod)


def seniority(pod: Pod) -> tuple[bool, str, str]:
    """A list has no order: what runs already goes first, then age."""
    created = pod.metadata.creation_timestamp
    return pod.status.phase != "Running", created.isoformat() if created else "", pod.metadata.name
