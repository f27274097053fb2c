"""When preemption is worth it: the work that would be lost against what it costs the group to wait.

Two kinds of groups are told of: those for which others leave now, and those for which others could leave but
may not, because the policy, its order, its delay or the group itself says so. While a group waits, its
devices' worth of work is not done: after as many hours as the break-even says, the wait has cost more
device-hours than those who would have left had to lose.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import msgspec
from msgspec import UNSET

from maitred.decide.ask import ask_of
from maitred.decide.context import Context
from maitred.decide.preemption.promises import Preemptor, Promises
from maitred.decide.screen import screen
from maitred.explain.capacity.document import PreemptionWorth
from maitred.explain.capacity.survey import SECONDS_PER_HOUR, Survey
from maitred.explain.forecast.estimate import Orders
from maitred.explain.remedies.rehearsal import RankedGroup
from maitred.model.drain import MAINTENANCE
from maitred.model.duration import milliseconds
from maitred.model.plan import Eviction
from maitred.model.policy import preempts
from maitred.model.priority import Rank

MOST_GROUPS = 8
PROMISE_ATTEMPTS, FAILURE_ATTEMPTS = 70, 6
"""About what it takes to see who would leave for a group, and that nobody could."""
NAMES_SHOWN = 8


def preemption(survey: Survey, rolled: Iterable[Orders]) -> tuple[PreemptionWorth, ...]:
    """`rolled` are groups whose start was rolled forward already, which tells how long they would wait."""
    survey.begin()
    starts = {each.group: each.as_now for each in rolled if each.as_now is not None}
    return tuple(
        msgspec.structs.replace(each, expected_wait_hours=_hours_until(survey, starts[each.group]))
        if each.group in starts
        else each
        for each in (*_preempting(survey), *_forbidden(survey))
    )


def _hours_until(survey: Survey, start: str) -> float:
    return round((datetime.fromisoformat(start).timestamp() - survey.now / 1000) / SECONDS_PER_HOUR, 2)


def _preempting(survey: Survey) -> Iterator[PreemptionWorth]:
    ranked_groups = {ranked.view.group.key: ranked for ranked in survey.rehearsal.ranked_groups}
    evictions: dict[str, list[Eviction]] = {}
    for eviction in survey.plan.evictions:
        if eviction.cause != MAINTENANCE:  # then it is for no group
            evictions.setdefault(eviction.preemptor, []).append(eviction)
    if len(evictions) > MOST_GROUPS:
        survey.notes.append(f"{len(evictions) - MOST_GROUPS} more groups preempt others now")
    for key in list(evictions)[:MOST_GROUPS]:
        yield _told(survey, ranked_groups[key], evictions[key], "")


def _forbidden(survey: Survey) -> Iterator[PreemptionWorth]:
    """The first group of each kind that waits and would make others leave if it were allowed to."""
    left, seen = MOST_GROUPS, set[Hashable]()
    for ranked in survey.waiting:
        rank = screen(ranked.view, survey.snapshot, survey.context, survey.rehearsal.now).rank
        preemptor = Preemptor(ranked.view, ask_of(ranked.view), rank)
        kin = (survey.rehearsal.kin(ranked), rank)
        if kin in seen or not _is_refused(survey, preemptor) or not _might_evict(survey, preemptor):
            continue
        if not left or survey.effort.spent:
            survey.notes.append(
                "more groups wait that may not evict any pod; what an eviction would give them was not tried"
            )
            return
        seen.add(kin)
        evictions = _if_allowed(survey, preemptor)
        if evictions:
            left -= 1
            yield _told(survey, ranked, evictions, _refusal(survey, preemptor))


def _is_refused(survey: Survey, preemptor: Preemptor) -> bool:
    """Whether nobody is asked to leave for it, whoever is there."""
    policy = survey.policy
    if not preempts(policy):
        return True
    wait = milliseconds(policy.preemption.delay) or 0
    too_early = wait + min(preemptor.complete_since * 1000, survey.now) > survey.now
    return preemptor.rank.preemption_policy == "Never" or too_early


def _might_evict(survey: Survey, preemptor: Preemptor) -> bool:
    """False is certain. Where there are queues, who has borrowed leaves whatever its priority."""
    if survey.snapshot.book is not None:
        return True
    return bool(survey.evictable.below(preemptor.rank.priority, preemptor.view.pending_schedulers).any())


def _refusal(survey: Survey, preemptor: Preemptor) -> str:
    found = _find(survey, survey.context, preemptor)
    return "" if isinstance(found, list) else found


def _if_allowed(survey: Survey, preemptor: Preemptor) -> list[Eviction]:
    """Who would leave for it if it were up to priorities alone."""
    policy = survey.quick_context.policy
    rules = msgspec.structs.replace(policy.preemption, mode="priority", delay="0s")
    allowed = msgspec.structs.replace(policy, order="priority", preemption=rules)
    rank = Rank(preemptor.rank.priority)
    found = _find(survey, Context(allowed, survey.context.levels), replace(preemptor, rank=rank))
    survey.spend(PROMISE_ATTEMPTS if isinstance(found, list) else FAILURE_ATTEMPTS)
    return found if isinstance(found, list) else []


def _find(survey: Survey, context: Context, preemptor: Preemptor) -> list[Eviction] | str:
    """Who leaves for it, or why nobody does."""
    promises = Promises(survey.snapshot, context, survey.situation.now, lambda view: -math.inf)
    promises.leaving |= survey.leaving
    found = promises.find(survey.trial.on(survey.snapshot.nodes), preemptor, list)
    return found if isinstance(found, str) else list(promises.evictions())


def _told(
    survey: Survey, ranked: RankedGroup, evictions: Sequence[Eviction], why_not: str
) -> PreemptionWorth:
    toll, counted = evictions[0].receipt.toll, survey.counted_of(ranked)
    devices = counted if survey.has_devices else 0
    lost = toll.work_lost_device_hours
    return PreemptionWorth(
        group=ranked.view.group.key,
        allowed=not why_not,
        why_not=why_not,
        devices=devices,
        victims=tuple(sorted({eviction.group or eviction.pod for eviction in evictions}))[:NAMES_SHOWN],
        pods=len(evictions),
        lost_device_hours=lost,
        lost_money=_money(survey, evictions),
        violations=toll.violations,
        break_even_hours=round(lost / devices, 2) if devices else None,
        waited_hours=survey.waited(ranked),
        expected_wait_hours=None,
        cause=UNSET if survey.snapshot.book is None else evictions[0].cause,
    )


def _money(survey: Survey, evictions: Sequence[Eviction]) -> float | None:
    """What the lost work would have cost, by the devices that it was done on."""
    if not survey.policy.prices.devices:
        return None
    lost = {eviction.pod: eviction.receipt.work_lost_device_hours for eviction in evictions}
    bound, total = survey.snapshot.bound, 0.0
    for pod, occupant in enumerate(bound.occupants):
        if occupant.key in lost:
            taken = list(survey.has(pod))
            count = sum(n for _, _, n in taken)
            each = sum(n * (survey.price_of(resource, model) or 0.0) for resource, model, n in taken)
            total += lost[occupant.key] * each / count if count else 0.0
    return round(total, 2)
