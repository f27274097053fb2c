"""What receipts say is what victims lose: member by member before they go, and in all when a run is over."""

from maitred.model.plan import Receipt
from maitred.simulate.clock import HOUR, SECOND, Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import WHOLE
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.seating.seater import Moves

MILLISECOND = SECOND // 1000
"""Times are rounded to it where `decide` sees them."""
LAST_DIGIT = HOUR / 10_000
"""Of the device-hours of a receipt."""


class Receipts(RunObserver):
    """A watcher of a run. All amounts are in device-microseconds."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.said = 0.0
        self.rounding = 0.0
        """How far what is said may be from what is lost."""

    def moves(self, loop: Simulation, moves: Moves) -> None:
        for removal in moves.removals:
            for member, receipt in zip(removal.members, removal.receipts, strict=True):
                self._check(removal.group, member, receipt, loop.now)

    def _check(self, group: SimulatedGroup, member: int, receipt: Receipt, now: Time) -> None:
        devices, checkpoint = group.job.crew_of[member].devices, group.job.checkpoint or 0
        said, lost = receipt.work_lost_device_hours * HOUR, lost_by(group, member, now) * devices
        rounding = LAST_DIGIT / 2 + MILLISECOND * devices
        if abs(said - lost) > rounding >= min(said, lost):
            rounding += checkpoint * devices  # It is saving its work at this very moment.
        if abs(said - lost) > rounding:
            self.faults.append(f"{group.name}-{member} loses {lost / HOUR} device-hours, not {said / HOUR}")
        self.said += said
        self.rounding += rounding

    def add_up(self, loop: Simulation) -> list[str]:
        """When the run is over: what is wrong."""
        lost = loop.books.meter.totals["lostToEviction"] / WHOLE
        if abs(lost - self.said) > self.rounding:
            self.faults.append(f"{lost / HOUR} device-hours were lost, receipts say {self.said / HOUR}")
        return self.faults


def lost_by(group: SimulatedGroup, member: int, now: Time) -> Time:
    """How long a member has worked since it last saved its work."""
    start, checkpoint = group.starts[member], group.job.checkpoint
    if start is None or start > now:
        return 0
    return now - start if checkpoint is None else (now - start) % checkpoint if checkpoint else 0
