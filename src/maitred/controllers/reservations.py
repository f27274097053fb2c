"""Reservations are written down as they are ordered."""

from datetime import UTC, datetime

from maitred.controllers.answers.orders import ReservationOrder
from maitred.controllers.keeping import RESERVED
from maitred.controllers.ordered import OrderedPart
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.kube.writes import Writer
from maitred.model.reserving import ReservationMemory, recorded


class ReservationsPart(OrderedPart[ReservationMemory, ReservationOrder]):
    def __init__(self, mirror: Mirror, worklist: Worklist, writer: Writer, namespace: str) -> None:
        super().__init__(
            mirror,
            worklist,
            writer,
            namespace,
            RESERVED,
            lambda plan, seen: (plan.made_reservations, seen.reservations),
        )

    def _done(self, order: ReservationOrder) -> str:
        if order.make is not None:
            return f"reservation {order.make.said.name} was made by {order.make.by}"
        return f"reservation {order.cancel} was cancelled by {order.by}"

    def _wanted(self, order: ReservationOrder) -> ReservationMemory | str:
        known, now = self._mirror.state.reservations, datetime.now(UTC)
        if order.make is not None:
            return recorded(known, order.make, order.beside, now)
        if known.at(now).of(order.cancel) is None:
            return (
                f"there is no reservation {order.cancel} that somebody has made; `{order.listing}` lists them"
            )
        return known.at(now).without(order.cancel)
