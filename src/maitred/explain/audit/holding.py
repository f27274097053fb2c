"""How long a gang held devices without being complete, to the second, from when its pods came and went.

Pods that are gone leave no trace in a dump. Where a pod came later than the others, another may have been in
its place before, so up to then the gang is taken as complete if it would have been with it. Within the time
of a watch nothing is left to be supposed.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.parts import Branch
from maitred.explain.audit.gangs import FoundGroup, until
from maitred.explain.audit.pod_times import PodTimes

Moments = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
Held = dict[tuple[str, str], float]
"""Device-seconds, or devices, by resource and node."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What one gang held within the time that was looked at, and how it stands at its end."""

    incomplete: Held
    """Device-seconds while members of the quorum had no place."""
    starting: Held
    """Device-seconds while all of the quorum had a place, until all of it had been ready."""
    seconds: float
    """In which it had places and was not complete."""
    devices: Held
    """Devices that it has now."""
    seated: int
    """Members that have a place now, or have succeeded."""
    members: int
    """Members that there are now, or that have succeeded."""
    since: float | None
    """From when on it has had places without being complete; None if it is not so now."""


def holding(found_group: FoundGroup, begin: float, now: float, watched_since: float | None) -> Holding:
    """What it held from `begin` to `now`. `watched_since`: from when on nothing was missed."""
    history = GangHistory(found_group, begin, now, watched_since)
    open_places = [stay for stay in found_group.stays if holds_at(stay, now)]
    return Holding(
        incomplete=history.held(history.incomplete),
        starting=history.held(history.starting),
        seconds=float(history.lengths[history.incomplete & (history.holders > 0)].sum()),
        devices=devices_of(open_places),
        seated=int(history.seated[-1]),
        members=int(history.alive[-1]),
        since=history.incomplete_since() if open_places and history.seated[-1] else None,
    )


class GangHistory:
    """A gang from moment to moment: between two of them nothing changes."""

    def __init__(
        self, found_group: FoundGroup, begin: float, now: float, watched_since: float | None
    ) -> None:
        stays, needs = found_group.stays, found_group.needs
        self.stays, self.begin, self.now = stays, begin, now
        created, bound = columns(stay.created for stay in stays), columns(stay.bound for stay in stays)
        left = columns(until(stay) for stay in stays)
        ready = ready_since(found_group)
        ended = columns(stay.ended for stay in stays)
        changes = np.concatenate((created, bound, left, ended))
        inner = [time for time in (begin, ready, watched_since) if time is not None]
        times = np.unique(np.concatenate((changes, inner)))
        times = times[np.isfinite(times) & (times <= now)]
        self.times: Moments = times if len(times) else np.array([begin])
        self.ends: Moments = np.append(self.times[1:], now)
        self.lengths: Moments = np.clip(self.ends - np.maximum(self.times, begin), 0.0, None)
        self.alive = self._count(created) - self._count(left)
        placed = np.isfinite(bound)
        # One that was told to go before it got its place never had it as a member.
        unseated = np.where(placed, np.maximum(bound, left), math.inf)
        self.seated = self._count(bound) - self._count(unseated)
        self.holders = self._count(bound) - self._count(np.where(placed, ended, math.inf))
        watched = self.times >= (math.inf if watched_since is None else watched_since)
        leaf_of = np.array(found_group.leaf_of, dtype=np.int64)
        have, with_unseen = dict[int, Counts](), dict[int, Counts]()
        traced = np.ones(len(self.times), dtype=np.bool_)
        for leaf in (branch for branch, _ in needs.walk() if branch.is_leaf):
            own = leaf_of == leaf.leaf
            alive = self._count(created[own]) - self._count(left[own])
            have[leaf.leaf] = self._count(bound[own]) - self._count(unseated[own])
            later = int(own.sum()) - self._count(created[own])
            unseen = np.minimum(later, np.clip(leaf.quorum - alive, 0, None))
            with_unseen[leaf.leaf] = have[leaf.leaf] + np.where(watched, 0, unseen)
            traced &= watched | (unseen == 0)
        self.whole: Flags = met(needs, have, len(self.times))
        """All of the quorum had a place."""
        complete = met(needs, with_unseen, len(self.times))
        self.incomplete: Flags = ~complete
        # Of a member that may have been there and left no trace, it is not certain that it was not ready.
        self.starting: Flags = complete & traced & (self.times < (math.inf if ready is None else ready))

    def _count(self, moments: Moments) -> NDArray[np.intp]:
        """How many of these had come, by each time."""
        return np.searchsorted(np.sort(moments), self.times, side="right")

    def held(self, chosen: Flags) -> Held:
        """Device-seconds of everyone who had a place, over the times that are chosen."""
        summed = np.concatenate(([0.0], np.cumsum(self.lengths * chosen)))
        edges = np.append(self.times, self.now)
        found: Held = {}
        for stay in self.stays:
            if stay.bound is None or not stay.devices:
                continue
            end = self.now if stay.ended is None else min(stay.ended, self.now)
            first, last = np.interp((stay.bound, end), edges, summed)
            if last > first:
                add(found, stay, float(last - first))
        return found

    def incomplete_since(self) -> float | None:
        """The beginning of the time, up to now, in which it had places and was not complete."""
        vain = self.incomplete & (self.seated > 0)
        if not vain[-1]:
            return None
        breaks = np.flatnonzero(~vain)
        return float(self.times[breaks[-1] + 1 if len(breaks) else 0])


