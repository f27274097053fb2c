"""Should small ones go first while a large one waits? Both orders are rolled forward, and compared."""

from collections.abc import Iterable
from math import floor

import msgspec

from maitred.explain.forecast.cluster import ForecastRun
from maitred.explain.forecast.estimate import Orders, Shift
from maitred.explain.forecast.forecast import EFFORT_EACH, written
from maitred.explain.forecast.future import Future
from maitred.explain.forecast.groups import ForecastGroup
from maitred.explain.forecast.runs import NEVER
from maitred.explain.forecast.starting_point import StartingPoint
from maitred.explain.forecast.wording import assumptions, clock, in_its_way
from maitred.explain.remedies.attempt_budget import AttemptBudget
from maitred.explain.situation import Situation
from maitred.model.policy import is_device
from maitred.model.words import counted, moment

HOUR = 3600.0
NOTICED = 60.0
"""Seconds: who starts earlier or later by less than that is not affected."""


def orders(situation: Situation, large: str, effort: int = EFFORT_EACH) -> Orders:
    """Where it is not known when the large one starts, the words say so and nothing is compared.

    The effort is for each of the futures; who has little time looks less far.
    """
    outset = situation.once(StartingPoint)
    group = next((group for group in outset.waiting if group.key == large and group.ask.need), None)
    if group is None:
        return Orders(group=large, words="it does not wait for room")
    known = assumptions(outset, outset.tenants.sources(in_its_way(outset, large)))
    alone = future(outset, effort, group)
    alone.run([large])
    if large not in alone.starts:
        return Orders(group=large, assumptions=known, words=never(alone, outset.now))
    as_now, holding = future(outset, effort), future(outset, effort)
    holding.keep(group, alone.cluster.stays[large].places, alone.starts[large])
    return compared(outset, group, as_now, holding, known)


def future(outset: StartingPoint, effort: int, last: ForecastGroup | None = None) -> Future:
    """With nobody who comes after the last, if one is given. In queues nobody knows before who that is."""
    last = None if outset.policy.queues else last
    arrivals = outset.arrivals.stream(0.0)
    return Future(outset, AttemptBudget(effort), 0, arrivals, None if last is None else last.turn)


def never(future: Future, now: float) -> str:
    if future.now == NEVER:
        return "it is not known when it starts, even with room held for it"
    return (
        f"even with room held for it, it starts after {clock(future.now, now)} UTC, where the forecast ends"
    )


def compared(
    outset: StartingPoint, large: ForecastGroup, as_now: Future, holding: Future, known: tuple[str, ...]
) -> Orders:
    for future in (as_now, holding):
        future.run([large.key])
    before, after = as_now.starts.get(large.key, NEVER), holding.starts.get(large.key, NEVER)
    if after == NEVER:
        return Orders(group=large.key, assumptions=known, words=never(holding, outset.now))
    waiting = {group.key for group in outset.waiting if group.ask.need and group.key != large.key}
    for future, other in ((as_now, holding), (holding, as_now)):
        future.run(waiting & other.starts.keys())
    until = min(after, as_now.now, holding.now)
    busy = [device_seconds(outset, future.stays, until) for future in (as_now, holding)]
    affected = waiting & as_now.starts.keys() & holding.starts.keys()
    shifts = (shift(key, as_now.starts[key], holding.starts[key]) for key in sorted(affected))
    found = Orders(
        group=large.key,
        as_now=written(before),
        holding=written(after),
        gained_hours=None if NEVER in (before, after) else round((before - after) / HOUR, 2),
        idle_device_hours=round(max(0.0, busy[0] - busy[1]) / HOUR, 1),
        shifted=tuple(one for one in shifts if abs(one.hours) * HOUR >= NOTICED),
        unknown=tuple(sorted(waiting & as_now.starts.keys() - holding.starts.keys())),
        newcomers=sum(stay.group.came and stay.since <= until for stay in as_now.stays),
        assumptions=known,
    )
    return msgspec.structs.replace(found, words=words(found, outset.now, as_now, holding))


def shift(key: str, before: float, after: float) -> Shift:
    return Shift(key, moment(floor(before)), moment(floor(after)), round((after - before) / HOUR, 2))


def device_seconds(outset: StartingPoint, stays: Iterable[ForecastRun], until: float) -> float:
    """What those who sit down have of devices until then."""
    total, snapshot = 0.0, outset.snapshot
    for stay in stays:
        lasts = max(0.0, min(stay.ends, until) - stay.since)
        for place in stay.places:
            requests = snapshot.needs[snapshot.shapes[place.shape].needs].requests
            each = sum(amount for name, amount in requests if is_device(outset.policy, name))
            total += each * int(place.copies.sum()) * lasts
    return total


def words(found: Orders, now: float, as_now: Future, holding: Future) -> str:
    before, after = as_now.starts.get(found.group, NEVER), holding.starts[found.group]
    then = f"with room held for it, it starts about {clock(after, now)} UTC"
    if before == NEVER:
        unknown = "it is not known when it starts"
        if as_now.now < NEVER:
            unknown = f"it starts after {clock(as_now.now, now)} UTC, where the forecast ends"
        return f"in the current order, {unknown}; {then}, {cost(found)}"
    if before - after < NOTICED:
        return f"it starts about {clock(before, now)} UTC in either order: holding room for it gains nothing"
    return f"in the current order, it starts about {clock(before, now)} UTC; {then}, {cost(found)}"


def cost(found: Orders) -> str:
    idle = f"which leaves {found.idle_device_hours:,g} device-hours idle"
    later = [one.hours for one in found.shifted if one.hours > 0]
    if found.unknown:
        one, group = len(found.unknown) == 1, counted(len(found.unknown), "group")
        starts = f"{group} now waiting {'starts' if one else 'start'}"
        idle = f"{idle}, and it is not known when {starts} then, because the large one declares no run time"
    if not later and found.unknown:
        return idle
    if not later:
        return f"{idle}, and no waiting group starts later"
    others, average = counted(len(later), "group"), sum(later) / len(later)
    mean = " on average" if len(later) > 1 else ""
    return f"{idle}, and {others} now waiting would start {average:.1f} hours later{mean}"
