"""Should small ones go first while a large one waits? Both orders are rolled forward for the largest."""

from collections.abc import Hashable

import msgspec

from maitred.decide.ask import ask_anew
from maitred.decide.attempt import attempt
from maitred.decide.context import Waiver
from maitred.decide.empty import empty_healthy_cluster
from maitred.explain.capacity.survey import Survey
from maitred.explain.forecast.estimate import Orders
from maitred.explain.forecast.orders import orders
from maitred.explain.remedies.rehearsal import RankedGroup

MOST_TRIED = 24
MOST_SHIFTS = 20
EFFORT = 8_000
"""Of each of the futures: together about a third of a second."""
ANYTIME = Waiver(frozenset({"Devices"}), others_may_help=True)


def precedence(survey: Survey) -> tuple[Orders, ...]:
    """Nothing where only one group waits, or all are of one size: then nobody small goes first."""
    sizes = {ranked.number: survey.counted_of(ranked) for ranked in survey.waiting}
    if len(set(sizes.values())) < 2:
        return ()
    large = _first_possible(
        survey, sorted(survey.waiting, key=lambda each: (-sizes[each.number], each.place))
    )
    if large is None:
        survey.notes.append("the largest waiting groups could not start on an empty cluster either")
        return ()
    found = orders(survey.situation, large.view.group.key, EFFORT)
    most = sorted(found.shifted, key=lambda shift: (-abs(shift.hours), shift.group))
    if len(most) > MOST_SHIFTS:
        survey.notes.append(f"{len(most) - MOST_SHIFTS} more groups would start at another time")
    return (msgspec.structs.replace(found, shifted=tuple(most[:MOST_SHIFTS])),)


def _first_possible(survey: Survey, ranked_groups: list[RankedGroup]) -> RankedGroup | None:
    """The first that would fit on the empty healthy cluster; one that does not will never start."""
    context, tried = survey.quick_context, set[Hashable]()
    empty = empty_healthy_cluster(survey.snapshot, survey.policy)
    for ranked in ranked_groups:
        kin = survey.rehearsal.kin(ranked)
        if kin in tried:
            continue
        if attempt(empty, ask_anew(ranked.view), context, context.steps(), ANYTIME):
            return ranked
        tried.add(kin)
        if len(tried) == MOST_TRIED:
            break
    return None
