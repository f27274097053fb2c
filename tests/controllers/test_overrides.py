"""The leader writes overrides down before anybody is lifted by them, whatever happens meanwhile."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.answers.orders import STANDBY, OrderBox, OrderOutcome, OverrideOrder
from maitred.controllers.ordered import SHADOW
from maitred.controllers.overrides import OverridesPart
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.kube.client import Client
from maitred.kube.outcomes import Refused, Unknown
from maitred.kube.permit import Always, NotLeading
from maitred.kube.shared_record import RecordVersion
from maitred.kube.writes import Writer
from maitred.model.overrides import MOST_OF_NAMESPACE, NO_OVERRIDES, Override, OverrideMemory
from maitred.model.plan import Plan
from tests.controllers.test_keeping import FakeRecord

NOW = datetime.now(UTC).replace(microsecond=0)


def override(group: str = "a/train", hours: float = 4) -> Override:
    source = ("maitred.dev", group, "")
    return Override(group, source, NOW, {"cpu": 1000}, "ann", "because", NOW, NOW + timedelta(hours=hours))


class Ground:
    """A part over one record, and what it told."""

    def __init__(self) -> None:
        self.mirror, self.record = Mirror("maitred"), FakeRecord()
        self.part = OverridesPart(self.mirror, Worklist(), writer(), "elsewhere")
        self.part._keeper.record = self.record  # type: ignore[assignment]
        self.told = list[tuple[OverrideMemory, OverrideMemory]]()
        self.part.listeners.append(lambda before, now: self.told.append((before, now)))

    @property
    def seen(self) -> list[str]:
        return [one.group for one in self.mirror.state.overrides.overrides]

    async def grant(self, group: str = "a/train") -> str:
        return (await self.part.take(OverrideOrder("1", grant=override(group)))).refusal

    async def end(self, group: str = "a/train") -> str:
        return (await self.part.take(OverrideOrder("2", end=group, by="ann"))).refusal

    @property
    def written(self) -> list[str]:
        found = msgspec.json.decode(self.record.now.text, type=OverrideMemory)
        return [one.group for one in found.overrides]


def writer() -> Writer:
    return Writer(None, Always())  # type: ignore[arg-type]


def test_it_is_written_down_before_anybody_is_lifted() -> None:
    async def story() -> None:
        ground = Ground()
        write = ground.record.write

        async def watched(text: str, before: RecordVersion) -> RecordVersion | Refused | Unknown:
            assert ground.seen == [], "what is not written down is not seen"
            return await write(text, before)

        ground.record.write = watched  # type: ignore[method-assign]
        assert await ground.grant() == ""
        assert (ground.seen, ground.written) == (["a/train"], ["a/train"])
        assert ground.told == [(NO_OVERRIDES, ground.mirror.state.overrides)]

    asyncio.run(story())


def test_an_answer_that_is_lost_and_a_write_of_somebody_else_lose_nothing() -> None:
    async def story() -> None:
        ground = Ground()
        ground.record.answers_lost = 1
        assert await ground.grant() == ""
        assert ground.written == ["a/train"]
        ground.record.put(str(OverrideMemory((override("b/other"),))))  # not seen by the watch yet
        assert await ground.grant() == ""
        assert (ground.written, ground.seen) == (["a/train", "b/other"], ["a/train", "b/other"])

    asyncio.run(story())


def test_ended_is_gone_and_what_is_not_there_cannot_end() -> None:
    async def story() -> None:
        ground = Ground()
        assert "there is no override of a/train" in await ground.end()
        await ground.grant()
        assert await ground.end() == ""
        assert (ground.seen, ground.written) == ([], [])

    asyncio.run(story())


def test_so_many_of_one_namespace_and_no_more_are_written() -> None:
    async def story() -> None:
        ground = Ground()
        for number in range(MOST_OF_NAMESPACE):
            assert await ground.grant(f"a/{number}") == ""
        writes = ground.record.writes
        assert "end one first" in await ground.grant("a/more")
        assert ground.record.writes == writes

    asyncio.run(story())


def test_what_is_over_is_forgotten_as_the_plan_says() -> None:
    async def story() -> None:
        ground = Ground()
        await ground.grant()
        snapshot: Snapshot = ground.mirror.state.snapshot()
        running = asyncio.create_task(ground.part.run())
        ground.part.decided(Plan(overrides=NO_OVERRIDES), snapshot, 0.0)
        assert ground.seen == []
        while ground.written:
            await asyncio.sleep(0)
        running.cancel()
        stale = msgspec.structs.replace(Plan(), overrides=OverrideMemory((override("c/d"),)))
        ground.part.decided(stale, snapshot, 0.0)
        assert ground.seen == [], "it was decided on something else"

    asyncio.run(story())


def test_a_shadow_and_a_scheduler_on_standby_carry_out_nothing() -> None:
    async def story() -> None:
        shadow = OverridesPart(Mirror("maitred"), Worklist(), writer(), "")
        outcome = await shadow.take(OverrideOrder("1", grant=override()))
        assert (outcome.standby, outcome.refusal) == (True, SHADOW)
        client: Any = Client
        assert [*shadow.reflectors(client)] == []
        box = OrderBox()
        box.put(OverrideOrder("7", grant=override()))
        await asyncio.sleep(0)
        assert box.outcomes() == (OrderOutcome("7", STANDBY, standby=True),)
        assert box.outcomes() == ()

    asyncio.run(story())


def test_who_has_lost_the_lease_meanwhile_hands_over() -> None:
    async def story() -> None:
        ground = Ground()

        async def lost(text: str, before: RecordVersion) -> RecordVersion | Refused | Unknown:
            raise NotLeading("this process no longer leads, so it writes nothing")

        ground.record.write = lost  # type: ignore[method-assign]
        outcome = await ground.part.take(OverrideOrder("1", grant=override()))
        assert (outcome.standby, ground.seen) == (True, [])
        assert outcome.refusal.endswith("ask the one that leads")

    asyncio.run(story())


@pytest.mark.parametrize("text", ['{"order":{"id":1}}', '{"order":{"id":"x","grant":{"group":""}}}'])
def test_an_order_that_cannot_be_read_ends_the_process_that_sent_it(text: str) -> None:
    from maitred.controllers.answers.channel import Said

    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Said)
