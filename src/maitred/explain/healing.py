"""What becomes of a group under which hardware fails, in one sentence, for those who own it."""

from datetime import datetime, timedelta

import msgspec

from maitred.decide.healing.deciding import heal
from maitred.decide.healing.remembering import DEGRADED
from maitred.explain.situation import Situation
from maitred.model.memory import Incident
from maitred.model.plan import HealingDecision, LostPod
from maitred.model.words import counted

MOST_NAMED = 4
IF_ROOM = "replaced now, if there is room elsewhere"


def beginning(decision: HealingDecision, now: datetime) -> str:
    """What failed, for how long, and what is done about it."""
    said = decision.words + _for_so_long(decision.since, now)
    if decision.pods and decision.family != DEGRADED:
        said = f"{_who_lost_what(decision.pods)} ({said})"
    return f"{said}: {decision.does}"


def slow_words(situation: Situation, group: str) -> list[str]:
    """What becomes of its slow members, if it has any and the policy has them replaced."""
    if not situation.policy.healing.slow.replace:
        return []
    found = heal(situation.snapshot, situation.policy, situation.now, situation.scheduler)
    told = [one for one in found.decisions if one.family == DEGRADED]
    told += [msgspec.structs.replace(one.decision, does=IF_ROOM) for one in found.slow]
    return [f"{one.words}: {one.does}" for one in told if one.group == group]


def ending(incident: Incident) -> str:
    took = _span(max(timedelta(), (incident.ended or incident.begun) - incident.begun))
    return f"{incident.how}, {took} after this was noticed: {incident.words}"


def on_pod(decision: HealingDecision) -> str:
    """On a member that is told to leave."""
    return f"maitred deletes this member, so that its owner makes another one: {decision.words}"


def _who_lost_what(pods: tuple[LostPod, ...]) -> str:
    members = _listed(sorted({pod.pod.partition("/")[2] for pod in pods}))
    nodes = _listed(sorted({pod.node for pod in pods}))
    return f"member{'s' if len(pods) > 1 else ''} {members} lost {nodes}"


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _for_so_long(since: str | None, now: datetime) -> str:
    if since is None or (passed := now - datetime.fromisoformat(since)) < timedelta():
        return ""
    return f", for {_span(passed)}"


def _span(time: timedelta) -> str:
    seconds = int(time.total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    minutes, hours = seconds // 60, seconds // 3600
    return counted(minutes, "minute") if hours < 2 else counted(hours, "hour")
