"""Run-time limits that queues enforce: which deadlines the Jobs of seated groups are to have, and which the
pods that nobody controls.

The deadline of a Job counts from its `status.startTime`, which is long before its pods have their places if
they had to wait. So it is set once they have them: to the time since then, and the limit. From there on it is
never made later, whoever writes a later one: a group ends with its limit, which counts from when the first of
its members started.

A group that has lost all of its places waits again, and its limit counts anew. The deadline that we have set
would go on counting, so it is taken back; those of users stay. The deadline of a pod counts from its own
start, and goes with the pod.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from math import ceil

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.book import QueueBook
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, Snapshot
from maitred.model.duration import LONGEST
from maitred.model.owners import BATCH_JOB
from maitred.model.plan import DeadlineToSet
from maitred.model.policy import Policy
from maitred.model.runtime import (
    RunLimit,
    RunTerms,
    Runtime,
    Stay,
    deadline_of,
    is_set_by_us,
    limits_of,
)
from maitred.model.words import moment

LATEST = np.iinfo(np.int64).max // 2
"""What never comes."""
SLACK = 1_000
"""Kubernetes counts in seconds."""
SHORTEST = 1_000
STARTS_WITHIN = 5_000
"""After so long it is looked whether those who got their places now have started."""


def enforces(policy: Policy) -> bool:
    return any(queue.runtime.enforce for queue in policy.queues)


class LimitKeeper:
    """Where no queue enforces limits it does nothing."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now: int) -> None:
        self.snapshot, self.now = snapshot, now
        self.book: QueueBook | None = snapshot.book if enforces(policy) else None

    def wake_at(self, accounts: Iterable[int]) -> int | None:
        """When to look again, if groups on these accounts were seated now."""
        if self.book is None:
            return None
        enforced = any(self.book.run_terms(account).enforced for account in accounts)
        return self.now + STARTS_WITHIN if enforced else None

    @cached_property
    def deadlines(self) -> tuple[DeadlineToSet, ...]:
        """In the order of the pods and Jobs. Empty if all have those that they should."""
        if self.book is None:
            return ()
        found = dict[tuple[str, str], DeadlineToSet]()
        for one in (*self._to_set(), *self._taken_back()):
            known = found.get(one.key)
            if known is None or (known.seconds or 0) > (one.seconds or 0):
                found[one.key] = one
        return tuple(found[key] for key in sorted(found))

    # -- groups that have their places -----------------------------------------------------------------

    @cached_property
    def _placed(self) -> Rows:
        """Pods of Jobs on nodes, those aside that are leaving."""
        bound, controllers = self.snapshot.bound, self.snapshot.controllers
        of_job = np.array([one is not None and one.kind == BATCH_JOB.title for one in controllers] + [False])
        placed: Rows = np.flatnonzero(~bound.terminating & of_job[bound.controller])
        return placed

    @cached_property
    def _alone(self) -> Mask:
        """Pods that nobody controls."""
        alone = np.array([one.runtime.endable for one in self.snapshot.standings], dtype=np.bool_)
        found: Mask = alone[self.snapshot.bound.standing]
        return found

    def _to_set(self) -> Iterator[DeadlineToSet]:
        """Deadlines of Jobs and pods that end later than they may."""
        bound = self.snapshot.bound
        rows = np.flatnonzero(self._alone & ~bound.terminating)
        rows = np.append(self._placed[self._is_enforced(self._placed)], rows[self._is_enforced(rows, True)])
        if not len(rows):
            return
        # One unit for each group, and for each pod that is decided by itself.
        units = np.where(bound.group[rows] == NO_GROUP, -1 - rows, bound.group[rows])
        order = np.argsort(units, kind="stable")
        rows, units = rows[order], units[order]
        heads = np.flatnonzero(np.diff(units, prepend=units[0] - 1))
        times = np.where(bound.started[rows] == UNKNOWN_TIME, LATEST, bound.started[rows])
        started = np.minimum.reduceat(times, heads)
        spans = np.array(list(self._spans(rows[heads])), dtype=np.int64)
        ends = np.where((started == LATEST) | (spans == LATEST), LATEST, started + np.minimum(spans, LONGEST))
        latest = np.maximum.reduceat(self._deadlines_of(rows), heads)
        parts = np.append(heads, len(rows))
        for unit in np.flatnonzero(latest > ends + SLACK).tolist():
            yield from self._of_unit(rows[parts[unit] : parts[unit + 1]], int(ends[unit]))

    def _is_enforced(self, rows: Rows, alone: bool = False) -> Mask:
        """Whether these pods are in queues that enforce limits: by their Jobs, or those of pods alone."""
        assert self.book is not None
        accounts = self.book.account_of_bound[rows]
        terms = [self.book.run_terms(number) for number in range(len(self.book.accounts))]
        enforced = np.array([one.pods if alone else one.enforced for one in terms], dtype=np.bool_)
        found: Mask = enforced[accounts]
        return found

    def _deadlines_of(self, rows: Rows) -> Ints:
        """When Kubernetes ends the Job of each, or the pod itself if nobody controls it; LATEST if it does
        not."""
        bound, stays, standings = self.snapshot.bound, self.snapshot.stays, self.snapshot.standings
        known = np.array([LATEST if one.deadline is None else one.deadline for one in stays], dtype=np.int64)
        own = [LATEST if one.runtime.limit is None else one.runtime.limit for one in standings]
        spans, started = np.array(own, dtype=np.int64)[bound.standing[rows]], bound.started[rows]
        of_pods = np.where((spans == LATEST) | (started == UNKNOWN_TIME), LATEST, started + spans)
        found: Ints = np.where(self._alone[rows], of_pods, known[bound.stay[rows]])
        return found

    def _spans(self, pods: Rows) -> Iterator[int]:
        """How long the group of each of these may run, if that is ours to enforce; LATEST if it is not."""
        for limit in self._limits(pods):
            yield LATEST if limit is None else limit.span

    def _limits(self, pods: Rows) -> Iterator[RunLimit | None]:
        assert self.book is not None
        bound, seated, stays = self.snapshot.bound, self.snapshot.seated, self.snapshot.stays
        terms = [self.book.run_terms(account) for account in range(len(self.book.accounts))]
        columns = (bound.group, bound.stay, self.book.account_of_bound, self._alone)
        for group, number, account, alone in zip(*(column[pods].tolist() for column in columns), strict=True):
            known = seated[group] if group != NO_GROUP else None
            stay = stays[number] if known is None else known.runtime.stay
            by_pods = terms[account].pods and (alone if known is None else known.runtime.endable)
            endable = by_pods or stay.endable
            yield limit_to_set(stay.asked, stay.key, terms[account]) if endable else None

    def _of_unit(self, pods: Rows, end: int) -> Iterator[DeadlineToSet]:
        snapshot, bound, limit = self.snapshot, self.snapshot.bound, next(self._limits(pods[:1]))
        assert limit is not None
        seated = snapshot.seated[bound.group[pods[0]]] if bound.group[pods[0]] != NO_GROUP else None
        group = bound.occupants[pods[0]].key if seated is None else seated.group.key
        told = group, end, limit.said
        yield from self._of_pods(pods[self._alone[pods]], *told)
        yield from self._of_jobs(pods[~self._alone[pods]], *told)

    def _of_pods(self, pods: Rows, group: str, end: int, said: str) -> Iterator[DeadlineToSet]:
        """Who came after the end has the shortest deadline that there is."""
        bound, known = self.snapshot.bound, self._deadlines_of(pods)
        started = bound.started[pods]
        late = known > np.maximum(end, started + SHORTEST) + SLACK
        for pod in pods[(started != UNKNOWN_TIME) & late].tolist():
            occupant, seconds = bound.occupants[pod], max(1, ceil((end - int(bound.started[pod])) / 1000))
            yield DeadlineToSet("", occupant.uid, group, seconds, moment(end // 1000), said, occupant.key)

    def _of_jobs(self, pods: Rows, group: str, end: int, said: str) -> Iterator[DeadlineToSet]:
        snapshot, bound = self.snapshot, self.snapshot.bound
        for number in np.unique(bound.controller[pods]).tolist():
            controller = snapshot.controllers[number]
            name = "" if controller is None else f"{controller.namespace}/{controller.name}"
            job = snapshot.jobs.get(name)
            if controller is None or job is None or job.metadata.uid not in ("", controller.uid):
                continue
            begun, known = job.status.start_time, deadline_of(job)
            if begun is None or job.spec.suspend or (known is not None and known <= end + SLACK):
                continue
            seconds = max(1, ceil((end - begun.timestamp() * 1000) / 1000))
            yield DeadlineToSet(name, job.metadata.uid, group, seconds, moment(end // 1000), said)

    # -- groups that wait again ------------------------------------------------------------------------

    def _taken_back(self) -> Iterator[DeadlineToSet]:
        """By their deadlines: those of Jobs of which nobody runs, and somebody waits."""
        waiting = {view.runtime.stay.deadline for view in self.snapshot.groups if not view.running}
        if waiting <= {None}:
            return
        bound, controllers = self.snapshot.bound, self.snapshot.controllers
        there = (controllers[number] for number in np.unique(bound.controller[self._placed]).tolist())
        placed = {f"{one.namespace}/{one.name}" for one in there if one is not None}
        for key, job in self.snapshot.jobs.items():
            deadline = deadline_of(job) if is_set_by_us(job) and key not in placed else None
            if deadline is not None and deadline in waiting and deadline > self.now:
                yield DeadlineToSet(key, job.metadata.uid)


@lru_cache(maxsize=4096)
def limit_to_set(asked: int | None, key: str, terms: RunTerms) -> RunLimit | None:
    """The limit of a group that the deadlines of its Jobs can end."""
    found = limits_of(Runtime(stay=Stay(asked, key, endable=True)), terms)
    return next((one for one in found if one.enforced), None)
