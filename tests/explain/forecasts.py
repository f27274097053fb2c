"""Scenes for estimates: a few nodes of 8 GPUs, gangs that run and gangs that wait, and what is remembered."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from maitred.cluster.snapshot import Snapshot
from maitred.explain.situation import Situation
from maitred.model.history import NO_HISTORY, History, PastGroup
from maitred.model.meta import Timestamp
from maitred.model.runtime import EXPECTED_RUNTIME
from tests.oracle import builders as b
from tests.support import NOON, Obj, policy_of, snapshot_of

NOW: datetime = msgspec.convert(NOON, Timestamp)
HOUR = 3600.0


def at(hours: float) -> str:
    """So many hours from now, as estimates are written."""
    return (NOW + timedelta(hours=hours)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def hours(written: str | None) -> float:
    assert written is not None
    return (datetime.fromisoformat(written) - NOW).total_seconds() / HOUR


def nodes(count: int, **fields: Any) -> list[Obj]:
    return [b.node(f"n{number}", cpu=64, gpu=8, **fields) for number in range(count)]


def gang(
    name: str,
    members: int = 1,
    lasts: str | None = None,
    *,
    on: str = "",
    ran: float = 0.0,
    waited: float = 1.0,
    gpu: int = 8,
    priority: int = 0,
    quorum: int | None = None,
    **fields: Any,
) -> list[Obj]:
    """`on` names the node of each member, separated by spaces; times are in hours."""
    marks = {} if lasts is None else {EXPECTED_RUNTIME: lasts}
    places = on.split()
    created = at(-ran if on else -waited)
    group = b.pod_group(name, quorum or members, annotations=marks, priority=priority)
    pods = [
        b.pod(
            f"{name}-{member}",
            cpu=1,
            gpu=gpu,
            group=name,
            index=member,
            node=places[member] if member < len(places) else None,
            created=created,
            priority=priority,
            **fields,
        )
        for member in range(members)
    ]
    for pod in pods[: len(places)]:
        pod["status"] = {"phase": "Running", "startTime": at(-ran)}
    return [group, *pods]


def situation(objects: list[Obj], policy: Obj | None = None, history: History = NO_HISTORY) -> Situation:
    return Situation(snapshot_of(objects), policy_of(policy), NOW, history=history)


def requests(snapshot: Snapshot) -> tuple[tuple[str, int], ...]:
    """Of the members of the first group that waits."""
    shape = snapshot.shapes[int(snapshot.groups[0].shapes[0])]
    return snapshot.needs[shape.needs].requests


def past(
    name: str, came: float, ran: float | None, asked: tuple[tuple[str, int], ...], **fields: Any
) -> PastGroup:
    """A group that came so many hours ago and started at once; None for one that still runs."""
    arrived = NOW.timestamp() - came * HOUR
    told: dict[str, Any] = {"members": 1, "quorum": 1, "priority": 0, "requests": asked, **fields}
    ended = None if ran is None else arrived + ran * HOUR
    return PastGroup(f"default/{name}", arrived, arrived, ended, ran is not None, **told)


def remembered(groups: list[PastGroup], since: float = 24.0) -> History:
    ordered = sorted(groups, key=lambda group: group.arrived)
    return History(since=NOW.timestamp() - since * HOUR, groups=ordered)
