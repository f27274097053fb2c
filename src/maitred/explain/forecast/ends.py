"""When those who run now will end, as far as is known: by their word, their limits, or earlier runs."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args
from zlib import crc32

import numpy as np

from maitred.cluster.ends import SERVICES
from maitred.cluster.journal import Rows
from maitred.cluster.leaving import stuck_pods
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, Snapshot
from maitred.explain.forecast.runs import CHANCES, DRAWS, NEVER, Floats, Runs, all_drawn
from maitred.model.runtime import NO_STAY, NO_TERMS, Runtime, ends_of, with_stay

Source = Literal["said", "overdue", "leaving", "stuck", "history", "deadline", "limit", "unknown"]
SOURCES: tuple[Source, ...] = get_args(Source)
LATENESS = 0.1
"""Who is late will be for as long again as it is by now, or at least for this part of what was said."""


@dataclass(frozen=True)
class Tenants:
    """Groups and lone pods on the nodes, but for what belongs to the nodes; a pod that is leaving is one.

    They come in the order of names, so that nothing depends on the order in which pods became known.
    """

    snapshot: Snapshot
    now: float
    runs: Runs
    grace_limit: int | None = None
    """In seconds: the most that the policy gives those who must leave."""

    @cached_property
    def _grouping(self) -> tuple[Rows, Rows]:
        """The pods, tenant after tenant, and where the pods of each begin, with the end of all."""
        bound = self.snapshot.bound
        pods = np.flatnonzero(~bound.fixed)
        names = [occupant.key for occupant in bound.occupants[pods]]
        pods = pods[np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.intp)]
        alone = (bound.group[pods] == NO_GROUP) | bound.terminating[pods]
        number = np.where(alone, len(self.snapshot.seated) + np.arange(len(pods)), bound.group[pods])
        _, heads, tenant = np.unique(number, return_index=True, return_inverse=True)
        head = heads[tenant]
        order = np.argsort(head, kind="stable")
        first = np.flatnonzero(np.diff(head[order], prepend=-1))
        return pods[order], np.append(first, len(pods))

    @property
    def pods(self) -> Rows:
        return self._grouping[0]

    @property
    def first(self) -> Rows:
        return self._grouping[1]

    def __len__(self) -> int:
        return len(self.first) - 1

    def pods_of(self, tenants: Ints) -> Rows:
        first = self.first[tenants]
        count = self.first[tenants + 1] - first
        skipped = np.cumsum(count) - count
        found: Rows = self.pods[np.repeat(first - skipped, count) + np.arange(count.sum())]
        return found

    def any_of(self, pods: Mask) -> Mask:
        """Tenants some of whose pods are these."""
        return np.logical_or.reduceat(pods[self.pods], self.first[:-1]) if len(self) else pods[:0]

    def all_of(self, pods: Mask) -> Mask:
        """Tenants all of whose pods are these."""
        return np.logical_and.reduceat(pods[self.pods], self.first[:-1]) if len(self) else pods[:0]

    def last_of(self, times: Floats) -> Floats:
        """The latest of something that every pod has."""
        return np.maximum.reduceat(times[self.pods], self.first[:-1]) if len(self) else times[:0]

    @cached_property
    def heads(self) -> Rows:
        """One pod of each, the first by name."""
        return self.pods[self.first[:-1]]

    def ends_in(self, draw: int) -> Floats:
        """When each ends, in one of the futures. What it draws depends on its name, whoever else there is."""
        ends = self.ends[:, 0].copy()
        uncertain, seeds = self._uncertain
        ends[uncertain] = all_drawn(self.ends[uncertain], seeds, draw)
        return ends

    @property
    def certain(self) -> bool:
        """Whether one end is known of each, or none."""
        return not len(self._uncertain[0])

    @cached_property
    def _uncertain(self) -> tuple[Rows, Ints]:
        """Those of whom several ends are known, and by what each draws one of them."""
        tenants = np.flatnonzero((self.ends != self.ends[:, :1]).any(axis=1))
        names = (occupant.key for occupant in self.snapshot.bound.occupants[self.heads[tenants]])
        return tenants, np.array([crc32(name.encode()) for name in names], dtype=np.int64)

    @cached_property
    def group(self) -> Codes:
        """The number of the group of each, NO_GROUP for lone pods and for those that are leaving."""
        bound = self.snapshot.bound
        return np.where(bound.terminating[self.heads], NO_GROUP, bound.group[self.heads])

    @cached_property
    def keys(self) -> dict[str, int]:
        """Groups by name, with their tenants."""
        found = ((tenant, self.snapshot.seated[g]) for tenant, g in enumerate(self.group.tolist()) if g >= 0)
        return {seated.group.key: tenant for tenant, seated in found if seated is not None}

    @cached_property
    def started(self) -> Floats:
        """In seconds; those who have not started will at once."""
        times = self.snapshot.bound.started[self.pods] / 1000
        times = np.where(times == UNKNOWN_TIME / 1000, self.now, times)
        return np.minimum.reduceat(times, self.first[:-1]) if len(times) else times

    def _said(self, what: Literal["expected", "grace"]) -> Floats:
        """In seconds, NEVER for what is not said."""

        def column(runtimes: list[Runtime]) -> Floats:
            told = [getattr(runtime, what) for runtime in runtimes]
            return np.array([NEVER if ms is None else ms / 1000 for ms in (*told, None)])

        groups = column([Runtime() if seated is None else seated.runtime for seated in self.snapshot.seated])
        alone = column([standing.runtime for standing in self.snapshot.standings])
        standing = self.snapshot.bound.standing[self.heads]
        return np.where(self.group == NO_GROUP, alone[standing], groups[self.group])

    @cached_property
    def graces(self) -> Floats:
        """In seconds, as far as the policy lets them have it."""
        return np.minimum(self._said("grace"), np.inf if self.grace_limit is None else self.grace_limit)

    @cached_property
    def _time_to_leave(self) -> Floats:
        """In seconds from now: what is left of the grace period, or all of it if its start is unknown."""
        due = self.snapshot.bound.due[self.heads]
        left = np.maximum(due / 1000 - self.now, 0.0)
        return np.where(due == UNKNOWN_TIME, self.graces, left)

    @cached_property
    def stuck(self) -> Mask:
        """Pods that should have left and have not, or cannot because their kubelet is silent."""
        return stuck_pods(self.snapshot, round(self.now * 1000))

    @property
    def ends(self) -> Floats:
        """For each of them, DRAWS moments, one as likely as the next; NEVER where nobody knows."""
        return self._known[0]

    def sources(self, tenants: Mask) -> Counter[Source]:
        """By what the ends of these are known."""
        return Counter(SOURCES[number] for number in self._known[1][tenants].tolist())

    @cached_property
    def _known(self) -> tuple[Floats, Codes]:
        expected, (deadline, limit) = self.started + self._said("expected"), self._stated()
        ends = np.repeat(expected[:, None], DRAWS, axis=1)
        late = expected <= self.now
        longer = np.maximum(self.now - expected, LATENESS * (expected - self.started))
        ends[late] = self.now + longer[late, None] * CHANCES
        leaving, stuck = self.snapshot.bound.terminating[self.heads], self.stuck[self.heads]
        ends[leaving] = self.now + self._time_to_leave[leaving, None] * CHANCES
        ends[stuck] = NEVER
        for tenant in np.flatnonzero((expected == NEVER) & ~leaving).tolist() if self.runs else ():
            ends[tenant] = self._by_history(tenant)
        last = np.minimum(deadline, np.where(limit > self.now, limit, NEVER))
        open_ended = (ends[:, 0] == NEVER) & (last < NEVER)
        ends[open_ended] = self.now + np.maximum(last[open_ended, None] - self.now, 0) * CHANCES
        unknown = ends[:, 0] == NEVER
        known: dict[Source, Mask] = {
            "stuck": stuck,
            "leaving": leaving,
            "overdue": late,
            "said": expected < NEVER,
            "deadline": open_ended & (deadline <= last),
            "limit": open_ended,
            "unknown": unknown,
        }
        numbers = [SOURCES.index(source) for source in known]
        known_by = np.select(list(known.values()), numbers, SOURCES.index("history"))
        return np.maximum(np.minimum(ends, deadline[:, None]), self.now), known_by.astype(np.int32)

    def _stated(self) -> tuple[Floats, Floats]:
        """When each ends for certain, and when by a run-time limit that nobody enforces."""
        snapshot, bound = self.snapshot, self.snapshot.bound
        deadline, limit = np.full(len(self), NEVER), np.full(len(self), NEVER)
        accounts = None if snapshot.book is None else snapshot.book.account_of_bound[self.heads]
        for tenant, (pod, group) in enumerate(zip(self.heads.tolist(), self.group.tolist(), strict=True)):
            seated = snapshot.seated[group] if group != NO_GROUP else None
            lone, stay = snapshot.standings[bound.standing[pod]].runtime, snapshot.stays[bound.stay[pod]]
            runtime = with_stay(lone, stay) if seated is None else seated.runtime
            terms = NO_TERMS
            if snapshot.book is not None and accounts is not None:
                terms = snapshot.book.run_terms(int(accounts[tenant]))
            if runtime.limit is None and runtime.stay is NO_STAY and terms is NO_TERMS:
                continue
            for end in ends_of(round(self.started[tenant] * 1000), runtime, terms):
                if end.source != "expected":
                    column = deadline if end.enforced else limit
                    column[tenant] = min(column[tenant], end.at / 1000)
        return deadline, limit

    def _by_history(self, tenant: int) -> Floats | float:
        occupant = self.snapshot.bound.occupants[self.heads[tenant]]
        if occupant.owner[0] in SERVICES:
            return NEVER
        seated = self.snapshot.seated[self.group[tenant]] if self.group[tenant] != NO_GROUP else None
        requests = self.snapshot.needs[self.snapshot.bound.needs[self.heads[tenant]]].requests
        key, quorum = (occupant.key, 1) if seated is None else (seated.group.key, seated.group.quorum)
        times = self.runs.like(key, (quorum, requests), self.now - self.started[tenant])
        return NEVER if times is None else self.started[tenant] + times
