"""The calendar of one cycle: what the cluster will be like at later moments, as far as ends are known.

Who runs has an end, or none that is known. Who gets a place in this cycle has it from now until its own end;
who is planned for later, from then on. `at` is the cluster at one moment, with all who are there by then and
without those who have ended.

A `Moment` is one at which somebody is planned to begin. Only then can there be less room than before. So who
wants a place for a while needs as much room as there is when it begins, and at each of these moments until it
ends: `spared` takes away what is not there at one of them.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from maitred.cluster.ends import NEVER, enforced_ends
from maitred.cluster.journal import Rows, Seated
from maitred.cluster.meter import Meter
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import NO_GROUP, Snapshot
from maitred.cluster.trial import Trial


@dataclass(frozen=True, slots=True)
class Tenure:
    """From when until when somebody has a place, in milliseconds since 1970."""

    begin: int
    end: int
    group: str = ""
    """Who."""
    closed: frozenset[int] = frozenset()
    """Nodes that are reserved for others meanwhile."""

    def holds(self, moment: int) -> bool:
        return self.begin <= moment < self.end


@dataclass(frozen=True, slots=True)
class HeldPlaces:
    """What somebody else has from a moment on: for words, once the calendar says something else."""

    at: int
    is_known: bool
    groups: tuple[str, ...]
    rows: Rows
    left: Ints
    """What is left there of every resource."""


@dataclass(eq=False, slots=True)
class Moment:
    """When groups are planned to begin."""

    at: int
    is_known: bool
    """If not, they begin as soon as others have left, of whom nobody knows when that is: nobody else may
    begin there from now on."""
    trial: Trial
    """The cluster then, with all who are planned to be there."""
    shown: dict[Seated, Seated]
    """Its own entry for each of those who have places by then."""
    groups: list[str] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)
    """Nodes of those who begin then."""
    shapes: set[int] = field(default_factory=set)
    """Of those who are planned to be there: what others do may matter to them."""
    nodes: Rows = field(init=False)
    """Their nodes, each once."""

    def gather(self) -> None:
        """Others begin then than did."""
        self.nodes = np.unique(np.concatenate(self.rows))

    @property
    def as_it_is(self) -> HeldPlaces:
        rows = self.nodes
        return HeldPlaces(self.at, self.is_known, tuple(self.groups), rows, self.trial.columns.free[:, rows])

    def show(self, entry: Seated) -> None:
        self.shown[entry] = self.trial.seat(entry.shape, entry.rows, entry.copies, entry.account)

    def hide(self, entry: Seated) -> None:
        if entry in self.shown:
            self.trial.let_go(self.shown.pop(entry))

    def fork(self, snapshot: Snapshot) -> "Moment":
        trial = self.trial.on(self.trial.nodes, snapshot)
        own = dict(zip(self.trial.load.seated(), trial.load.seated(), strict=True))
        shown = {entry: own[there] for entry, there in self.shown.items()}
        other = Moment(
            self.at, self.is_known, trial, shown, list(self.groups), list(self.rows), set(self.shapes)
        )
        other.gather()
        return other


class Calendar:
    def __init__(self, snapshot: Snapshot, meter: Meter, now: int, leaving: Mask) -> None:
        """`leaving`: pods that leave anyway. More may join them."""
        self.snapshot, self.now = snapshot, now
        self._meter, self._leaving = meter, leaving
        self._rolling: Trial | None = None
        self.openings: tuple[int, ...] = ()
        """When places may be had again that were reserved for others."""
        self._taken: dict[Seated, Tenure] = {}
        self._planned: dict[Seated, Tenure] = {}
        self.moments: list[Moment] = []
        """By time."""

    @property
    def at_once(self) -> int:
        """When those begin who are planned for now: a moment later, so that whoever starts now is looked at
        beside them."""
        return self.now + 1

    @cached_property
    def ends(self) -> Ints:
        """Of the pods on nodes."""
        return enforced_ends(self.snapshot, self.now)

    def fork(self, snapshot: Snapshot) -> "Calendar":
        """A copy that goes its own way from here. The snapshot may have more shapes."""
        other = Calendar(snapshot, self._meter, self.now, self._leaving.copy())
        other.ends, other.openings = self.ends, self.openings
        other._taken, other._planned = dict(self._taken), dict(self._planned)
        other.moments = [moment.fork(snapshot) for moment in self.moments]
        return other

    # -- who is there ----------------------------------------------------------------------------------

    def enter(self, entries: Iterable[Seated], tenure: Tenure) -> None:
        """They have these places from now on."""
        for entry in entries:
            self._taken[entry] = tenure
            self._show(entry, tenure)

    def leave(self, entry: Seated) -> None:
        """They do not have it after all."""
        if self._taken.pop(entry, None) is not None:
            for moment in self.moments:
                moment.hide(entry)

    def gone(self, pods: Rows) -> None:
        """These have left, sooner than they had to."""
        self._leaving[pods] = True
        for moment in self.moments:
            early = pods[moment.trial.here[pods]]
            if len(early):
                moment.trial.evict(early)

    def advance(self, now: int) -> None:
        """It is later by now. Who was to begin by now, and has not, is still to begin."""
        self.now = now
        for moment in self.moments:
            moment.at = max(moment.at, now + 1)

    def _show(self, entry: Seated, tenure: Tenure) -> None:
        for moment in self.moments:
            if tenure.holds(moment.at):
                moment.show(entry)

    def plan(self, entries: Sequence[Seated], tenure: Tenure, at: Trial, is_known: bool = True) -> None:
        """From a later moment on they have these places. `at` is the cluster then, without them."""
        begin = (tenure.begin, is_known)
        moment = next((one for one in self.moments if (one.at, one.is_known) == begin), None)
        if moment is None:
            there = [entry for entry, when in self._everyone() if when.holds(tenure.begin)]
            trial = at.on(at.nodes)
            shown = dict(zip(there, trial.load.seated(), strict=True))
            moment = Moment(tenure.begin, is_known, trial, shown)
            moment.shapes.update(one.shape for one in there if one in self._planned)
            self.moments.append(moment)
            self.moments.sort(key=lambda one: one.at)
        moment.groups.append(tenure.group)
        for entry in entries:
            moment.rows.append(entry.rows)
            self._planned[entry] = tenure
            self._show(entry, tenure)
            for one in self.moments:
                if tenure.holds(one.at):
                    one.shapes.add(entry.shape)
        moment.gather()

    def expect(self, entries: Iterable[Seated], tenure: Tenure) -> None:
        """The same, where nobody is looked at beside them."""
        self._planned.update(dict.fromkeys(entries, tenure))

    def until(self, moment: int) -> "Calendar":
        """Another one, without those who are planned to begin later."""
        found = copy(self)
        found._taken, found.moments = dict(self._taken), []
        found._planned = {entry: tenure for entry, tenure in self._planned.items() if tenure.begin <= moment}
        return found

    def unplan(self, group: str) -> None:
        """Of a group that has places planned: it has not."""
        for entry in [one for one, tenure in self._planned.items() if tenure.group == group]:
            del self._planned[entry]
            for moment in self.moments:
                moment.hide(entry)
                if group in moment.groups:
                    moment.rows = [rows for rows in moment.rows if rows is not entry.rows]
        for moment in self.moments:
            moment.groups = [one for one in moment.groups if one != group]
        self.moments = [moment for moment in self.moments if moment.groups]
        for moment in self.moments:
            moment.gather()

    def _everyone(self, planned: bool = True) -> Iterator[tuple[Seated, Tenure]]:
        yield from self._taken.items()
        if planned:
            yield from self._planned.items()

    def is_taken(self, nodes: Rows) -> bool:
        """Whether somebody has got places on these nodes in this cycle, or is planned to have some."""
        return any(np.isin(entry.rows, nodes).any() for entry, _ in self._everyone())

    # -- later -----------------------------------------------------------------------------------------

    def at(self, moment: int, planned: bool = True, gone: Mask | None = None) -> Trial:
        """The cluster then, with those who are planned or without them. It is the same trial for every
        moment, and true until it is asked for another. `gone`: who has left, if that is to be said."""
        if self._rolling is None:
            self._rolling = Trial.of(self.snapshot, self._meter)
        trial = self._rolling
        trial.rollback(0)
        left = np.flatnonzero(self._leaving | (self.ends <= moment if gone is None else gone))
        if len(left):
            trial.evict(left)
        for entry, tenure in self._everyone(planned):
            if tenure.holds(moment):
                trial.seat(entry.shape, entry.rows, entry.copies, entry.account)
        return trial

    def changes(self) -> Ints:
        """The moments after now at which places become free, in order."""
        later = [tenure.end for _, tenure in self._everyone()]
        found = np.unique(np.concatenate((self.ends, np.array((*later, *self.openings), dtype=np.int64))))
        return found[(found > self.now) & (found < NEVER)]

    def freed_last(self, moment: int) -> Ints:
        """When the last of those left who will have left each node by then; 0 where nobody leaves."""
        last = np.zeros(len(self.snapshot.nodes.names), dtype=np.int64)
        gone = self.ends <= moment
        np.maximum.at(last, self.snapshot.bound.node[gone], self.ends[gone])
        for entry, tenure in self._everyone():
            if tenure.end <= moment:
                last[entry.rows] = np.maximum(last[entry.rows], tenure.end)
        return last

    def leaving_by(self, moment: int, rows: Rows) -> list[str]:
        """Groups that will have left these nodes by then, by name."""
        bound, snapshot = self.snapshot.bound, self.snapshot
        pods = np.flatnonzero((self.ends <= moment) & np.isin(bound.node, rows))
        found = {
            tenure.group
            for entry, tenure in self._everyone()
            if tenure.end <= moment and np.isin(entry.rows, rows).any()
        }
        for pod in pods.tolist():
            group = snapshot.seated[bound.group[pod]] if bound.group[pod] != NO_GROUP else None
            found.add(bound.occupants[pod].key if group is None else group.group.key)
        return sorted(found)

    # -- beside others ---------------------------------------------------------------------------------

    def within(self, tenure: Tenure) -> list[Moment]:
        """When others begin while somebody has a place."""
        return [one for one in self.moments if tenure.begin < one.at < tenure.end]

    def kept(self, trial: Trial, moments: Sequence[Moment]) -> tuple[Rows, Ints]:
        """What is free now, and needed for others at one of these moments; and where."""
        rows = np.unique(np.concatenate([one.nodes for one in moments]))
        left = np.min([one.trial.columns.free[:, rows] for one in moments], axis=0)
        return rows, np.maximum(trial.columns.free[:, rows] - left, 0)

    @contextmanager
    def without(self, groups: Set[str]) -> Iterator[None]:
        """As if nothing were planned for these, for as long as the block runs."""
        moments = self.moments
        self.moments = [one for one in moments if not groups >= set(one.groups)]
        theirs = [entry for entry, tenure in self._planned.items() if tenure.group in groups]
        hidden = [(one, entry) for one in self.moments for entry in theirs if entry in one.shown]
        for moment, entry in hidden:
            moment.hide(entry)
        try:
            yield
        finally:
            for moment, entry in hidden:
                moment.show(entry)
            self.moments = moments

    def held_first(self, tenure: Tenure) -> Ints | None:
        """As a wish: places that others have later are used until then, so that who stays for longer can use
        the rest."""
        later = [moment for moment in self.moments if moment.at >= tenure.end]
        if not later:
            return None
        wish = np.ones(len(self.snapshot.nodes.names), dtype=np.int64)
        for moment in later:
            wish[moment.nodes] = 0
        for moment in self.within(tenure):
            wish[moment.nodes] = 1
        return wish

    @contextmanager
    def spared(self, trial: Trial, moments: Sequence[Moment]) -> Iterator[bool]:
        """What is needed for others at one of these moments is not there for as long as the block runs. True
        if anything is."""
        if not moments:
            yield False
            return
        rows, kept = self.kept(trial, moments)
        trial.columns.set_aside(rows, kept)
        try:
            yield bool(kept.any())
        finally:
            trial.columns.set_aside(rows, -kept)
