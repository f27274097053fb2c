"""A verdict in one sentence, as conditions and events carry it."""

from maitred.model.categories import CATEGORIES
from maitred.model.plan import GroupVerdict
from maitred.model.words import counted

UNSCHEDULABLE = "Unschedulable"
"""The reason that autoscalers buy nodes on."""
SCHEDULER_ERROR = "SchedulerError"


def verdict_words(group: GroupVerdict) -> str:
    """`Waiting: Capacity: needs ...`, or `Scheduled: ...`."""
    if group.verdict == "Scheduled":
        where = "".join(f", {level} {domain}" for level, domain in group.domains.items())
        return f"Scheduled: {group.placed} of {counted(group.members, 'member')} placed{where}"
    return pod_words(group)


def pod_words(group: GroupVerdict) -> str:
    """What a member without a seat waits for, also where the others have theirs."""
    first = group.blockers[0]
    verdict = "Waiting" if group.verdict == "Scheduled" else group.verdict
    return f"{verdict}: {first.category}: {first.message}"


def pod_reason(group: GroupVerdict) -> str:
    """The reason of PodScheduled=False for a member: `Unschedulable` only where more nodes would help.

    An autoscaler does not buy any for a pod that has a node promised.
    """
    if group.verdict == "Invalid":
        return SCHEDULER_ERROR
    if group.verdict == "Preempting":
        return UNSCHEDULABLE
    category = group.blockers[0].category
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
    return head_of_words(verdict_words(group))


def head_of_words(words: str) -> str:
    """The same, of a message that was written earlier."""
    parts = words.split(": ")
    return parts[0] if parts[0] == "Scheduled" else ": ".join(parts[:2])
