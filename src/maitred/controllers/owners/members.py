"""The members that a suspended owner would have: made from its templates, as its controller would make them.

They stand in the state for pods that do not exist, so that the group keeps its turn and its age while it is
away. Nothing is ever written about one: its name is none that the API server would accept.

A template has not passed admission, and its user may change it while the owner is away. So there are never
more stand-ins than pods left, whatever the owner asks for by now, and their priority is that of their class:
a number in a template is not looked at.
"""

from collections.abc import Iterator, Sequence

import msgspec

from maitred.controllers.owners.templates import ComingPods, Objects, coming_pods
from maitred.kube.wire import WatchedMeta, WatchedPod, WatchedPodStatus
from maitred.model.job import Job
from maitred.model.membership import group_of_template
from maitred.model.objects import Object
from maitred.model.pod import PodSpec, SchedulingGroup
from maitred.model.suspension import Suspension

HOSTNAME = "kubernetes.io/hostname"
MOST_ALONE = 64
"""Pods of a Job that are in no group are seated one by one, and the Job is resumed as soon as one of them
fits. So many stand for all of them, however many they are."""


def awaited_pods(one: Object, record: Suspension, known: Objects) -> list[ComingPods]:
    """Those that stand in for the pods of the owner."""
    alone = isinstance(one, Job) and not record.pod_group and group_of_template(one, "gang") is None
    return coming_pods(one, known, min(record.members, MOST_ALONE) if alone else record.members)


def stand_ins(
    one: Object, record: Suspension, awaited: Sequence[ComingPods], scheduler: str
) -> list[WatchedPod]:
    """The pods that the owner would make if it were resumed now, for this scheduler to decide of."""
    return [
        pod
        for place, coming in enumerate(awaited)
        for pod in members_of(one, record, coming, place, scheduler)
    ]


def members_of(
    one: Object, record: Suspension, coming: ComingPods, place: int, scheduler: str
) -> Iterator[WatchedPod]:
    """They share whatever is alike in them, so that each takes little room. `place`: of the template."""
    meta, template = one.metadata, coming.template.metadata
    spec, status = spec_of(coming, record, scheduler), WatchedPodStatus(phase="Pending")
    labels, owners = {**template.labels, **coming.labels}, (coming.maker,)
    for number in coming.numbers:
        numbered = {coming.number_label: str(number)} if coming.number_label else {}
        name = f"{number}" if isinstance(one, Job) else f"{place}:{number}"
        yield WatchedPod(
            metadata=WatchedMeta(
                name=f"{meta.name}:{name}",
                namespace=meta.namespace,
                uid=f"{meta.uid}:{name}",
                creation_timestamp=meta.creation_timestamp,
                labels={**labels, **numbered} if numbered else labels,
                annotations={**template.annotations, **numbered} if numbered else template.annotations,
                owner_references=owners,
            ),
            spec=spec,
            status=status,
        )


def spec_of(coming: ComingPods, record: Suspension, scheduler: str) -> PodSpec:
    """Without gates: who lifts them waits for pods, and the pods would wait for the gates to be lifted."""
    spec = coming.template.spec
    group = SchedulingGroup(record.pod_group) if record.pod_group else spec.scheduling_group
    pinned = {HOSTNAME: spec.node_name} if spec.node_name else {}
    return msgspec.structs.replace(
        spec,
        scheduler_name=scheduler,
        scheduling_group=group,
        scheduling_gates=(),
        priority=None,
        preemption_policy="",
        node_selector={**spec.node_selector, **pinned},
        node_name="",
    )
