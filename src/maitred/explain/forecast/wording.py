"""Estimates in words: the range, and what it rests on."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from maitred.cluster.nodes import Mask
from maitred.explain.forecast.ends import Source
from maitred.explain.forecast.runs import NEVER
from maitred.explain.forecast.starting_point import StartingPoint
from maitred.model.plan import GroupVerdict
from maitred.model.policy import is_device
from maitred.model.times import at_second
from maitred.model.words import counted

MINUTE = 60.0


def in_its_way(outset: StartingPoint, key: str) -> Mask:
    """Tenants that hold devices of the kind that the group asks for; of a group that asks for none, all."""
    snapshot, policy, tenants = outset.snapshot, outset.policy, outset.tenants
    asked = {
        resource
        for group in outset.groups
        if group.key == key
        for shape in group.ask.distinct
        for resource, _ in snapshot.needs[snapshot.shapes[shape].needs].requests
        if is_device(policy, resource)
    }
    holds = [not asked or any(name in asked for name, _ in needs.requests) for needs in snapshot.needs]
    return tenants.any_of(np.array(holds, dtype=np.bool_)[snapshot.bound.needs])


RUNNING: dict[Source, tuple[str, str]] = {
    "said": ("group", "on nodes will end at the declared time"),
    "overdue": (
        "group",
        "on nodes, past the declared time, will end at any moment until the delay has doubled",
    ),
    "leaving": ("terminating pod", "will be gone within the grace period"),
    "stuck": ("terminating pod", "will stay: past the grace period, or on a lost node"),
    "history": ("group", "on nodes will run as long as similar groups did"),
    "deadline": ("group", "on nodes will end at any moment before the deadline"),
    "limit": ("group", "on nodes will end at any moment before a run-time limit that is not enforced"),
    "unknown": ("group", "on nodes will not end: no run time is declared"),
}
"""Groups and lone pods, by what is known of their ends; in words for one and for many."""
ENDING: dict[Source, str] = {
    "said": "at their declared times",
    "overdue": "at any moment where they are late",
    "leaving": "within their grace periods",
    "history": "as similar groups did",
    "deadline": "by their deadlines",
    "limit": "by their run-time limits",
}
"""The same, as far as it lets somebody start."""


def assumptions(outset: StartingPoint, sources: Counter[Source]) -> tuple[str, ...]:
    ending = [
        f"{counted(sources[source], noun)} {words}"
        for source, (noun, words) in RUNNING.items()
        if sources[source]
    ]
    return (*ending, coming(outset), *kept(outset), "nodes stay as they are")


def kept(outset: StartingPoint) -> Iterator[str]:
    """What is kept for others, and so not there."""
    holds, reserved = len(outset.planned_places), len(outset.holds.reservations.kept)
    if holds:
        has = f"{counted(holds, 'group')} {'has' if holds == 1 else 'have'}"
        yield f"{has} a hold, which no equal or lesser group delays"
    if reserved:
        keep = f"{counted(reserved, 'reservation')} {'keeps' if reserved == 1 else 'keep'}"
        yield f"{keep} nodes free for others"


def coming(outset: StartingPoint) -> str:
    arrivals = outset.arrivals
    if not len(arrivals):
        return "no new groups arrive: there is no history of arrivals"
    return f"new groups arrive as in the last {hours(arrivals.memory)}: {counted(len(arrivals), 'group')}"


def hours(seconds: float) -> str:
    return f"{round(seconds / 60)} minutes" if seconds < 2 * 3600 else f"{round(seconds / 3600)} hours"


def span(now: float, earliest: float, latest: float) -> str:
    """To the minute, with dates only where they are not today's."""
    first, last = clock(earliest, now), clock(latest, earliest)
    if latest == NEVER:
        return f"not before about {first} UTC, the latest time is not known"
    return f"about {first} UTC" if latest - earliest < MINUTE else f"about {first} to {last} UTC"


def clock(at: float, beside: float) -> str:
    if at == NEVER:
        return ""
    moment, known = at_second(at), at_second(beside)
    return moment.strftime("%H:%M" if moment.date() == known.date() else "%Y-%m-%d %H:%M")


def condition(outset: StartingPoint, sources: Counter[Source], key: str) -> str:
    """With when the group starts at the latest, if it has a hold or a booked start."""
    ends = [words for source, words in ENDING.items() if sources[source]]
    if len(outset.ripening):
        ends.append("or are evicted for it after their protected run time")
    ends = ends or [ENDING["said"]]
    others = "new groups arrive as they did lately" if len(outset.arrivals) else "no new groups arrive"
    words = f"if running groups end {', '.join(ends)}{',' if len(ends) > 1 else ''} and {others}"
    promised, booked = outset.promised(key), key in outset.holds.booked.kept
    if promised == NEVER:
        return words
    by = "booked start" if booked else "hold"
    return f"{words}; by its {by}, at {clock(promised, outset.now)} UTC at the latest"


def no_estimate(verdict: GroupVerdict | None) -> str:
    """Why nothing can be said of when a group starts."""
    if verdict is None:
        return "it does not wait"
    blocker = verdict.blockers[0].message if verdict.blockers else "it may not start yet"
    match verdict.verdict:
        case "Scheduled":
            return "it has started"
        case "Impossible":
            return "never on this cluster"
        case "Invalid":
            return f"never, as it is written: {blocker}"
        case _:
            return f"not known: {blocker}"
