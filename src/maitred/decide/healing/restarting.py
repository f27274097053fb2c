"""Who is suspended so that all members of a group start anew together."""

import numpy as np

from maitred.cluster.snapshot import NO_CONTROLLER, GroupView, Snapshot
from maitred.decide.healing.losses import pod_of
from maitred.model.memory import Incident
from maitred.model.plan import Restart
from maitred.model.suspending import TopOwner

SUSPENDED, NOBODY = "its owner is suspended already", "no owner of its members can be suspended"
SEVERAL = "its members have several owners"
SHARED = "its owner has pods beside this group"


def owner_of(snapshot: Snapshot, view: GroupView) -> TopOwner | str:
    """The one owner of all members on nodes, and of nobody else; or why there is none."""
    bound = snapshot.bound
    names = {pod_of(view, member.order[2]) for member in view.running}
    members = np.fromiter(
        (one.key in names for one in bound.occupants), dtype=np.bool_, count=len(bound.node)
    )
    numbers = set(bound.controller[members].tolist())
    tops = {_top(snapshot, number) for number in numbers}
    if None in tops or not tops:
        return NOBODY
    if len(tops) > 1:
        return SEVERAL
    top = tops.pop()
    assert top is not None
    below = [number for number, one in enumerate(snapshot.controllers) if one is not None and one.top == top]
    if (np.isin(bound.controller, below) & ~bound.terminating & ~members).any():
        return SHARED
    return SUSPENDED if top.suspended else top


def _top(snapshot: Snapshot, number: int) -> TopOwner | None:
    controller = None if number == NO_CONTROLLER else snapshot.controllers[number]
    return None if controller is None else controller.top


def restart_of(view: GroupView, incident: Incident, owner: TopOwner) -> Restart | None:
    """None once all that are there came after the failure."""
    if incident.youngest is None:
        return None
    until = incident.youngest.timestamp()
    old = [member for member in view.running if member.order[1] <= until]
    if not old:
        return None
    pod = pod_of(view, old[0].order[2])
    needed = max(view.group.quorum, len(view.running) + len(view.pods))
    return Restart(owner.name.kind, owner.name.key, owner.uid, pod, len(old), needed)
