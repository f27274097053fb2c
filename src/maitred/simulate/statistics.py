"""Statistics of a run: what each moment means for devices, waits and the whole."""

from collections import Counter
from collections.abc import Mapping, Sequence

from maitred.simulate.clock import HOUR, SECOND, Time
from maitred.simulate.group import Phase, SimulatedGroup
from maitred.simulate.meter import DeviceMeter, QueueMeter
from maitred.simulate.nodes import SimulatedNodes
from maitred.simulate.results import Bucket, FloorPlan
from maitred.simulate.seating.deadlock import deadlocked
from maitred.simulate.seating.seater import Removal, Seater

RESTING: Mapping[Phase, Bucket] = {Phase.INCOMPLETE: "incomplete", Phase.STALLED: "stalled"}
"""Where those are counted who sit, live and do not work; where not here, they get ready."""
WORTH_A_PICTURE = 1.1
"""A new picture is taken when the floor shows so much more than in the last."""


class RunStatistics:
    def __init__(self, floor: SimulatedNodes, seater: Seater) -> None:
        self.meter = DeviceMeter()
        self.wait_by_blocker: Counter[str] = Counter()
        self.evictions = 0
        self.preemptions = 0
        self.evicted_units = 0
        self.evicted_pods = 0
        self.receipts_device_seconds = 0.0
        self.failures = 0
        self.healed_pods = 0
        self.deadlocks = 0
        self.deadlocked_for: Time = 0
        self.picture: FloorPlan | None = None
        self.waiting: dict[SimulatedGroup, None] = {}
        """Groups that want seats for their quorum."""
        self._floor, self._seater = floor, seater
        self._staying: dict[SimulatedGroup, None] = {}
        """Groups that sit and never end."""
        self._incomplete: dict[SimulatedGroup, None] = {}
        """Groups of which some sit and wait for the rest of their quorum."""
        self._look_for_deadlock = False
        self._unsettled: dict[SimulatedGroup, None] = {}
        """Groups that stand differently since the last moment was settled."""
        self._promised: dict[SimulatedGroup, None] = {}
        """Groups for whom places are kept."""
        self._held: Counter[Bucket] = Counter()
        self._holds: dict[SimulatedGroup, tuple[tuple[Bucket, int], ...]] = {}
        self.held_by_queue = QueueMeter()
        self._lacks: Counter[int] = Counter()
        self._lacking: dict[SimulatedGroup, int] = {}
        self._demand = 0
        self._deadlocked_since: Time | None = None
        self._shown = (0, 0)

    # -- groups ---------------------------------------------------------------------------------------

    def note(self, group: SimulatedGroup, now: Time) -> None:
        """The group stands differently from now on."""
        self._unsettled[group] = None
        self._note_wait(group, now)
        self._note_blocking(group)
        if group.nominated:
            self._promised[group] = None
        else:
            self._promised.pop(group, None)

    def _note_blocking(self, group: SimulatedGroup) -> None:
        """Those who take part in deadlocks: each change of them may make one, or end it."""
        incomplete = group.phase == Phase.INCOMPLETE
        stays = group.job.run_time is None and group.runs
        for list_, belongs in ((self._incomplete, incomplete), (self._staying, stays)):
            if belongs:
                list_[group] = None
                self._look_for_deadlock = True
            elif group in list_:
                del list_[group]
                self._look_for_deadlock = True

    def _note_wait(self, group: SimulatedGroup, now: Time) -> None:
        if group.waits and group.waiting_since is None:
            group.waiting_since = now
            self.waiting[group] = None
        elif not group.waits and group.waiting_since is not None:
            self.close_wait(group, now)
            del self.waiting[group]

    def close_wait(self, group: SimulatedGroup, now: Time) -> None:
        """Who still waits at the end of the run has waited too."""
        assert group.waiting_since is not None
        self.wait_by_blocker.update(self._seater.waited(group, group.waiting_since, now))
        group.waited += now - group.waiting_since
        group.waiting_since = None

    def _note_devices(self, group: SimulatedGroup) -> None:
        for bucket, load in self._holds.pop(group, ()):
            self._held[bucket] -= load
            self.held_by_queue.change(group.job.queue, -load, self.meter.now)
        if not (group.sitting or group.leaving) or group.phase == Phase.OVER:
            return
        crew_of = group.job.crew_of
        load = sum(crew_of[member].load for member in group.living())
        dead = sum(crew_of[member].load for member in group.dead)
        leaving = sum(crew_of[member].load for member in group.leaving)
        working = group.load if group.phase == Phase.WORKING else 0
        rest = RESTING.get(group.phase, "starting")
        self._holds[group] = (
            ("productive", working),
            (rest, load - working),
            ("stalled", dead),
            ("leaving", leaving),
        )
        for bucket, load in self._holds[group]:
            self._held[bucket] += load
            self.held_by_queue.change(group.job.queue, load, self.meter.now)

    def _note_lack(self, group: SimulatedGroup) -> None:
        before = self._lacking.pop(group, 0)
        lack = group.missing_load() if group.waiting_since is not None else 0
        if before:
            self._lacks[before] -= 1
            if not self._lacks[before]:
                del self._lacks[before]
        if lack:
            self._lacking[group] = lack
            self._lacks[lack] += 1
        self._demand += lack - before

    @property
    def anyone_nears_an_end(self) -> bool:
        """Without faults and evictions, that is."""
        soon = (Phase.STARTING, Phase.STOPPED, Phase.STALLED)
        return any(group.phase in soon or group.nears_its_end for group in self._holds)

    # -- moments ---------------------------------------------------------------------------------------

    def settle(self, now: Time) -> None:
        """Nothing more happens at this moment. How groups stood in the midst of it took no time."""
        for group in self._unsettled:
            self._note_devices(group)
            self._note_lack(group)
        self._unsettled.clear()
        held, floor = self._held, self._floor
        free = floor.total - floor.broken - held.total() + floor.overlap
        levels: dict[Bucket, int] = {**held, "broken": floor.broken}
        levels["stalled"] = held["stalled"] - floor.overlap
        if self._promised:
            levels["reserved"] = floor.reserved(self._promised)
            free -= levels["reserved"]
        if self._seater.spares:
            levels["spare"] = min(free, floor.spare(self._seater.spares))
            free -= levels["spare"]
        levels["fragmented" if min(self._lacks, default=free + 1) <= free else "idle"] = free
        self.meter.set(levels, self._demand)
        self._take_picture((held["incomplete"], floor.total - free), now)

    def _take_picture(self, shown: tuple[int, int], now: Time) -> None:
        """Of the moment when incomplete groups held most, or else of the one when most was held."""
        place = 0 if shown[0] or self._shown[0] else 1
        if shown[place] > self._shown[place] * WORTH_A_PICTURE:
            self._shown = shown
            self.picture = self._floor.plan(now, self.waiting)

    # -- evictions -------------------------------------------------------------------------------------

    def note_removals(self, removals: Sequence[Removal]) -> None:
        self.preemptions += len({removal.preemptor for removal in removals})
        for removal in removals:
            self.evicted_pods += len(removal.members)
            self.evicted_units += len({receipt.unit for receipt in removal.receipts}) or 1
            hours = sum(receipt.work_lost_device_hours for receipt in removal.receipts)
            self.receipts_device_seconds += hours * HOUR / SECOND

    # -- deadlocks -------------------------------------------------------------------------------------

    def look_for_deadlock(self, now: Time) -> None:
        if self._look_for_deadlock:
            self._look_for_deadlock = False
            self._note_deadlock(deadlocked(self._floor.nodes, self._incomplete, self._staying), now)

    def _note_deadlock(self, found: bool, now: Time) -> None:
        if found and self._deadlocked_since is None:
            self.deadlocks += 1
            self._deadlocked_since = now
        elif not found and self._deadlocked_since is not None:
            self.deadlocked_for += now - self._deadlocked_since
            self._deadlocked_since = None

    def close(self, now: Time) -> None:
        self.meter.advance(now)
        self.held_by_queue.close(now)
        self._note_deadlock(False, now)
        for group in self.waiting:
            self.close_wait(group, now)
