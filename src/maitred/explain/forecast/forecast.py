"""When will it start? Futures are rolled forward, and the answer is the range of what comes of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor

from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.future import Future, coalesced
from maitred.explain.forecast.guests import Guest
from maitred.explain.forecast.opening import Opening
from maitred.explain.forecast.runs import NEVER
from maitred.explain.forecast.wording import assumptions, condition, in_its_way, no_estimate, span
from maitred.explain.remedies.effort import Effort
from maitred.explain.situation import Situation
from maitred.model.plan import GroupVerdict
from maitred.model.words import counted, moment

FUTURES = 24
"""In each of them others come as they did lately, from another hour on; in one more, nobody comes."""
EFFORT_EACH, EFFORT = 60_000, 80_000
"""For one future, and for all: in looks at how much room there is on a small cluster."""
SURE = 0.9
"""How often the group is to have started by the end of the range."""
SLACK = 60.0
"""Seconds from an end to the next start: for pods to leave, and for a cycle to see it."""


def estimate(situation: Situation, key: str) -> Estimate:
    """When the quorum of a group will sit."""
    return estimates(situation, [key])[key]


def estimates(situation: Situation, keys: Iterable[str]) -> dict[str, Estimate]:
    """For several groups at little more than the price of one: futures show when everybody starts."""
    opening, wanted = situation.once(Opening), tuple(dict.fromkeys(keys))
    verdicts = {verdict.group: verdict for verdict in opening.plan.groups}
    waiting = {guest.key for guest in opening.guests if verdicts[guest.key].verdict == "Waiting"}
    futures = roll(opening, [key for key in wanted if key in waiting])
    seated = {seating.guest.key for seating in opening.seatings}
    found = {}
    for key in wanted:
        if key in waiting:
            found[key] = told(opening, key, futures)
        elif key in seated:
            found[key] = given_places(opening, key, verdicts[key])
        else:
            found[key] = Estimate(group=key, words=no_estimate(verdicts.get(key)))
    return found


# -- futures -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one future."""

    starts: Mapping[str, float]
    until: float
    """How far it was looked at; NEVER if nothing more is known to come."""

    def start(self, key: str) -> float:
        return self.starts.get(key, NEVER)


def roll(opening: Opening, wanted: Sequence[str]) -> list[Outcome]:
    """First that in which nobody comes. Where it takes long, fewer others are looked at."""
    if not wanted:
        return []
    outcomes, left = list[Outcome](), EFFORT
    for number, comers in enumerate(streams(opening)):
        if number > 1 and left * number < EFFORT - left:  # No room for one more like those before.
            break
        effort = Effort(EFFORT_EACH)
        future = Future(opening, effort, number, comers)
        future.run(wanted)
        left -= EFFORT_EACH - effort.left
        outcomes.append(Outcome(future.starts, future.now))
    return outcomes


def streams(opening: Opening) -> Iterator[Iterator[tuple[float, Guest]]]:
    """Who comes, in each of the futures. One is enough where nobody does and all ends are known."""
    yield iter(())
    if len(opening.comers) or not opening.certain:
        for number in range(FUTURES):
            yield opening.comers.stream(number / FUTURES)


@dataclass(frozen=True, slots=True)
class Range:
    earliest: float
    likely: float
    latest: float


def range_of(starts: Sequence[float]) -> Range:
    """From the earliest start of all to the one that is late enough; beyond the latest of all where there are
    so few that the next one might well be later. The first is that of the future in which nobody comes."""
    others = sorted(starts[1:] or starts)
    earliest, count = min(starts[0], others[0]), len(others)
    place = SURE * (count + 1)
    if others[-1] == NEVER:
        latest = others[min(count, round(place)) - 1]
    elif place >= count:
        latest = others[-1] + (place - count) * (others[-1] - earliest) / count
    else:
        latest = others[floor(place) - 1] + (place % 1) * (others[floor(place)] - others[floor(place) - 1])
    return Range(earliest, others[(count - 1) // 2], latest + SLACK)


# -- what is said --------------------------------------------------------------------------------------


def told(opening: Opening, key: str, outcomes: Sequence[Outcome]) -> Estimate:
    found = range_of([outcome.start(key) for outcome in outcomes])
    blur = coalesced(len(opening.snapshot.nodes.names))
    sources = opening.tenants.sources(in_its_way(opening, key))
    assumed = assumptions(opening, sources)
    if found.earliest == NEVER:
        return not_seen(opening, key, min(outcome.until for outcome in outcomes), assumed)
    return Estimate(
        group=key,
        earliest=written(found.earliest - (found.earliest - opening.now) * blur),
        likely=written(found.likely),
        latest=written(found.latest),
        basis="history" if sources["history"] else "known",
        assumptions=assumed,
        words=f"{span(opening.now, found.earliest, found.latest)}, {condition(opening, sources)}",
    )


def not_seen(opening: Opening, key: str, until: float, assumed: tuple[str, ...]) -> Estimate:
    """It starts in none of the futures, as far as they were looked at."""
    verdict = next(one for one in opening.situation.plan(explained=[key]).groups if one.group == key)
    if verdict.verdict == "Impossible":
        return Estimate(group=key, words=no_estimate(verdict))
    beside = opening.beside_others(key)
    if beside:
        words = f"not known, and it would not start even if other groups ended: {beside[0].message}"
        return Estimate(group=key, words=words)
    if until == NEVER:
        words = "not known: it has no room until other groups end, and they declare no run time"
        return Estimate(group=key, assumptions=assumed, words=words)
    words = f"{span(opening.now, until, NEVER)}: the forecast ends there"
    return Estimate(group=key, earliest=written(until), basis="known", assumptions=assumed, words=words)


def given_places(opening: Opening, key: str, verdict: GroupVerdict) -> Estimate:
    """It starts at once, or when others have left who leave for it."""
    if verdict.verdict != "Preempting":
        now = written(opening.now)
        return Estimate(group=key, earliest=now, likely=now, latest=now, basis="known", words="now")
    last = opening.now + opening.grace
    leaving = counted(len(opening.tenants.pods_of(opening.leaving)), "pod")
    return Estimate(
        group=key,
        earliest=written(opening.now),
        likely=written(last),
        latest=written(last + SLACK),
        basis="known",
        assumptions=(f"{leaving} will leave for other groups, all within their grace periods",),
        words=f"{span(opening.now, opening.now, last)}, as soon as the pods that leave for it are gone",
    )


def written(at: float) -> str | None:
    return None if at == NEVER else moment(floor(at))
