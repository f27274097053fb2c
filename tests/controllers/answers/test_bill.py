"""The bill over HTTP: of one's own namespaces in rows, of all others in one."""

import asyncio
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from maitred.controllers.answers.service import Service
from maitred.controllers.bookkeeping import Keeping
from maitred.explain.billing.device_buckets import Key
from maitred.ledger.entries import LedgerEntry, account_of
from maitred.ledger.meter import DAY
from maitred.ledger.store import Ledger
from maitred.sandbox.apiserver.users import ADMIN
from tests.controllers.answers import house as houses
from tests.controllers.answers.house import ANN, House, house

GPU, MODEL = "nvidia.com/gpu", "NVIDIA-H100"
BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
MONTH = "month=2026-10"


@pytest.fixture
def _kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both teams had devices in October."""
    ledger = Ledger.open(str(tmp_path / "ledger.db"), BEGIN)
    entry, day = LedgerEntry(round(BEGIN.timestamp() * 1000) + 1), round(BEGIN.timestamp() * 1000) // DAY
    for holder, devices in (("team-a/train", 2), ("team-b/hidden-run", 5)):
        entry.reading.usage[day, Key(holder, GPU, MODEL, "productive")] = devices * 3_600_000
    entry.reading.capacity[day, (GPU, MODEL)] = 7 * 3_600_000
    entry.reading.observed[day] = 3_600_000
    entry.accounts = {
        "team-a/train": account_of("team-a", {"project": "x"}),
        "team-b/hidden-run": account_of("team-b", {"project": "hidden"}),
    }
    tenure = ledger.claim("test", BEGIN)
    tenure.write(entry)
    tenure.close()
    keeping = Keeping(ledger, 90)
    monkeypatch.setattr(houses, "Service", partial(Service, past=keeping.history, used=keeping.usage))


def rows(bill: dict[str, list[dict[str, object]]]) -> dict[object, object]:
    return {row["name"]: row["deviceHours"] for row in bill["rows"]}


@pytest.mark.usefixtures("_kept")
def test_one_sees_what_one_may() -> None:
    async def run() -> None:
        async with house() as found:
            assert rows(await found.told(f"bill?{MONTH}", ADMIN)) == {"team-a": 2, "team-b": 5}
            assert rows(await found.told(f"bill?{MONTH}")) == {"team-a": 2, "(others)": 5}
            by_label = f"bill?{MONTH}&by=label:project"
            assert rows(await found.told(by_label, ADMIN)) == {"x": 2, "hidden": 5}
            assert rows(await found.told(by_label)) == {"x": 2, "(others)": 5}
            assert rows(await found.told(f"bill?{MONTH}&by=model")) == {MODEL: 7}

    asyncio.run(run())


async def what_is_refused(found: House) -> list[tuple[int, str]]:
    asked = ("month=October", "by=pod", "by=label:", "month=2999-01", "")
    answers = [await found.refused(f"/v1alpha1/bill?{query}", ANN) for query in asked]
    return [(status, reason) for status, reason, _ in answers]


def test_what_is_refused_without_a_ledger_and_with_nonsense() -> None:
    async def run() -> None:
        async with house() as found:
            assert await what_is_refused(found) == [
                *[(400, "BadQuestion")] * 3,
                (404, "UnknownName"),
                (404, "NoLedger"),
            ]
            _, _, message = await found.refused("/v1alpha1/bill", ANN)
            assert message == "this scheduler keeps no ledger; start it with --ledger to keep one"

    asyncio.run(run())
