"""Entries for a ledger, and what a ledger says it has."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from maitred.explain.billing.device_buckets import Key
from maitred.ledger.entries import LedgerEntry, Opened, UsageAccount, VerdictRow
from maitred.ledger.meter import DAY
from maitred.ledger.records import Arrival, Evicted, FailureNoted
from maitred.ledger.store import Ledger
from maitred.model.memory import Incident
from maitred.model.plan import Departure, Eviction, EvictionCause, Receipt, Toll, Verdict

GPU, MODEL = "nvidia.com/gpu", "NVIDIA-H100"
HOUR = 3_600_000
BEGIN = datetime(2026, 11, 3, tzinfo=UTC)
START = round(BEGIN.timestamp() * 1000)
TODAY = START // DAY
RED = UsageAccount("red", (("team", "one"),))
BLUE = UsageAccount("blue")


def moment(hours: float) -> datetime:
    return datetime.fromtimestamp((START + hours * HOUR) / 1000, UTC)


def at(hours: float) -> int:
    return round(START + hours * HOUR)


def entry(until: float, capacity: int = 8, day: int = TODAY, hours: float = 1.0, **held: int) -> LedgerEntry:
    """`red_productive=3`: so many devices were held for so many hours; the rest was idle."""
    made, length = LedgerEntry(at(until)), round(hours * HOUR)
    for name, devices in held.items():
        holder, _, bucket = name.partition("_")
        made.reading.usage[day, Key(f"{holder}/train", GPU, MODEL, bucket)] += devices * length  # type: ignore[arg-type]
    idle = capacity - sum(held.values())
    made.reading.usage[day, Key("", GPU, MODEL, "idle")] += idle * length
    made.reading.capacity[day, (GPU, MODEL)] += capacity * length
    made.reading.observed[day] += length
    made.accounts = {"red/train": RED, "blue/train": BLUE}
    return made


def arrival(group: str, hours: float, **fields: Any) -> Arrival:
    plain: dict[str, Any] = {
        "members": 2,
        "quorum": 2,
        "priority": 0,
        "requests": (("cpu", 1000), (GPU, 4)),
        "required": "",
        "labels": {},
    }
    return Arrival(at(hours), group, at(hours), **{**plain, **fields})


def opened(number: int, group: str, hours: float) -> Opened:
    return Opened(number, arrival(group, hours))


def turn(number: int, hours: float, verdict: Verdict, category: str = "") -> VerdictRow:
    return VerdictRow(number, at(hours), verdict, category)


def eviction(
    pod: str,
    group: str | None = None,
    lost: float = 0.0,
    since: str | None = None,
    cause: EvictionCause = "Preemption",
) -> Eviction:
    receipt = Receipt(
        unit=group or pod,
        rule="priority 9 is higher than 0",
        priority=0,
        preemptor_priority=9,
        work_lost_device_hours=lost,
        lost_since=since,
        budgets=(),
        departure=Departure("", "delete", None, ""),
        toll=Toll(),
    )
    return Eviction(pod, f"uid-{pod}", group, "blue/urgent", cause, receipt)


def evicted(pod: str, hours: float, **fields: Any) -> Evicted:
    return Evicted(at(hours), eviction(pod, **fields))


def failure(group: str, begun: float, ended: float | None = None, devices: int = 0) -> FailureNoted:
    """Told when it began, or when it was over."""
    last = begun if ended is None else ended
    over = None if ended is None else instant(ended)
    source = ("PodGroup", group, "")
    noted = Incident(
        group, source, instant(begun), "replace", "Device", "it broke", ended=over, devices=devices
    )
    return FailureNoted(at(last), noted)


def instant(hours: float) -> datetime:
    return datetime.fromtimestamp(at(hours) / 1000, UTC)


def used(ledger: Ledger, first: int = TODAY, days: int = 1) -> dict[tuple[str, str], float]:
    """Device-hours by namespace and bucket."""
    found: Counter[tuple[str, str]] = Counter()
    for use in ledger.usage(first, first + days).uses:
        found[use.namespace, use.bucket] += use.device_milliseconds
    return {place: amount / HOUR for place, amount in found.items()}


def adds_up(ledger: Ledger, first: int = TODAY, days: int = 1) -> bool:
    usage = ledger.usage(first, first + days)
    found: Counter[tuple[str, str]] = Counter()
    for use in usage.uses:
        found[use.resource, use.model] += use.device_milliseconds
    return dict(found) == dict(usage.capacity)
