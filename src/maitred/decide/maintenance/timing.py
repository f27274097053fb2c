"""When those who must leave a node leave it: at the time that costs least, and that their work allows.

- Who says when it saves its work leaves right after it has.
- Who says when it ends, and ends in time, is left alone until the last moment.
- For who says neither, every minute more is a minute of work more that is lost: it leaves at once. Where it
  is protected from preemption, it is given all the time there is, since it may end.

The last moment leaves the grace period before the deadline. Then all leave, whatever they say.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints
from maitred.cluster.snapshot import UNKNOWN_TIME, GroupView
from maitred.decide.preemption.evictable import EvictablePods, device_hours
from maitred.model.policy import grace_limit
from maitred.model.protection import LAST_CHECKPOINT, NON_PREEMPTIBLE
from maitred.model.runtime import NO_TERMS, ends_of
from maitred.model.words import moment

FRESH = 60_000
"""Milliseconds after it was saved in which work counts as saved: less than that is noise."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in milliseconds since 1970."""

    at: int
    """When it leaves, as far as that is known now."""
    last: int
    """The last moment."""
    why: str
    is_due: bool
    is_last: bool
    """It leaves even if there is no place for it, and whatever budgets allow."""
    lost: float
    """Work that is lost then, in device-hours,"""
    lost_now: float
    """and if it left now."""


class Timings:
    def __init__(self, evictable: EvictablePods) -> None:
        self.evictable, self.now = evictable, evictable.now
        graces = [standing.runtime.grace for standing in evictable.snapshot.standings]
        self._graces = np.array([*graces, 0], dtype=np.int64)

    def of(self, pods: Rows, views: Sequence[GroupView], by: int, shield: str) -> Timing:
        """`shield`: what protects it from preemption, in words."""
        last = by - self._grace(pods)
        at, why = (self.now, "the deadline leaves no more time") if last <= self.now else (last, "")
        if not why:
            at, why = self._at(pods, views, last, shield)
        is_last = last <= self.now
        lost_now = device_hours(int(self.evictable.work[pods].sum()))
        lost = lost_now if at <= self.now else self.lost_at(pods, at)
        return Timing(at, last, why, is_last or at <= self.now, is_last, lost, lost_now)

    def _grace(self, pods: Rows) -> int:
        asked = int(self._graces[self.evictable.bound.standing[pods]].max(initial=0))
        limit = grace_limit(self.evictable.policy)
        return asked if limit is None else min(asked, limit * 1000)

    def _at(self, pods: Rows, views: Sequence[GroupView], last: int, shield: str) -> tuple[int, str]:
        evictable = self.evictable
        busy = pods[(evictable.devices[pods] > 0) & (evictable.bound.started[pods] != UNKNOWN_TIME)]
        if not len(busy):
            return self.now, "it holds no devices, so no work is lost by leaving early"
        end = self._end(busy, views)
        if end is not None and end <= last:
            return last, f"it says that it ends by {_said(end)}; else it leaves at the last moment"
        saved = self.at_checkpoint(busy, last)
        if saved is not None:
            return saved
        if shield:
            return last, f"it {shield}, and says nothing of checkpoints: it has until the last moment"
        return self.now, "it says nothing of checkpoints: the longer it runs, the more work is lost"

    def at_checkpoint(self, pods: Rows, last: int) -> tuple[int, str] | None:
        """When all of these, which have started, will have saved their work; now, if they just have. None if
        they do not say that."""
        marks, interval = self._marks(pods), self.evictable.checkpoint_interval[pods]
        if (marks != UNKNOWN_TIME).all():
            return self._after_mark(int(marks.min()), interval, last)
        if (interval > 0).all():
            return self._after_interval(pods, interval, last)
        return None

    def _marks(self, pods: Rows) -> Ints:
        """When they say that they have saved their work. What is yet to come is the word of a wrong clock."""
        said = self.evictable.checkpoint[pods]
        return np.where(said > self.now, UNKNOWN_TIME, said)

    def _end(self, busy: Rows, views: Sequence[GroupView]) -> int | None:
        """When all of it ends by itself, if it says so."""
        started, book = int(self.evictable.bound.started[busy].max()), self.evictable.snapshot.book
        ends = list[int]()
        for view in views:
            terms = NO_TERMS if book is None else book.run_terms(view.account)
            first = next(iter(ends_of(started, view.runtime, terms)), None)
            if first is None:
                return None
            ends.append(first.at)
        end = max(ends, default=0)
        return end if end > self.now else None

    def _after_mark(self, saved: int, interval: Ints, last: int) -> tuple[int, str]:
        """It tells when it has saved its work."""
        if self.now - saved <= FRESH:
            return self.now, f"its work was saved at {_said(saved)}"
        every = int(interval.max(initial=0))
        if every <= 0:
            return last, f"it leaves as soon as it writes another {LAST_CHECKPOINT}, else at the last moment"
        following = saved + every * (1 + (self.now - saved) // every)
        return self._next(following, last)

    def _after_interval(self, busy: Rows, interval: Ints, last: int) -> tuple[int, str]:
        """It says how often it saves its work."""
        started = self.evictable.bound.started[busy]
        since = (self.now - started) % interval
        if int(since.max()) <= FRESH and int((self.now - started - interval).min()) >= 0:
            return self.now, f"its work was saved at {_said(int((self.now - since).min()))}"
        return self._next(int((self.now - since + interval).max()), last)

    def _next(self, following: int, last: int) -> tuple[int, str]:
        if following <= last:
            return following, "at its next checkpoint"
        return self.now, "its next checkpoint comes after the last moment: waiting would lose more work"

    def lost_at(self, pods: Rows, at: int) -> float:
        """What is saved until then is not lost."""
        evictable = self.evictable
        started, marks = evictable.started[pods], self._marks(pods)
        interval = evictable.checkpoint_interval[pods]
        base = np.where(marks == UNKNOWN_TIME, started, np.maximum(marks, started))
        step = np.maximum(interval, 1)
        saved = np.where(interval > 0, at - np.maximum(at - base, 0) % step, evictable.lost_since[pods])
        return device_hours(int((evictable.devices[pods] * np.maximum(at - saved, 0)).sum()))


def shield_words(evictable: EvictablePods, pods: Rows) -> str:
    """What would keep these pods from being preempted. Maintenance is no preemption: they leave all the same,
    but not earlier than they must."""
    if bool(evictable.exempt[pods].any()):
        return f"is marked {NON_PREEMPTIBLE}"
    if bool(evictable.unreadable[pods].any()):
        return "has marks that cannot be read"
    until = int(evictable.protected_until[pods].max(initial=0))
    return f"is protected until {_said(until)}" if evictable.now < until < LONGEST else ""


LONGEST = np.iinfo(np.int64).max // 2


def _said(time: int) -> str:
    return moment(time // 1000)
