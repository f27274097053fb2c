"""What `maitred queues` answers, as data; its tables are made from this alone.

{"apiVersion": "maitred.dev/v1alpha1", "kind": "Queues", "at": "2026-01-31T12:00:00Z",
 "queues":  [{"queue": "vision", "parent": "", "weight": 1.0, "share": 0.25, "waitingGroups": 1,
              "amounts": [{"resource": "nvidia.com/gpu", "model": "H100", "guarantee": "8", "cap": null,
                           "perUser": null, "used": "0", "borrowed": "0", "lent": "8", "waiting": null}],
              "budget": {"unit": "device-hours", "budget": 100.0, "period": "day", "spent": 32.0,
                         "committed": 16.0, "left": 52.0, "until": "2026-02-01T00:00:00Z",
                         "onSpent": "wait", "unpaid": 0.0},
              "lifted": [{"group": "ns/demo", "by": "alice", "reason": "the board sees it today",
                          "until": "2026-01-31T16:00:00Z"}],
              "reserved": [{"reservation": "demo", "from": "2026-01-31T14:00:00Z",
                            "until": "2026-01-31T18:00:00Z", "state": "coming", "nodes": 2,
                            "there": {"nvidia.com/gpu": "16"}, "idle": {"nvidia.com/gpu": "8"}}]}],
 "elsewhere": 0,
 "cluster": [{"resource": "nvidia.com/gpu", "model": "NVIDIA-H100-80GB-HBM3", "there": "16", "used": "16"}]}

Amounts are quantities as Kubernetes writes them.
"""

from typing import Literal

import msgspec

from maitred.model.plan import Record
from maitred.model.policy import API_VERSION


class QueueAmounts(Record, frozen=True):
    """Of one resource, on devices of the models that a limit speaks of, or of one that no limit names."""

    resource: str
    model: str
    """A pattern, as in the policy; `*` for all."""
    guarantee: str | None
    cap: str | None
    per_user: str | None
    """As the policy says; None where it says nothing."""
    used: str
    """By pods that have a node."""
    borrowed: str
    """What groups use that are not entitled in this queue."""
    lent: str | None
    """What it leaves of its guarantee and could not have now: it is not free. None without a guarantee."""
    waiting: str | None
    """What groups ask for that wait; None but for all models together: nobody knows yet which they get."""


class BudgetState(Record, frozen=True):
    """Of this period. In device-hours or in money, rounded."""

    unit: str
    budget: float
    period: str
    spent: float
    committed: float
    """Until the end of the period, by what runs."""
    left: float
    until: str
    on_spent: Literal["wait", "scavenge"] = "wait"
    """What becomes of groups that it cannot pay for."""
    unpaid: float = 0.0
    """What is used of the queue without paying: how much an hour of it would cost."""


class LiftedGroup(Record, frozen=True):
    """A group that an override lifts past the limits of its queue, or that runs because one has."""

    group: str
    by: str
    reason: str
    until: str


class QueueReservation(Record, frozen=True):
    """Nodes that are kept for groups of a queue, now or the next time."""

    reservation: str
    begin: str = msgspec.field(name="from")
    until: str
    state: str
    """`coming`, `begun` or `given back`."""
    nodes: int
    there: dict[str, str]
    """What these nodes have of what limits speak of, by resource,"""
    idle: dict[str, str]
    """and what of it nobody uses."""


class QueueState(Record, frozen=True):
    queue: str
    parent: str
    weight: float
    share: float
    """What it has of all there is, by its weight, as turns compare it."""
    waiting_groups: int
    """In this queue and in those below it."""
    amounts: tuple[QueueAmounts, ...]
    budget: BudgetState | None = None
    """None where it has none of its own."""
    lifted: tuple[LiftedGroup, ...] = ()
    """Of groups in this very queue, those that the reader may look at."""
    reserved: tuple[QueueReservation, ...] = ()
    """What is reserved for this very queue, or for a namespace or a group that uses it."""


class ClusterAmounts(Record, frozen=True):
    """Of what some limit speaks of: all there is, whoever uses it."""

    resource: str
    model: str
    """Of devices; empty on nodes that do not say one."""
    there: str
    used: str


class Queues(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Queues"
    at: str = ""
    queues: tuple[QueueState, ...] = ()
    """In the order of the policy; those below a queue follow it."""
    elsewhere: int = 0
    """How many queues there are that are not told, because no namespace of the reader may use them."""
    cluster: tuple[ClusterAmounts, ...] = ()
