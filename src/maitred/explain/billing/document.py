"""A bill, and what it is made from."""

from collections.abc import Mapping

from maitred.explain.billing.device_buckets import Device, UseBucket
from maitred.model.plan import EvictionCause, Record
from maitred.model.policy import API_VERSION

BORROWED = "maitred.dev/borrowed"
"""On an account: of groups beyond the guarantee of their queue. No label of a pod says it."""


class Use(Record, frozen=True):
    """What was used by one account, in one bucket."""

    namespace: str
    """Empty for what is nobody's."""
    labels: Mapping[str, str]
    resource: str
    model: str
    bucket: UseBucket
    device_milliseconds: int
    surcharge: int = 0
    """Device-milliseconds at the plain price that this cost more, by the hours in which it was; less, if
    below zero."""


class UsedOverride(Record, frozen=True):
    """A group that somebody has lifted past its queue. Times in milliseconds since 1970."""

    group: str
    by: str
    reason: str
    granted: int
    until: int
    evicted: int
    """Pods that had to leave for the group meanwhile,"""
    lost_device_milliseconds: int
    """and what of their work was lost."""


class UsedEviction(Record, frozen=True):
    """Pods of one group that had to leave for another."""

    group: str
    """Or the pod, if it was in none."""
    queue: str
    """The queue that it was in; empty for none."""
    evictor: str
    """The group that they left for; the request to drain nodes, if it was that."""
    evictor_queue: str
    cause: EvictionCause
    pods: int
    lost_device_milliseconds: int
    """What of their work was lost."""


class Usage(Record, frozen=True):
    """Of some time. The uses of each device add up to what there was of it."""

    uses: tuple[Use, ...]
    capacity: Mapping[Device, int]
    """Device-milliseconds."""
    observed: int
    """Milliseconds in which somebody looked."""
    overrides: tuple[UsedOverride, ...] = ()
    evictions: tuple[UsedEviction, ...] = ()
    lent: Mapping[str, int] = {}
    """Device-milliseconds that queues had lent to others."""


class BillPart(Record, frozen=True):
    """Of a row: what went into one bucket."""

    device_milliseconds: int
    device_hours: float
    money: float | None
    """None without a price for any of it."""


class BillRow(Record, frozen=True):
    name: str
    """Of the namespace, the label's value or the model. Empty for what is nobody's, or has none."""
    devices: float
    """On average, over the time that was observed."""
    device_milliseconds: int
    device_hours: float
    unpriced_device_hours: float
    money: float | None
    buckets: dict[UseBucket, BillPart]
    """Those with something in them. They add up to the row."""


class BillOverride(Record, frozen=True):
    """Who has lifted a group past its queue, and what others have paid for that."""

    group: str
    by: str
    reason: str
    granted: str
    until: str
    evicted: int
    lost_device_hours: float


class BillEviction(Record, frozen=True):
    """Who had to leave for whom, and what that cost those who left."""

    group: str
    queue: str
    evictor: str
    evictor_queue: str
    cause: EvictionCause
    pods: int
    lost_device_hours: float


class BillQueue(Record, frozen=True):
    """How what a queue had stood to its guarantee. The first three add up to what its row has."""

    queue: str
    entitled_device_hours: float
    """Of groups within its guarantee."""
    borrowed_device_hours: float
    """Of groups beyond it."""
    reserved_device_hours: float
    """Free, and kept for its groups."""
    lent_device_hours: float
    """What others had of its guarantee."""


class Bill(Record, frozen=True, kw_only=True):
    api_version: str = API_VERSION
    kind: str = "Bill"
    month: str
    by: str
    currency: str
    start: str
    end: str
    """Both RFC 3339: the month, or as much of it as is over."""
    observed_hours: float
    """Of the time from start to end."""
    capacity_device_milliseconds: int
    total: BillRow
    rows: tuple[BillRow, ...]
    """They add up to the total, and the total is the capacity."""
    overrides: tuple[BillOverride, ...] = ()
    """Those that were in force in this time. What was lost is in the rows of those who lost it."""
    evictions: tuple[BillEviction, ...] = ()
    """Most work lost first. What was lost is in the rows of those who left, as `lostToEviction`."""
    queues: tuple[BillQueue, ...] = ()
    """Only by queue; in the order of the rows, then those that had nothing and have lent."""
    notes: tuple[str, ...] = ()
