"""A bill, and what it is made from."""

from collections.abc import Mapping

from maitred.explain.billing.device_buckets import Device, UseBucket
from maitred.model.plan import Record
from maitred.model.policy import API_VERSION


class Use(Record, frozen=True):
    """What was used by one account, in one bucket."""

    namespace: str
    """Empty for what is nobody's."""
    labels: Mapping[str, str]
    resource: str
    model: str
    bucket: UseBucket
    device_milliseconds: int


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


class Usage(Record, frozen=True):
    """Of some time. The uses of each device add up to what there was of it."""

    uses: tuple[Use, ...]
    capacity: Mapping[Device, int]
    """Device-milliseconds."""
    observed: int
    """Milliseconds in which somebody looked."""
    overrides: tuple[UsedOverride, ...] = ()


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
    notes: tuple[str, ...] = ()
