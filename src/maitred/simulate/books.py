"""The books of a run: what each moment means for devices, waits and the whole."""

from collections import Counter
from collections.abc import Sequence

from maitred.simulate.clock import HOUR, SECOND, Time
from maitred.simulate.floor import Floor
from maitred.simulate.meter import Meter
from maitred.simulate.party import Party, Phase
from maitred.simulate.results import Bucket, FloorPlan
from maitred.simulate.seating.deadlock import deadlocked
from maitred.simulate.seating.seater import Removal, Seater

WORTH_A_PICTURE = 1.1
"""A new picture is taken when the floor shows so much more than in the last."""


class Books:
    def __init__(self, floor: Floor, seater: Seater) -> None:
        self.meter = Meter()
        self.wait_by_blocker: Counter[str] = Counter()
        self.evictions = 0
        self.preemptions = 0
        self.evicted_units = 0
        self.evicted_pods = 0
        self.receipts_device_seconds = 0.0
        self.failures = 0
        self.deadlocks = 0
        self.deadlocked_for: Time = 0
        self.picture: FloorPlan | None = None
        self.waiting: dict[Party, None] = {}
        """Parties that want seats for their quorum."""
        self._floor, self._seater = floor, seater
        self._staying: dict[Party, None] = {}
        """Parties that sit and never end."""
        self._incomplete: dict[Party, None] = {}
        """Parties of which some sit and wait for the rest of their quorum."""
        self._look_for_deadlock = False
        self._unsettled: dict[Party, None] = {}
        """Parties that stand differently since the last moment was settled."""
        self._promised: dict[Party, None] = {}
        """Parties for whom places are kept."""
        self._held: Counter[Bucket] = Counter()
        self._holds: dict[Party, tuple[tuple[Bucket, int], ...]] = {}
        self._lacks: Counter[int] = Counter()
        self._lacking: dict[Party, int] = {}
        self._demand = 0
        self._deadlocked_since: Time | None = None
        self._shown = (0, 0)

    # -- parties ---------------------------------------------------------------------------------------

    def note(self, party: Party, now: Time) -> None:
        """The party stands differently from now on."""
        self._unsettled[party] = None
        self._note_wait(party, now)
        self._note_blocking(party)
        if party.nominated:
            self._promised[party] = None
        else:
            self._promised.pop(party, None)

    def _note_blocking(self, party: Party) -> None:
        """Those who take part in deadlocks: each change of them may make one, or end it."""
        incomplete = party.phase == Phase.INCOMPLETE
        stays = party.job.run_time is None and party.runs
        for list_, belongs in ((self._incomplete, incomplete), (self._staying, stays)):
            if belongs:
                list_[party] = None
                self._look_for_deadlock = True
            elif party in list_:
                del list_[party]
                self._look_for_deadlock = True

    def _note_wait(self, party: Party, now: Time) -> None:
        if party.waits and party.waiting_since is None:
            party.waiting_since = now
            self.waiting[party] = None
        elif not party.waits and party.waiting_since is not None:
            self.close_wait(party, now)
            del self.waiting[party]

    def close_wait(self, party: Party, now: Time) -> None:
        """Who still waits at the end of the run has waited too."""
        assert party.waiting_since is not None
        self.wait_by_blocker.update(self._seater.waited(party, party.waiting_since, now))
        party.waited += now - party.waiting_since
        party.waiting_since = None

    def _note_devices(self, party: Party) -> None:
        for bucket, load in self._holds.pop(party, ()):
            self._held[bucket] -= load
        if not (party.sitting or party.leaving) or party.phase == Phase.OVER:
            return
        crew_of = party.job.crew_of
        load = sum(crew_of[member].load for member in party.sitters())
        leaving = sum(crew_of[member].load for member in party.leaving)
        working = party.load if party.phase == Phase.WORKING else 0
        rest: Bucket = "incomplete" if party.phase == Phase.INCOMPLETE else "starting"
        self._holds[party] = (("productive", working), (rest, load - working), ("leaving", leaving))
        for bucket, load in self._holds[party]:
            self._held[bucket] += load

    def _note_lack(self, party: Party) -> None:
        before = self._lacking.pop(party, 0)
        lack = party.missing_load() if party.waiting_since is not None else 0
        if before:
            self._lacks[before] -= 1
            if not self._lacks[before]:
                del self._lacks[before]
        if lack:
            self._lacking[party] = lack
            self._lacks[lack] += 1
        self._demand += lack - before

    @property
    def anyone_nears_an_end(self) -> bool:
        """Without faults and evictions, that is."""
        soon = (Phase.STARTING, Phase.STOPPED)
        return any(party.phase in soon or party.nears_its_end for party in self._holds)

    # -- moments ---------------------------------------------------------------------------------------

    def settle(self, now: Time) -> None:
        """Nothing more happens at this moment. How parties stood in the midst of it took no time."""
        for party in self._unsettled:
            self._note_devices(party)
            self._note_lack(party)
        self._unsettled.clear()
        held, floor = self._held, self._floor
        free = floor.total - floor.broken - held.total()
        levels: dict[Bucket, int] = {**held, "broken": floor.broken}
        if self._promised:
            levels["reserved"] = floor.reserved(self._promised)
            free -= levels["reserved"]
        levels["fragmented" if min(self._lacks, default=free + 1) <= free else "idle"] = free
        self.meter.set(levels, self._demand)
        self._take_picture((held["incomplete"], floor.total - free), now)

    def _take_picture(self, shown: tuple[int, int], now: Time) -> None:
        """Of the moment when incomplete parties held most, or else of the one when most was held."""
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
        self._note_deadlock(False, now)
        for party in self.waiting:
            self.close_wait(party, now)
