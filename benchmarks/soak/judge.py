"""What must not happen in a soak, looked for at every Plan."""

from collections.abc import Iterator, Sequence

from benchmarks.soak.promises import Promises
from benchmarks.soak.raw import breaches, objects
from benchmarks.soak.receipts import Receipts
from maitred.cluster.state import ClusterState, Put
from maitred.decide import Scope, decide
from maitred.model.policy import Policy
from maitred.simulate.clock import SECOND, Time, moment
from maitred.simulate.faults import Breakdown
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import Workload
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.seating.objects import group_key, is_lone, pod, pod_group
from maitred.simulate.seating.seater import Moves


class Judge(RunObserver):
    """A watcher of a run. Every so many Plans that evict someone are checked against the laws."""

    def __init__(
        self, policy: Policy, workload: Workload, breakdowns: Sequence[Breakdown], every: int
    ) -> None:
        self.faults: list[str] = []
        self.loop: Simulation | None = None
        self.plans = 0
        self.checked = 0
        self.promises = Promises(breakdowns)
        self.receipts = Receipts()
        self._policy, self._every = policy, every
        self._highest = max(job.priority for job in workload)
        self._grace = max(job.grace for job in workload)
        self._evicted: set[tuple[str, str]] = set()
        """Who had to leave for whom."""
        self._starved: dict[SimulatedGroup, Time] = {}
        """Who was found to, and since when it had waited then."""

    def moves(self, loop: Simulation, moves: Moves) -> None:
        self.loop = loop
        self.promises.moves(loop, moves)
        self.receipts.moves(loop, moves)
        self.faults += self._upside_down(loop, moves)
        if moves.removals:
            if self.plans % self._every == 0:
                self.faults += self._unlawful(loop, moves)
            self.plans += 1

    def settled(self, loop: Simulation) -> None:
        self.promises.settled(loop)
        self.faults += self._starving(loop)

    def close(self) -> list[str]:
        """When the run is over: all that was wrong."""
        assert self.loop is not None  # Someone moved.
        return [*self.faults, *self.promises.faults, *self.receipts.add_up(self.loop)]

    def _upside_down(self, loop: Simulation, moves: Moves) -> Iterator[str]:
        """Nobody leaves for someone who ever left for it, and nobody for an equal."""
        for removal in moves.removals:
            victim, preemptor = removal.group.name, removal.preemptor
            self._evicted.add((victim, preemptor))
            if (preemptor, victim) in self._evicted:
                yield f"{victim} and {preemptor} evict each other"
            if any(receipt.priority >= receipt.preemptor_priority for receipt in removal.receipts):
                yield f"{victim} had to leave for {preemptor}, which ranks no higher"

    # -- laws ------------------------------------------------------------------------------------------

    def _unlawful(self, loop: Simulation, moves: Moves) -> Iterator[str]:
        assert moves.plan is not None
        self.checked += 1
        asked = {verdict.group for verdict in moves.plan.groups}
        for breach in breaches(objects(loop, asked), moves.plan, self._policy, loop.now):
            yield f"at {loop.now / SECOND} s: {breach}"

    # -- starvation ------------------------------------------------------------------------------------

    def _starving(self, loop: Simulation) -> Iterator[str]:
        """The highest class waits no longer than others take to leave, unless it is in its own way."""
        for group in loop.books.waiting:
            since = group.waiting_since
            if group.job.priority < self._highest or since is None or loop.now <= since + self._grace:
                continue
            if group.nominated:
                continue
            if self._starved.get(group) != since and fits_without_lesser(loop, group, self._policy):
                self._starved[group] = since
                yield f"{group.name} has waited since {since / SECOND} s, though it fits without lesser jobs"


def fits_without_lesser(loop: Simulation, group: SimulatedGroup, policy: Policy) -> bool:
    """Whether there would be seats if all had left who may be made to."""
    state = ClusterState()
    for place in loop.floor.places.values():
        state.apply(Put(place.as_it_is()))
    for other in loop.groups:
        stays = other.nominated or other.seated()
        if other is group or (stays and not may_be_evicted(other, group, loop.now)):
            if not is_lone(other.job):
                state.apply(Put(pod_group(other.job)))
            for member in range(other.job.members):
                state.apply(Put(pod(other, member)))
    key = group_key(group.job)
    plan = decide(state.snapshot(), policy, moment(loop.now), Scope(groups={key}, explained=()))
    return bool(plan.binds)


def may_be_evicted(other: SimulatedGroup, group: SimulatedGroup, now: Time) -> bool:
    if other.job.non_preemptible or other.job.priority >= group.job.priority:
        return False
    least = other.job.min_run_time
    starts = [other.starts[member] for member in other.sitters()]
    return not least or all(start is not None and start + least <= now for start in starts)
