"""Groups that ask for the same, so that if the first of them cannot be seated, no other can.

A long queue of like jobs costs no more to look at than its first. What is in the way of the first is in the
way of all; how long it was is counted once, on a clock that each group reads when it begins and ends to wait.
"""

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from maitred.decide.agenda import Turn
from maitred.simulate.clock import HOUR, Time
from maitred.simulate.group import SimulatedGroup

DIAGNOSED_EVERY = HOUR
UNKNOWN = "Undecided"
"""Nobody has looked yet."""

_encode = msgspec.msgpack.Encoder().encode


class WaitingTurn(NamedTuple):
    turn: Turn
    group: SimulatedGroup


class SameRequests:
    def __init__(self, now: Time, like: "SameRequests | None" = None) -> None:
        """What is known to be in the way of `like` is in the way of this one."""
        self.waiters: list[WaitingTurn] = []
        self._quickest: list[WaitingTurn] | None = None
        self.open = True
        """Whether the first may find seats, as far as is known."""
        self.hopeless = False
        """Whether it could never sit on the nodes as they were, some of which were broken."""
        self.category: str = like.category if like else UNKNOWN
        self.words: str = like.words if like else ""
        self.diagnosed: Time | None = like.diagnosed if like else None
        self._clock: Counter[str] = Counter()
        self._set: Time = now

    def __len__(self) -> int:
        return len(self.waiters)

    @property
    def first(self) -> WaitingTurn:
        return self.waiters[0]

    @property
    def quickest(self) -> list[WaitingTurn]:
        """Those who end sooner than everybody before them. Where others have places later, and none of these
        can sit until then, nobody can."""
        if self._quickest is None:
            self._quickest, least = list[WaitingTurn](), math.inf
            for waiter in self.waiters:
                limit = math.inf if waiter.group.job.limit is None else waiter.group.job.limit
                if not self._quickest or limit < least:
                    self._quickest.append(waiter)
                    least = limit
        return self._quickest

    def passed_over(self, asked: Sequence[WaitingTurn], served: Container[str]) -> WaitingTurn | None:
        """The first who was not asked, and comes after one who was served."""
        known, any_served = {waiter.turn.key for waiter in asked}, False
        for waiter in self.waiters:
            if any_served and waiter.turn.key not in known:
                return waiter
            any_served |= waiter.turn.key in served
        return None

    def add(self, waiter: WaitingTurn) -> None:
        self._quickest = None
        insort(self.waiters, waiter, key=lambda known: known.turn)

    def remove(self, waiter: WaitingTurn) -> None:
        self._quickest = None
        del self.waiters[bisect_left(self.waiters, waiter.turn, key=lambda known: known.turn)]

    def diagnose(self, category: str, words: str, now: Time) -> None:
        self._wind(now)
        self.category, self.words, self.diagnosed = category, words, now

    def needs_diagnosis(self, now: Time) -> bool:
        return self.diagnosed is None or now - self.diagnosed >= DIAGNOSED_EVERY

    def read_clock(self, now: Time) -> Counter[str]:
        """How long something was in the way of this kin, since it is known."""
        self._wind(now)
        return Counter(self._clock)

    def _wind(self, now: Time) -> None:
        self._clock[self.category] += now - self._set
        self._set = now


def kin_key(group: SimulatedGroup) -> Hashable:
    """Groups of which some sit, or for whom places are kept, are like nobody else."""
    job = group.job
    if group.sitting or group.nominated:
        return group.number
    return (
        tuple((_encode(crew.spec), crew.count) for crew in job.crews),
        job.quorum,
        job.priority,
        job.within,
    )


def passed(before: Mapping[str, Time], after: Mapping[str, Time]) -> Counter[str]:
    """What the clock showed later, less what it showed before."""
    return Counter({category: time - before.get(category, 0) for category, time in after.items()})
