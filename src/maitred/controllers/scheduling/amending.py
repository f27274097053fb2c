"""A Plan between `decide` and those who carry it out or tell of it: it is rewritten here, and nowhere else.

Three things may be missing from what `decide` has found: the reasons for an eviction, where many groups wait
and this cycle explains only some; news, where a group waits as before; and the pods themselves, where a Job
that was suspended would make them.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from maitred.cluster.volumes import claim_names
from maitred.controllers.scheduling.claim_shares import users_of, without_users
from maitred.controllers.scheduling.device_claims import User
from maitred.controllers.scheduling.worklist import CycleSelection
from maitred.model.plan import Bind, GroupVerdict, Plan
from maitred.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Away:
    """Groups of which some members do not exist, and for which nothing is written."""

    groups: frozenset[str] = frozenset()
    untold: frozenset[str] = frozenset()
    """Those of which nothing is told either."""


NOBODY_AWAY = Away()


def of_those_present(plan: Plan, away: Collection[str], waiting: Mapping[str, Pod]) -> Plan:
    """Without these groups."""
    return without(plan, Away(frozenset(away), frozenset(away)), waiting)


def with_receipts(plan: Plan, selection: CycleSelection) -> Plan:
    """Without evictions of which it could not be said what they are good for: they come with the next cycle,
    which explains that first."""
    unsaid = frozenset(
        verdict.group
        for verdict in plan.decisions
        if verdict.verdict == "Preempting" and not selection.explains(verdict)
    )
    return without(plan, Away(unsaid, unsaid), {})  # such groups bind no pod, so they get no volume either


def as_told(plan: Plan, selection: CycleSelection) -> Plan:
    """Without groups of which there is nothing new to say yet: what was said of them before still stands."""
    bound = {bind.group for bind in plan.binds}
    groups = [one for one in plan.with_parts() if one[0].group in bound or selection.explains(one[0])]
    return msgspec.structs.replace(plan, groups=flat(groups))


def without(plan: Plan, away: Away, waiting: Mapping[str, Pod]) -> Plan:
    """Nothing is bound, nominated or evicted for these groups, and of some of them nothing is told either.

    `waiting`: the pods that wait, by their keys: volumes and devices that only pods of these groups get are
    left out too.
    """
    if not away.groups and not away.untold:
        return plan
    binds = tuple(bind for bind in plan.binds if bind.group not in away.groups)
    left_out = claims_of((bind for bind in plan.binds if bind.group in away.groups), waiting)
    unused = left_out - claims_of(binds, waiting) if left_out else left_out
    idle = users(plan.binds, waiting).difference(users(binds, waiting)) if plan.claims else ()
    return msgspec.structs.replace(
        plan,
        binds=binds,
        volumes=tuple(choice for choice in plan.volumes if choice.claim not in unused),
        claims=without_users(plan.claims, idle),
        nominations=tuple(seat for seat in plan.nominations if seat.group not in away.groups),
        evictions=tuple(gone for gone in plan.evictions if gone.preemptor not in away.groups),
        groups=flat(one for one in plan.with_parts() if one[0].group not in away.untold),
    )


def flat(groups: Iterable[tuple[GroupVerdict, tuple[GroupVerdict, ...]]]) -> tuple[GroupVerdict, ...]:
    """Groups, each followed by its parts, as a Plan has them."""
    return tuple(verdict for group, parts in groups for verdict in (group, *parts))


def claims_of(binds: Iterable[Bind], waiting: Mapping[str, Pod]) -> set[str]:
    pods = (waiting[bind.pod] for bind in binds if bind.pod in waiting)
    return {claim for pod in pods for claim in claim_names(pod)}


def users(binds: Iterable[Bind], waiting: Mapping[str, Pod]) -> set[User]:
    """For whom claims are reserved: pods and their PodGroups."""
    found = (users_of(bind, waiting[bind.pod]) for bind in binds if bind.pod in waiting)
    return {user for one in found for user in one}
