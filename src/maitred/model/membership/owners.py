"""Groups that have no name: what operators make, by the kinds of their objects.

To add a kind: say in `stages` what pods it makes and when, and give it a row here, which says to which of
its stages a pod belongs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import msgspec

from maitred.model import kinds
from maitred.model.group import EACH_JOB, GANG, MIN_COUNT, Group, Marks, no_count, positive, topology_request
from maitred.model.healing import failure_wish
from maitred.model.membership.conventions import all_marks
from maitred.model.membership.jobs import filled
from maitred.model.membership.source import (
    ALL_INDEXES,
    JOB_SET,
    MPI_JOB,
    RAY_CLUSTER,
    WORKER_SET,
    GroupId,
    Indexes,
)
from maitred.model.membership.stages import (
    LEADER,
    WORKERS,
    Stage,
    as_pod,
    stages_of,
)
from maitred.model.membership.words import PodWords
from maitred.model.meta import key_of, own_mark
from maitred.model.objects import Object
from maitred.model.operators.jobset import REPLICATED_JOB, JobSet
from maitred.model.operators.leaderworkerset import LeaderWorkerSet
from maitred.model.operators.ray import RayCluster
from maitred.model.protection import protection_of
from maitred.model.runtime import runtime_of
from maitred.model.training import LAUNCHER, JAXJob, MPIJob, PaddleJob, PyTorchJob, TFJob, XGBoostJob

RESTARTED_ALONE = ("None", "Default")
"""Restart policies of LeaderWorkerSets that leave the rest of a group alone; the second is that of old."""
StageRule = Callable[[Sequence[Stage], Sequence[Object], PodWords], Stage | None]
"""The stage of a pod that says this, with these owners between it and the object; None: of none."""


@dataclass(frozen=True, slots=True)
class OwnerRow:
    kind: type[Object]
    title: str
    stage: StageRule


def in_set(stages: Sequence[Stage], below: Sequence[Object], said: PodWords) -> Stage | None:
    """By the label that a JobSet gives its Jobs."""
    role = below[-1].metadata.labels.get(REPLICATED_JOB, "") if below else ""
    return next((one for one in stages if one.has(role, follows=not said.leads)), None)


def in_worker_set(stages: Sequence[Stage], _: Sequence[Object], said: PodWords) -> Stage | None:
    role = LEADER if said.worker_set is None or said.worker_set.leads else WORKERS
    return next((one for one in stages if one.has(role)), None)


def direct(stages: Sequence[Stage], below: Sequence[Object], _: PodWords) -> Stage | None:
    """Only its own pods. A Job that it has made does something beside them."""
    return None if below or not stages else stages[0]


def in_mpi_job(stages: Sequence[Stage], below: Sequence[Object], _: PodWords) -> Stage | None:
    """The launcher is the pod of a Job, or in the older operator a pod as the workers are."""
    if not below:
        return stages[0] if stages else None
    return next((one for one in stages if one.has(LAUNCHER)), None)


OWNERS = (
    OwnerRow(JobSet, JOB_SET, in_set),
    OwnerRow(LeaderWorkerSet, WORKER_SET, in_worker_set),
    OwnerRow(RayCluster, RAY_CLUSTER, direct),
    *(OwnerRow(kind, kind.__name__, direct) for kind in (PyTorchJob, TFJob, JAXJob, XGBoostJob, PaddleJob)),
    OwnerRow(MPIJob, MPI_JOB, in_mpi_job),
)


P = ParamSpec("P")
R = TypeVar("R")
MOST_REMEMBERED = 256


def by_identity(
    rule: Callable[Concatenate[tuple[Object, ...], P], R],
) -> Callable[Concatenate[tuple[Object, ...], P], R]:
    """Remembers what followed from the latest objects. An owner may have thousands of pods that say something
    different each, and a thousand roles, and all of them are settled again whenever it changes."""
    known: dict[Any, tuple[tuple[Object, ...], R]] = {}

    def remembered(owners: tuple[Object, ...], /, *args: P.args, **more: P.kwargs) -> R:
        key = (tuple(map(id, owners)), args)
        found = known.get(key)
        if found is None:
            if len(known) >= MOST_REMEMBERED:
                known.clear()
            found = known[key] = owners, rule(owners, *args, **more)  # with the owners their ids stay theirs
        return found[1]

    return remembered


@by_identity
def known_stages(owners: tuple[Object, ...]) -> tuple[Stage, ...]:
    """Of the first of them."""
    return stages_of(owners[0])


def row_of(owner: Object) -> OwnerRow | None:
    return next((row for row in OWNERS if isinstance(owner, row.kind)), None)


@dataclass(frozen=True, slots=True)
class OwnerGroup:
    id: GroupId
    group: Group
    indexes: Indexes
    """Which indexes of the Job of the pod are in it."""
    takes_all: bool
    """Its quorum is what the owner makes, and nobody has said another."""
    before: tuple[GroupId, ...]
    """Groups of the same owner whose pods must be scheduled or ready before those of this one are created."""
    staged: Object | None
    """The owner that creates pods once others are scheduled or ready, if there is one."""


def group_from_owners(said: PodWords, owners: Sequence[Object]) -> OwnerGroup | None:
    """The group that the topmost owner with a row makes of a pod; `owners` are nearest first."""
    for height in range(len(owners) - 1, -1, -1):
        owner, row = owners[height], row_of(owners[height])
        if row is None:
            continue
        stages = known_stages((owner,))
        found = row.stage(stages, owners[:height], said)
        if found is not None:
            base = key_of(owner.metadata)
            if said.worker_set is not None and isinstance(owner, LeaderWorkerSet):
                base = f"{base}-{said.worker_set.group}"
            id = _id(row, base, found, owner)
            group, takes_all = _group(tuple(owners[height:]), id.key, stages.index(found))
            return OwnerGroup(
                id,
                group,
                _indexes(stages, owners[:height], said),
                takes_all,
                tuple(_id(row, base, one, owner) for one in _before(stages, found)),
                staged_owner(owners[height:]),
            )
    return None


def _id(row: OwnerRow, base: str, stage: Stage, owner: Object) -> GroupId:
    return GroupId(row.title, f"{base}-{stage.name}" if stage.name else base, owner.metadata.uid)


def _before(stages: Sequence[Stage], stage: Stage) -> list[Stage]:
    """The stages that this one waits for, to be scheduled or to be ready."""
    roles = {need.role for need in stage.after}
    if not roles:
        return []
    return [one for one in stages if one is not stage and roles & {role.name for role in one.roles}]


def staged_owner(owners: Sequence[Object]) -> Object | None:
    """The nearest that creates pods once others are scheduled or ready."""
    return next((one for one in owners if _is_staged(one)), None)


def _is_staged(owner: Object) -> bool:
    return any(one.after and one.comes_in_time for one in known_stages((owner,)))


def _indexes(stages: Sequence[Stage], below: Sequence[Object], said: PodWords) -> Indexes:
    """The first pods of the Jobs of a JobSet with exclusive topology are a gang, and the others are one."""
    role = below[-1].metadata.labels.get(REPLICATED_JOB, "") if below else ""
    if not any(one.has(role, follows=True) for one in stages):
        return ALL_INDEXES
    return (0, 0) if said.leads else (1, None)


@by_identity
def _group(owners: tuple[Object, ...], key: str, number: int) -> tuple[Group, bool]:
    """The group, and whether its quorum is what the owner makes."""
    about, stages = owners[0].metadata, known_stages(owners[:1])
    stage, only = stages[number], len(stages) == 1
    title = f"{kind_title(owners[0])} {key_of(about)}"
    marks, problems = _marks(owners)
    if marks.min_count is not None and not only:
        problems.append(
            f"{title} is several gangs, so {MIN_COUNT} on it cannot be meant for all of them; set it in the "
            "templates of their pods"
        )
    marks, unlike = _with_templates(marks, stage)
    marks = _with_subgroups(marks, owners[0])
    quorum, origin = stage.quorum, f"{title}, {stage.words}"
    if marks.min_count is not None:
        count = positive(marks.min_count)
        quorum, origin = count or 1, f"{MIN_COUNT} of {title}"
        if count is None:
            problems.append(f"{MIN_COUNT}: {no_count(marks.min_count)}")
    topology, unread = topology_request(marks, stage.within)
    group = Group(
        key=key,
        quorum=quorum,
        gang=True,
        topology=topology,
        disruption=_disruption(owners[0]),
        protection=protection_of(about),
        runtime=runtime_of(about),
        on_failure=failure_wish(about),
        origin=origin,
        done=stage.done,
        problems=(*problems, *_gang_problems(owners), *unlike, *unread),
    )
    return group, marks.min_count is None


def _disruption(owner: Object) -> Literal["Pod", "Alone"]:
    """A LeaderWorkerSet may say that its pods go on without one that is made anew."""
    if not isinstance(owner, LeaderWorkerSet):
        return "Pod"
    return "Alone" if owner.spec.leader_worker_template.restart_policy in RESTARTED_ALONE else "Pod"


def _marks(owners: Sequence[Object]) -> tuple[Marks, list[str]]:
    """What the marks on an owner say, and on those above it, and where they differ."""
    marks, problems = all_marks(owners[0].metadata), list[str]()
    for one in owners[1:]:
        above = all_marks(one.metadata)
        places = (f"on the {kind_title(owners[0])}", f"on the {kind_title(one)} above it")
        marks, differing = filled(marks, above, *places)
        problems += differing
    return marks, [*marks.problems, *problems]


def _with_templates(marks: Marks, stage: Stage) -> tuple[Marks, list[str]]:
    """With what the templates say; not all of them must say something."""
    problems = list[str]()
    for role in stage.roles:
        if not role.speaks:
            said = all_marks(as_pod(role.template).metadata)
            marks, differing = filled(marks, said, "for the whole", f"in the template of {role.name}")
            problems += differing
    return marks, problems


def _with_subgroups(marks: Marks, owner: Object) -> Marks:
    """KAI takes the subgroups of a LeaderWorkerSet for its segments where no size of those is said."""
    required, preferred, size, level = marks.topology
    if not isinstance(owner, LeaderWorkerSet) or level is None or size is not None:
        return marks
    policy = owner.spec.leader_worker_template.sub_group_policy
    found = None if policy is None else policy.sub_group_size
    topology = (required, preferred, str(found) if found else None, level)
    return msgspec.structs.replace(marks, topology=topology)


def _gang_problems(owners: Sequence[Object]) -> list[str]:
    said = [value for one in owners if (value := own_mark(one.metadata, GANG)) is not None]
    return [f"{GANG}: {value!r} is not {EACH_JOB}" for value in said if value != EACH_JOB]


def kind_title(owner: Object) -> str:
    return kinds.row_of(type(owner)).name
