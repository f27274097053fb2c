"""The register: groups that have come and not ended yet, and what became of them from sight to sight."""

from collections.abc import Iterable, Sequence, Set

from maitred.cluster.news import PodEnd
from maitred.cluster.snapshot import NO_GROUP, Snapshot
from maitred.ledger.entries import LedgerEntry, Opened, OpenGroup, VerdictRow
from maitred.ledger.records import Arrival, VerdictChange

PATIENCE = 60_000
"""Milliseconds for which a group may be without members before it has ended: those of a Job that was
suspended, or whose pods are made again, come back."""


class Register:
    def __init__(self, next_number: int, groups: Iterable[OpenGroup]) -> None:
        self._next = next_number
        self._open = {group.name: group for group in groups}
        self._lone: set[str] = set()
        """Groups that are pods by themselves, and sit."""
        self._has_looked = False

    @property
    def names(self) -> Set[str]:
        return self._open.keys()

    def arrive(self, arrival: Arrival, entry: LedgerEntry) -> None:
        """One that is known goes on, unless it was made anew, long after the last of it was seen."""
        known = self._open.get(arrival.group)
        if known is not None:
            missed_at = arrival.at if known.missed_at is None else known.missed_at
            if arrival.arrived <= missed_at or arrival.at < missed_at + PATIENCE:
                return
            self._end(known, missed_at, entry)
        number, self._next = self._next, self._next + 1
        self._open[arrival.group] = OpenGroup(number, arrival.group, arrival.quorum, is_started=False)
        entry.opened.append(Opened(number, arrival))

    def turn(self, change: VerdictChange, entry: LedgerEntry) -> None:
        group = self._open.get(change.group)
        if group is not None and group.verdict != (change.verdict, change.category):
            group.verdict = (change.verdict, change.category)
            entry.turns.append(VerdictRow(group.number, change.at, *group.verdict))

    def see(self, snapshot: Snapshot, ends: Sequence[PodEnd], at: int, entry: LedgerEntry) -> None:
        self._note_ends(ends)
        here = {view.group.key: not view.missing for view in snapshot.groups}
        here |= snapshot.seated_whole()
        self._look_for_lone_pods(snapshot, self._open.keys() - here.keys())
        here |= dict.fromkeys(self._lone, True)
        for group in list(self._open.values()):
            is_whole = here.get(group.name)
            if is_whole is None:
                self._miss(group, at, entry)
            else:
                self._meet(group, is_whole, at, entry)

    def _note_ends(self, ends: Sequence[PodEnd]) -> None:
        self._lone.difference_update(end.pod for end in ends)
        for group, how in ((self._open.get(end.group), end.how) for end in ends):
            if group is not None and how == "Succeeded":
                group.has_succeeded = True
        for group, how in ((self._open.get(end.group), end.how) for end in ends):
            if group is not None and how == "Failed":
                group.has_succeeded = False

    def _look_for_lone_pods(self, snapshot: Snapshot, elsewhere: Iterable[str]) -> None:
        """All pods are looked at only when somebody is missed, and in the beginning."""
        suspects = {
            name for name in elsewhere if name not in self._lone and self._open[name].missed_at is None
        }
        if suspects or not self._has_looked:
            self._has_looked = True
            alone = snapshot.bound.occupants[snapshot.bound.group == NO_GROUP]
            self._lone |= {occupant.key for occupant in alone} & self._open.keys()

    def _meet(self, group: OpenGroup, is_whole: bool, at: int, entry: LedgerEntry) -> None:
        group.is_whole, group.missed_at = is_whole, None
        if is_whole and not group.is_started:
            group.is_started = True
            entry.started[group.number] = at

    def _miss(self, group: OpenGroup, at: int, entry: LedgerEntry) -> None:
        if group.missed_at is None:
            group.missed_at = at
        if group.is_finished or at >= group.missed_at + PATIENCE:
            self._end(group, group.missed_at, entry)

    def _end(self, group: OpenGroup, at: int, entry: LedgerEntry) -> None:
        del self._open[group.name]
        entry.ended[group.number] = (at, group.is_finished)
