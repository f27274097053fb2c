"""How many devices a running pod has: what it asks for by resources, and what its claims have been given.

A device that several claims share, or that is a part of another, is one device of the first pod by name, and
which devices are parts of one takes more than the claims tell. Of pods with such devices, and of members of a
PodGroup that has a claim, the number is left open.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from .case import Case
from .claims import Result, consumers, results_of
from .pods import Pod


def devices_of(case: Case, pod: Pod) -> int | None:
    node = case.cluster.nodes.get(pod.node_name)
    served = {name for name in pod.by_class if node is not None and not node.allocatable.get(name)}
    count = case.policy.device_count({name: n for name, n in pod.requests.items() if name not in served})
    for users, result in _claimed(case, pod):
        pool = case.cluster.pools.get(result.device[:2])
        device = None if pool is None else pool.devices.get(result.device)
        if device is None or not _is_counted(case, result):
            continue
        if result.share or device.counters or any(kind != "pods" for kind, _ in users):
            return None
        count += min(name for _, name in users) == pod.name
    return count


def _claimed(case: Case, pod: Pod) -> Iterator[tuple[list[tuple[str, str]], Result]]:
    """The devices of its claims, and who uses each of these claims."""
    own = {("pods", pod.name), ("podgroups", pod.group_name)}
    for key, claim in case.cluster.device_objects["ResourceClaim"].items():
        users = [(kind, name) for _, kind, name, _ in consumers(claim.doc("status"))]
        if key in case.cluster.allocations and key.startswith(f"{pod.namespace}/") and own & set(users):
            for result in results_of(case.cluster.allocations[key]):
                if not result.admin:
                    yield users, result


def _is_counted(case: Case, result: Result) -> bool:
    """By its driver, or by the resource that a device plugin would offer it as."""
    driver = result.device[0]
    first, _, domain = driver.partition(".")
    names = (driver, f"{domain}/{first}") if domain else (driver,)
    return any(fnmatchcase(name, pattern) for name in names for pattern in case.policy.devices)
