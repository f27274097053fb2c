"""A ledger of October 2026, of a cluster with 64 GPUs of one model and 16 of another."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from maitred.explain.billing.device_buckets import Key
from maitred.explain.billing.losses import Loss
from maitred.ledger.entries import LedgerEntry, UsageAccount, in_queue
from maitred.ledger.meter import DAY
from maitred.ledger.records import Evicted
from maitred.ledger.store import Ledger
from maitred.simulate.results import Bucket
from tests.ledger.made import GPU, HOUR, eviction

BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
START = round(BEGIN.timestamp() * 1000)
H100, L40S = "NVIDIA-H100-80GB-HBM3", "NVIDIA-L40S"
CAPACITY = {H100: 64, L40S: 16}
ACCOUNTS = {
    "research/pretrain": in_queue(UsageAccount("research", (("team", "llm"),)), "research"),
    "research/ablation": in_queue(UsageAccount("research", (("team", "vision"),)), "research", True),
    "search/ranker": in_queue(UsageAccount("search", (("team", "ranking"),)), "search"),
    "search/index": in_queue(UsageAccount("search"), "search"),
}
VICTIM, EVICTED = "research/ablation", 2
"""Whose devices work in vain until it is evicted, every day; and how many of them."""
LENT = 3
USED: dict[tuple[str, str, Bucket], int] = {
    ("research/pretrain", H100, "productive"): 41,
    ("research/pretrain", H100, "starting"): 1,
    ("research/ablation", H100, "productive"): 8,
    ("search/ranker", H100, "productive"): 3,
    ("search/ranker", H100, "incomplete"): 1,
    ("search/ranker", H100, "leaving"): 1,
    ("search/index", L40S, "productive"): 9,
    ("search/index", L40S, "lostToFailure"): 1,
    ("", H100, "fragmented"): 4,
    ("", L40S, "broken"): 2,
}
"""Devices, on every day."""


def write_month(path: str) -> Ledger:
    ledger = Ledger.open(path, BEGIN)
    tenure = ledger.claim("scheduler", BEGIN)
    for number in range(31):
        tenure.write(day(number))
    tenure.close()
    return ledger


def day(number: int) -> LedgerEntry:
    """On one of them nobody looked for two hours."""
    hours = 22 if number == 11 else 24
    date = START // DAY + number
    made = LedgerEntry(round((BEGIN + timedelta(days=number + 1)).timestamp() * 1000), accounts=ACCOUNTS)
    free = dict(CAPACITY)
    for (holder, model, bucket), devices in USED.items():
        free[model] -= devices
        made.reading.usage[date, Key(holder, GPU, model, bucket)] = devices * hours * HOUR
    for model, devices in free.items():
        made.reading.usage[date, Key("", GPU, model, "idle")] = devices * hours * HOUR
        made.reading.capacity[date, (GPU, model)] = CAPACITY[model] * hours * HOUR
    made.reading.observed[date] = hours * HOUR
    made.reading.lent[date, "search"] = LENT * hours * HOUR
    left = replace(eviction(f"{VICTIM}-{number}", VICTIM, cause="Reclaim"), preemptor="search/ranker")
    last = made.until - 60_000
    made.evictions = [Evicted(last, left, "research", "search")]
    begin, lost = made.until - 24 * HOUR, EVICTED * hours * HOUR
    made.losses = [Loss(VICTIM, begin, last, lost, "lostToEviction", (left.pod, left.uid))]
    return made
