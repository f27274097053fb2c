"""Groups in the languages of other schedulers, by labels and annotations that pods already have."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import msgspec

from maitred.model.group import positive
from maitred.model.membership.source import (
    GroupId,
    Members,
    Membership,
    Objects,
    Source,
    in_namespace,
)
from maitred.model.meta import Lean, ObjectMeta, mark
from maitred.model.operators.podgroups import (
    CoschedulingPodGroup,
    ForeignGroup,
    GodelPodGroup,
    KaiPodGroup,
    KoordinatorPodGroup,
    VolcanoPodGroup,
)
from maitred.model.pod import Pod

YUNIKORN, WORKER_SET = "YuniKorn", "LeaderWorkerSet"
YUNIKORN_APP = ("yunikorn.apache.org/app-id", "applicationId")
YUNIKORN_TASK, YUNIKORN_TASKS = "yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups"
LWS_NAME, LWS_INDEX, LWS_SIZE = (
    f"leaderworkerset.sigs.k8s.io/{part}" for part in ("name", "group-index", "size")
)


@dataclass(frozen=True, slots=True)
class Convention:
    """Labels or annotations that name a group; the first that a pod has counts."""

    title: str
    names: tuple[str, ...]
    counts: tuple[str, ...] = ()
    """How many members it takes, said by each of them."""
    objects: type[ForeignGroup] | None = None
    """The objects that say how many, where the pods do not."""


TABLE = (
    Convention("Coscheduling", ("scheduling.x-k8s.io/pod-group",), objects=CoschedulingPodGroup),
    Convention(
        "Volcano",
        ("scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name"),
        ("scheduling.volcano.sh/group-min-member",),
        VolcanoPodGroup,
    ),
    Convention("KAI", ("pod-group-name",), ("kai.scheduler/batch-min-member",), KaiPodGroup),
    Convention(
        "Koordinator",
        (
            "gang.scheduling.koordinator.sh/name",
            "pod-group.scheduling.sigs.k8s.io/name",
            "pod-group.scheduling.sigs.k8s.io",
        ),
        ("gang.scheduling.koordinator.sh/min-available", "pod-group.scheduling.sigs.k8s.io/min-available"),
        KoordinatorPodGroup,
    ),
    Convention("Kueue", ("kueue.x-k8s.io/pod-group-name",), ("kueue.x-k8s.io/pod-group-total-count",)),
    Convention("Armada", ("armadaproject.io/gangId",), ("armadaproject.io/gangCardinality",)),
    Convention("Gödel", ("godel.bytedance.com/pod-group-name",), objects=GodelPodGroup),
)


class TaskGroup(Lean, frozen=True):
    min_member: int = 0


def by_convention(convention: Convention, pod: Pod) -> Membership | None:
    about = pod.metadata
    name = first_mark(about, convention.names)
    if name is None:
        return None
    count = positive(first_mark(about, convention.counts) or "")
    return Membership(GroupId(convention.title, in_namespace(about, name)), count)


def by_application(pod: Pod) -> Membership | None:
    about = pod.metadata
    app = first_mark(about, YUNIKORN_APP)
    if app is None or mark(about, YUNIKORN_TASK) is None:
        return None
    try:
        tasks = msgspec.json.decode(mark(about, YUNIKORN_TASKS) or "[]", type=tuple[TaskGroup, ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        tasks = ()
    count = sum(max(task.min_member, 0) for task in tasks) or None
    return Membership(GroupId(YUNIKORN, in_namespace(about, app)), count)


def by_worker_set(pod: Pod) -> Membership | None:
    about = pod.metadata
    name, index = mark(about, LWS_NAME), mark(about, LWS_INDEX)
    if name is None or index is None:
        return None
    count = positive(mark(about, LWS_SIZE) or "")
    return Membership(GroupId(WORKER_SET, in_namespace(about, f"{name}-{index}")), count)


def quorum_as_said(
    id: GroupId, members: Members, known: Objects, objects: type[ForeignGroup] | None = None
) -> int | None:
    """By the object of the group, or else by its pods; the least, should they disagree."""
    group = None if objects is None else known.find(objects, id.key)
    if group is not None and group.spec.min_member > 0:
        return group.spec.min_member
    return min(members.counts, default=None)


def first_mark(about: ObjectMeta, keys: Iterable[str]) -> str | None:
    return next((value for key in keys if (value := mark(about, key))), None)


CONVENTIONS = (
    *(
        Source(
            one.title,
            keys=(*one.names, *one.counts),
            find=partial(by_convention, one),
            quorum=partial(quorum_as_said, objects=one.objects),
        )
        for one in TABLE
    ),
    Source(YUNIKORN, (*YUNIKORN_APP, YUNIKORN_TASK, YUNIKORN_TASKS), by_application, quorum_as_said),
    Source(WORKER_SET, (LWS_NAME, LWS_INDEX, LWS_SIZE), by_worker_set, quorum_as_said),
)
