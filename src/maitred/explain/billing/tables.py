"""A bill as lines for people, and as CSV for a spreadsheet."""

import csv
import io
import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from maitred.explain.billing.device_buckets import UseBucket
from maitred.explain.billing.document import Bill, BillPart, BillQueue, BillRow
from maitred.explain.tables import GAP, Cell, aligned, header
from maitred.model.words import counted, printable
from maitred.simulate.report.figures import BUCKET_NAMES

NOTHING = "-"
KINDS: dict[str, tuple[UseBucket, ...]] = {
    "PRODUCTIVE": ("productive",),
    "STARTING": ("starting", "leaving"),
    "WASTED": ("incomplete", "lostToEviction", "lostToFailure"),
    "FREE": ("reserved", "held", "fragmented", "idle"),
    "BROKEN": ("broken", "unwell"),
}
"""Columns of the table of rows: all buckets, some of them together."""
SIMULATED: tuple[UseBucket, ...] = ("stalled", "spare")
"""Only simulations tell these apart: in a bill they are part of other buckets."""
NAMES: tuple[tuple[UseBucket, str], ...] = (
    *((bucket, name) for bucket, name in BUCKET_NAMES.items() if bucket not in SIMULATED),
    ("held", "idle for holds"),
    ("unwell", "unwell devices"),
)
LIFTED = ("LIFTED", "FROM", "UNTIL", "BY", "EVICTED", "LOST", "REASON")
LEFT = ("EVICTED", "FOR", "CAUSE", "PODS", "LOST")
MOST_EVICTIONS = 20
"""Lines of the table: those who lost most."""
STOOD = ("QUEUE", "GUARANTEED", "BORROWED", "KEPT FREE", "LENT")
CSV_HEAD = ("name", "bucket", "device_seconds", "device_hours", "devices", "money", "currency")


def bill_lines(bill: Bill, width: int | None = None) -> Iterator[Text]:
    yield Text(f"Device-hours of {bill.month} by {bill.by}, {bill.observed_hours:,.1f} h observed", "bold")
    yield Text()
    if bill.rows:
        has_money = bill.total.money is not None
        head = (
            bill.by.removeprefix("label:").upper(),
            "DEVICES",
            "HOURS",
            *KINDS,
            *((bill.currency,) * has_money),
        )
        rows = [head, *(_cells(row, has_money) for row in (*bill.rows, bill.total))]
        yield from _right_aligned(rows)
        yield Text()
        if bill.queues:
            yield from _right_aligned([STOOD, *map(_stood, bill.queues)])
            yield Text()
        yield from _right_aligned([*_buckets(bill, has_money)])
        yield Text()
    if bill.evictions:
        yield from aligned([header(*LEFT), *_left(bill)], width)
        yield Text()
    if bill.overrides:
        yield from aligned([header(*LIFTED), *_lifted(bill)], width)
        yield Text()
    for told in (*(f"Note: {note}." for note in bill.notes), _sum(bill)):
        pieces = [told] if width is None else textwrap.wrap(told, width, break_on_hyphens=False)
        yield from map(Text, pieces)


def _stood(one: BillQueue) -> Sequence[str]:
    amounts = (
        one.entitled_device_hours,
        one.borrowed_device_hours,
        one.reserved_device_hours,
        one.lent_device_hours,
    )
    return one.queue, *(f"{amount:,.1f}" if amount else NOTHING for amount in amounts)


def _left(bill: Bill) -> Iterator[Sequence[Cell]]:
    for one in bill.evictions[:MOST_EVICTIONS]:
        who, whom = _with_queue(one.group, one.queue), _with_queue(one.evictor, one.evictor_queue)
        yield who, whom, one.cause, counted(one.pods, "pod"), _lost(one.lost_device_hours)
    if rest := bill.evictions[MOST_EVICTIONS:]:
        pods, lost = sum(one.pods for one in rest), sum(one.lost_device_hours for one in rest)
        yield f"{len(rest)} more, in JSON", "", "", counted(pods, "pod"), _lost(lost)


def _lost(hours: float) -> str:
    return f"{hours:,.1f} h" if hours else NOTHING


def _with_queue(group: str, queue: str) -> str:
    return f"{group} ({queue})" if queue else group


def _lifted(bill: Bill) -> Iterator[Sequence[Cell]]:
    for one in bill.overrides:
        pods = counted(one.evicted, "pod") if one.evicted else NOTHING
        lost = f"{one.lost_device_hours:g} h" if one.evicted else NOTHING
        yield one.group, one.granted, one.until, one.by, pods, lost, one.reason


def _sum(bill: Bill) -> str:
    capacity = f"{bill.capacity_device_milliseconds / 3_600_000:,.2f}"
    return f"The rows add up to the capacity in the observed time: {capacity} device-hours."


def _cells(row: BillRow, has_money: bool) -> Sequence[str]:
    columns = (_part(row, kinds) for kinds in KINDS.values())
    money = (_money(row.money),) if has_money else ()
    return (row.name, f"{row.devices:,.1f}", _hours(row.device_milliseconds), *columns, *money)


def _part(row: BillRow, buckets: Sequence[UseBucket]) -> str:
    found = [row.buckets[bucket].device_milliseconds for bucket in buckets if bucket in row.buckets]
    return _hours(sum(found)) if found else NOTHING


def _buckets(bill: Bill, has_money: bool) -> Iterator[Sequence[str]]:
    yield ("BUCKET", "HOURS", "SHARE", *((bill.currency,) * has_money))
    whole = bill.total.device_milliseconds
    for bucket, name in NAMES:
        part = bill.total.buckets.get(bucket, BillPart(0, 0.0, None))
        share = f"{100 * part.device_milliseconds / whole:.1f} %" if whole else NOTHING
        money = (_money(part.money),) if has_money else ()
        yield (name, _hours(part.device_milliseconds), share, *money)


def _hours(milliseconds: int) -> str:
    return f"{milliseconds / 3_600_000:,.1f}" if milliseconds else NOTHING


def _money(amount: float | None) -> str:
    return NOTHING if amount is None else f"{amount:,.2f}"


def _right_aligned(rows: Sequence[Sequence[str]]) -> Iterator[Text]:
    """Names to the left, amounts to the right; the head stands out."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*shown, strict=True)]
    for number, (name, *amounts) in enumerate(shown):
        cells = (cell.rjust(width) for cell, width in zip(amounts, widths[1:], strict=True))
        yield Text(GAP.join((name.ljust(widths[0]), *cells)), "" if number else "bold")


def bill_csv(bill: Bill) -> str:
    """A line for each bucket of each row. Seconds are exact; hours and devices are rounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for row in bill.rows:
        for bucket, part in row.buckets.items():
            whole, rest = divmod(part.device_milliseconds, 1000)
            devices = round(part.device_hours / bill.observed_hours, 4) if bill.observed_hours else 0
            money = "" if part.money is None else f"{part.money:.2f}"
            currency = "" if part.money is None else bill.currency
            seconds = f"{whole}.{rest:03}"
            writer.writerow([row.name, bucket, seconds, part.device_hours, devices, money, currency])
    return text.getvalue()
