"""How kube-scheduler 1.37 chooses among nodes by default, for pods that state no wishes of their own.

Its other scores (taints, affinity, spread, images) are then the same for every node and are left out. Numbers
are rounded as kube-scheduler rounds them, so that there are the same ties. CPU and memory are rows 0 and 1 of
every array, nodes are the last axis. GPUs are filtered by, never scored.
"""

from collections.abc import Iterable

import msgspec
import numpy as np

from maitred.cluster.nodes import Ints
from maitred.model.pod import Container, PodSpec
from maitred.model.quantity import CPU, MEMORY
from maitred.model.requests import pod_requests

FULL = 100
FEWEST_SCORED = 100
DEFAULT_REQUESTS = {CPU: "100m", MEMORY: "200Mi"}


def nodes_to_score(nodes: int) -> int:
    """How many nodes that will do are enough: of large clusters, only a part is looked at for each pod."""
    if nodes < FEWEST_SCORED:
        return nodes
    percent = max(50 - nodes // 125, 5)
    return max(nodes * percent // 100, FEWEST_SCORED)


def scored_requests(spec: PodSpec) -> tuple[int, int]:
    """CPU and memory as the score counts them: a container that does not say takes a little all the same."""
    told = msgspec.structs.replace(
        spec, containers=_all_told(spec.containers), init_containers=_all_told(spec.init_containers)
    )
    requests = pod_requests(told)
    return requests.get(CPU, 0), requests.get(MEMORY, 0)


def _all_told(containers: Iterable[Container]) -> tuple[Container, ...]:
    return tuple(_told(container) for container in containers)


def _told(container: Container) -> Container:
    resources = container.resources
    requests = {**DEFAULT_REQUESTS, **resources.limits, **resources.requests}
    return msgspec.structs.replace(container, resources=msgspec.structs.replace(resources, requests=requests))


def least_allocated(requested: Ints, capacity: Ints) -> Ints:
    """NodeResourcesFit: percent left free, on average over what the node has at all."""
    left = np.maximum(capacity - requested, 0) * FULL // np.maximum(capacity, 1)
    counted = np.sign(capacity)
    score: Ints = (left[0] + left[1]) // np.maximum(counted[0] + counted[1], 1)
    return score


def balanced_allocation(requested: Ints, capacity: Ints) -> Ints:
    """NodeResourcesBalancedAllocation: whether CPU and memory come to be used more evenly, or less.

    `requested` has what is requested before the pod comes and after, one behind the other. For pods that ask
    for neither, kube-scheduler leaves this out; here every node scores the same, which comes to the same.
    """
    share = np.minimum(requested / np.maximum(capacity, 1), 1.0)
    uneven = np.abs(share[:, 0] - share[:, 1]) / 2 * capacity.all(axis=0)
    before, after = ((1 - uneven) * FULL).astype(np.int64)
    score: Ints = FULL // 2 + (FULL // 2 + after - before) // 2
    return score
