"""kube-scheduler's default choice for one pod, said again in the plainest way: one node after the other."""

from dataclasses import dataclass

from tests.simulate.seating.groups import MI


@dataclass
class PlainPod:
    cpu: int | None
    """Thousandths of a core; None where the pod does not say."""
    memory: int | None
    gpu: int = 0

    @property
    def asked(self) -> tuple[int, int]:
        return self.cpu or 0, self.memory or 0

    @property
    def counted(self) -> tuple[int, int]:
        return 100 if self.cpu is None else self.cpu, 200 * MI if self.memory is None else self.memory


@dataclass
class PlainNode:
    cpu: int
    memory: int
    gpu: int
    pods: list[PlainPod]
    ready: bool = True


def fits(node: PlainNode, pod: PlainPod) -> bool:
    cpu, memory = pod.asked
    return (
        node.ready
        and len(node.pods) < 110
        and (not cpu or sum(p.asked[0] for p in node.pods) + cpu <= node.cpu)
        and (not memory or sum(p.asked[1] for p in node.pods) + memory <= node.memory)
        and (not pod.gpu or sum(p.gpu for p in node.pods) + pod.gpu <= node.gpu)
    )


def score(node: PlainNode, pod: PlainPod) -> int:
    return least(node, pod) + (balanced(node, pod) if any(pod.asked) else 0)


def least(node: PlainNode, pod: PlainPod) -> int:
    total = resources = 0
    for which, capacity in enumerate((node.cpu, node.memory)):
        if capacity:
            taken = sum(other.counted[which] for other in [*node.pods, pod])
            total += 0 if taken > capacity else (capacity - taken) * 100 // capacity
            resources += 1
    return total // resources if resources else 0


def balanced(node: PlainNode, pod: PlainPod) -> int:
    return 50 + (50 + evenness(node, [*node.pods, pod]) - evenness(node, node.pods)) // 2


def evenness(node: PlainNode, pods: list[PlainPod]) -> int:
    if not (node.cpu and node.memory):
        return 100
    cpu = min(float(sum(pod.asked[0] for pod in pods)) / float(node.cpu), 1.0)
    memory = min(float(sum(pod.asked[1] for pod in pods)) / float(node.memory), 1.0)
    return int((1 - abs((cpu - memory) / 2)) * 100.0)


def best(nodes: dict[str, PlainNode], pod: PlainPod) -> set[str]:
    """The nodes that tie for the best; none if the pod fits nowhere."""
    scores = {name: score(node, pod) for name, node in nodes.items() if fits(node, pod)}
    return {name for name, value in scores.items() if value == max(scores.values())}
