"""From what somebody asks for to the override of a group as it is, and to what is told of it."""

from collections.abc import Collection
from datetime import UTC, datetime
from math import isfinite

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.snapshot import GroupView
from maitred.decide.queues.overriding import asked_by, why_not
from maitred.explain.overriding.answer import OverrideList, OverrideState, OverrideWish
from maitred.explain.situation import Situation
from maitred.explain.why.answer import Kind
from maitred.explain.why.names import Names
from maitred.model.manifest.errors import InputError
from maitred.model.overrides import (
    LARGEST,
    LONGEST_USER,
    MOST_RESOURCES,
    Override,
    form_problem,
    reason_problem,
    time_problem,
)
from maitred.model.times import at_second
from maitred.model.words import moment, printable

NAMES_SHOWN = 3


def override_of(
    situation: Situation, name: str, namespace: str, kind: Kind | None, wish: OverrideWish, by: str
) -> Override:
    """Raises InputError where there is nothing to lift."""
    now = situation.now.astimezone(UTC).replace(microsecond=0)
    until = wish.until.astimezone(UTC).replace(microsecond=0)
    if problem := reason_problem(wish.reason):
        raise InputError("--reason", "", "", problem)
    if problem := time_problem(until, now):
        raise InputError("--until", "", "", problem)
    view = waiting_group(situation, name, namespace, kind)
    asks = asked_by(view, situation.snapshot)
    if len(asks) > MOST_RESOURCES:
        raise InputError("", "", "", f"{view.group.key} asks for more than {MOST_RESOURCES} resources")
    override = Override(
        group=view.group.key,
        source=view.source,
        created=at_second(view.created) if isfinite(view.created) else now,
        asks={resource: min(amount, LARGEST) for resource, amount in asks.items()},
        by=printable(by)[:LONGEST_USER],
        reason=wish.reason.strip(),
        granted=now,
        until=until,
    )
    if problem := form_problem(override):
        raise InputError("", "", "", problem)
    return override


def waiting_group(situation: Situation, name: str, namespace: str, kind: Kind | None) -> GroupView:
    if not situation.policy.queues:
        raise InputError(
            "", "", "", "the policy has no queues, so there is no limit that an override could lift"
        )
    names = Names(situation.snapshot)
    key = group_named(situation, name, namespace, kind)
    view = names.views.get(key)
    if view is None:
        raise InputError(
            "", "", "", f"{key} does not wait to be scheduled: an override is for a group that does"
        )
    if view.account == NO_ACCOUNT:
        raise InputError(
            "", "", "", f"{key} is in no queue, so there is no limit that an override could lift"
        )
    return view


def group_named(situation: Situation, name: str, namespace: str, kind: Kind | None) -> str:
    """Its key, which is in that namespace: a name that has another one is no name."""
    if "/" in name:
        raise InputError("", "", "", f"{name} names a namespace: give it with -n")
    meant = Names(situation.snapshot).meant(name, namespace, kind)
    if meant.workload is not None and len(meant.workload.groups) > 1:
        several = ", ".join(group.partition("/")[2] for group in meant.workload.groups[:NAMES_SHOWN])
        raise InputError("", "", "", f"{name} has several groups; name one of them, such as {several}")
    return meant.key


def ending_of(situation: Situation, name: str, namespace: str, kind: Kind | None) -> str:
    """The group whose override ends, which need not be there any more."""
    key = f"{namespace}/{name}"
    if situation.snapshot.overrides.of(key) is not None:
        return key
    return group_named(situation, name, namespace, kind)


def overrides(situation: Situation, namespaces: Collection[str] | None) -> OverrideList:
    """Those of groups in namespaces that the reader may look into; None for all."""
    views = Names(situation.snapshot).views
    known = situation.snapshot.overrides.at(situation.now).overrides
    shown = [one for one in known if namespaces is None or one.group.partition("/")[0] in namespaces]
    return OverrideList(
        overrides=tuple(state_of(one, views.get(one.group), situation) for one in shown),
        at=told(situation.now),
    )


def state_of(override: Override, view: GroupView | None, situation: Situation) -> OverrideState:
    refusal = "" if view is None else why_not(override, view, situation.snapshot)
    lifts = None if view is None else not refusal
    words = {None: "the group does not wait", True: "lifts the group", False: f"does not count: {refusal}"}[
        lifts
    ]
    return OverrideState(
        group=override.group,
        by=override.by,
        reason=override.reason,
        granted=told(override.granted),
        until=told(override.until),
        lifts=lifts,
        words=words,
    )


def told(time: datetime) -> str:
    return moment(int(time.timestamp()))
