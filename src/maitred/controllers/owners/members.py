"""The members that a suspended owner would have: made from its templates, as its controller would make them.

They stand in the state for pods that do not exist, so that the group keeps its turn and its age while it is
away. Nothing is ever written about one: its name is none that the API server would accept. Nor is anything
written about what stands between such a pod and the owner, where that will be made anew as well.

A template has not passed admission, and its user may change it while the owner is away. So there are never
more stand-ins than pods left, whatever the owner asks for by now, and their priority is that of their class:
a number in a template is not looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from maitred.kube.wire import WatchedMeta, WatchedPod, WatchedPodStatus
from maitred.model.job import Job
from maitred.model.kinds import row_of
from maitred.model.membership import group_from_job, words_of_template
from maitred.model.meta import OwnerReference
from maitred.model.objects import Object
from maitred.model.operators.pods import After, Found, MissingObject, Replicas, pods_of, reference
from maitred.model.operators.pods.remaining import before_admission, numbers_of
from maitred.model.pod import PodSpec, SchedulingGroup
from maitred.model.suspension import Suspension

MOST_ALONE = 64
"""Pods of a Job that are in no group are seated one by one, and the Job is resumed as soon as one of them
fits. So many stand for all of them, however many they are."""
MOST_LOOKED_AT = 20_000
"""Templates, one for each Job of a JobSet. Its user may ask for two thousand million Jobs of which none comes
at once."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """Pods that come from one template, by their numbers."""

    replicas: Replicas
    numbers: tuple[int, ...]


@dataclass(slots=True)
class StandIns:
    pods: list[WatchedPod] = field(default_factory=list)
    between: dict[str, Object] = field(default_factory=dict)
    """What will be made between the owner and its pods, by UIDs that no object has."""


def awaited_pods(one: Object, record: Suspension, known: Found) -> list[Awaited]:
    """The pods that are to stand in: no more than have left."""
    most = min(record.members, MOST_ALONE) if are_alone(one, record) else record.members
    found, total = list[Awaited](), 0
    try:
        for replicas in islice(pods_of(one, known), MOST_LOOKED_AT):
            if replicas.after is not After.NOTHING:
                continue  # they come when others have places, or run, or have ended
            numbers = tuple(islice(numbers_of(one, replicas, known), most - total))
            if numbers:
                found.append(Awaited(replicas, numbers))
                total += len(numbers)
            if total >= most:
                break
    except MissingObject:
        return []  # nobody knows what its pods are: its user, or its operator, has to see to that
    return found


def are_alone(one: Object, record: Suspension) -> bool:
    if not isinstance(one, Job) or record.pod_group:
        return False
    return not words_of_template(one).names_a_group and group_from_job(one, "gang") is None


# -- as the state has them ---------------------------------------------------------------------------------


def stand_ins(one: Object, record: Suspension, awaited: Sequence[Awaited], scheduler: str) -> StandIns:
    """The pods that the owner would make if it were resumed now, for this scheduler to decide of."""
    made = StandIns()
    for place, coming in enumerate(awaited):
        maker = made_by(one, coming.replicas, made)
        made.pods += members_of(one, record, coming, place, maker, scheduler)
    return made


def made_by(one: Object, replicas: Replicas, made: StandIns) -> OwnerReference:
    """The controller of such pods. Where it, or what is above it, is not there, it is imagined."""
    owner = reference(one)
    for between in reversed(replicas.between):
        about = between.metadata
        if not about.uid:
            name = f"{one.metadata.name}:{row_of(type(between)).name}:{about.name}"
            about = msgspec.structs.replace(
                about,
                name=name,
                namespace=one.metadata.namespace,
                uid=f"{one.metadata.uid}:{name}",
                creation_timestamp=one.metadata.creation_timestamp,
                owner_references=(owner,),
            )
            between = msgspec.structs.replace(between, metadata=about)
            made.between[about.uid] = between
        owner = reference(between)
    return owner


def members_of(
    one: Object, record: Suspension, coming: Awaited, place: int, maker: OwnerReference, scheduler: str
) -> Iterator[WatchedPod]:
    """They share whatever is alike in them, so that each takes little room. `place`: of the template."""
    meta, replicas = one.metadata, coming.replicas
    template = replicas.template.metadata
    spec, status = spec_of(replicas, record, scheduler), WatchedPodStatus(phase="Pending")
    owners = (maker,)
    for number in coming.numbers:
        labels, annotations = replicas.labels(number), replicas.annotations(number)
        name = f"{number}" if isinstance(one, Job) else f"{place}:{number}"
        yield WatchedPod(
            metadata=WatchedMeta(
                name=f"{meta.name}:{name}",
                namespace=meta.namespace,
                uid=f"{meta.uid}:{name}",
                creation_timestamp=meta.creation_timestamp,
                labels={**template.labels, **labels} if labels else template.labels,
                annotations={**template.annotations, **annotations} if annotations else template.annotations,
                owner_references=owners,
            ),
            spec=spec,
            status=status,
        )


def spec_of(replicas: Replicas, record: Suspension, scheduler: str) -> PodSpec:
    spec = before_admission(replicas.template.spec)
    group = SchedulingGroup(record.pod_group) if record.pod_group else spec.scheduling_group
    return msgspec.structs.replace(spec, scheduler_name=scheduler, scheduling_group=group)
