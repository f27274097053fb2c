"""What it costs a day, by the prices of the policy."""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.cluster.snapshot import Snapshot
from maitred.explain.audit.answer import DailyCost, StrandedNode
from maitred.explain.audit.holding import Held, total
from maitred.explain.audit.stranded import StrandedDevices
from maitred.model.policy import Policy, device_model, price_of

HOURS = 24.0
HALF_STARTED = "held by half-started gangs"
STRANDED = "free, stranded by pods without devices"
IN_PART = "free, on partly used nodes"
UNWELL = "unwell, not offered by their device plugins"
TAINTED = "unwell, tainted"


def costs_of(
    policy: Policy, snapshot: Snapshot, half: Held, stranded: Sequence[StrandedNode], survey: StrandedDevices
) -> tuple[DailyCost, ...]:
    """Should it stay as it is. No device is in two of these."""
    lost: Held = {(node.resource, node.node): float(node.devices) for node in stranded}
    part = in_part(survey)
    left = {place: devices - lost.get(place, 0.0) for place, devices in part.items()}
    ill = not_offered(survey)
    found = (
        (HALF_STARTED, half),
        (STRANDED, lost),
        (IN_PART, left),
        (UNWELL, {place: count for place, count in ill.items() if not survey.is_claimed(place[0])}),
        (TAINTED, {place: count for place, count in ill.items() if survey.is_claimed(place[0])}),
    )
    return tuple(cost(policy, snapshot, what, held, survey) for what, held in found if total(held))


def in_part(survey: StrandedDevices) -> Held:
    """Free devices of nodes some of whose devices are taken or unwell."""
    found: Held = {}
    for resource in survey.resources:
        free, whole = survey.devices(resource)
        found |= on_nodes(survey, resource, np.where(whole, 0, free))
    return found


def not_offered(survey: StrandedDevices) -> Held:
    found: Held = {}
    for resource in survey.resources:
        found |= on_nodes(survey, resource, survey.not_offered(resource))
    return found


def on_nodes(survey: StrandedDevices, resource: str, devices: Ints) -> Held:
    names = survey.nodes.names
    return {(resource, names[row]): float(devices[row]) for row in np.flatnonzero(devices > 0)}


def cost(policy: Policy, snapshot: Snapshot, what: str, held: Held, survey: StrandedDevices) -> DailyCost:
    rows, money = snapshot.nodes.rows, 0.0
    known = bool(policy.prices.devices)
    for (resource, node), devices in held.items():
        labels = snapshot.nodes.labels[rows[node]] if node in rows else {}
        claimed = node in rows and survey.is_claimed(resource)
        model = survey.model_on(resource, rows[node]) if claimed else device_model(policy, labels)
        price = price_of(policy, resource, model)
        known = known and price is not None
        money += devices * HOURS * (price or 0.0)
    return DailyCost(what, total(held), total(held) * HOURS, money if known else None)
