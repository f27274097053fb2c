"""Places that groups have later are written down, as Plans say: holds, and booked starts. Others hear when
one has become less."""

from collections.abc import Callable
from typing import TypeVar

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.keeping import BOOKED, WAITING, MemoryKind
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.controllers.usage import MemoryPart, Said
from maitred.kube.writes import Writer
from maitred.model.booking import BookingMemory
from maitred.model.holding import HoldMemory
from maitred.model.plan import Plan

M = TypeVar("M")


class LaterPlacesPart(MemoryPart[M]):
    def __init__(
        self,
        mirror: Mirror,
        worklist: Worklist,
        writer: Writer,
        namespace: str,
        about: MemoryKind[M],
        said: Said[M],
        given_up: Callable[[M, M], bool],
    ) -> None:
        super().__init__(mirror, writer, namespace, about, said)
        self._worklist, self._mirror, self._given_up, self._of = worklist, mirror, given_up, said

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        super().decided(plan, snapshot, now)
        after, before = self._of(plan, snapshot)
        if after is not None and self._given_up(before, after):
            self._worklist.look_at_everything()  # what was held may be others' now
            self._mirror.changed.set()


def holds_part(
    mirror: Mirror, worklist: Worklist, writer: Writer, namespace: str
) -> LaterPlacesPart[HoldMemory]:
    def said(plan: Plan, seen: Snapshot) -> tuple[HoldMemory | None, HoldMemory]:
        return plan.planned, seen.holds

    return LaterPlacesPart(mirror, worklist, writer, namespace, WAITING, said, given_up)


def bookings_part(
    mirror: Mirror, worklist: Worklist, writer: Writer, namespace: str
) -> LaterPlacesPart[BookingMemory]:
    def said(plan: Plan, seen: Snapshot) -> tuple[BookingMemory | None, BookingMemory]:
        return plan.bookings, seen.bookings

    return LaterPlacesPart(mirror, worklist, writer, namespace, BOOKED, said, is_over)


def given_up(before: HoldMemory, after: HoldMemory) -> bool:
    """Whether any hold is not what and when it was."""
    kept = {(one.group, one.begins, one.nodes) for one in after.holds}
    return any((one.group, one.begins, one.nodes) not in kept for one in before.holds)


def is_over(before: BookingMemory, after: BookingMemory) -> bool:
    """Whether any booked start is over, or on other nodes."""
    kept = {(one.group, one.nodes) for one in after.bookings}
    return any((one.group, one.nodes) not in kept for one in before.bookings)
