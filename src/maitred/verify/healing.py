"""What a Plan does because hardware has failed: it deletes only what is lost, and keeps room for what
is missing.

What is lost is read here from nodes, pods and what is remembered, and not from what the Plan says of it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from .case import Breach, Case, breach
from .fields import Doc
from .groups import Group
from .pods import Pod
from .rules import Bind
from .slow import slow_members, wrongly_replaced
from .times import instant, thousandths

CAUSE = "Healing"
HOME, MEMORY = "maitred-system", "maitred-health"
LOSING = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/out-of-service",
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.cloudprovider.kubernetes.io/uninitialized",
)
IDLE_RULES = ("none", "hold")


def is_healing(hold: Doc) -> bool:
    return hold.text("cause") == CAUSE


def seat_healed(case: Case) -> None:
    """Put a member into the room that the Plan keeps for each that is missing."""
    for group, seats in _seats(case).items():
        case.reserved += seats
        case.healed.add(group)
        for pod, _ in seats:
            case.group_of[pod.key] = group
        case.vague = case.vague or len({_kind(pod) for pod in group.members}) > 1


def _seats(case: Case) -> dict[Group, list[Bind]]:
    found = dict[Group, list[Bind]]()
    by_key = {group.key: group for group in case.groups if group.gang and group.members}
    for number, hold in enumerate(case.plan.docs("holds")):
        group, node = by_key.get(hold.text("group")), case.cluster.nodes.get(hold.text("node"))
        if is_healing(hold) and group is not None and node is not None:
            for copy in range(min(hold.integer("pods"), len(group.members))):
                pod = replace(
                    _like(group), name=f"{group.members[0].name}:healed{number}.{copy}", node_name=""
                )
                found.setdefault(group, []).append((pod, node))
    return found


def _like(group: Group) -> Pod:
    return next(iter(group.pending or group.running or group.members))


def _kind(pod: Pod) -> object:
    return frozenset(pod.requests.items()), pod.ports, pod.node_selector, str(pod.node_terms)


# -- judging -----------------------------------------------------------------------------------------------


def judge_healing(case: Case) -> Iterator[Breach]:
    yield from _judge_holds(case)
    for entry in case.plan.docs("healing"):
        for said in entry.docs("pods"):
            if said.flag("delete"):
                for reason in _wrongly_deleted(case, entry, said):
                    yield breach(5, said.text("pod"), f"deleted to heal {entry.text('group')}, but {reason}")


def _judge_holds(case: Case) -> Iterator[Breach]:
    held, ends = Counter[str](), dict[str, str]()
    for hold in case.plan.docs("holds"):
        if is_healing(hold):
            held[hold.text("group")] += hold.integer("pods")
            ends[hold.text("group")] = hold.text("until")
            if hold.text("node") not in case.cluster.nodes:
                yield breach(1, hold.text("group"), "room is kept for it on a node that does not exist")
    for key, pods in sorted(held.items()):
        groups = [group for group in case.groups if group.key == key and group.gang]
        for reason in _kept_for_nothing(case, groups, pods, instant(ends[key])):
            yield breach(
                7, key, f"room is kept for {pods} members that take the place of lost ones, but {reason}"
            )


def _kept_for_nothing(case: Case, groups: list[Group], pods: int, until: int | None) -> Iterator[str]:
    if not groups:
        yield "there is no such gang"
        return
    lost = max(len({*_lost(case, group), *slow_members(case, group)}) for group in groups)
    missing = max((group.quorum or 0) - group.counted for group in groups) + lost
    if pods > missing:
        yield f"its quorum lacks {missing}"
    remembered = _remembered(case, groups[0].key)
    failed = any(pod.deleting or pod.phase == "Failed" for group in groups for pod in group.members)
    if not (lost or remembered or failed):
        yield "nothing has failed under it"
    if until is None:
        yield "it is not said until when"
    elif case.now is not None and until <= case.now:
        yield "that time is over"
    elif case.now is not None and until > max([case.now + case.policy.hold, *remembered]):
        yield "that is for longer than the policy says"


def _wrongly_deleted(case: Case, entry: Doc, said: Doc) -> Iterator[str]:
    pod = case.cluster.pods.get(said.text("pod"))
    if pod is None or pod.uid != said.text("uid") or not pod.running:
        yield "no such pod runs"
        return
    group = case.group_of[pod.key]
    if group.key != entry.text("group"):
        yield f"it is a member of {group.key}"
    if pod.controller is None:
        yield "no controller would recreate it"
    if entry.text("rule") in IDLE_RULES:
        yield f"the rule is {entry.text('rule')}"
    if pod in _lost(case, group):
        return
    slow = slow_members(case, group)
    if pod not in slow:
        yield "nothing has failed under it"
        return
    told = {one.text("pod") for one in entry.docs("pods") if one.flag("delete")}
    yield from wrongly_replaced(case, group, [one for one in slow if one.key in told])


# -- what is lost ------------------------------------------------------------------------------------------


def _lost(case: Case, group: Group) -> list[Pod]:
    lost = [pod for pod in group.running if _is_on_lost_node(case, pod) or _is_device_broken(case, pod)]
    if not lost or group.counted - len(lost) >= (group.quorum or 0):
        return lost
    # It does not work any more: members on nodes that have fallen silent since then are lost with the others.
    return [pod for pod in group.running if pod in lost or _is_on_silent_node(case, pod)]


def _is_on_silent_node(case: Case, pod: Pod) -> bool:
    node = case.cluster.raw.get(("Node", pod.node_name))
    if node is None or case.now is None:
        return False
    return any(thousandths(at) <= case.now for at in _lost_since(node))


def _is_on_lost_node(case: Case, pod: Pod) -> bool:
    node = case.cluster.raw.get(("Node", pod.node_name))
    if node is None:
        return bool(case.cluster.nodes)
    since = list(_lost_since(node))
    if case.now is None:
        return bool(since)
    return any(thousandths(at) + case.policy.grace <= case.now for at in since)


def _lost_since(node: Doc) -> Iterator[float]:
    for condition in node.doc("status").docs("conditions"):
        at = condition.moment("lastTransitionTime")
        if condition.text("type") == "Ready" and condition.text("status") != "True" and at is not None:
            yield at
    for taint in node.doc("spec").docs("taints"):
        at = taint.moment("timeAdded")
        if taint.text("key") in LOSING and at is not None:
            yield at


def _is_device_broken(case: Case, pod: Pod) -> bool:
    raw = case.cluster.raw[("Pod", pod.key)]
    return any(
        device.text("health") == "Unhealthy"
        for status in raw.doc("status").docs("containerStatuses")
        for said in status.docs("allocatedResourcesStatus")
        for device in said.docs("resources")
    )


def is_healed(case: Case, group: Group) -> bool:
    """Whether something is done for it now, because hardware has failed under it."""
    now = (one for one in case.plan.docs("healing") if one.text("group") == group.key)
    if group in case.healed or any(one.text("rule") != "none" for one in now):
        return True
    return any(not one.given("ended") for one in _incidents(case, group.key))


def _remembered(case: Case, group: str) -> list[int]:
    """Until when room is kept for a group, by what was remembered before."""
    try:
        open_ones = [one for one in _incidents(case, group) if not one.given("ended")]
        ends = [instant(one.text("heldUntil")) for one in open_ones]
    except ValueError:
        return []
    return [end for end in ends if end is not None]


def _incidents(case: Case, group: str) -> list[Doc]:
    kept = case.cluster.raw.get(("ConfigMap", f"{HOME}/{MEMORY}"))
    text = "" if kept is None else kept.doc("data").text("record")
    try:
        memory = Doc(json.loads(text or "{}"), "what is remembered")
        return [one for one in memory.docs("incidents") if one.text("group") == group]
    except ValueError:
        return []
