"""Which pods belong together: by what they say in the language of the scheduler that they were written for.

A pod that says nothing belongs to whoever made it, if that is of a kind whose pods need each other. Whatever
leaves a doubt is no gang: an audit that cries wolf is not read twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from maitred.model import training
from maitred.model.group import group_key, names_pod_group, positive
from maitred.model.meta import Lean, ObjectMeta, mark
from maitred.model.owners import kind_of
from maitred.model.pod import Pod

MARKS, POD_GROUP, JOB, JOB_SET, TRAINING = "maitred.dev", "PodGroup", "Job", "JobSet", "Kubeflow"
YUNIKORN, WORKER_SET, RAY = "YuniKorn", "LeaderWorkerSet", "Ray"
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"


@dataclass(frozen=True, slots=True)
class Convention:
    """Labels or annotations that name a group; the first that a pod has counts."""

    title: str
    names: tuple[str, ...]
    counts: tuple[str, ...] = ()
    """How many members it takes, said by each of them."""
    objects: str = ""
    """The API group whose PodGroups say how many, where the pods do not."""


CONVENTIONS = (
    Convention("Coscheduling", ("scheduling.x-k8s.io/pod-group",), objects="scheduling.x-k8s.io"),
    Convention(
        "Volcano",
        ("scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name"),
        ("scheduling.volcano.sh/group-min-member",),
        "scheduling.volcano.sh",
    ),
    Convention("KAI", ("pod-group-name",), ("kai.scheduler/batch-min-member",), "scheduling.run.ai"),
    Convention(
        "Koordinator",
        (
            "gang.scheduling.koordinator.sh/name",
            "pod-group.scheduling.sigs.k8s.io/name",
            "pod-group.scheduling.sigs.k8s.io",
        ),
        ("gang.scheduling.koordinator.sh/min-available", "pod-group.scheduling.sigs.k8s.io/min-available"),
        "scheduling.sigs.k8s.io",
    ),
    Convention("Kueue", ("kueue.x-k8s.io/pod-group-name",), ("kueue.x-k8s.io/pod-group-total-count",)),
    Convention("Armada", ("armadaproject.io/gangId",), ("armadaproject.io/gangCardinality",)),
    Convention("Gödel", ("godel.bytedance.com/pod-group-name",), objects="scheduling.godel.kubewharf.io"),
)
OBJECTS = {convention.title: convention.objects for convention in CONVENTIONS}

LWS = "leaderworkerset.sigs.k8s.io/"
YUNIKORN_APP = ("yunikorn.apache.org/app-id", "applicationId")
YUNIKORN_TASK, YUNIKORN_TASKS = "yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups"
RAY_CLUSTER, RAY_GANG = "ray.io/cluster", "ray.io/gang-scheduling-enabled"
GROUPINGS = frozenset(
    {
        *(key for convention in CONVENTIONS for key in (*convention.names, *convention.counts)),
        *(f"{LWS}{part}" for part in ("name", "group-index", "size")),
        *YUNIKORN_APP,
        *(YUNIKORN_TASK, YUNIKORN_TASKS, JOB_SET_NAME, RAY_CLUSTER, RAY_GANG),
    }
)
"""Every label or annotation that is looked at here."""


@dataclass(frozen=True, slots=True)
class Bond:
    """What makes pods one group."""

    by: str
    """Whose language it is said in, or the kind of their owner."""
    key: str
    """`namespace/name`."""
    quorum: int | None = None
    """As this pod has it; None where others must say it."""
    uid: str = ""
    """Of the owner: one that was made anew under its name is another one."""


class TaskGroup(Lean, frozen=True):
    min_member: int = 0


def bond_of(pod: Pod) -> Bond | None:
    """The group that a pod names, or that its owner makes it part of; None for a pod on its own."""
    about = pod.metadata
    if key := group_key(pod):
        return Bond(POD_GROUP if names_pod_group(pod) else MARKS, key)
    return said(about) or yunikorn(about) or worker_set(about) or owned(about)


def said(about: ObjectMeta) -> Bond | None:
    for convention in CONVENTIONS:
        if name := first_mark(about, convention.names):
            count = first_mark(about, convention.counts)
            return Bond(convention.title, placed(about, name), positive(count or ""))
    return None


def yunikorn(about: ObjectMeta) -> Bond | None:
    app = first_mark(about, YUNIKORN_APP)
    if app is None or mark(about, YUNIKORN_TASK) is None:
        return None
    try:
        tasks = msgspec.json.decode(mark(about, YUNIKORN_TASKS) or "[]", type=tuple[TaskGroup, ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        tasks = ()
    return Bond(YUNIKORN, placed(about, app), sum(max(task.min_member, 0) for task in tasks) or None)


def worker_set(about: ObjectMeta) -> Bond | None:
    name, index = mark(about, f"{LWS}name"), mark(about, f"{LWS}group-index")
    if name is None or index is None:
        return None
    return Bond(WORKER_SET, placed(about, f"{name}-{index}"), positive(mark(about, f"{LWS}size") or ""))


def owned(about: ObjectMeta) -> Bond | None:
    """What its owner makes of a pod, whatever group it names."""
    if name := mark(about, JOB_SET_NAME):
        return Bond(JOB_SET, placed(about, name))
    if (name := mark(about, RAY_CLUSTER)) and mark(about, RAY_GANG) is not None:
        return Bond(RAY, placed(about, name))
    for owner in about.owner_references:
        kind = kind_of(owner)
        if owner.controller and kind == JOB:
            return Bond(JOB, placed(about, owner.name), uid=owner.uid)
        if owner.controller and kind in training.KINDS:
            return Bond(TRAINING, placed(about, owner.name), uid=owner.uid)
    return None


def first_mark(about: ObjectMeta, keys: Iterable[str]) -> str | None:
    return next((value for key in keys if (value := mark(about, key))), None)


def placed(about: ObjectMeta, name: str) -> str:
    return f"{about.namespace or 'default'}/{name}"
