"""Priorities: what pods and groups are worth, and where they must agree on it."""

from .conventions import BY_TITLE, foreign_quorum
from .fields import Doc
from .groups import PREEMPT, Group, ancestors
from .objects import Cluster
from .pods import Pod

BUILTIN_CLASSES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}


def pod_priority(cluster: Cluster, pod: Pod) -> int | None:
    """The priority of a pod; None for a class that nobody knows."""
    return _priority(cluster, pod.priority, pod.priority_class)


def standing(cluster: Cluster, group: Group, pod: Pod) -> int | None:
    """What a pod on a node ranks as when others need its place."""
    return group.rank if group.ranked else pod_priority(cluster, pod)


def _priority(cluster: Cluster, value: int | None, name: str) -> int | None:
    if value is not None:
        return value
    if name:
        known = cluster.priority_classes.get(name)
        return known.value if known else BUILTIN_CLASSES.get(name)
    defaults = [known for known in cluster.priority_classes.values() if known.default]
    return min((known.value for known in defaults), default=0)


def _preemption_policy(cluster: Cluster, pod: Pod) -> str:
    if pod.preemption_policy:
        return pod.preemption_policy
    known = cluster.priority_classes.get(pod.priority_class)
    if not pod.priority_class:
        known = next((c for c in cluster.priority_classes.values() if c.default), None)
    return (known.preemption_policy if known else "") or PREEMPT


def read_rank(group: Group, doc: Doc | None, cluster: Cluster) -> None:
    """What its members on nodes are worth as victims."""
    spec = doc.doc("spec") if doc else Doc(None, group.key)
    group.rank = _rank(cluster, group, spec)
    placed = {pod_priority(cluster, pod) for pod in group.members if pod.node_name and not pod.finished}
    group.ranked = _stated(cluster, group, spec) is not None
    group.at_odds = not group.ranked and len(placed) > 1


def agree_on_priority(group: Group, spec: Doc, cluster: Cluster) -> None:
    """Members must agree with the group, and with each other; only unfinished ones are asked."""
    asked = group.active or group.members
    priorities = {pod_priority(cluster, pod) for pod in asked}
    if states_priority(spec):
        value = spec.integer("priority") if spec.given("priority") else None
        priorities.add(_priority(cluster, value, spec.text("priorityClassName")))
    policies = {_preemption_policy(cluster, pod) for pod in asked}
    group.priority = priorities.pop() if len(priorities) == 1 else None
    group.preemption_policy = min(policies, default=PREEMPT)
    if group.rank is None:
        group.rank = _rank(cluster, group, spec)
    if group.active and group.priority is None:
        group.problems.append("priorities that are unknown or differ")
    if group.active and len(policies) > 1:
        group.problems.append("members differ in preemptionPolicy")
    if spec.given("preemptionPolicy") and {spec.text("preemptionPolicy")} != policies:
        group.doubts.append("preemptionPolicy differs from that of the group")
    leaving = [pod for pod in group.members if pod.terminating]
    if {pod_priority(cluster, pod) for pod in leaving} - {group.priority} or (
        {_preemption_policy(cluster, pod) for pod in leaving} - policies
    ):
        group.doubts.append("a terminating member differs in priority")


def states_priority(spec: Doc) -> bool:
    """1.36 writes a 0 into groups that it makes from a template without a class: that states nothing."""
    if spec.raw.get("priority") == 0 and spec.doc("podGroupTemplateRef").raw:
        return bool(spec.text("priorityClassName"))
    return spec.given("priority") or bool(spec.text("priorityClassName"))


def _stated(cluster: Cluster, group: Group, spec: Doc) -> Doc | None:
    """Who states its priority: the topmost composite, else the group."""
    documents = (*list(ancestors(cluster, group).values())[-1:], spec)
    return next((one for one in documents if states_priority(one)), None)


def _rank(cluster: Cluster, group: Group, spec: Doc) -> int | None:
    """What is stated, else the highest of its members."""
    stated = _stated(cluster, group, spec)
    if stated is not None:
        value = stated.integer("priority") if stated.given("priority") else None
        return _priority(cluster, value, stated.text("priorityClassName"))
    members = [pod_priority(cluster, pod) for pod in group.members if not pod.finished]
    known = [priority for priority in members if priority is not None]
    return max(known) if known and len(known) == len(members) else None


def foreign_priority(group: Group, cluster: Cluster) -> Doc | None:
    """What the PodGroup of another scheduler says, if there is such a class at all."""
    if group.kind not in ("Volcano", "KAI"):
        return None
    doc = cluster.foreign_groups.get(BY_TITLE[group.kind].group, {}).get(group.key)
    unread = doc is None or foreign_quorum(doc, group.kind) is None
    name = "" if doc is None or unread else doc.doc("spec").text("priorityClassName")
    known = name in cluster.priority_classes or name in BUILTIN_CLASSES
    return Doc({"spec": {"priorityClassName": name}}, group.key) if known else None
