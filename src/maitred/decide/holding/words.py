"""What groups are told of holds: those that have one, and those that could delay one."""

from collections.abc import Mapping, Sequence

import numpy as np

from maitred.cluster.ends import NEVER
from maitred.cluster.nodes import NodeView
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.blockers import NAMES_SHOWN, names_shown
from maitred.decide.holding.calendar import HeldPlaces, Tenure
from maitred.decide.holding.waiting import PlannedGroup
from maitred.model.duration import written
from maitred.model.holding import Cause
from maitred.model.plan import Blocker, Detail
from maitred.model.words import moment

WHY_LATER: Mapping[Cause, str] = {
    "capacity": "its nodes have less room than before",
    "rank": "a group that ranks higher goes first",
    "unkept": "pods are still there whose end has passed",
    "policy": "the policy says something else of holds by now",
    "others": "other pods are not where the group needs them any more",
}


def with_plan(
    blockers: tuple[Blocker, ...],
    plan: PlannedGroup,
    leavers: Sequence[str],
    nodes: NodeView,
    domains: Mapping[str, str],
) -> tuple[Blocker, ...]:
    """The first also says from when on, and where, there is a place for the group."""
    if not blockers:
        return ()
    first, *others = blockers
    if plan.basis == "age":
        return (_with_kept(first, plan, nodes, domains), *others)
    names = sorted(nodes.names[row] for row in plan.rows.tolist())
    begins = said(plan.place.tenure.begin)
    where = _where(names, domains)
    words = f"; it has a hold: it starts at {begins} at the latest, on {where}"
    if leavers:
        end = "ends by its limit" if len(leavers) == 1 else "end by their limits"
        words += f", when {names_shown(list(leavers))} {end}"
    detail: Detail = {"begins": begins, "on": names[:NAMES_SHOWN], "after": list(leavers[:NAMES_SHOWN])}
    if plan.moved:
        words += f". The hold was earlier before, but {WHY_LATER[plan.moved]}"
        detail["moved"] = plan.moved
    return (Blocker(first.category, first.message + words, {**first.detail, "hold": detail}), *others)


def _where(names: Sequence[str], domains: Mapping[str, str]) -> str:
    if domains and len(names) > 1:
        return " ".join(list(domains.items())[-1])
    return names_shown(list(names))


def _with_kept(first: Blocker, plan: PlannedGroup, nodes: NodeView, domains: Mapping[str, str]) -> Blocker:
    names = sorted(nodes.names[row] for row in plan.rows.tolist())
    words = f"; it has waited for so long that it has a hold: {_where(names, domains)} takes in no others "
    words += "until it fits there, or until too much has stood idle for it"
    return Blocker(
        first.category, first.message + words, {**first.detail, "hold": {"on": names[:NAMES_SHOWN]}}
    )


def held_up(
    ask: Ask, found: Assignment, beside: Sequence[HeldPlaces], tenure: Tenure, trial: Trial
) -> Blocker:
    """The group would fit, but for places that others are to have before it ends."""
    places = next((one for one in beside if _is_short(ask, found, one, trial)), beside[0])
    groups, begins = sorted(places.groups), said(places.at)
    if not places.is_known:
        words = f"there is room now, but it is held for {names_shown(groups)}, because of how long that waits"
        return Blocker("Priority", words, {"heldFor": groups[:NAMES_SHOWN]})
    words = f"there is room now, but it is held for {names_shown(groups)} from {begins} on, and "
    if tenure.end < NEVER:
        words += f"the group would end at {said(tenure.end)} by its limit"
    else:
        words += "nobody enforces an end of the group"
    spare = written((places.at - tenure.begin) // 1000 * 1000)
    words += f"; a group that ends within {spare} could start now"
    detail: Detail = {"heldFor": groups[:NAMES_SHOWN], "from": begins}
    if tenure.end < NEVER:
        detail["ends"] = said(tenure.end)
    return Blocker("Priority", words, detail)


def _is_short(ask: Ask, found: Assignment, places: HeldPlaces, trial: Trial) -> bool:
    """Whether these seats would be in the way then."""
    taken = {row: np.zeros_like(places.left[:, 0]) for row in places.rows.tolist()}
    for member, row in found:
        if row in taken:
            taken[row] += trial.columns.request_column(trial.needs(ask.shapes[member]))
    short = (
        (taken[row] > np.maximum(places.left[:, place], 0)).any()
        for place, row in enumerate(places.rows.tolist())
    )
    return any(short)


def said(milliseconds: int) -> str:
    """Never before it is so."""
    return moment(-(-milliseconds // 1000))
