"""A verdict in one sentence, as conditions and events carry it."""

from maitred.model.categories import CATEGORIES
from maitred.model.plan import Blocker, GroupVerdict

UNSCHEDULABLE = "Unschedulable"
"""The reason that autoscalers buy nodes on."""
SCHEDULER_ERROR = "SchedulerError"


def verdict_words(group: GroupVerdict) -> str:
    """`Waiting: Capacity: needs ...`, or `Scheduled: ...`."""
    if group.verdict == "Scheduled":
        where = "".join(f", {level} {domain}" for level, domain in group.domains.items())
        return f"Scheduled: {group.placed_words}{where}"
    return pod_words(group)


def pod_words(group: GroupVerdict) -> str:
    """What a member without a seat waits for, also where the others have theirs."""
    return f"{pod_head(group)}: {group.blockers[0].message}"


def blocker_words(blocker: Blocker) -> str:
    """`Capacity: needs ...`."""
    return f"{blocker.category}: {blocker.message}"


def pod_reason(group: GroupVerdict, requested: bool = False) -> str:
    """The reason of PodScheduled=False for a member: `Unschedulable` only where more nodes would help.

    An autoscaler does not buy any for a pod that has a node promised. `requested`: nodes are asked for by
    requests, so it shall not buy any for pods.
    """
    if group.verdict == "Invalid":
        return SCHEDULER_ERROR
    if group.verdict == "Preempting":
        return UNSCHEDULABLE
    category = group.blockers[0].category
    if requested:
        return "Impossible" if group.verdict == "Impossible" else category
    if group.verdict == "Impossible":
        return UNSCHEDULABLE if CATEGORIES[category].larger_cluster_helps else "Impossible"
    return UNSCHEDULABLE if CATEGORIES[category].more_nodes_help else category


def group_reason(group: GroupVerdict) -> str:
    """The reason of the group's condition, in the words of the API."""
    if group.verdict == "Scheduled":
        return "Scheduled"
    return SCHEDULER_ERROR if group.verdict == "Invalid" else UNSCHEDULABLE


def head_of(group: GroupVerdict) -> str:
    """`Waiting: Capacity`, or `Scheduled`: a change of this is news, a change of numbers is not."""
    return "Scheduled" if group.verdict == "Scheduled" else pod_head(group)


def pod_head(group: GroupVerdict) -> str:
    """The same for what is told of its members without a place; empty if nothing is in their way."""
    if not group.blockers:
        return ""
    verdict = "Waiting" if group.verdict == "Scheduled" else group.verdict
    return f"{verdict}: {group.blockers[0].category}"


def begins_with(message: str, head: str) -> bool:
    """Whether a message that was written earlier is one of this head."""
    return message.startswith(f"{head}: ")
