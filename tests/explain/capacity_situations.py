"""Scenes to ask of how much there is, and what the engine says once an answer is carried out."""

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.snapshot import GroupRank, GroupView, Snapshot
from maitred.decide import Scope
from maitred.decide import decide as decide_snapshot
from maitred.explain.capacity.capacity import capacity
from maitred.explain.capacity.document import Capacity
from maitred.explain.situation import Situation
from maitred.model.group import Group, TopologyRequest
from maitred.model.meta import Timestamp
from maitred.model.queues import Payer
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import NOON, policy_of, snapshot_of

RACKS = {"topology": {"levels": [{"name": "zone", "key": b.ZONE}, {"name": "shelf", "key": "rack"}]}}
NEWEST = 4e9
"""After everybody else."""


def situation_of(objects: list[Obj], policy: Obj | None = None, **more: Any) -> Situation:
    return Situation(
        snapshot_of(objects, policy), policy_of(policy), msgspec.convert(NOON, Timestamp), **more
    )


def asked(objects: list[Obj], policy: Obj | None = None) -> Capacity:
    return capacity(situation_of(objects, policy))


def nodes(count: int, per_rack: int = 2, racks_per_zone: int = 2, **fields: Any) -> list[Obj]:
    return [
        b.node(
            f"n{i}",
            **{"gpu": 8, "cpu": 64, **fields},
            rack=f"r{i // per_rack}",
            zone=f"z{i // per_rack // racks_per_zone}",
        )
        for i in range(count)
    ]


def crew(
    name: str, count: int, level: str | None = None, quorum: int | None = None, **fields: Any
) -> list[Obj]:
    rank = {"priority_class": fields["priority_class"]} if "priority_class" in fields else {}
    group = b.pod_group(name, count if quorum is None else quorum, level, created=0, **rank)
    return [group, *b.pods(name, count, group=name, **{"created": 0, **fields})]


@st.composite
def crowded(draw: DrawFn, priorities: bool = False) -> list[Obj]:
    """A few racks of eight-GPU nodes with lone pods and a gang or two on them, and gangs that wait."""
    count = draw(st.integers(2, 6))
    objects = nodes(count, cpu=draw(st.sampled_from([16, 64])))
    free = {f"n{i}": 8 for i in range(count)}
    ranks = [None, "low", "high"] if priorities else [None]
    if priorities:
        objects += [b.priority_class("low", -10), b.priority_class("high", 100)]
    for number in range(draw(st.integers(0, 8))):
        home, gpus = draw(st.sampled_from(sorted(free))), draw(st.sampled_from([1, 2, 4, 6]))
        if free[home] >= gpus:
            free[home] -= gpus
            rank = draw(st.sampled_from(ranks))
            objects.append(b.pod(f"old-{number}", cpu=1, gpu=gpus, node=home, priority_class=rank))
    for number in range(draw(st.integers(0, 3))):
        rank = draw(st.sampled_from(ranks))
        ranked: Obj = {"priority_class": rank} if rank else {}
        gang = crew(
            f"gang-{number}",
            draw(st.integers(1, 4)),
            draw(st.sampled_from([None, "rack", "rack", "zone"])),
            cpu=draw(st.sampled_from([1, 4])),
            gpu=draw(st.sampled_from([1, 4, 8])),
            **ranked,
        )
        gang[0]["metadata"]["creationTimestamp"] = b.moment(number)
        objects += gang
    return objects


# -- carried out -------------------------------------------------------------------------------------------


def a_moment_later(objects: list[Obj], situation: Situation) -> list[Obj]:
    """The objects once all is bound that is bound now."""
    seats = {bind.pod: bind.node for bind in situation.plan(()).binds}
    return moved(objects, seats)


def moved(objects: list[Obj], seats: dict[str, str]) -> list[Obj]:
    changed = copy.deepcopy(objects)
    for item in changed:
        key = f"{item['metadata'].get('namespace')}/{item['metadata']['name']}"
        if item["kind"] == "Pod" and key in seats:
            item["spec"]["nodeName"] = seats[key]
            item["status"]["phase"] = "Running"
    return changed


def with_gang(
    snapshot: Snapshot, shape: int, members: int, level: str | None, priority: int, key: str = "default/~next"
) -> Snapshot:
    """The snapshot with a gang that came last, all of whose members have one shape."""
    order = tuple((index, NEWEST, f"~next-{index}") for index in range(members))
    view = GroupView(
        group=Group(key=key, quorum=members, gang=True, topology=TopologyRequest(level or "")),
        pods=tuple(f"default/~next-{index}" for index in range(members)),
        uids=("",) * members,
        orders=order,
        shapes=np.full(members, shape, dtype=np.int32),
        gates=((),) * members,
        running=(),
        running_shapes=np.zeros(0, dtype=np.int32),
        members=members,
        succeeded=0,
        created=NEWEST,
        arrived=NEWEST,
        ranks=(GroupRank(priority, "", "PreemptLowerPriority"),),
        schedulers=("maitred",),
        pending_schedulers=("maitred",),
        payer=Payer("default"),
    )
    return replace(snapshot, groups=(*snapshot.groups, view))


def verdicts(
    snapshot: Snapshot, situation: Situation, explained: Iterable[str] | None = ()
) -> dict[str, str]:
    scope = Scope(explained=None if explained is None else set(explained))
    plan = decide_snapshot(snapshot, situation.policy, situation.now, scope)
    return {group.group: group.verdict for group in plan.groups}
