"""When will it start? Futures are rolled forward, and the answer is the range of what comes of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor

from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.future import Future, coalesced
from maitred.explain.forecast.groups import ForecastGroup
from maitred.explain.forecast.runs import NEVER
from maitred.explain.forecast.starting_point import StartingPoint
from maitred.explain.forecast.wording import assumptions, condition, in_its_way, no_estimate, span
from maitred.explain.remedies.attempt_budget import AttemptBudget
from maitred.explain.situation import Situation
from maitred.model.plan import Blocker, GroupVerdict
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
    outset, wanted = situation.once(StartingPoint), tuple(dict.fromkeys(keys))
    verdicts = {verdict.group: verdict for verdict in outset.plan.decisions}
    waiting = {group.key for group in outset.groups if verdicts[group.key].verdict == "Waiting"}
    futures = roll(outset, [key for key in wanted if key in waiting])
    seated = {seating.group.key for seating in outset.seatings}
    found = {}
    for key in wanted:
        if key in waiting:
            found[key] = told(outset, key, futures)
        elif key in seated:
            found[key] = given_places(outset, key, verdicts[key])
        else:
            found[key] = Estimate(group=key, words=no_estimate(verdicts.get(key)))
    return found


# -- futures -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FutureOutcome:
    """What came of one future."""

    starts: Mapping[str, float]
    until: float
    """How far it was looked at; NEVER if nothing more is known to come."""

    def start(self, key: str) -> float:
        return self.starts.get(key, NEVER)


def roll(outset: StartingPoint, wanted: Sequence[str]) -> list[FutureOutcome]:
    """First that in which nobody comes. Where it takes long, fewer others are looked at."""
    if not wanted:
        return []
    outcomes, left = list[FutureOutcome](), EFFORT
    for number, arrivals in enumerate(streams(outset)):
        if number > 1 and left * number < EFFORT - left:  # No room for one more like those before.
            break
        effort = AttemptBudget(EFFORT_EACH)
        future = Future(outset, effort, number, arrivals)
        future.run(wanted)
        left -= EFFORT_EACH - effort.left
        outcomes.append(FutureOutcome(future.starts, future.now))
    return outcomes


def streams(outset: StartingPoint) -> Iterator[Iterator[tuple[float, ForecastGroup]]]:
    """Who comes, in each of the futures. One is enough where nobody does and all ends are known."""
    yield iter(())
    if len(outset.arrivals) or not outset.certain:
        for number in range(FUTURES):
            yield outset.arrivals.stream(number / FUTURES)


@dataclass(frozen=True, slots=True)
class StartRange:
    earliest: float
    likely: float
    latest: float

    def by(self, promised: float) -> "StartRange":
        """Of a group that starts then at the latest."""
        return StartRange(
            min(self.earliest, promised), min(self.likely, promised), min(self.latest, promised)
        )


def range_of(starts: Sequence[float]) -> StartRange:
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
    return StartRange(earliest, others[(count - 1) // 2], latest + SLACK)


# -- what is said --------------------------------------------------------------------------------------


def told(outset: StartingPoint, key: str, outcomes: Sequence[FutureOutcome]) -> Estimate:
    found, promised = range_of([outcome.start(key) for outcome in outcomes]), outset.promised(key)
    if found.earliest == NEVER and promised < NEVER:
        found = replace(found, earliest=min(outcome.until for outcome in outcomes))
    found = found.by(promised)
    blur = coalesced(len(outset.snapshot.nodes.names))
    sources = outset.tenants.sources(in_its_way(outset, key))
    assumed = assumptions(outset, sources)
    if found.earliest == NEVER:
        return not_seen(outset, key, min(outcome.until for outcome in outcomes), assumed)
    return Estimate(
        group=key,
        earliest=written(found.earliest - (found.earliest - outset.now) * blur),
        likely=written(found.likely),
        latest=written(found.latest),
        basis="history" if sources["history"] else "known",
        assumptions=assumed,
        words=f"{span(outset.now, found.earliest, found.latest)}, {condition(outset, sources, key)}",
    )


def not_seen(outset: StartingPoint, key: str, until: float, assumed: tuple[str, ...]) -> Estimate:
    """It starts in none of the futures, as far as they were looked at."""
    verdict = next(one for one in outset.situation.plan(explained=[key]).decisions if one.group == key)
    if verdict.verdict == "Impossible":
        return Estimate(group=key, words=no_estimate(verdict))
    unpaid = next((one for one in verdict.blockers if one.category == "Budget"), None)
    if unpaid is not None:
        return Estimate(group=key, words=no_budget(unpaid))
    beside = outset.beside_others(key)
    if beside:
        words = f"not known, and it would not start even if other groups ended: {beside[0].message}"
        return Estimate(group=key, words=words)
    if until == NEVER:
        return Estimate(group=key, assumptions=assumed, words=f"not known: {no_room(outset, verdict)}")
    words = f"{span(outset.now, until, NEVER)}: the forecast ends there"
    return Estimate(group=key, earliest=written(until), basis="known", assumptions=assumed, words=words)


def no_room(outset: StartingPoint, verdict: GroupVerdict) -> str:
    """As far as ends are known."""
    first = verdict.blockers[0]
    if first.category == "Reservation":
        return first.message
    others = "beside what is held for others or reserved " if outset.keeps else ""
    return f"it has no room {others}until other groups end, and they declare no run time"


def no_budget(blocker: Blocker) -> str:
    """Of a group that its queue cannot pay for. What will be left of a budget, futures do not know."""
    told = blocker.detail
    if told["asked"] > told["budget"]:
        return f"not known: no {told['period']} of the budget of queue {told['queue']} pays for it"
    return (
        f"not known: the budget of queue {told['queue']} cannot pay for it; the next {told['period']} begins "
        f"at {told['until']}"
    )


def given_places(outset: StartingPoint, key: str, verdict: GroupVerdict) -> Estimate:
    """It starts at once, or when others have left who leave for it."""
    if verdict.verdict != "Preempting":
        now = written(outset.now)
        return Estimate(group=key, earliest=now, likely=now, latest=now, basis="known", words="now")
    last = outset.now + outset.grace
    leaving = counted(len(outset.tenants.pods_of(outset.leaving)), "pod")
    return Estimate(
        group=key,
        earliest=written(outset.now),
        likely=written(last),
        latest=written(last + SLACK),
        basis="known",
        assumptions=(f"{leaving} will leave for other groups, all within their grace periods",),
        words=f"{span(outset.now, outset.now, last)}, as soon as the pods that leave for it are gone",
    )


def written(at: float) -> str | None:
    return None if at == NEVER else moment(floor(at))
