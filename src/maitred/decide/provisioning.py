"""Which groups ask an autoscaler for nodes: all that they need at once, and once.

Whoever lacks nothing but room asks. That it is within its queue and budget is known by then: otherwise these
would be what it waits for. What an autoscaler does not promise is not asked for: that new nodes are in one
domain of the topology, or which devices drivers will publish there.
"""

from collections.abc import Iterable
from typing import NamedTuple

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.model.duration import milliseconds
from maitred.model.plan import Blocker, GroupVerdict, NodeRequest, RequestedPods
from maitred.model.policy import Policy
from maitred.model.provisioning import MOST_POD_SETS, name_of


class Requests(NamedTuple):
    asked: tuple[NodeRequest, ...]
    wake_at: int | None
    """When the next one asks, in milliseconds since 1970."""


NOTHING = Requests((), None)


def node_requests(
    tried: Iterable[tuple[GroupView, GroupVerdict]], snapshot: Snapshot, policy: Policy, now: int
) -> Requests:
    if not policy.provisioning.class_name:
        return NOTHING
    asked, times = list[NodeRequest](), list[int]()
    for view, verdict in tried:
        if not lacks_only_room(verdict) or view.group.key in snapshot.provisioning:
            continue
        if why_not(view, snapshot):
            continue
        at = asks_at(view, policy)
        if at <= now:
            asked.append(_request(view))
        else:
            times.append(at)
    return Requests(tuple(asked), min(times, default=None))


def lacks_only_room(verdict: GroupVerdict) -> bool:
    blockers: tuple[Blocker, ...] = verdict.blockers
    return verdict.verdict == "Waiting" and {one.category for one in blockers} == {"Capacity"}


def asks_at(view: GroupView, policy: Policy) -> int:
    """In milliseconds since 1970."""
    return round(view.arrived * 1000) + (milliseconds(policy.provisioning.after) or 0)


def why_not(view: GroupView, snapshot: Snapshot) -> str:
    """Why no nodes are asked for, in words; empty if they may be."""
    topology = view.group.topology
    if topology.required or topology.slice_level or view.parts is not None:
        return "an autoscaler does not promise that nodes come in one domain of the topology"
    if any(_claims_devices(snapshot, shape) for shape in set(view.shapes.tolist())):
        return "nobody knows which devices drivers will publish on new nodes"
    if view.later is not None:
        return "some of its pods are created only once others run"
    if len(set(view.shapes.tolist())) > MOST_POD_SETS:
        return f"its members are of more than {MOST_POD_SETS} shapes"
    return ""


def _claims_devices(snapshot: Snapshot, shape: int) -> bool:
    """Also by a resource that a device class serves."""
    requests = snapshot.needs[snapshot.shapes[shape].needs].requests
    by_class = any(resource in snapshot.device_classes for resource, _ in requests)
    return by_class or bool(snapshot.shapes[shape].devices)


def _request(view: GroupView) -> NodeRequest:
    """By shapes, each with its first member as the example."""
    first, counts = dict[int, int](), dict[int, int]()
    for member, shape in enumerate(view.shapes.tolist()):
        first.setdefault(shape, member)
        counts[shape] = counts.get(shape, 0) + 1
    sets = (
        RequestedPods(view.pods[member], view.uids[member], counts[shape]) for shape, member in first.items()
    )
    return NodeRequest(view.group.key, name_of(view.group.key), tuple(sorted(sets, key=_pod)))


def _pod(one: RequestedPods) -> str:
    return one.pod
