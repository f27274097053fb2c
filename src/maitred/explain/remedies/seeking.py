"""What would help whom: one answer, whether somebody asks about one group or about all.

Each group has an effort of its own, which does not depend on who else was asked about. About all groups of a
Plan no more is tried than EFFORT in all; of those that are then left, the Plan says that nothing was tried.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from maitred.explain.remedies.attempt_budget import AttemptBudget
from maitred.explain.remedies.changes import Change
from maitred.explain.remedies.finder import Finder
from maitred.explain.remedies.growth import MOST_AHEAD
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.explain.situation import Situation
from maitred.model.plan import GroupVerdict, Plan, Remedy
from maitred.model.words import counted

MOST_REMEDIES = 3
EFFORT = 20_000
"""For all groups of a Plan: about a second or two of tries."""
EFFORT_FOR_ONE = 3_000
"""Enough for nearly every group, also among 5,000 nodes."""

NOT_TRIED = "remedies not tried: too many groups and nodes are involved"
NOT_ALL_TRIED = f"some {NOT_TRIED}; those shown were tried"
CROWDED = (
    f"remedies not tried: more nodes, because more than {MOST_AHEAD} waiting groups are ahead and would take "
    "them first"
)


@dataclass(frozen=True, slots=True)
class Sought:
    """What was tried for a group, and what of it would help, the smallest change first."""

    ranked: RankedGroup
    changes: tuple[Change, ...] = ()
    cut: bool = False
    """Whether the effort ran out before all was tried."""
    crowded: bool = False
    """Whether more nodes were not tried, because too many groups wait ahead."""

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        return tuple(change.remedy(self.ranked.view) for change in self.changes[:MOST_REMEDIES])

    @property
    def untried(self) -> Iterator[str]:
        """What was not tried, in words."""
        if self.cut:
            yield NOT_ALL_TRIED if self.changes else NOT_TRIED
        if self.crowded:
            yield CROWDED


class Seeking:
    """Of one situation; see `Situation.once`."""

    def __init__(self, situation: Situation) -> None:
        self.rehearsal = Rehearsal(situation.cycle(), AttemptBudget(0))
        self._finder = Finder(self.rehearsal)
        self._found: dict[int, Sought] = {}
        self.worked = 0
        """What it took so far, as units of effort."""

    @property
    def waiting(self) -> list[RankedGroup]:
        return [
            ranked for ranked in (*self.rehearsal.ranked_groups, *self.rehearsal.held_back) if ranked.waits
        ]

    def ranked(self, group: str) -> RankedGroup | None:
        """The group, if it waits; of several that have one name the first."""
        namesakes = [ranked for ranked in self.waiting if ranked.view.group.key == group]
        return min(namesakes, key=lambda ranked: ranked.index, default=None)

    def sought(self, ranked: RankedGroup) -> Sought:
        if ranked.index not in self._found:
            self.rehearsal.effort = effort = AttemptBudget(EFFORT_FOR_ONE)
            changes = tuple(self._finder.changes(ranked))
            self.worked += effort.worked
            self._found[ranked.index] = Sought(ranked, changes, effort.cut, effort.crowded)
        return self._found[ranked.index]

    def fairly(self) -> list[RankedGroup]:
        """Groups that wait, in the order in which they are tried: one of each namespace, then the second of
        each, and of one namespace first those that ask for different things."""
        alike = Counter[Hashable]()
        own = dict[str, list[tuple[int, RankedGroup]]]()
        for ranked in sorted(self.waiting, key=lambda ranked: (ranked.place, ranked.index)):
            namespace, kin = ranked.view.group.key.partition("/")[0], self.rehearsal.kin(ranked)
            own.setdefault(namespace, []).append((alike[namespace, kin], ranked))
            alike[namespace, kin] += 1
        turns = [
            (round_, ranked.place, ranked.index, ranked)
            for ranked_groups in own.values()
            for round_, (_, ranked) in enumerate(sorted(ranked_groups, key=lambda one: one[0]))
        ]
        return [ranked for *_, ranked in sorted(turns, key=lambda turn: turn[:3])]


def sought_for(situation: Situation, group: str) -> Sought | None:
    """None for a group that does not wait."""
    seeking = situation.once(Seeking)
    ranked = seeking.ranked(group)
    return None if ranked is None else seeking.sought(ranked)


def explained_plan(situation: Situation) -> Plan:
    """What is decided now, what is in the way of whom, and what would help them."""
    plan = situation.plan(explained=[group.group for group in situation.decided().decisions])
    if all(group.verdict not in ("Waiting", "Impossible") for group in plan.groups):
        return plan
    seeking = situation.once(Seeking)
    found = dict[int, Sought]()
    everyone = seeking.fairly()
    for ranked in everyone:
        if seeking.worked >= EFFORT:
            break
        found[ranked.index] = seeking.sought(ranked)
    groups = list[GroupVerdict]()
    for index, (group, parts) in enumerate(plan.with_parts()):
        remedies = found[index].remedies if index in found else group.remedies
        groups += [msgspec.structs.replace(group, remedies=remedies), *parts]
    warnings = (*plan.warnings, *untried_words(everyone, list(found.values())))
    return msgspec.structs.replace(plan, groups=tuple(groups), warnings=warnings)


def untried_words(everyone: Sequence[RankedGroup], found: Sequence[Sought]) -> list[str]:
    waiting, words = counted(len(everyone), "waiting group"), list[str]()
    if len(found) < len(everyone):
        left = len(everyone) - len(found)
        words.append(f"remedies not tried for {left} of {waiting}: ask `maitred why GROUP`")
    cut = [one.ranked.view.group.key for one in found if one.cut or one.crowded]
    if cut:
        named = f"such as {cut[0]}" if len(cut) > 1 else cut[0]
        words.append(f"some remedies not tried for {len(cut)} of {waiting}, {named}")
    return words
