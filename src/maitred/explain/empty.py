"""What is in the way of a group even on the empty healthy cluster."""

from dataclasses import replace

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.supply.interface import Lift
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment, ask_anew
from maitred.decide.attempt import attempt
from maitred.decide.context import Context, Waiver
from maitred.decide.diagnose import Diagnosis, Grounds
from maitred.decide.empty import hopeful
from maitred.model.plan import Blocker


def blocker_on_empty_cluster(snapshot: Snapshot, context: Context, view: GroupView) -> Blocker:
    grounds = Grounds(snapshot, context)
    return _Emptied(grounds, grounds.empty).first(view)


class _Emptied(Diagnosis):
    """The same diagnosis on another cluster, under the leave by which the group was found impossible."""

    def first(self, view: GroupView) -> Blocker:
        return self._blockers(ask_anew(view), (), ())[0]

    def _fits(self, trial: Trial, ask: Ask, waiver: Waiver) -> bool:
        return super()._fits(trial, ask, hopeful(trial, ask, waiver.lift))

    def _nearest(self, ask: Ask, lift: Lift = frozenset()) -> Assignment:
        steps = self.context.steps()
        found = (
            attempt(self.trial, replace(ask, need=1), self.context, steps, hopeful(self.trial, ask, lift))
            or []
        )
        return found[: ask.need - 1]
