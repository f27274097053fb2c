"""How much stands idle for groups that are held by age: devices on their nodes that nobody has now.

Where nothing does, nobody has left since: who runs there may run for long. That costs nothing, so it would
never end the hold. After as long as a group must wait for a hold, its places are chosen anew.
"""

from collections import Counter
from datetime import datetime

import msgspec

from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.holding.calendar import Calendar
from maitred.decide.scoring import device_columns
from maitred.model.duration import milliseconds
from maitred.model.holding import WaitingHold
from maitred.model.policy import Policy

HOUR = 3600.0
LEAST_STAY = 60_000
"""In milliseconds: so long a hold stays where nobody leaves, at least."""


class IdleTally:
    def __init__(self, calendar: Calendar, policy: Policy, now: datetime) -> None:
        self.calendar, self.policy, self.now = calendar, policy, now

    def is_spent(self, hold: WaitingHold) -> bool:
        return hold.over is None and self._until_now(hold) >= self.policy.holds.idle

    def over(self, hold: WaitingHold) -> WaitingHold:
        """Its places are given back. It may have others later."""
        idle = self._until_now(hold)
        return msgspec.structs.replace(hold, nodes=(), idle=idle, at=self.now, rate=0.0, over=self.now)

    def told(self, hold: WaitingHold, ask: Ask, seats: Assignment, before: WaitingHold | None) -> WaitingHold:
        """With what stood idle for it so far. It is told anew when another amount does."""
        trial = self.calendar.at(self.calendar.now, planned=False)
        rate = float(devices_idle(trial, ask, seats, self.policy))
        if before is None or before.basis != "age" or before.over is not None:
            return msgspec.structs.replace(hold, at=self.now, rate=rate)
        if before.rate == rate:
            return msgspec.structs.replace(hold, idle=before.idle, at=before.at, rate=rate)
        return msgspec.structs.replace(hold, idle=self._until_now(before), at=self.now, rate=rate)

    def freed(self, before: WaitingHold | None) -> WaitingHold | None:
        """Without its places, if nobody has left them for too long."""
        if before is None or not before.nodes or before.rate or before.at is None:
            return before
        if self.calendar.now < self._stays_until(before.at):
            return before
        return msgspec.structs.replace(before, nodes=(), at=self.now)

    def over_at(self, hold: WaitingHold) -> int | None:
        """When its places are given back, or chosen anew, in milliseconds since 1970; None if that is not
        known to come."""
        if hold.at is None or not hold.nodes:
            return None
        if not hold.rate:
            return self._stays_until(hold.at)
        left = max(self.policy.holds.idle - hold.idle, 0.0) / hold.rate * HOUR
        return round(min(hold.at.timestamp() + left, 1e12) * 1000)

    def _stays_until(self, since: datetime) -> int:
        stay = milliseconds(self.policy.holds.after) or 0
        return round(since.timestamp() * 1000) + max(stay, LEAST_STAY)

    def _until_now(self, hold: WaitingHold) -> float:
        lasted = 0.0 if hold.at is None else max(0.0, (self.now - hold.at).total_seconds())
        return hold.idle + hold.rate * lasted / HOUR


def devices_idle(trial: Trial, ask: Ask, seats: Assignment, policy: Policy) -> int:
    """Of those that it is to have. Where it asks for none that are counted, its members count instead, as far
    as they would fit by themselves."""
    wanted, idle = device_columns(trial.nodes, policy), 0
    by_node = Counter[tuple[int, int]]((row, ask.shapes[member]) for member, row in seats)
    for (row, shape), count in by_node.items():
        requests = trial.columns.request_column(trial.needs(shape))
        devices = sum(int(requests[column]) for column in wanted)
        free = sum(max(0, int(trial.columns.free[column, row])) for column in wanted if requests[column])
        fit = min(count, int(trial.columns.copies(shape)[row]))
        idle += min(free, devices * count) if devices else fit
    return idle
