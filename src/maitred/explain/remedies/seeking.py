"""What would help whom: one answer, whether somebody asks about one group or about all.

Each group has an effort of its own, which does not depend on who else was asked about. About all groups of a
Plan no more is tried than EFFORT in all; of those that are then left, the Plan says that nothing was tried.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import msgspec

from maitred.explain.remedies.changes import Change
from maitred.explain.remedies.effort import Effort
from maitred.explain.remedies.finder import Finder
from maitred.explain.remedies.rehearsal import Entry, Stage
from maitred.explain.scene import Scene
from maitred.model.plan import Plan, Remedy
from maitred.model.words import counted

MOST_REMEDIES = 3
EFFORT = 20_000
"""For all groups of a Plan: about a second or two of tries."""
EFFORT_FOR_ONE = 3_000
"""Enough for nearly every group, also among 5,000 nodes."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What was tried for a group, and what of it would help, the smallest change first."""

    entry: Entry
    changes: tuple[Change, ...] = ()
    cut: bool = False
    """Whether the effort ran out before all was tried."""

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        return tuple(change.remedy(self.entry.view) for change in self.changes[:MOST_REMEDIES])


class Seeking:
    """Of one scene; see `Scene.once`."""

    def __init__(self, scene: Scene) -> None:
        self.stage = Stage(scene.hearing(), Effort(0))
        self._finder = Finder(self.stage)
        self._found: dict[int, Sought] = {}
        self.worked = 0
        """What it took so far, as units of effort."""

    @property
    def waiting(self) -> list[Entry]:
        return [entry for entry in (*self.stage.entries, *self.stage.held_back) if entry.waits]

    def entry(self, group: str) -> Entry | None:
        """The group, if it waits; of several that have one name the first."""
        namesakes = [entry for entry in self.waiting if entry.view.group.key == group]
        return min(namesakes, key=lambda entry: entry.index, default=None)

    def sought(self, entry: Entry) -> Sought:
        if entry.index not in self._found:
            self.stage.effort = effort = Effort(EFFORT_FOR_ONE)
            changes = tuple(self._finder.changes(entry))
            self.worked += effort.worked
            self._found[entry.index] = Sought(entry, changes, effort.cut)
        return self._found[entry.index]

    def fairly(self) -> list[Entry]:
        """Groups that wait, in the order in which they are tried: one of each namespace, then the second of
        each, and of one namespace first those that ask for different things."""
        alike = Counter[Hashable]()
        own = dict[str, list[tuple[int, Entry]]]()
        for entry in sorted(self.waiting, key=lambda entry: (entry.place, entry.index)):
            namespace, kin = entry.view.group.key.partition("/")[0], self.stage.kin(entry)
            own.setdefault(namespace, []).append((alike[namespace, kin], entry))
            alike[namespace, kin] += 1
        turns = [
            (round_, entry.place, entry.index, entry)
            for entries in own.values()
            for round_, (_, entry) in enumerate(sorted(entries, key=lambda one: one[0]))
        ]
        return [entry for *_, entry in sorted(turns, key=lambda turn: turn[:3])]


def sought_for(scene: Scene, group: str) -> Sought | None:
    """None for a group that does not wait."""
    seeking = scene.once(Seeking)
    entry = seeking.entry(group)
    return None if entry is None else seeking.sought(entry)


def explained_plan(scene: Scene) -> Plan:
    """What is decided now, what is in the way of whom, and what would help them."""
    plan = scene.plan(explained=[group.group for group in scene.decided().groups])
    if all(group.verdict not in ("Waiting", "Impossible") for group in plan.groups):
        return plan
    seeking = scene.once(Seeking)
    found = dict[int, Sought]()
    everyone = seeking.fairly()
    for entry in everyone:
        if seeking.worked >= EFFORT:
            break
        found[entry.index] = seeking.sought(entry)
    groups = tuple(
        msgspec.structs.replace(group, remedies=found[index].remedies) if index in found else group
        for index, group in enumerate(plan.groups)
    )
    warnings = (*plan.warnings, *untried_words(everyone, list(found.values())))
    return msgspec.structs.replace(plan, groups=groups, warnings=warnings)


def untried_words(everyone: Sequence[Entry], found: Sequence[Sought]) -> list[str]:
    waiting, words = counted(len(everyone), "waiting group"), list[str]()
    if len(found) < len(everyone):
        left = len(everyone) - len(found)
        words.append(f"no remedies were tried for {left} of {waiting}: ask `maitred why GROUP`")
    cut = [one.entry.view.group.key for one in found if one.cut]
    if cut:
        named = f"such as {cut[0]}" if len(cut) > 1 else cut[0]
        words.append(f"not all remedies were tried for {len(cut)} of {waiting}, {named}")
    return words
