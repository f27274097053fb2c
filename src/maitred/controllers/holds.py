"""Holds for groups that wait are written down, as Plans say. Others hear when one has become less."""

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.keeping import WAITING
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.controllers.usage import MemoryPart
from maitred.kube.writes import Writer
from maitred.model.holding import HoldMemory
from maitred.model.plan import Plan


class HoldsPart(MemoryPart[HoldMemory]):
    def __init__(self, mirror: Mirror, worklist: Worklist, writer: Writer, namespace: str) -> None:
        super().__init__(mirror, writer, namespace, WAITING, lambda plan, seen: (plan.planned, seen.holds))
        self._worklist, self._mirror = worklist, mirror

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        super().decided(plan, snapshot, now)
        if plan.planned is not None and given_up(snapshot.holds, plan.planned):
            self._worklist.look_at_everything()  # what was held may be others' now
            self._mirror.changed.set()


def given_up(before: HoldMemory, after: HoldMemory) -> bool:
    """Whether any hold is not what and when it was."""
    kept = {(one.group, one.begins, one.nodes) for one in after.holds}
    return any((one.group, one.begins, one.nodes) not in kept for one in before.holds)
