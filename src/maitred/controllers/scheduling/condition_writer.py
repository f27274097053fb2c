"""Verdicts written where others look: conditions of groups and pods, and Events."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from maitred.controllers.scheduling.departures import controller_of
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.explain.tenant_words import as_told_at_home
from maitred.explain.verdicts import (
    begins_with,
    group_reason,
    head_of,
    pod_head,
    pod_reason,
    pod_words,
    verdict_words,
)
from maitred.kube.bodies import Regarding
from maitred.kube.events import Events
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.resources import Resource
from maitred.kube.wire import Condition, WatchedComposite, WatchedGroup, WatchedPod
from maitred.kube.writes import Writer
from maitred.model.kinds import row_of
from maitred.model.membership import said_by, top_owner
from maitred.model.plan import GroupVerdict
from maitred.model.policy import Policy

log = logging.getLogger(__name__)

WRITES_PER_SECOND = 100.0
LARGEST_BURST = 200.0
LONGEST_MESSAGE = 1024
POD_SCHEDULED = "PodScheduled"
COMPOSITE_SCHEDULED = "CompositePodGroupInitiallyScheduled"
ACTION = "Scheduling"


class Teller:
    def __init__(
        self,
        mirror: Mirror,
        writer: Writer,
        events: Events,
        groups: Resource | None,
        condition: str,
        metrics: Metrics,
        composites: Resource | None = None,
        policy: Callable[[], Policy] = Policy,
    ) -> None:
        self._mirror = mirror
        self._writer = writer
        self._events = events
        self._groups = groups
        self._condition = condition
        self._composites = composites
        self._policy = policy
        self._metrics = metrics
        self._pace = WritePace(WRITES_PER_SECOND, LARGEST_BURST, time.monotonic())

    def subject(self, group: str) -> Regarding | None:
        """The object to tell of: the PodGroup, or the composite of a tree; else the topmost owner of the
        members; else the first one."""
        members = self._mirror.waiting_by_group.get(group)
        if (declared := self.declared(group)) is not None or not members:
            return declared
        namespace = group.partition("/")[0]
        pod = self._mirror.waiting[min(members)]
        state, of_group = self._mirror.state, self._mirror.state.group_of(min(members)) is not None
        top = top_owner(said_by(pod), state) if of_group else None
        if top is not None:
            row, meta = row_of(type(top)), top.metadata
            return Regarding(row.api_versions[0], row.name, meta.name, namespace, meta.uid)
        owner = controller_of(pod) if of_group else None
        if owner is not None:
            return Regarding(owner.api_version, owner.kind, owner.name, namespace, owner.uid)
        return Regarding("v1", "Pod", pod.metadata.name, namespace, pod.metadata.uid)

    def declared(self, group: str) -> Regarding | None:
        """The PodGroup, or the composite of a tree, where there is one."""
        found, resource = self._object(group)
        if found is None or resource is None:
            return None
        meta = found.metadata
        return Regarding(resource.api_version, resource.kind, meta.name, meta.namespace, meta.uid)

    def _object(self, group: str) -> tuple[WatchedGroup | WatchedComposite | None, Resource | None]:
        """What declares a group, and the resource that it is of."""
        if self._mirror.is_tree(group):
            return self._mirror.composites.get(group), self._composites
        return self._mirror.groups.get(group), self._groups

    def was_told(self, verdict: GroupVerdict) -> bool:
        """Whether the conditions say this already: an earlier scheduler may have told it."""
        head = head_of(verdict)
        declared, _ = self._object(verdict.group)
        if declared is not None:
            current = self.condition_of(declared)
            return current is not None and begins_with(current.message, head)
        unseated = self._mirror.unseated(verdict.group)
        told = [condition(pod, POD_SCHEDULED) for pod in unseated if not pod.spec.scheduling_gates]
        if not told:
            return bool(unseated)  # all are gated, of which the API server itself tells
        return all(c is not None and begins_with(c.message, head) for c in told)

    def condition_of(self, declared: WatchedGroup | WatchedComposite) -> Condition | None:
        return condition(declared, self._type_of(declared))

    def _type_of(self, declared: WatchedGroup | WatchedComposite) -> str:
        return COMPOSITE_SCHEDULED if isinstance(declared, WatchedComposite) else self._condition

    async def tell_group(self, verdict: GroupVerdict, parts: Sequence[GroupVerdict] = ()) -> bool:
        """Of a tree, each part is told what becomes of it. False if it must be tried again."""
        done = await self._tell_object(verdict, *self._object(verdict.group))
        for part in parts:
            if part.counts == "members":
                done &= await self._tell_object(part, self._mirror.groups.get(part.group), self._groups)
            else:
                found = self._mirror.composites.get(part.group)
                done &= await self._tell_object(part, found, self._composites)
        return done

    async def _tell_object(
        self,
        verdict: GroupVerdict,
        declared: WatchedGroup | WatchedComposite | None,
        resource: Resource | None,
    ) -> bool:
        untold = verdict.verdict != "Scheduled" and not verdict.blockers  # of a part, until it is explained
        if declared is None or resource is None or untold:
            return True
        words = verdict_words(as_told_at_home(verdict))[:LONGEST_MESSAGE]
        current = self.condition_of(declared)
        if current is not None and (current.status == "True" or current.message == words):
            return True  # a group that was scheduled once remains so, whatever becomes of its members
        status = "True" if verdict.verdict == "Scheduled" else "False"
        written = Condition(
            self._type_of(declared),
            status,
            group_reason(verdict),
            words,
            since(current, status),
            declared.metadata.generation,
        )
        await self._pace.take(1)
        meta = declared.metadata
        outcome = await self._writer.patch_group_condition(
            resource, meta.namespace, meta.name, meta.uid, written
        )
        return self._counted("group", outcome)

    async def tell_pods(self, verdict: GroupVerdict, holds: Callable[[], bool]) -> bool:
        """All members without a seat at once, so that an autoscaler sees the whole group or nothing of it.

        It takes a while, and meanwhile they may be seated: then, or when the verdict does not hold any more,
        there is nothing left to tell.
        """
        if not verdict.blockers:
            return True
        requested = bool(self._policy().provisioning.class_name)
        reason, words = pod_reason(verdict, requested), pod_words(as_told_at_home(verdict))[:LONGEST_MESSAGE]
        unseated, head = self._mirror.unseated(verdict.group), pod_head(verdict)
        untold = [pod for pod in unseated if must_be_told(pod, reason, head)]
        await self._pace.take(len(untold))
        done = True
        for pod in untold:
            if not holds():
                break
            if self._mirror.is_unseated(pod):
                done &= await self._tell_pod(pod, reason, words)
        return done

    async def _tell_pod(self, pod: WatchedPod, reason: str, words: str) -> bool:
        meta, current = pod.metadata, condition(pod, POD_SCHEDULED)
        written = Condition(POD_SCHEDULED, "False", reason, words, since(current, "False"))
        outcome = await self._writer.patch_pod_condition(
            meta.namespace, meta.name, meta.uid, written, meta.resource_version
        )
        return self._counted("pod", outcome)

    async def tell_event(self, verdict: GroupVerdict, subject: Regarding) -> bool:
        await self._pace.take(1)
        words = verdict_words(as_told_at_home(verdict))
        if verdict.verdict == "Scheduled":
            return await self._events.record(subject, "Scheduled", words, ACTION, "Normal")
        return await self._events.record(subject, "FailedScheduling", words, ACTION, "Warning")

    def _counted(self, kind: str, outcome: Done | Refused | Unknown) -> bool:
        done = isinstance(outcome, Done)
        self._metrics.notices.labels(kind, "done" if done else "failed").inc()
        if not isinstance(outcome, Done):
            log.info("the condition of a %s could not be written: %s", kind, outcome.message)
        if isinstance(outcome, Refused):
            # A server that has just started does not know who may do what, and forbids everything.
            return outcome.why not in (RefusalReason.FORBIDDEN, RefusalReason.STALE)
        return done


def condition(of: WatchedPod | WatchedGroup | WatchedComposite, type: str) -> Condition | None:
    return next((c for c in of.status.conditions if c.type == type), None)


def since(current: Condition | None, status: str) -> datetime:
    """When the condition took this status: it keeps its time while only its words change."""
    before = current.last_transition_time if current is not None and current.status == status else None
    return before or datetime.now(UTC)


def must_be_told(pod: WatchedPod, reason: str, head: str) -> bool:
    """Once per change of reason or category. Of a gate the API server itself tells."""
    told = condition(pod, POD_SCHEDULED)
    if pod.spec.scheduling_gates:
        return False
    is_same = told is not None and (told.status, told.reason) == ("False", reason)
    return told is None or not is_same or not begins_with(told.message, head)


class WritePace:
    """A bound on writes per second; a burst that exceeds it is let through whole and paid for after."""

    def __init__(self, per_second: float, burst: float, now: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._left = burst
        self._at = now

    async def take(self, count: int) -> None:
        while (seconds := self.ask(count, time.monotonic())) > 0.0:
            await asyncio.sleep(seconds)

    def ask(self, count: int, now: float) -> float:
        """How long to wait before asking again; 0 if it is granted."""
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if count and self._left <= 0.0:
            return -self._left / self._per_second + 0.01
        self._left -= count
        return 0.0
