"""Hindsight: the cluster as each group found it in its last turn. What others got later is not in its way."""

from bisect import bisect_right
from collections.abc import Iterable

from maitred.cluster.journal import Seated
from maitred.cluster.trial import Follower, Trial
from maitred.decide.diagnose import Diagnosis, Grounds


class Hindsight:
    def __init__(self, grounds: Grounds, trial: Trial, given: Iterable[tuple[int, Seated]]) -> None:
        """`given`: all that the cycle has given away or holds in the end, each with its moment."""
        self._grounds, self._trial = grounds, trial
        self._given = sorted(given, key=lambda place: place[0])
        self._twin: Follower | None = None
        """A copy of the trial, on which the last of what was given away is taken back,"""
        self._back = 0
        """so much of it."""
        self._latest: tuple[int, Diagnosis] | None = None

    def at(self, moment: int) -> Diagnosis:
        """The same one for moments between which nothing was given away."""
        later = len(self._given) - bisect_right(self._given, moment, key=lambda place: place[0])
        if self._latest is None or self._latest[0] != later:
            self._latest = (later, Diagnosis(self._grounds, self._before_the_last(later)))
        return self._latest[1]

    def _before_the_last(self, places: int) -> Trial:
        """Whoever is asked for next mostly came earlier still: only the places between the two are left to be
        taken back."""
        if self._twin is None or self._back > places:
            self._twin, self._back = self._trial.twin(), 0
        for _, place in self._given[len(self._given) - places : len(self._given) - self._back]:
            self._twin.let_go(place)
        self._back = places
        return self._twin.trial
