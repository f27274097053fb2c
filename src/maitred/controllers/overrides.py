"""Overrides are written down as they are ordered."""

from datetime import UTC, datetime

from maitred.controllers.answers.orders import OverrideOrder
from maitred.controllers.keeping import LIFTED
from maitred.controllers.ordered import OrderedPart
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.kube.writes import Writer
from maitred.model.overrides import OverrideMemory, granted


class OverridesPart(OrderedPart[OverrideMemory, OverrideOrder]):
    def __init__(self, mirror: Mirror, worklist: Worklist, writer: Writer, namespace: str) -> None:
        super().__init__(
            mirror,
            worklist,
            writer,
            namespace,
            LIFTED,
            lambda plan, seen: (plan.overrides, seen.overrides),
        )

    def _done(self, order: OverrideOrder) -> str:
        if order.grant is not None:
            return f"group {order.grant.group} is lifted past its queue {order.grant.words}"
        return f"the override of group {order.end} was ended by {order.by}"

    def _wanted(self, order: OverrideOrder) -> OverrideMemory | str:
        known, now = self._mirror.state.overrides, datetime.now(UTC)
        if order.grant is not None:
            return granted(known, order.grant, now)
        if known.at(now).of(order.end) is None:
            return f"there is no override of {order.end}; `{order.listing}` lists those that there are"
        return known.at(now).without(order.end)
