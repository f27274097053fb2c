"""Orders cross to the process that schedules, and what has become of them comes back with the news."""

import asyncio
import socket

import pytest

from maitred.controllers.answers import orders
from maitred.controllers.answers.backlog import Backlog
from maitred.controllers.answers.channel import Config, Ours, Said, Theirs
from maitred.controllers.answers.orders import (
    MOST_ORDERS,
    AnyOrder,
    OrderBox,
    OrderDesk,
    OrderOutcome,
    OverrideOrder,
    new_id,
)
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.supervisor import serve
from maitred.kube.answers import Reason
from tests.controllers.test_overrides import override


def test_an_order_crosses_whole_and_its_outcome_comes_back() -> None:
    async def story() -> None:
        taken = list[OverrideOrder]()

        async def take(order: AnyOrder) -> OrderOutcome:
            assert isinstance(order, OverrideOrder)
            taken.append(order)
            return OrderOutcome(order.id, "there is no override of a/other" if order.end else "")

        ends = [await asyncio.open_unix_connection(sock=one) for one in socket.socketpair()]
        ours, theirs, backlog = Ours(*ends[0]), Theirs(*ends[1]), Backlog()
        backlog.orders.begin(take)
        serving = asyncio.create_task(serve(ours, backlog, Config()))
        await theirs.config()
        desk = OrderDesk(lambda order: theirs.say(Said(order=order)))

        async def news() -> None:
            desk.settle((await theirs.news(False)).done)

        granted, ended = (
            OverrideOrder(new_id(), grant=override()),
            OverrideOrder(new_id(), end="a/other", by="ann"),
        )
        await desk.place(granted, news)
        with pytest.raises(RefusedError, match="there is no override of a/other"):
            await desk.place(ended, news)
        assert taken == [granted, ended]
        assert (granted.name, ended.name) == ("train", "other")
        backlog.orders.end()
        with pytest.raises(RefusedError) as standby:
            await desk.place(granted, news)
        assert standby.value.reason is Reason.NOT_LEADING
        serving.cancel()
        for _, writer in ends:
            writer.close()

    asyncio.run(story())


def test_who_gets_no_answer_is_told_that_to_ask_again_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "ORDER_SECONDS", 0.01)

    async def story() -> None:
        desk = OrderDesk(lambda order: None)
        with pytest.raises(RefusedError, match="to ask again is safe") as late:
            await desk.place(OverrideOrder("1", grant=override()), lambda: asyncio.sleep(0))
        assert late.value.reason is Reason.TOO_LONG
        desk.settle((OrderOutcome("1"),))  # too late, and nobody minds

    asyncio.run(story())


def test_so_many_orders_are_carried_out_at_once() -> None:
    async def story() -> None:
        box, go = OrderBox(), asyncio.Event()

        async def take(order: AnyOrder) -> OrderOutcome:
            await go.wait()
            return OrderOutcome(order.id)

        box.begin(take)
        for number in range(MOST_ORDERS + 1):
            box.put(OverrideOrder(str(number), end="a/b"))
        [refused] = box.outcomes()
        assert (refused.id, refused.refusal) == (
            str(MOST_ORDERS),
            "too many orders at once; try again in a moment",
        )
        go.set()
        await asyncio.sleep(0.01)
        assert len(box.outcomes()) == MOST_ORDERS

    asyncio.run(story())
