"""The Policy: how this cluster wants its decisions made. One document; every field has a default."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from math import ceil
from typing import Annotated, Literal

import msgspec

from maitred.model.duration import milliseconds
from maitred.model.healing import FailureRule
from maitred.model.node import HEALTH_TAINTS, Taint
from maitred.model.pod import Resources
from maitred.model.provisioning import Provisioning
from maitred.model.queues import Queue
from maitred.model.reservations import Reservation
from maitred.model.selector import LabelSelector
from maitred.model.setting import NO_LIMIT, Setting
from maitred.model.tariff import WHOLE, PriceHours, factor_at, pieces

API_VERSION = "maitred.dev/v1alpha1"


class Level(Setting, frozen=True):
    """One level of the topology: its name in messages, and the node label that gives a node's domain."""

    name: str
    key: str


class Topology(Setting, frozen=True):
    levels: tuple[Level, ...] = ()


class Nodes(Setting, frozen=True):
    managed: LabelSelector | None = None


class NodeTemplate(Setting, frozen=True):
    """A kind of node that an autoscaler could add."""

    name: str
    allocatable: Resources
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    declared_features: tuple[str, ...] = ()
    max: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Health(Setting, frozen=True):
    taints: tuple[str, ...] = ()


class LemonRules(Setting, frozen=True):
    """Nodes that fail more often than others: when a node is one, and what becomes of it."""

    half_life: str = "7d"
    """A failure counts for half as much after this time."""
    above: Annotated[float, msgspec.Meta(gt=0, le=1_000)] = 1.5
    """A node with a higher score is a lemon. 1.5: two failures within a week."""
    taint: bool = False
    """Whether lemons are tainted. If not, they are only taken last."""
    level: str = ""
    """Within one domain of it so many are tainted at most; empty: in the whole cluster."""
    per_domain: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None
    """None: one in ten nodes of the domain."""
    release: str = "3d"
    """A lemon that has not failed for so long is none any more."""


class SlowRules(Setting, frozen=True):
    """Members whose steps take longer than those of the others: they are named, and may be replaced."""

    replace: bool = False
    """Whether they are, right after a checkpoint."""
    again: str = "1d"
    """For how long no member of the group is replaced once more for that."""


class Spares(Setting, frozen=True):
    """Whole nodes with devices that are kept free for groups that hardware fails under."""

    level: str = ""
    """In each domain of it so many; empty: in the whole cluster."""
    nodes: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    below: int = 0
    """Groups of a lower priority may sit there meanwhile, as they can be evicted."""


class Healing(Setting, frozen=True):
    """What becomes of groups when hardware fails under them."""

    on_failure: FailureRule = "replace"
    """For groups that do not say themselves; groups of one are left to Kubernetes."""
    grace: str = "60s"
    """How long a node may be lost before its members count as lost."""
    hold: str = "10m"
    """How long room is kept for what takes the place of lost members."""
    most: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 5
    """How often a group is healed within `window`, before it is left alone."""
    window: str = "1h"
    lemons: LemonRules = LemonRules()
    spares: Spares = Spares()
    slow: SlowRules = SlowRules()


class Devices(Setting, frozen=True):
    resources: tuple[str, ...] = ("*/gpu", "*/gpu-*", "*/tpu", "*/npu", "*/gaudi", "*/neuron*", "*/mig-*")
    model_labels: tuple[str, ...] = (
        "nvidia.com/gpu.product",
        "amd.com/gpu.product-name",
        "gpu.intel.com/product",
        "cloud.google.com/gke-accelerator",
        "cloud.google.com/gke-tpu-accelerator",
        "k8s.amazonaws.com/accelerator",
    )
    """Node labels that say which model the devices of a node are; the first that a node has counts."""
    binding_timeout: str = "10m"
    """How long devices that were allocated may take to be ready, before they are given back."""


class Search(Setting, frozen=True):
    """How long to look for seats, in looks at a node for a kind of member: for one group, and in one cycle of
    a scheduler for all."""

    steps: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] = 500_000
    cycle_steps: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000_000)] = 1_000_000


class ProtectionLimits(Setting, frozen=True):
    """Whose marks of protection count, and for how much. Without limits, everybody's."""

    namespaces: LabelSelector | None = None
    """Those that may protect pods at all; by name with the label kubernetes.io/metadata.name."""
    devices_per_namespace: Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)] | None = None


