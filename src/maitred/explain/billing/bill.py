"""From usage to a bill: rows that add up to capacity × time, and money that adds up to the cent."""

import calendar
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import NamedTuple

from maitred.explain.billing.device_buckets import USE_BUCKETS, Device, UseBucket
from maitred.explain.billing.document import (
    BORROWED,
    Bill,
    BillEviction,
    BillOverride,
    BillPart,
    BillQueue,
    BillRow,
    Usage,
    Use,
    UsedEviction,
    UsedOverride,
)
from maitred.model.manifest.errors import InputError
from maitred.model.policy import Policy, price_of
from maitred.model.queues import QUEUE
from maitred.model.words import moment

HOUR = 3_600_000
DAY = 24 * HOUR
SLIGHT = 60_000
"""Milliseconds that nobody need be told of."""

FREE = "(free)"
"""In parentheses, as no name of Kubernetes is."""
OTHERS = "(others)"
NO_LABEL = "(no label)"
NO_MODEL = "(no model)"
NO_QUEUE = "(no queue)"

HOW_TO_PRICE = "policy.prices.devices says what an hour of a device costs (docs/policy.md#prices)"


class Month(NamedTuple):
    name: str
    first_day: int
    end_day: int
    """Days since 1970, UTC; the last is not part of it."""


def read_month(text: str | None, now: datetime) -> Month:
    """`2026-11`; without it, the month that it is now."""
    now = now.astimezone(UTC)
    text = text or f"{now:%Y-%m}"
    match = re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])", text, re.ASCII)
    if match is None or not 1970 <= int(match[1]) <= 9998:
        raise InputError("--month", "", "", f"{text[:40]!r} is not a month such as {now:%Y-%m}")
    if text > f"{now:%Y-%m}":
        raise InputError("--month", "", "", f"{text} has not begun")
    year, number = int(match[1]), int(match[2])
    first = calendar.timegm((year, number, 1, 0, 0, 0)) // 86_400
    return Month(text, first, first + calendar.monthrange(year, number)[1])


Grouping = Callable[[Use], str]


def read_grouping(by: str) -> Grouping:
    kind, _, key = by.partition(":")
    if by == "queue":
        return lambda use: use.labels.get(QUEUE) or {"": FREE, OTHERS: OTHERS}.get(use.namespace, NO_QUEUE)
    if by == "namespace":
        return lambda use: use.namespace or FREE
    if by == "model":
        return lambda use: use.model or NO_MODEL
    if kind == "label" and key:
        return lambda use: use.labels.get(key) or {"": FREE, OTHERS: OTHERS}.get(use.namespace, NO_LABEL)
    raise InputError("--by", "", "", f"{by[:60]!r} is not namespace, queue, model or label:KEY")


