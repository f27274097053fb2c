"""Orders: what those may change who ask. They are read and allowed in the process that answers, and carried
out by the one that schedules, if it leads.

An order goes over the channel with a name of its own, and what has become of it comes back with the news. If
either process ends in between, nobody knows what has become of it; to give the same order again is safe.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable

import msgspec

from maitred.controllers.answers.refusals import RefusedError
from maitred.kube.answers import Reason
from maitred.model.overrides import Override
from maitred.model.reserving import MadeReservation

MOST_ORDERS = 32
ORDER_SECONDS = 10.0
PAUSE_SECONDS = 0.05
STANDBY = "this scheduler is on standby; ask the one that leads"


class OverrideOrder(msgspec.Struct, frozen=True, omit_defaults=True, tag="override"):
    """To lift one group, or to end that."""

    id: str
    grant: Override | None = None
    end: str = ""
    """The group whose override is to end."""
    by: str = ""
    """Who ends it, for the log."""

    @property
    def name(self) -> str:
        """Of the group that it is about, in its namespace."""
        return (self.end if self.grant is None else self.grant.group).partition("/")[2]

    @property
    def listing(self) -> str:
        """The command that says what has become of it."""
        return "maitred override --list"


class ReservationOrder(msgspec.Struct, frozen=True, omit_defaults=True, tag="reservation"):
    """To make a reservation, or to cancel one."""

    id: str
    make: MadeReservation | None = None
    beside: tuple[str, ...] = ()
    """The names of those that had been made when it was found to fit."""
    cancel: str = ""
    by: str = ""
    """Who cancels it, for the log."""

    @property
    def name(self) -> str:
        """It is about no group: the right to it is one to all nodes."""
        return ""

    @property
    def listing(self) -> str:
        return "maitred reserve --list"


AnyOrder = OverrideOrder | ReservationOrder


class OrderOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    refusal: str = ""
    """Why it was not carried out; empty if it was."""
    standby: bool = False
    """This process carries out nothing: another one leads, or none."""


Take = Callable[[AnyOrder], Awaitable[OrderOutcome]]


def new_id() -> str:
    """Of one order among those of all processes that answer."""
    return secrets.token_hex(8)


class OrderBox:
    """In the process that schedules, on the event loop alone."""

    def __init__(self) -> None:
        self._take: Take | None = None
        self._tasks = dict[asyncio.Task[None], None]()
        self._outcomes = list[OrderOutcome]()

    def begin(self, take: Take) -> None:
        """A term has read the cluster, and may write."""
        self._take = take

    def end(self) -> None:
        self._take = None

    def put(self, order: AnyOrder) -> None:
        if len(self._tasks) >= MOST_ORDERS:
            self._outcomes.append(OrderOutcome(order.id, "too many orders at once; try again in a moment"))
            return
        task = asyncio.create_task(self._carry_out(order))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def _carry_out(self, order: AnyOrder) -> None:
        take = self._take
        outcome = OrderOutcome(order.id, STANDBY, standby=True) if take is None else await take(order)
        self._outcomes.append(outcome)

    def outcomes(self) -> tuple[OrderOutcome, ...]:
        """Those that were not told yet."""
        found, self._outcomes = tuple(self._outcomes), []
        return found


class OrderDesk:
    """In the process that answers."""

    def __init__(self, send: Callable[[AnyOrder], None]) -> None:
        self._send = send
        self._open = dict[str, asyncio.Future[OrderOutcome]]()

    def settle(self, outcomes: tuple[OrderOutcome, ...]) -> None:
        for outcome in outcomes:
            future = self._open.get(outcome.id)
            if future is not None and not future.done():
                future.set_result(outcome)

    async def place(self, order: AnyOrder, news: Callable[[], Awaitable[object]]) -> None:
        """Returns once it is carried out. Raises RefusedError. `news` brings what is told meanwhile."""
        future = self._open[order.id] = asyncio.get_running_loop().create_future()
        self._send(order)
        try:
            async with asyncio.timeout(ORDER_SECONDS):
                while not future.done():
                    await news()
                    await asyncio.sleep(PAUSE_SECONDS)
        except TimeoutError:
            raise RefusedError(
                Reason.TOO_LONG,
                f"the scheduler did not write it down within {ORDER_SECONDS:g} s; to ask again is safe, and "
                f"`{order.listing}` says whether it has by now",
            ) from None
        finally:
            del self._open[order.id]
        outcome = future.result()
        if outcome.standby:
            raise RefusedError(Reason.NOT_LEADING, outcome.refusal)
        if outcome.refusal:
            raise RefusedError(Reason.BAD_QUESTION, outcome.refusal)