class Preemption(Setting, frozen=True):
    """Whether a group may take the place of lesser ones, and how those are made to leave."""

    mode: Literal["priority", "never"] = "priority"
    delay: str = "0s"
    """How long to wait for room to appear first."""
    victims: Literal["any", "own"] = "any"
    """Pods of any scheduler, or only of the preemptor's own."""
    jobs: Literal["suspend", "delete"] = "suspend"
    """What becomes of a Job all of whose pods must leave."""
    grace_limit: str = "1h"
    """The longest that a victim may take to leave, whatever grace period it asks for; `none`: no limit."""
    protection: ProtectionLimits = ProtectionLimits()


JobsRule = Literal["gang", "as-written"]


class Workloads(Setting, frozen=True):
    """What becomes of workloads that say nothing of a group."""

    jobs: JobsRule = "gang"
    """Whether a Job that runs all of its indexes at once is one gang, or so many pods on their own."""
    owners: JobsRule = "gang"
    """Whether what an operator's object makes at once (a JobSet, a RayCluster ...) is one gang."""
    keep_room: str = "30m"
    """How long room is kept for pods that an owner creates once others are scheduled or ready, from when
    those others started."""


class DevicePrice(Setting, frozen=True):
    """What an hour of one device costs. The first entry that matches a device counts."""

    per_hour: Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
    resource: str = "*"
    model: str = "*"


class Prices(Setting, frozen=True):
    currency: str = "USD"
    devices: tuple[DevicePrice, ...] = ()
    hours: tuple[PriceHours, ...] = ()
    """When all of them are higher or lower; empty: never."""


class FairShare(Setting, frozen=True):
    """How queues share what nobody was guaranteed."""

    reclaim: bool = False
    """Whether a queue that has less than its share may reclaim borrowed places from one that has more."""
    half_life: str = NO_LIMIT
    """Use counts for half as much after this time; `none`: only what queues have now counts."""
    longest_wait: str = NO_LIMIT
    """A group that has waited for longer goes before shares are looked at."""


class Holds(Setting, frozen=True):
    """Which of the groups that wait have a planned place and time, that nobody of lower rank may delay."""

    depth: Annotated[int, msgspec.Meta(ge=0, le=500)] = 0
    """So many of them, in the order of their turns. 0: none."""
    per_queue: Annotated[int, msgspec.Meta(ge=1, le=500)] | None = None
    """So many of one queue at most."""
    after: str = NO_LIMIT
    """Where it is not known when others end: after it has waited for so long, a group has the best places
    kept for it all the same; `none`: it has not."""
    idle: Annotated[float, msgspec.Meta(ge=0, le=1_000_000_000)] = 100.0
    """Device-hours that may stand idle for one group then, before its places are given back."""


Order = Literal["priority", "fifo", "shortest", "shortest-remaining", "shortest-service", "least-attained"]
OrderRule = Literal["priority", "fair-share", "deadline", "age", "name"]
"""What a policy may list as its order."""
LAST_RULES: tuple[OrderRule, ...] = ("age", "name")
AnyOrder = Order | tuple[OrderRule, ...]
Rule = Literal[
    "paying",
    "entitled",
    "priority",
    "rotation",
    "promised",
    "override",
    "waited",
    "fair-share",
    "deadline",
    "measure",
    "age",
    "name",
]
"""The rules by which one group goes before another, in the order in which `decide.agenda` looks at them;
where the policy says so, age comes before fair share."""
Placement = Literal["whole-groups", "pod-by-pod", "best-fit", "fragmentation-gradient", "least-loss"]

LIVE_ORDERS: tuple[Order, ...] = ("priority", "fifo")
"""Orders by what the API says of a group. The others go by its run time or by the service it has had."""
PREEMPTIVE_ORDERS: tuple[Order, ...] = ("shortest-remaining", "shortest-service", "least-attained")
"""Orders in which a group that waits may take the place of one that runs."""
SHARING_PLACEMENTS: tuple[Placement, ...] = ("best-fit", "fragmentation-gradient", "least-loss")
"""Placements of lone pods, which may take a share of a device."""


