"""The pods of LeaderWorkerSets, as LeaderWorkerSet 0.9 makes them: for each replica a leader and its workers.

Leaders are of one StatefulSet, the workers of each leader of another, which the leader controls.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha1

from maitred.model.meta import OwnerReference
from maitred.model.operators.leaderworkerset import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_KEY,
    GROUP_SIZE,
    LEADER_NAME,
    SET_NAME,
    WORKER_INDEX,
    LeaderWorkerSet,
)
from maitred.model.operators.pods.replicas import After, Replicas, alone_in_domain, in_domain, marked
from maitred.model.owner_chain import Found
from maitred.model.selector import Labels


def of_leader_worker_set(owner: LeaderWorkerSet, _: Found | None, version: str = "") -> Iterator[Replicas]:
    size = owner.spec.leader_worker_template.size
    for number in range(owner.spec.replicas if size else 0):
        leader = leader_of(owner, number)
        yield leader
        if size > 1:
            yield workers_of(owner, number, leader)


def leader_of(owner: LeaderWorkerSet, number: int) -> Replicas:
    name, namespace = owner.metadata.name, owner.metadata.namespace
    said = owner.spec.leader_worker_template
    key = key_of_group(namespace, f"{name}-{number}")
    labels = {SET_NAME: name, WORKER_INDEX: "0", GROUP_INDEX: str(number), GROUP_KEY: key}
    template = marked(said.leader_template or said.worker_template, labels, annotations_of(owner))
    level = owner.metadata.annotations.get(EXCLUSIVE_TOPOLOGY)
    own = "workerTemplate" if said.leader_template is None else "leaderTemplate"
    return Replicas(
        role="leader",
        template=template if level is None else alone_in_domain(template, GROUP_KEY, key, level),
        count=1,
        first=number,
        namespace=namespace,
        owner=stateful_set(name),
        name=lambda index: f"{name}-{index}",
        labels=lambda index: ordinal_labels(name, index),
        claims=said.volume_claim_templates,
        field=f"spec.leaderWorkerTemplate.{own}",
        count_field="spec.replicas",
    )


def workers_of(owner: LeaderWorkerSet, number: int, leader: Replicas) -> Replicas:
    said, leader_name = owner.spec.leader_worker_template, leader.name(number)
    key = leader.template.metadata.labels[GROUP_KEY]
    labels = {SET_NAME: owner.metadata.name, GROUP_INDEX: str(number), GROUP_KEY: key}
    template = marked(said.worker_template, labels, {**annotations_of(owner), LEADER_NAME: leader_name})
    level, after = owner.metadata.annotations.get(EXCLUSIVE_TOPOLOGY), After.NOTHING
    if level is not None:
        template, after = in_domain(template, GROUP_KEY, key, level), After.SCHEDULED
    if owner.spec.startup_policy == "LeaderReady":
        after = After.READY
    return replace(
        leader,
        role="workers",
        template=template,
        count=said.size - 1,
        first=1,
        owner=stateful_set(leader_name),
        name=lambda index: f"{leader_name}-{index}",
        labels=lambda index: {**ordinal_labels(leader_name, index), WORKER_INDEX: str(index)},
        after=after,
        field="spec.leaderWorkerTemplate.workerTemplate",
        count_field="spec.leaderWorkerTemplate.size",
    )


def annotations_of(owner: LeaderWorkerSet) -> dict[str, str]:
    found = {GROUP_SIZE: str(owner.spec.leader_worker_template.size)}
    if level := owner.metadata.annotations.get(EXCLUSIVE_TOPOLOGY):
        found[EXCLUSIVE_TOPOLOGY] = level
    return found


def key_of_group(namespace: str, leader: str) -> str:
    return sha1(f"{namespace or 'default'}/{leader}".encode(), usedforsecurity=False).hexdigest()


def ordinal_labels(name: str, index: int) -> Labels:
    """What StatefulSets write on their pods."""
    pod = f"{name}-{index}"
    return {"statefulset.kubernetes.io/pod-name": pod, "apps.kubernetes.io/pod-index": str(index)}


def stateful_set(name: str) -> OwnerReference:
    return OwnerReference("StatefulSet", name, controller=True, api_version="apps/v1")
