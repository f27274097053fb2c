"""All members of a group start anew together: their owner is suspended, and resumed when they fit.

To suspend and to resume, with a record of it in maitred's namespace, is done as preemption does it: so a
scheduler that dies in the midst of it leaves nothing that the next one does not know how to go on with.
"""

import logging
from datetime import UTC, datetime

from maitred.controllers.owners.suspensions import Outcome, Suspensions
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done, RefusalReason, Refused
from maitred.kube.wire import Condition
from maitred.kube.writes import Writer
from maitred.model.membership import POD_GROUP
from maitred.model.plan import HealingDecision, Restart
from maitred.model.pod import DEFAULT_SCHEDULER
from maitred.model.suspending import TopOwner
from maitred.model.suspension import Suspension

log = logging.getLogger(__name__)

NOT_ACCEPTED = (RefusalReason.INVALID, RefusalReason.FORBIDDEN)


class Restarter:
    def __init__(self, mirror: Mirror, writer: Writer, suspensions: Suspensions) -> None:
        self._mirror, self._writer, self._suspensions = mirror, writer, suspensions

    async def stop(self, decision: HealingDecision, restart: Restart, told: Condition) -> Outcome:
        """Done when all members leave; or when something has changed since, and it is decided anew."""
        top = self._mirror.state.top_owner(restart.pod)
        if top is None or top.uid != restart.uid or top.suspended:
            return Done()
        pods = list(self._mirror.overlay.pods_below(top.name, top.uid))
        for pod in pods:
            if (placed := self._mirror.state.placed(pod)) is not None:
                namespace, _, name = pod.partition("/")
                await self._writer.patch_pod_condition(namespace, name, placed.uid, told)
        outcome = await self._suspensions.suspend(self._record(decision, restart, top, len(pods)))
        if isinstance(outcome, Done):
            for pod in pods:
                if (placed := self._mirror.state.placed(pod)) is not None:
                    self._mirror.overlay.dismiss(pod, placed.uid)
            self._mirror.changed.set()
        return outcome

    def _record(self, decision: HealingDecision, restart: Restart, top: TopOwner, pods: int) -> Suspension:
        state = self._mirror.state
        group = state.group_of(restart.pod)
        declared = group is not None and group.source == POD_GROUP
        return Suspension(
            key=top.name.key,
            kind=top.name.kind,
            uid=top.uid,
            workload=top.workload,
            workload_uid=top.workload_uid,
            by=self._suspensions.scheduler,
            group=decision.group,
            preemptor=decision.group,
            at=datetime.now(UTC),
            priority=0,
            preemptor_priority=0,
            members=max(pods, restart.members),
            pod_group=decision.group.partition("/")[2] if declared else "",
            cause="Healing",
            scheduler_name=state.scheduler_of(restart.pod) or DEFAULT_SCHEDULER,
        )


def is_not_accepted(outcome: Outcome) -> bool:
    """Whether there must be another way."""
    return isinstance(outcome, Refused) and outcome.why in NOT_ACCEPTED