class Policy(Setting, frozen=True):
    api_version: Literal["maitred.dev/v1alpha1"] = "maitred.dev/v1alpha1"
    kind: Literal["Policy"] = "Policy"
    order: AnyOrder = "priority"
    redecide_seconds: Annotated[float, msgspec.Meta(ge=0, le=1_000_000_000)] = 300.0
    placement: Placement = "whole-groups"
    topology: Topology = Topology()
    nodes: Nodes = Nodes()
    node_templates: tuple[NodeTemplate, ...] = ()
    health: Health = Health()
    healing: Healing = Healing()
    devices: Devices = Devices()
    search: Search = Search()
    preemption: Preemption = Preemption()
    workloads: Workloads = Workloads()
    prices: Prices = Prices()
    queues: tuple[Queue, ...] = ()
    fair_share: FairShare = FairShare()
    holds: Holds = Holds()
    bookings: Annotated[int, msgspec.Meta(ge=0, le=200)] = 0
    """How many starts may be booked at once for groups that are in no queue."""
    reservations: tuple[Reservation, ...] = ()
    provisioning: Provisioning = Provisioning()


@lru_cache(64)
def order_rules(order: AnyOrder) -> tuple[OrderRule, ...]:
    """The rules of an order. Age and name decide in the end, also where that is not said."""
    if isinstance(order, str):
        first: tuple[OrderRule, ...] = () if order == "fifo" else ("priority",)
        return (*first, "fair-share", "age", "name")
    listed = (rule for rule in order if rule != "name")
    return tuple(dict.fromkeys((*listed, *LAST_RULES)))


def evicts_by_priority(order: AnyOrder) -> bool:
    return order == "priority" if isinstance(order, str) else "priority" in order


def preempts(policy: Policy) -> bool:
    """Whether groups may take the places of those of lower priority."""
    return policy.preemption.mode == "priority" and evicts_by_priority(policy.order)


def is_device(policy: Policy, resource: str) -> bool:
    return _matches_any(resource, policy.devices.resources)


def is_device_driver(policy: Policy, driver: str) -> bool:
    """Whether devices of a driver, which claims are for, are such devices too: by its name, or by the
    resource that a device plugin would offer them as. `gpu.nvidia.com` is `nvidia.com/gpu`."""
    first, _, domain = driver.partition(".")
    return is_device(policy, driver) or (bool(domain) and is_device(policy, f"{domain}/{first}"))


@lru_cache(1024)
def _matches_any(resource: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(resource, pattern) for pattern in patterns)


def grace_limit(policy: Policy) -> int | None:
    """In whole seconds, as grace periods are; None where there is no limit."""
    said = policy.preemption.grace_limit
    return None if said == NO_LIMIT else ceil((milliseconds(said) or 0) / 1000)


def binding_seconds(policy: Policy) -> float:
    return (milliseconds(policy.devices.binding_timeout) or 0) / 1000


def health_taints(policy: Policy) -> frozenset[str]:
    return HEALTH_TAINTS.union(policy.health.taints)


def device_model(policy: Policy, labels: Mapping[str, str]) -> str:
    """The model of the devices of a node with these labels; empty where none of them says."""
    return next((labels[key] for key in policy.devices.model_labels if labels.get(key)), "")


def matches_model(pattern: str, model: str) -> bool:
    """Vendors and clouds spell a model in their own ways, such as NVIDIA-H100-80GB-HBM3 and nvidia-h100-80gb:
    a pattern matches one or more whole words of it, so that H100 is both of them and L4 is no L40S."""
    return pattern == "*" or fnmatchcase(f"-{_words(model)}-", f"*-{_words(pattern)}-*")


def _words(model: str) -> str:
    return model.casefold().replace("_", "-").replace(".", "-")


def price_of(policy: Policy, resource: str, model: str) -> float | None:
    """What a plain hour of such a device costs; None where the policy does not say."""
    for price in policy.prices.devices:
        if fnmatchcase(resource, price.resource) and matches_model(price.model, model):
            return price.per_hour
    return None


def at_prices_of(policy: Policy, now: int) -> Policy:
    """The same with what devices cost at some time, in milliseconds since 1970, as their plain prices."""
    if not policy.prices.hours:
        return policy
    return _times(policy, factor_at(policy.prices.hours, now) / WHOLE)


def at_mean_prices(policy: Policy, begin: int, end: int) -> Policy:
    """The same with what they cost between two times, on average."""
    if not policy.prices.hours:
        return policy
    cost = sum(length * factor for length, factor in pieces(policy.prices.hours, begin, end))
    return _times(policy, cost / WHOLE / (end - begin))


def _times(policy: Policy, factor: float) -> Policy:
    replace = msgspec.structs.replace
    devices = tuple(replace(one, per_hour=one.per_hour * factor) for one in policy.prices.devices)
    return replace(policy, prices=replace(policy.prices, devices=devices, hours=()))
