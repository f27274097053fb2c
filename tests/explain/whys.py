"""Questions as tests ask them: raw objects in, answers out."""

from typing import Any

import msgspec

from maitred.decide import Scope, decide
from maitred.explain.situation import Situation
from maitred.explain.why.answer import Why
from maitred.explain.why.seen import NOTHING_SEEN, Seen, SeenEvent
from maitred.explain.why.why import why
from maitred.model.group import PodGroup
from maitred.model.history import NO_HISTORY, History
from maitred.model.meta import Timestamp
from maitred.model.plan import Plan
from maitred.model.pod import Pod
from tests.support import NOON, Obj, policy_of, snapshot_of


def situation_of(
    objects: list[Obj],
    policy: Obj | None = None,
    scheduler: str | None = None,
    history: History = NO_HISTORY,
) -> Situation:
    now = msgspec.convert(NOON, Timestamp)
    return Situation(snapshot_of(objects, policy), policy_of(policy), now, scheduler, history)


def plan_of(situation: Situation) -> Plan:
    """As it is decided, everybody explained."""
    return decide(situation.snapshot, situation.policy, situation.now, Scope(situation.scheduler))


def why_of(
    objects: list[Obj], group: str = "default/crew", seen: Seen = NOTHING_SEEN, **situation: Any
) -> Why:
    return why(situation_of(objects, **situation), group, seen)


def seen_of(objects: list[Obj], *events: Obj) -> Seen:
    """What is written about the pods of a dump, and events."""
    pods = tuple(msgspec.convert(one, Pod) for one in objects if one["kind"] == "Pod")
    groups = tuple(msgspec.convert(one, PodGroup) for one in objects if one["kind"] == "PodGroup")
    return Seen(pods, tuple(msgspec.convert(event, SeenEvent) for event in events), groups)
