"""A run at one moment as raw objects, for the independent checker."""

from collections.abc import Container
from typing import Any

import msgspec

from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.simulate.clock import Time, moment
from maitred.simulate.group import Phase, SimulatedGroup
from maitred.simulate.loop import Simulation
from maitred.simulate.seating.objects import group_key, is_lone, pod, pod_group
from maitred.simulate.seating.whole_groups import WholeGroups
from maitred.verify import verify

Obj = dict[str, Any]
DECIDED = (1, 2, 3, 4, 5)
"""Laws that one Plan can break. The Plan of a move speaks only of some groups, so it is silent on others."""


def breaches(
    objects: list[Obj], plan: Plan | Obj, policy: Policy, now: Time, laws: Container[int] = DECIDED
) -> list[str]:
    found = verify(objects, plain(plan), plain(policy), now=moment(now))
    return [f"law {breach.law}: {breach.subject}: {breach.message}" for breach in found if breach.law in laws]


def objects(loop: Simulation, asking: Container[str], gone: Container[SimulatedGroup] = ()) -> list[Obj]:
    """All nodes, who sits on them and who asks for seats, but for those who are to be thought away."""
    found = [raw(place.as_it_is(), "v1", "Node") for place in loop.floor.places.values()]
    for group in loop.groups:
        here = group.sitting or group.leaving or group.nominated or group_key(group.job) in asking
        if group in gone or group.phase == Phase.OVER or not here:
            continue
        if not is_lone(group.job):
            found.append(raw(pod_group(group.job), "scheduling.k8s.io/v1beta1", "PodGroup"))
        found += [raw(pod(group, member), "v1", "Pod") for member in range(group.job.members)]
    memory = loop.seater.remembered if isinstance(loop.seater, WholeGroups) else None
    return found if memory is None else [*found, raw(memory, "v1", "ConfigMap")]


def raw(item: object, api_version: str, kind: str) -> Obj:
    return {"apiVersion": api_version, "kind": kind, **plain(item)}


def plain(item: object) -> Obj:
    found: Obj = msgspec.json.decode(msgspec.json.encode(item))
    return found
