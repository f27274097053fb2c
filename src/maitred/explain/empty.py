"""What is in the way of a group even on the empty healthy cluster."""

from dataclasses import replace

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.supply.interface import Lift
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment, ask_anew
from maitred.decide.attempt import attempt
from maitred.decide.diagnose import Diagnosis, Grounds
from maitred.decide.house import House, Leave
from maitred.model.plan import Blocker


def blocker_on_empty_cluster(snapshot: Snapshot, house: House, view: GroupView) -> Blocker:
    grounds = Grounds(snapshot, house)
    return _Emptied(grounds, grounds.empty).first(view)


class _Emptied(Diagnosis):
    """The same diagnosis on another cluster, under the leave by which the group was found impossible."""

    def first(self, view: GroupView) -> Blocker:
        return self._blockers(ask_anew(view), (), ())[0]

    def _fits(self, trial: Trial, ask: Ask, leave: Leave) -> bool:
        return super()._fits(trial, ask, hopeful(leave.lift))

    def _nearest(self, ask: Ask, lift: Lift = frozenset()) -> Assignment:
        steps = self.house.steps()
        found = attempt(self.trial, replace(ask, need=1), self.house, steps, hopeful(lift)) or []
        return found[: ask.need - 1]


def hopeful(lift: Lift) -> Leave:
    """What is impossible is proven whatever claims there are, and with all company that may still come."""
    return Leave(lift | {"Devices"}, others_may_help=True)
