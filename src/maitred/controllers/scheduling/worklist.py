"""Which groups the next cycle looks at: those to which something happened since they were last decided.

A group that waits for room has nothing to gain from a pod that was just bound, and one that lacks members
nothing from a new node. So each waiting group is kept with the changes that could seat it.

To find out what is in the way of a group takes many times as long as to see that it has no seats. Where many
wait, a cycle does so for some of them, and the next cycles for the others: whoever has room is not kept
waiting for what others are to be told.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from maitred.cluster.news import News
from maitred.decide.queues.budget_words import SCAVENGES
from maitred.model.categories import ANYTHING, CATEGORIES, NO_EFFECT, Effect
from maitred.model.plan import GroupVerdict

FIRST_REST = 1.0
LONGEST_REST = 60.0
MOST_EXPLAINED = 64
"""Groups of which one cycle finds out what is in the way."""


@dataclass(frozen=True, slots=True)
class CycleSelection:
    """The groups of one cycle. It is read in another thread, and nothing in it changes meanwhile."""

    everything: bool
    touched: Set[str]
    effects: Effect
    wakes: Mapping[str, Effect]
    resting: Set[str]
    explained: Set[str] | None = None
    """Those of which it is found out what is in the way; None for all."""
    first: tuple[str, ...] = ()
    """Groups that earlier cycles did not get to: they come first among their equals."""

    def explains(self, verdict: GroupVerdict) -> bool:
        """Whether that is all there is to say of the group."""
        if self.explained is None or verdict.group in self.explained:
            return True
        if verdict.verdict == "Scheduled":
            return verdict.counts == "members" and verdict.placed >= verdict.members
        return any(not CATEGORIES[blocker.category].hides_others for blocker in verdict.blockers)

    def __contains__(self, group: object) -> bool:
        if group in self.resting or not isinstance(group, str):
            return False
        if self.everything or group in self.touched:
            return True
        wakes = self.wakes.get(group)
        return wakes is None or bool(wakes & self.effects)

    @property
    def empty(self) -> bool:
        if self.everything or self.touched:
            return False
        return not any(
            wakes & self.effects for group, wakes in self.wakes.items() if group not in self.resting
        )


@dataclass(slots=True)
class Rest:
    """After a bind was refused the group is left alone for a while, longer each time."""

    until: float
    seconds: float


@dataclass(slots=True)
class Worklist:
    _everything: bool = True
    _again: set[str] = field(default_factory=set)
    _wakes: dict[str, Effect] = field(default_factory=dict)
    _rests: dict[str, Rest] = field(default_factory=dict)
    _held: set[str] = field(default_factory=set)
    _unexplained: dict[str, None] = field(default_factory=dict)
    """In the order in which they are to be explained."""
    _cut: dict[str, None] = field(default_factory=dict)
    """Groups that cycles did not get to, who has waited longest first."""

    def look_at_everything(self) -> None:
        self._everything = True

    def select(self, news: News, ours: Mapping[str, object], now: float) -> CycleSelection:
        """The groups to decide now, of those that are `ours`."""
        resting = {group for group, rest in self._rests.items() if rest.until > now} | self._held
        self._again |= {group for group in news.groups if group in ours}
        late = self._next_to_explain(ours, resting)
        selection = CycleSelection(
            everything=self._everything,
            touched=frozenset((self._again - resting).union(late)),
            effects=news.effects,
            wakes=dict(self._wakes),
            resting=resting,
            first=self._next_to_examine(ours, resting),
        )
        selection = replace(selection, explained=self._explained(selection, ours, late))
        self._everything = False
        self._again &= resting
        return selection

    def _next_to_examine(self, ours: Mapping[str, object], resting: Set[str]) -> tuple[str, ...]:
        self._cut = dict.fromkeys(group for group in self._cut if group in ours)
        return tuple(group for group in self._cut if group not in resting)

    def _next_to_explain(self, ours: Mapping[str, object], resting: Set[str]) -> list[str]:
        """They have their turn now: whoever is not decided in it is not waited for."""
        known = [group for group in self._unexplained if group in ours]
        late = [group for group in known if group not in resting][:MOST_EXPLAINED]
        served = frozenset(late)
        self._unexplained = dict.fromkeys(group for group in known if group not in served)
        return late

    def _explained(
        self, selection: CycleSelection, ours: Mapping[str, object], late: Sequence[str]
    ) -> Set[str] | None:
        """Those to which something happened come first, then who has waited longest to be told."""
        if len(ours) <= MOST_EXPLAINED:
            return None
        first = sorted(self._again - selection.resting)
        others = (group for group in ours if group in selection)
        chosen = dict.fromkeys(chain(first, late, others))
        return frozenset(islice(chosen, MOST_EXPLAINED)) if len(chosen) > MOST_EXPLAINED else None

    def decided(
        self, verdicts: Iterable[GroupVerdict], selection: CycleSelection, ours: Mapping[str, object]
    ) -> None:
        for verdict in verdicts:
            if selection.explains(verdict):
                self._unexplained.pop(verdict.group, None)
            elif verdict.verdict == "Preempting":
                self._unexplained = {verdict.group: None, **self._unexplained}
            else:
                self._unexplained.setdefault(verdict.group)
            self._wakes[verdict.group] = woken_by(verdict, selection)
            self._note_cut(verdict)
        if len(self._wakes) > 2 * len(ours) + 100:
            self._wakes = {group: wakes for group, wakes in self._wakes.items() if group in ours}

    def _note_cut(self, verdict: GroupVerdict) -> None:
        """The next cycle takes up the groups that this one did not get to."""
        if was_cut(verdict):
            self._cut.setdefault(verdict.group)
            self._again.add(verdict.group)
        else:
            self._cut.pop(verdict.group, None)

    def rest(self, group: str, now: float) -> float:
        """Its binding failed. Returns for how many seconds the group is left alone."""
        known = self._rests.get(group)
        seconds = FIRST_REST if known is None else min(2 * known.seconds, LONGEST_REST)
        self._rests[group] = Rest(now + seconds, seconds)
        self._again.add(group)
        return seconds

    def rested(self, group: str) -> None:
        """Its binding went well."""
        self._rests.pop(group, None)

    def hold(self, group: str) -> None:
        """Decide nothing of this group until it is released."""
        self._held.add(group)

    def release(self, group: str) -> None:
        self._held.discard(group)
        self._again.add(group)

    def next_at(self) -> float | None:
        """When a group has rested enough to be looked at again; at once, while others are to be examined, or
        to be explained."""
        rested = {group: rest.until for group, rest in self._rests.items()}
        times = [rested[group] for group in self._again - self._held if group in rested]
        late = chain(self._cut, self._unexplained)
        times += [rested.get(group, 0.0) for group in late if group not in self._held]
        return min(times, default=None)


def was_cut(verdict: GroupVerdict) -> bool:
    """Whether the cycle's budget was used up before the group was examined, or explained."""
    return any(blocker.category == "Backoff" for blocker in verdict.blockers)


def woken_by(verdict: GroupVerdict, selection: CycleSelection) -> Effect:
    """Who waits for places that were promised must hear of whatever may void the promise. And who knows what
    is in the way of those who were not explained?"""
    if verdict.verdict == "Preempting" or not selection.explains(verdict):
        return ANYTHING
    wakes = NO_EFFECT
    for blocker in verdict.blockers:
        wakes |= CATEGORIES[blocker.category].wakes
        if SCAVENGES in blocker.detail:
            wakes |= CATEGORIES["Budget"].wakes
    return wakes
