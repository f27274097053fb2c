"""A ledger of October 2026, of a cluster with 64 GPUs of one model and 16 of another."""

from datetime import UTC, datetime, timedelta

from maitred.explain.billing.device_buckets import Key
from maitred.ledger.entries import LedgerEntry, UsageAccount
from maitred.ledger.meter import DAY
from maitred.ledger.store import Ledger
from maitred.simulate.results import Bucket
from tests.ledger.made import GPU, HOUR

BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
START = round(BEGIN.timestamp() * 1000)
H100, L40S = "NVIDIA-H100-80GB-HBM3", "NVIDIA-L40S"
CAPACITY = {H100: 64, L40S: 16}
ACCOUNTS = {
    "research/pretrain": UsageAccount("research", (("team", "llm"),)),
    "research/ablation": UsageAccount("research", (("team", "vision"),)),
    "search/ranker": UsageAccount("search", (("team", "ranking"),)),
    "search/index": UsageAccount("search"),
}
USED: dict[tuple[str, str, Bucket], int] = {
    ("research/pretrain", H100, "productive"): 41,
    ("research/pretrain", H100, "starting"): 1,
    ("research/ablation", H100, "productive"): 6,
    ("research/ablation", H100, "lostToEviction"): 2,
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
    return made
