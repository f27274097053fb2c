"""Whole groups, as maitred seats them: `decide` on a cluster state, told of the run event by event."""

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from maitred.cluster.nodes import Ints
from maitred.cluster.state import ClusterState, Delete, Put
from maitred.decide import decide
from maitred.decide.agenda import rank
from maitred.model.group import PodGroup
from maitred.model.node import Node
from maitred.model.plan import GroupVerdict, Plan
from maitred.model.pod import Pod
from maitred.model.policy import Policy
from maitred.simulate.clock import Time, moment
from maitred.simulate.party import Party
from maitred.simulate.seating.amounts import Amounts
from maitred.simulate.seating.kin import UNKNOWN, Kin, Rank, Waiter, kin_key, passed
from maitred.simulate.seating.objects import group_key, is_lone, pod, pod_group, pod_key
from maitred.simulate.seating.orders import MEASURES
from maitred.simulate.seating.seater import Moves, Seating

Seats = list[tuple[int, str]]
"""Members, by number, and their nodes."""
SOLVABLE = ("Scheduled", "Waiting", "Preempting")
"""Other verdicts are final, unless devices are broken: they will be mended, which `decide` does not know."""
LOOKED_AT = 4
"""Kins at a time. Most of the time there is room for one more party, and the others look in vain."""


@dataclass(slots=True)
class Standing:
    """A party of which members want seats."""

    key: Hashable
    kin: Kin
    waiter: Waiter
    clock: Counter[str]
    """What the clock of its kin showed when it joined."""
    lacks_quorum: bool
    """Surplus that stands does not make a party wait."""


