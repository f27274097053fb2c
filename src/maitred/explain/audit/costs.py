"""What it costs a day, by the prices of the policy."""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.snapshot import Snapshot
from maitred.explain.audit.answer import DailyCost, StrandedNode
from maitred.explain.audit.holding import Held, total
from maitred.explain.audit.stranded import StrandedDevices
from maitred.model.policy import Policy, device_model, price_of

HOURS = 24.0
HALF_STARTED = "held by half-started gangs"
STRANDED = "free, stranded by pods without devices"
IN_PART = "free, on partly used nodes"


def costs_of(
    policy: Policy, snapshot: Snapshot, half: Held, stranded: Sequence[StrandedNode], survey: StrandedDevices
) -> tuple[DailyCost, ...]:
    """Should it stay as it is. No device is in two of these."""
    lost: Held = {(node.resource, node.node): float(node.devices) for node in stranded}
    part = in_part(survey)
    left = {place: devices - lost.get(place, 0.0) for place, devices in part.items()}
    found = ((HALF_STARTED, half), (STRANDED, lost), (IN_PART, left))
    return tuple(cost(policy, snapshot, what, held) for what, held in found if total(held))


def in_part(survey: StrandedDevices) -> Held:
    """Free devices of nodes some of whose devices are taken."""
    found: Held = {}
    for resource in survey.resources:
        free, whole = survey.devices(resource)
        for row in np.flatnonzero((free > 0) & ~whole):
            found[resource, survey.nodes.names[row]] = float(free[row])
    return found


def cost(policy: Policy, snapshot: Snapshot, what: str, held: Held) -> DailyCost:
    rows, money = snapshot.nodes.rows, 0.0
    known = bool(policy.prices.devices)
    for (resource, node), devices in held.items():
        labels = snapshot.nodes.labels[rows[node]] if node in rows else {}
        price = price_of(policy, resource, device_model(policy, labels))
        known = known and price is not None
        money += devices * HOURS * (price or 0.0)
    return DailyCost(what, total(held), total(held) * HOURS, money if known else None)
