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


class Usage(Record, frozen=True):
    """Of some time. The uses of each device add up to what there was of it."""

    uses: tuple[Use, ...]
    capacity: Mapping[Device, int]
    """Device-milliseconds."""
    observed: int
    """Milliseconds in which somebody looked."""


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
    notes: tuple[str, ...] = ()
