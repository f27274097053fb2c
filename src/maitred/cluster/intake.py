"""Pods taken in: what the state remembers of each, read from its object once."""

import msgspec

from maitred.cluster.interning import Interner
from maitred.cluster.members import Member, in_milliseconds, order_of, owner_of, state_of
from maitred.cluster.snapshot import UNKNOWN_TIME, GroupRank, Occupant, Standing
from maitred.cluster.volumes import claim_names, ephemeral_specs
from maitred.model.membership import said_by
from maitred.model.meta import key_of
from maitred.model.pod import Pod, is_node_bound
from maitred.model.protection import Protection, protection_of
from maitred.model.runtime import runtime_of

MOST_SECONDS = 2**40
"""Of grace. A pod may be given more than a column can count."""


class Intake:
    def __init__(self, interner: Interner) -> None:
        self._interner = interner
        self._standings: dict[Standing, tuple[Standing, int]] = {}

    @property
    def standings(self) -> tuple[Standing, ...]:
        """By their numbers."""
        return tuple(self._standings)

    def member(self, pod: Pod) -> Member:
        spec, key, state = pod.spec, key_of(pod.metadata), state_of(pod)
        claims = claim_names(pod) if spec.volumes else ()
        protection = protection_of(pod.metadata)
        standing, number = self._standing(pod, protection)
        return Member(
            key=key,
            uid=pod.metadata.uid,
            state=state,
            node=spec.node_name,
            needs=self._interner.needs_number(pod),
            labels=pod.metadata.labels,
            fixed=is_node_bound(pod.metadata),
            standing=standing,
            standing_number=number,
            occupant=Occupant(key, pod.metadata.uid, owner_of(pod), claims, pod.metadata.labels),
            order=order_of(pod),
            said=said_by(pod),
            gates=tuple([gate.name for gate in spec.scheduling_gates]),
            claims=claims,
            brought=ephemeral_specs(pod) if claims else {},
            nominated="" if spec.node_name else pod.status.nominated_node_name,
            working=pod.status.phase == "Running",
            started=in_milliseconds(pod.status.start_time),
            checkpoint=UNKNOWN_TIME if protection.last_checkpoint is None else protection.last_checkpoint,
            due=in_milliseconds(pod.metadata.deletion_timestamp),
            grace=min(pod.metadata.deletion_grace_period_seconds, MOST_SECONDS) * 1000,
        )

    def _standing(self, pod: Pod, protection: Protection) -> tuple[Standing, int]:
        """One object for all pods that are alike in this, so that they are quick to compare."""
        spec = pod.spec
        if protection.last_checkpoint is not None:
            protection = msgspec.structs.replace(protection, last_checkpoint=None)
        rank = GroupRank(spec.priority, spec.priority_class_name, spec.preemption_policy)
        runtime = runtime_of(
            pod.metadata, spec.active_deadline_seconds, spec.termination_grace_period_seconds
        )
        standing = Standing(rank, spec.scheduler_name, protection, runtime)
        return self._standings.setdefault(standing, (standing, len(self._standings)))
