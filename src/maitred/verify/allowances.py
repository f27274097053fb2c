"""Whose protection counts, by `preemption.protection` of the policy.

A namespace that its selector does not match protects none of its pods. One that it does match protects so
many devices, and a pod without any counts as one. Groups are protected as a whole, in the order of their
first start, by name where that is equal; those that do not fit into what is left go without.
"""

from .case import Case
from .counted import devices_of
from .groups import Group
from .impossible import stays
from .pods import Pod
from .protection import Marks, own_over_group, read_marks, shield
from .selectors import labels_of_namespace, matches
from .times import thousandths


def marks_of(case: Case, pod: Pod) -> Marks:
    """What counts for a pod: its own marks, and its group's where it has none."""
    return own_over_group(read_marks(pod.labels, pod.annotations), case.leaf_of[pod.key].marks)


def heeded(case: Case) -> set[str]:
    """Pods that are protected now, and may be."""
    rules, spaces = case.policy.preemption, case.cluster.namespaces
    shielded: dict[str, dict[int, list[Pod]]] = {}
    for pod in case.cluster.pods.values():
        here = pod.running or case.lingers(pod)
        if here and not stays(pod) and shield(pod, marks_of(case, pod), case.now) is not None:
            units = shielded.setdefault(pod.namespace, {})
            units.setdefault(id(case.leaf_of[pod.key]), []).append(pod)
    found: set[str] = set()
    for namespace, units in shielded.items():
        labels = labels_of_namespace(namespace, spaces)
        if rules.protectors is None or matches(rules.protectors, labels):
            found |= _allowed(case, list(units.values()))
    return found


def _allowed(case: Case, units: list[list[Pod]]) -> set[str]:
    left, found = case.policy.preemption.protected_devices, set[str]()
    for pods in sorted(units, key=lambda pods: _turn(case.leaf_of[pods[0].key], pods)):
        devices = sum(max(1, devices_of(case, pod) or 0) for pod in pods)
        if left is None or devices <= left:
            found |= {pod.key for pod in pods}
            left = None if left is None else left - devices
    return found


def _turn(group: Group, pods: list[Pod]) -> tuple[float, str]:
    starts = [thousandths(pod.started) for pod in pods if pod.started is not None]
    return min(starts, default=float("inf")), group.key