def met(branch: Branch, have: Mapping[int, Counts], times: int) -> Flags:
    """At which times a tree has its quorum with so many members in each leaf."""
    if branch.is_leaf:
        found: Flags = have[branch.leaf] >= branch.quorum
        return found
    parts = np.zeros(times, dtype=np.int64)
    for child in branch.children:
        parts += met(child, have, times)
    complete: Flags = parts >= branch.quorum
    return complete


def whole_since(found_group: FoundGroup, now: float) -> float | None:
    """When all of the quorum had a place for the first time."""
    history = GangHistory(found_group, -math.inf, now, None)
    complete = np.flatnonzero(history.whole)
    return float(history.times[complete[0]]) if len(complete) else None


def columns(moments: Iterable[float | None]) -> Moments:
    """What never happened is infinitely far away."""
    return np.array([math.inf if moment is None else moment for moment in moments], dtype=np.float64)


def ready_since(found_group: FoundGroup) -> float | None:
    """When as many as it takes had been ready."""
    stays = zip(found_group.stays, found_group.leaf_of, strict=True)
    moments = sorted((stay.ready, leaf) for stay, leaf in stays if stay.ready is not None)
    times = np.array([time for time, _ in moments], dtype=np.float64)
    came = {
        leaf: np.cumsum([int(leaf == other) for _, other in moments], dtype=np.int64)
        for leaf in found_group.needs.leaves()
    }
    complete = np.flatnonzero(met(found_group.needs, came, len(times)))
    return float(times[complete[0]]) if len(complete) else None


def holds_at(stay: PodTimes, time: float) -> bool:
    return stay.bound is not None and stay.bound <= time and (stay.ended is None or time < stay.ended)


def devices_of(stays: Iterable[PodTimes]) -> Held:
    found: Held = {}
    for stay in stays:
        add(found, stay, 1.0)
    return found


def add(held: Held, stay: PodTimes, factor: float) -> None:
    for resource, count in stay.devices.items():
        place = resource, stay.pod.spec.node_name
        held[place] = held.get(place, 0.0) + count * factor


def total(held: Held) -> float:
    return sum(held.values())


def merged(every: Iterable[Held]) -> Held:
    found: Counter[tuple[str, str]] = Counter()
    for held in every:
        found.update(held)
    return dict(found)
