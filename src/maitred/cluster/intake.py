"""Pods taken in: what the state remembers of each, read from its object once."""

from collections.abc import Hashable
from typing import NamedTuple, TypeVar

import msgspec

from maitred.cluster.devices.needs import pod_claims
from maitred.cluster.interning import Interner, outnumber
from maitred.cluster.members import Member, in_milliseconds, order_of, owner_of, state_of
from maitred.cluster.snapshot import UNKNOWN_TIME, GroupRank, Occupant, Standing
from maitred.cluster.volumes import claim_names, ephemeral_specs
from maitred.model.group import MARKS
from maitred.model.healing import ON_FAILURE, failure_wish
from maitred.model.health.steps import step_time
from maitred.model.membership import KEYS, PodWords, leads, said_by
from maitred.model.meta import key_of
from maitred.model.pod import MIRROR, Pod, bound_at, is_node_bound
from maitred.model.protection import ALL_PROTECTION_MARKS, UNPROTECTED, Protection, protection_of
from maitred.model.runtime import EXPECTED_RUNTIME, is_alone, runtime_of

T = TypeVar("T")
MOST_SECONDS = 2**40
"""Of grace. A pod may be given more than a column can count."""
OF_STANDING = frozenset((*ALL_PROTECTION_MARKS, EXPECTED_RUNTIME, ON_FAILURE))
OF_KIN = (KEYS | frozenset((*MARKS, MIRROR))) - OF_STANDING
"""Labels and annotations that are read here, by what they are read for."""
MOST_REMEMBERED, LONGEST_KIN = 16_384, 1_024
"""Entries, and the bytes of one: users write them."""


class Siblings(NamedTuple):
    """What the pods of one owner have in common. They come by the dozen, so it is read once for all."""

    owner: tuple[str, str, str]
    fixed: bool
    said: PodWords


class Intake:
    def __init__(self, interner: Interner) -> None:
        self._interner = interner
        self._standings: dict[Standing, tuple[Standing, int]] = {}
        self._usual_standings: dict[Hashable, tuple[Standing, int]] = {}
        self._kin: dict[Hashable, Siblings] = {}

    @property
    def standings(self) -> tuple[Standing, ...]:
        """By their numbers."""
        return tuple(self._standings)

    def member(self, pod: Pod) -> Member:
        meta, spec, status = pod.metadata, pod.spec, pod.status
        key, kin, protection = key_of(meta), self._kin_of(pod), UNPROTECTED
        claims, order = claim_names(pod) if spec.volumes else (), order_of(meta)
        if OF_STANDING.isdisjoint(meta.labels) and OF_STANDING.isdisjoint(meta.annotations):
            standing, number = self._usual_standing(pod)
        else:
            protection = protection_of(meta)
            standing, number = self._standing(pod, protection)
        return Member(
            key=key,
            uid=meta.uid,
            state=state_of(pod),
            node=spec.node_name,
            needs=self._interner.needs_number(pod),
            labels=meta.labels,
            fixed=kin.fixed,
            standing=standing,
            standing_number=number,
            occupant=Occupant(key, meta.uid, kin.owner, claims, meta.labels, order),
            order=order,
            said=kin.said,
            gates=tuple([gate.name for gate in spec.scheduling_gates]),
            claims=claims,
            brought=ephemeral_specs(pod) if claims else {},
            device_claims=pod_claims(pod) if spec.resource_claims else (),
            nominated="" if spec.node_name else status.nominated_node_name,
            working=status.phase == "Running",
            bound_at=in_milliseconds(bound_at(pod)) if spec.node_name else UNKNOWN_TIME,
            started=in_milliseconds(status.start_time),
            checkpoint=UNKNOWN_TIME if protection.last_checkpoint is None else protection.last_checkpoint,
            due=in_milliseconds(meta.deletion_timestamp),
            grace=min(meta.deletion_grace_period_seconds, MOST_SECONDS) * 1000,
            step=step_time(meta) or 0.0,
        )

    def _kin_of(self, pod: Pod) -> Siblings:
        meta = pod.metadata
        like = (
            meta.namespace,
            meta.owner_references,
            pod.spec.scheduling_group,
            leads(meta),
            _chosen(meta.labels),
            _chosen(meta.annotations),
        )
        found = self._kin.get(like)
        if found is None:
            found = Siblings(owner_of(pod), is_node_bound(meta), said_by(pod))
            if len(msgspec.msgpack.encode(like)) <= LONGEST_KIN:
                _remember(self._kin, like, found)
        return found

    def _usual_standing(self, pod: Pod) -> tuple[Standing, int]:
        """Of a pod that has no marks about it."""
        spec = pod.spec
        like = (
            spec.priority,
            spec.priority_class_name,
            spec.preemption_policy,
            spec.scheduler_name,
            spec.active_deadline_seconds,
            spec.termination_grace_period_seconds,
            is_alone(pod.metadata),
        )
        found = self._usual_standings.get(like)
        if found is None:
            found = self._standing(pod, UNPROTECTED)
            _remember(self._usual_standings, like, found)
        return found

    def _standing(self, pod: Pod, protection: Protection) -> tuple[Standing, int]:
        """One object for all pods that are alike in this, so that they are quick to compare."""
        spec = pod.spec
        if protection.last_checkpoint is not None:
            protection = msgspec.structs.replace(protection, last_checkpoint=None)
        rank = GroupRank(spec.priority, spec.priority_class_name, spec.preemption_policy)
        runtime = runtime_of(
            pod.metadata,
            spec.active_deadline_seconds,
            spec.termination_grace_period_seconds,
            is_alone(pod.metadata),
        )
        wish = failure_wish(pod.metadata)
        return self.numbered(Standing(rank, spec.scheduler_name, protection, runtime, wish))

    def numbered(self, standing: Standing) -> tuple[Standing, int]:
        return self._standings.setdefault(standing, (standing, len(self._standings)))

    def forget_standings(self, pods: int) -> bool:
        """Drop them once there are many more than pods, each of which has one: a user may write marks for
        ever. True if so; then all are to be numbered again."""
        stale = outnumber(len(self._standings), pods)
        if stale:
            self._standings, self._usual_standings = {}, {}
        return stale


def _chosen(marks: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return () if OF_KIN.isdisjoint(marks) else tuple([mark for mark in marks.items() if mark[0] in OF_KIN])


def _remember(known: dict[Hashable, T], like: Hashable, found: T) -> None:
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    known[like] = found
