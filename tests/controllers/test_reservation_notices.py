"""Who will have to leave for a reservation is told once, by an Event that names nobody else."""

import asyncio
from typing import Any

import msgspec

from maitred.controllers.scheduling.reservation_notices import WARNED, ReservationNotices
from maitred.kube.bodies import Regarding
from maitred.model.plan import Plan
from maitred.model.reservations import ReservedNodes, WarnedUnit

UNIT = WarnedUnit("lab/x", "2026-03-02T10:00:00Z", "2026-03-02T14:00:00Z", 2, "lab/x-0", "u0")
KEPT = ReservedNodes(
    "secret", "queue boss", "2026-03-02T14:00:00Z", "2026-03-02T18:00:00Z", ("n1",), "coming", warned=(UNIT,)
)


class FakeTeller:
    def declared(self, group: str) -> Regarding | None:
        return None


class FakeEvents:
    def __init__(self) -> None:
        self.sent = list[tuple[Any, ...]]()

    async def record(self, *said: Any) -> bool:
        self.sent.append(said)
        return True


def told(*plans: Plan, shadow: bool = False) -> list[tuple[Any, ...]]:
    async def story() -> None:
        notices = ReservationNotices(None if shadow else FakeTeller(), events)  # type: ignore[arg-type]
        running = asyncio.create_task(notices.run())
        for plan in plans:
            notices.decided(plan, None, 0.0)  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        running.cancel()

    events = FakeEvents()
    asyncio.run(story())
    return events.sent


def saying(*kept: ReservedNodes) -> Plan:
    return Plan(reservations=kept)


def test_each_time_is_told_once_to_those_who_will_have_to_leave() -> None:
    later = msgspec.structs.replace(KEPT, begin="2026-03-09T14:00:00Z")
    stays = msgspec.structs.replace(KEPT, warned=(msgspec.structs.replace(UNIT, stays="it is marked"),))
    assert told(saying(stays)) == []
    found = told(saying(KEPT), saying(KEPT), saying(later))
    assert [(one[0].name, one[1], one[4]) for one in found] == [("x-0", WARNED, "Warning")] * 2
    words = found[0][2]
    assert "reserved for others from 2026-03-02T14:00:00Z to 2026-03-02T18:00:00Z" in words
    assert "it is evicted at 2026-03-02T14:00:00Z" in words
    assert "secret" not in words
    assert "boss" not in words
    assert found[0][5] != found[1][5]


def test_a_shadow_tells_nobody() -> None:
    assert told(saying(KEPT), shadow=True) == []
