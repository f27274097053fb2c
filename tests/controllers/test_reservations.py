"""The leader writes reservations down before anybody is kept off their nodes, whatever happens meanwhile."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from maitred.controllers.answers.orders import OverrideOrder, ReservationOrder
from maitred.controllers.ordered import SHADOW
from maitred.controllers.reservations import ReservationsPart
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.kube.outcomes import Refused, Unknown
from maitred.kube.shared_record import RecordVersion
from maitred.model.plan import Plan
from maitred.model.reservations import Beneficiary, Reservation, ReservedDevices
from maitred.model.reserving import NO_RESERVATIONS, MadeReservation, ReservationMemory
from tests.controllers.test_keeping import FakeRecord
from tests.controllers.test_overrides import writer

NOW = datetime.now(UTC).replace(microsecond=0)


def reservation(name: str = "demo", hours: float = 4, count: int = 8) -> MadeReservation:
    begin, until = (
        (NOW + timedelta(hours=late)).strftime("%Y-%m-%dT%H:%M:%S") for late in (hours, hours + 1)
    )
    devices, who = ReservedDevices("nvidia.com/gpu", count), Beneficiary(namespace="vision")
    return MadeReservation(Reservation(name, who, begin, until, devices), "ann", NOW)


class Writing:
    """A part over one record."""

    def __init__(self) -> None:
        self.mirror, self.record = Mirror("maitred"), FakeRecord()
        self.part = ReservationsPart(self.mirror, Worklist(), writer(), "elsewhere")
        self.part._keeper.record = self.record  # type: ignore[assignment]

    @property
    def seen(self) -> list[str]:
        return [one.said.name for one in self.mirror.state.reservations.reservations]

    async def make(self, name: str = "demo", *beside: str, count: int = 8) -> str:
        order = ReservationOrder("1", make=reservation(name, count=count), beside=beside)
        return (await self.part.take(order)).refusal

    async def cancel(self, name: str = "demo") -> str:
        return (await self.part.take(ReservationOrder("2", cancel=name, by="ann"))).refusal

    @property
    def written(self) -> list[str]:
        found = msgspec.json.decode(self.record.now.text, type=ReservationMemory)
        return [one.said.name for one in found.reservations]


def test_it_is_written_down_before_it_counts() -> None:
    async def story() -> None:
        ground = Writing()
        write = ground.record.write

        async def watched(text: str, before: RecordVersion) -> RecordVersion | Refused | Unknown:
            assert ground.seen == [], "what is not written down is not seen"
            return await write(text, before)

        ground.record.write = watched  # type: ignore[method-assign]
        ground.record.answers_lost = 1
        assert await ground.make() == ""
        assert (ground.seen, ground.written) == (["demo"], ["demo"])
        ground.record.write = write  # type: ignore[method-assign]
        assert await ground.make() == "", "to ask again is safe"
        assert "there is a reservation demo already" in await ground.make(count=9)

    asyncio.run(story())


def test_what_another_has_made_meanwhile_is_neither_lost_nor_overlooked() -> None:
    async def story() -> None:
        ground = Writing()
        ground.record.put(str(ReservationMemory((reservation("other"),))))  # not seen by the watch yet
        assert "reservation other was made at the same time" in await ground.make()
        assert (ground.written, ground.seen) == (["other"], ["other"])
        assert await ground.make("demo", "other") == ""
        assert ground.written == ["demo", "other"]

    asyncio.run(story())


def test_cancelled_is_gone_and_what_is_not_there_cannot_be_cancelled() -> None:
    async def story() -> None:
        ground = Writing()
        assert "there is no reservation demo that somebody has made" in await ground.cancel()
        await ground.make()
        assert await ground.cancel() == ""
        assert (ground.seen, ground.written) == ([], [])

    asyncio.run(story())


def test_what_is_over_is_forgotten_as_the_plan_says_and_a_shadow_carries_out_nothing() -> None:
    async def story() -> None:
        ground = Writing()
        await ground.make()
        running = asyncio.create_task(ground.part.run())
        plan = Plan(made_reservations=NO_RESERVATIONS)
        ground.part.decided(plan, ground.mirror.state.snapshot(), 0.0)
        assert ground.seen == []
        while ground.written:
            await asyncio.sleep(0)
        running.cancel()
        shadow = ReservationsPart(Mirror("maitred"), Worklist(), writer(), "")
        outcome = await shadow.take(ReservationOrder("1", make=reservation()))
        assert (outcome.standby, outcome.refusal) == (True, SHADOW)

    asyncio.run(story())


@pytest.mark.parametrize(
    "order", [OverrideOrder("1", end="a/b"), ReservationOrder("1", cancel="demo", by="ann")]
)
def test_orders_cross_as_what_they_are(order: OverrideOrder | ReservationOrder) -> None:
    text = msgspec.json.encode(order)
    assert msgspec.json.decode(text, type=OverrideOrder | ReservationOrder) == order
    assert (order.name, order.listing.split()[1]) in (("b", "override"), ("", "reserve"))