def bill(usage: Usage, by: str, policy: Policy, month: Month, now: datetime) -> Bill:
    group, amounts = read_grouping(by), defaultdict[tuple[str, UseBucket], Counter[Device]](Counter)
    surcharges = defaultdict[tuple[str, UseBucket], Counter[Device]](Counter)
    for use in usage.uses:
        place, device = (group(use), use.bucket), (use.resource, use.model)
        amounts[place][device] += use.device_milliseconds
        surcharges[place][device] += use.surcharge
    tariff = {device: price_of(policy, *device) for device in usage.capacity}
    parts = priced(amounts, tariff, surcharges)
    rows = [_row(name, amounts, parts, tariff, usage.observed) for name in {name for name, _ in amounts}]
    rows.sort(key=lambda row: (row.name == FREE, -row.device_milliseconds, row.name))
    start, end = month.first_day * DAY, min(month.end_day * DAY, round(now.timestamp() * 1000))
    return Bill(
        month=month.name,
        by=by,
        currency=policy.prices.currency,
        start=moment(start // 1000),
        end=moment(end // 1000),
        observed_hours=hours(usage.observed),
        capacity_device_milliseconds=sum(usage.capacity.values()),
        total=_total(rows, _unpriced(usage.capacity, tariff), usage.observed),
        rows=tuple(rows),
        overrides=tuple(map(_override, usage.overrides)),
        evictions=tuple(map(_eviction, sorted(usage.evictions, key=_most_lost_first))),
        queues=tuple(queue_bills(usage)) if by == "queue" else (),
        notes=(
            *_notes(usage, tariff, end - start, month.name),
            *_surcharge_notes(surcharges, tariff, policy.prices.currency),
        ),
    )


def _override(one: UsedOverride) -> BillOverride:
    return BillOverride(
        group=one.group,
        by=one.by,
        reason=one.reason,
        granted=moment(one.granted // 1000),
        until=moment(one.until // 1000),
        evicted=one.evicted,
        lost_device_hours=hours(one.lost_device_milliseconds),
    )


def _most_lost_first(one: UsedEviction) -> tuple[int, int, str, str, str]:
    return -one.lost_device_milliseconds, -one.pods, one.group, one.evictor, one.cause


def _eviction(one: UsedEviction) -> BillEviction:
    return BillEviction(
        group=one.group,
        queue=one.queue,
        evictor=one.evictor,
        evictor_queue=one.evictor_queue,
        cause=one.cause,
        pods=one.pods,
        lost_device_hours=hours(one.lost_device_milliseconds),
    )


def queue_bills(usage: Usage) -> Iterator[BillQueue]:
    """Each device-hour of a queue is in one of the first three; what it has lent is in the rows of others."""
    kinds = dict[str, Counter[str]]()
    for use in usage.uses:
        if (queue := use.labels.get(QUEUE, "")) and use.namespace:
            kind = "borrowed" if BORROWED in use.labels else "entitled"
            kind = "reserved" if use.bucket in ("reserved", "held") else kind
            kinds.setdefault(queue, Counter())[kind] += use.device_milliseconds
    for queue, amount in usage.lent.items():
        kinds.setdefault(queue, Counter())["lent"] += amount
    used = {queue: found.total() - found["lent"] for queue, found in kinds.items()}
    for queue in sorted(kinds, key=lambda one: (-used[one], -kinds[one]["lent"], one)):
        found = kinds[queue]
        yield BillQueue(queue, *(hours(found[kind]) for kind in ("entitled", "borrowed", "reserved", "lent")))


Amounts = Mapping[tuple[str, UseBucket], Mapping[Device, int]]
Tariff = Mapping[Device, float | None]
NO_AMOUNTS: Amounts = {}


def priced(
    amounts: Amounts, tariff: Tariff, surcharges: Amounts = NO_AMOUNTS
) -> dict[tuple[str, UseBucket], BillPart]:
    """Cells in money, each rounded up or down to a cent, so that they add up to what all of it costs.
    `surcharges`: what it cost more than at the plain price."""
    exact: dict[tuple[str, UseBucket], Fraction] = {}
    for place, devices in amounts.items():
        more = surcharges.get(place, {})
        known = [(tariff[device], amount + more.get(device, 0)) for device, amount in devices.items()]
        paid = [Fraction(str(price)) * amount * 100 / HOUR for price, amount in known if price is not None]
        if paid:
            exact[place] = sum(paid, Fraction())
    cents = shared_out(list(exact.values()))
    money = dict(zip(exact, cents, strict=True))
    return {
        place: BillPart(
            device_milliseconds=sum(devices.values()),
            device_hours=hours(sum(devices.values())),
            money=money[place] / 100 if place in money else None,
        )
        for place, devices in amounts.items()
    }


def shared_out(exact: Sequence[Fraction]) -> list[int]:
    """Whole numbers next to these that add up to their rounded sum: what is left over goes to those who
    lost most by rounding down."""
    found = [amount.__floor__() for amount in exact]
    left = round(sum(exact, Fraction())) - sum(found)
    for place in sorted(range(len(exact)), key=lambda place: found[place] - exact[place])[:left]:
        found[place] += 1
    return found


def _row(
    name: str,
    amounts: Amounts,
    parts: Mapping[tuple[str, UseBucket], BillPart],
    tariff: Tariff,
    observed: int,
) -> BillRow:
    buckets = {bucket: parts[name, bucket] for bucket in USE_BUCKETS if (name, bucket) in parts}
    unpriced = sum(_unpriced(amounts[name, bucket], tariff) for bucket in buckets)
    return _summed(name, buckets, unpriced, observed)


def _unpriced(amounts: Mapping[Device, int], tariff: Tariff) -> int:
    return sum(amount for device, amount in amounts.items() if tariff[device] is None)


def _summed(name: str, buckets: dict[UseBucket, BillPart], unpriced: int, observed: int) -> BillRow:
    whole = sum(part.device_milliseconds for part in buckets.values())
    return BillRow(
        name=name,
        devices=round(whole / observed, 4) if observed else 0.0,
        device_milliseconds=whole,
        device_hours=hours(whole),
        unpriced_device_hours=hours(unpriced),
        money=_money(part.money for part in buckets.values()),
        buckets=buckets,
    )


def _total(rows: Sequence[BillRow], unpriced: int, observed: int) -> BillRow:
    buckets: dict[UseBucket, BillPart] = {}
    for bucket in USE_BUCKETS:
        parts = [row.buckets[bucket] for row in rows if bucket in row.buckets]
        if parts:
            whole = sum(part.device_milliseconds for part in parts)
            buckets[bucket] = BillPart(whole, hours(whole), _money(part.money for part in parts))
    return _summed("total", buckets, unpriced, observed)


def _money(amounts: Iterable[float | None]) -> float | None:
    known = [round(amount * 100) for amount in amounts if amount is not None]
    return sum(known) / 100 if known else None


def hours(milliseconds: int) -> float:
    return round(milliseconds / HOUR, 4)


def _notes(usage: Usage, tariff: Tariff, length: int, month: str) -> Iterator[str]:
    if not usage.observed:
        yield f"the ledger has no data for {month}"
        return
    if usage.observed < length - SLIGHT:
        missed = hours(length - usage.observed)
        yield (
            f"no scheduler was watching for {missed:,.1f} h of {hours(length):,.1f} h; the bill covers "
            f"the rest"
        )
    if not usage.capacity:
        yield "the cluster had no devices"
    elif all(price is None for price in tariff.values()):
        yield f"no prices are known: {HOW_TO_PRICE}"
    else:
        for resource, model in sorted(device for device, price in tariff.items() if price is None):
            yield f"{resource} {model or NO_MODEL} has no price: {HOW_TO_PRICE}"


def _surcharge_notes(surcharges: Amounts, tariff: Tariff, currency: str) -> Iterator[str]:
    """What the hours in which devices were had made of the bill."""
    more = Fraction()
    for devices in surcharges.values():
        for device, amount in devices.items():
            more += Fraction(str(tariff[device] or 0)) * amount / HOUR
    if cents := round(more * 100):
        dearer = "more" if cents > 0 else "less"
        yield (
            f"that is {abs(cents) / 100:,.2f} {currency} {dearer} than at plain prices, because of the hours "
            "in which it was (policy.prices.hours)"
        )