class WholeGroups:
    def __init__(self, nodes: Iterable[Node], policy: Policy) -> None:
        self.policy = policy
        self.state = ClusterState()
        self._well = {node.metadata.name: node for node in nodes}
        self._unwell: set[str] = set()
        for node in self._well.values():
            self.state.apply(Put(node))
        self._now: Time = 0
        self._measure = MEASURES[policy.order]
        self._kins: dict[Hashable, Kin] = {}
        self._standing: dict[Party, Standing] = {}
        self._waited: dict[Party, Counter[str]] = {}
        """Of parties that have left their kin: what was in the way while they were there."""
        self._known: dict[Party, None] = {}
        """Parties whose pods the state has. Those far back in a queue are left out of it."""
        self.amounts = Amounts(policy)
        self._room_made = False
        """Whether anything became free since everyone was last looked at."""
        self._elastic = 0
        """How many of those who want seats could do with fewer than they want."""

    # -- what happens ----------------------------------------------------------------------------------

    def node_changed(self, node: Node) -> None:
        self.state.apply(Put(node))
        self._room_made = True
        if node == self._well[node.metadata.name]:
            self._unwell.discard(node.metadata.name)
        else:
            self._unwell.add(node.metadata.name)

    def wants(self, party: Party, now: Time) -> None:
        self._leave_kin(party, now)
        key = kin_key(party)
        kin = self._kins.setdefault(key, Kin(now))
        waiter = Waiter(self._rank(party, now), party)
        kin.add(waiter)
        self._standing[party] = Standing(key, kin, waiter, kin.read_clock(now), not party.has_quorum)
        self._elastic += party.job.is_elastic
        if party in self._known:
            self._put_pods(party, party.standing())

    def seated(self, party: Party, members: Sequence[int]) -> None:
        self._leave_kin(party, self._now)
        self._put_pods(party, members)
        if party.sitting < party.job.members:
            self.wants(party, self._now)

    def unseated(self, party: Party, members: Sequence[int]) -> None:
        self._delete_pods(party, members)
        self._room_made = True

    def leaves(self, party: Party) -> None:
        self._leave_kin(party, self._now)
        self._waited.pop(party, None)
        if party in self._known:
            del self._known[party]
            self._delete_pods(party, party.standing())
            if not is_lone(party.job):
                self.state.apply(Delete(PodGroup, group_key(party.job)))

    def _put_pods(self, party: Party, members: Iterable[int]) -> None:
        for member in members:
            self.state.apply(Put(pod(party, member)))

    def _delete_pods(self, party: Party, members: Iterable[int]) -> None:
        for member in members:
            self.state.apply(Delete(Pod, pod_key(party.job, member)))

    def _leave_kin(self, party: Party, now: Time) -> None:
        standing = self._standing.pop(party, None)
        if standing is None:
            return
        kin = standing.kin
        self._elastic -= party.job.is_elastic
        if standing.lacks_quorum:
            self._waited.setdefault(party, Counter()).update(passed(standing.clock, kin.read_clock(now)))
        kin.remove(standing.waiter)
        if not kin.waiters:
            del self._kins[standing.key]

    # -- what is asked ---------------------------------------------------------------------------------

    def waited(self, party: Party, since: Time, now: Time) -> Mapping[str, Time]:
        found = self._waited.pop(party, Counter())
        standing = self._standing.get(party)
        if standing is not None and standing.lacks_quorum:
            shown = standing.kin.read_clock(now)
            found.update(passed(standing.clock, shown))
            standing.clock = shown
        return found

    def why(self, party: Party) -> str:
        standing = self._standing.get(party)
        return standing.kin.words if standing is not None else ""

    def next_look(self, now: Time) -> Time | None:
        return None

    def cycle(self, now: Time) -> Moves:
        self._now = now
        if self._room_made:
            self._room_made = False
            for kin in self._kins.values():
                kin.open = True
        heads = self._heads(now)
        if not heads:
            return Moves()
        waiters = [waiter for kin in heads for waiter in self._asked(kin)]
        explained = {kin.first.rank.key for kin in heads if self._needs_diagnosis(kin, now)}
        return self._moves(heads, self._decide(waiters, now, explained), explained)

    def _needs_diagnosis(self, kin: Kin, now: Time) -> bool:
        return kin.needs_diagnosis(now) or (kin.hopeless and not self._unwell)

    def _asked(self, kin: Kin) -> Sequence[Waiter]:
        """The first speaks for all, but where some could do with fewer: a surplus comes after all quorums, so
        everyone must be looked at together."""
        return kin.waiters if self._elastic else kin.waiters[:1]

    def _heads(self, now: Time) -> list[Kin]:
        """Kins whose first may be seated, or of whom nobody knows lately what is in the way; a few of them,
        since those behind would have to be looked at again once they sit."""
        free: Ints | None = None
        heads: list[Kin] = []
        for kin in sorted(self._kins.values(), key=lambda kin: kin.first.rank):
            if len(heads) == LOOKED_AT and not self._elastic:
                break
            if self._needs_diagnosis(kin, now):
                heads.append(kin)
            elif kin.open:
                free = self.state.free() if free is None else free
                kin.open = self.amounts.could_sit(kin.first.party, self.state.nodes, free)
                if kin.open:
                    heads.append(kin)
        return heads

    def _decide(self, waiters: Sequence[Waiter], now: Time, explained: Container[str] = ()) -> Plan:
        for waiter in waiters:
            self._introduce(waiter.party)
        return decide(
            self.state.snapshot(),
            self.policy,
            moment(now),
            groups={waiter.rank.key for waiter in waiters},
            measures={waiter.rank.key: waiter.rank.measure for waiter in waiters},
            explained=explained,
        )

    def _introduce(self, party: Party) -> None:
        if party in self._known:
            return
        self._known[party] = None
        if not is_lone(party.job):
            self.state.apply(Put(pod_group(party.job)))
        self._put_pods(party, party.standing())

    def _moves(self, heads: Sequence[Kin], plan: Plan, explained: Container[str]) -> Moves:
        """Seats of the first, and of others as long as nobody who was not asked has a better rank."""
        verdicts, seats = {verdict.group: verdict for verdict in plan.groups}, seats_of(plan)
        not_asked: Rank | None = None
        seatings, impossible = [], dict[Party, str]()
        for kin in heads:
            if not_asked is not None and kin.first.rank > not_asked:
                break
            asked = self._asked(kin)
            found = [Seating(w.party, seats[w.rank.key]) for w in asked if w.rank.key in seats]
            seatings += found
            verdict = verdicts[kin.first.rank.key]
            kin.open = bool(found)
            if verdict.group in explained:
                kin.hopeless = verdict.verdict not in SOLVABLE
                if not found:
                    kin.diagnose(category_of(verdict), words_of(verdict), self._now)
            if kin.hopeless and not self._unwell:
                impossible.update(dict.fromkeys((w.party for w in kin.waiters), words_of(verdict)))
            elif found and len(asked) < len(kin):
                behind = kin.waiters[len(asked)].rank
                not_asked = behind if not_asked is None else min(behind, not_asked)
        return Moves(seatings=seatings, impossible=impossible)

    def _rank(self, party: Party, now: Time) -> Rank:
        first = rank(party.job.priority, self.policy.order)
        return Rank(first, self._measure(party, now), party.age, group_key(party.job))


def seats_of(plan: Plan) -> dict[str, Seats]:
    """Group -> its members, by number, and their nodes."""
    seats: dict[str, Seats] = {}
    for bind in plan.binds:
        member = 0 if bind.pod == bind.group else int(bind.pod.rpartition("-")[2])
        seats.setdefault(bind.group, []).append((member, bind.node))
    return seats


def category_of(verdict: GroupVerdict) -> str:
    return verdict.blockers[0].category if verdict.blockers else UNKNOWN


def words_of(verdict: GroupVerdict) -> str:
    return "; ".join(f"{blocker.category}: {blocker.message}" for blocker in verdict.blockers)
