"""ProvisioningRequests: how an autoscaler is asked for all the nodes that a group needs, at once.

One is made for a group, in its namespace, under a name that follows from the group: so whoever leads next
finds it, and makes no second one. It says itself what came of it; nothing else is remembered.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Literal

import msgspec

from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import Name, Several
from maitred.model.setting import Setting

CHECK_CAPACITY = "check-capacity.autoscaling.x-k8s.io"
ATOMIC_SCALE_UP = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
MOST_POD_SETS = 32
"""Which the API server takes."""
MOST_PARAMETERS, LONGEST_PARAMETER = 100, 255
LONGEST_MESSAGE = 300


class Provisioning(Setting, frozen=True):
    """How nodes are asked for; without a class they are not."""

    class_name: str = msgspec.field(name="class", default="")
    parameters: dict[str, str] = {}
    """Of the class."""
    after: str = "30s"
    """So long a group has waited before."""
    keep: str = "30m"
    """So long after it was asked, nodes that come are kept for the group."""


class ProvisioningSpec(Lean, frozen=True):
    provisioning_class_name: Name = ""


class ProvisioningCondition(Lean, frozen=True):
    type: Name = ""
    status: Name = ""
    message: str = ""


class ProvisioningStatus(Lean, frozen=True):
    conditions: Several[ProvisioningCondition] = ()


class ProvisioningRequest(Object, frozen=True):
    spec: ProvisioningSpec = ProvisioningSpec()
    status: ProvisioningStatus = ProvisioningStatus()


Answer = Literal["Asked", "Accepted", "Provisioned", "Failed", "BookingExpired", "CapacityRevoked"]
OUTCOMES: tuple[Answer, ...] = ("Failed", "CapacityRevoked", "BookingExpired", "Provisioned", "Accepted")
"""Conditions of a request. The first of these that it has tells what came of it."""
OVER: frozenset[Answer] = frozenset({"Failed", "CapacityRevoked", "BookingExpired"})
"""Nothing comes of it any more."""


@lru_cache(maxsize=4096)
def name_of(group: str) -> str:
    """How the request for a group is called. A name may be shorter than that of the group."""
    return f"maitred-{sha256(group.encode()).hexdigest()[:16]}"


def asked_at(request: ProvisioningRequest) -> int | None:
    """In milliseconds since 1970; None if the API server has not said it."""
    created = request.metadata.creation_timestamp
    return None if created is None else round(created.timestamp() * 1000)


def answer_of(request: ProvisioningRequest) -> tuple[Answer, str]:
    """What came of it, and in which words the autoscaler says so."""
    said = {one.type: one.message for one in request.status.conditions if one.status == "True"}
    found: Answer = next((one for one in OUTCOMES if one in said), "Asked")
    return found, said.get(found, "")[:LONGEST_MESSAGE]


def asked_for(
    groups: Iterable[str], requests: Mapping[str, ProvisioningRequest]
) -> dict[str, ProvisioningRequest]:
    """The requests that there are for these groups, by the groups."""
    if not requests:
        return {}
    keys = {group: f"{group.partition('/')[0]}/{name_of(group)}" for group in groups}
    return {group: requests[key] for group, key in keys.items() if key in requests}
