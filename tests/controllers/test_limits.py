"""Deadlines of Jobs, as Plans say: written once each, tried again, and not after the Plan has changed."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from maitred.cluster.snapshot import Snapshot
from maitred.controllers import retry
from maitred.controllers.limits import LimitPart
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.model.plan import DeadlineToSet, Plan
from tests.support import snapshot_of

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()
Outcome = Done | Refused | Unknown


class FakeWriter:
    def __init__(self) -> None:
        self.written = list[tuple[str, str, int | None]]()
        self.answers = list[Outcome]()
        self.before: Callable[[], Awaitable[None]] | None = None

    async def set_deadline(self, namespace: str, name: str, uid: str, seconds: int | None) -> Outcome:
        self.written.append((f"{namespace}/{name}", uid, seconds))
        if self.before is not None:
            await self.before()
        return self.answers.pop(0) if self.answers else Done()

    async def set_pod_deadline(self, namespace: str, name: str, uid: str, seconds: int) -> Outcome:
        return await self.set_deadline(f"pods {namespace}", name, uid, seconds)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_RETRY", 0.0)


EMPTY: Snapshot = snapshot_of([])


def plan(*deadlines: DeadlineToSet) -> Plan:
    return Plan(deadlines=deadlines)


def deadline(job: str = "a/j", seconds: int | None = 60) -> DeadlineToSet:
    return DeadlineToSet(job, "uid", "a/j", seconds)


def carried_out(writer: FakeWriter, *plans: Plan) -> list[tuple[str, str, int | None]]:
    async def act() -> None:
        part = LimitPart(writer)  # type: ignore[arg-type]
        task = asyncio.create_task(part.run())
        for one in plans:
            part.decided(one, EMPTY, NOW)
        for _ in range(50):
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(act())
    return writer.written


def test_each_job_gets_the_deadline_that_the_last_plan_says() -> None:
    written = carried_out(FakeWriter(), plan(deadline()), plan(deadline(seconds=50), deadline("b/k", None)))
    assert sorted(written) == [("a/j", "uid", 50), ("b/k", "uid", None)]


def test_so_does_each_pod_that_nobody_controls() -> None:
    """A Job may have the same name."""
    pod = DeadlineToSet("", "uid-p", "a/j", 40, pod="a/j")
    written = carried_out(FakeWriter(), plan(deadline(), pod))
    assert sorted(written) == [("a/j", "uid", 60), ("pods a/j", "uid-p", 40)]


@pytest.mark.parametrize("trouble", [Unknown("lost"), Refused(RefusalReason.FORBIDDEN, "no")])
def test_what_goes_wrong_is_tried_again(trouble: Outcome) -> None:
    writer = FakeWriter()
    writer.answers = [trouble, trouble]
    assert carried_out(writer, plan(deadline())) == [("a/j", "uid", 60)] * 3


@pytest.mark.parametrize("why", [RefusalReason.GONE, RefusalReason.REPLACED, RefusalReason.STALE])
def test_what_cannot_be_any_more_is_left_to_the_next_plan(why: RefusalReason) -> None:
    writer = FakeWriter()
    writer.answers = [Refused(why, "it is not as it was")]
    assert carried_out(writer, plan(deadline())) == [("a/j", "uid", 60)]


def test_nothing_more_is_written_of_a_job_that_the_next_plan_does_not_name() -> None:
    writer = FakeWriter()
    part = LimitPart(writer)  # type: ignore[arg-type]
    writer.answers = [Unknown("lost")] * 99

    async def forget() -> None:
        part.decided(plan(), EMPTY, NOW)

    async def act() -> None:
        writer.before = forget
        task = asyncio.create_task(part.run())
        part.decided(plan(deadline()), EMPTY, NOW)
        for _ in range(50):
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(act())
    assert writer.written == [("a/j", "uid", 60)]
