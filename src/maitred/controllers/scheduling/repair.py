"""Gangs that hold places without their quorum: completed if that can be, otherwise taken back.

Binds can be refused half-way, and a scheduler can be killed between two of them. The next cycles try to
complete such a gang, since members that run count for its quorum. If they cannot within a stated time,
members that have a controller are deleted, so that it makes them anew and the places are free meanwhile.
Members without a controller are never deleted: they keep their places, and the rest is tried again.

A tree of groups is one such gang, with the parts below it: if its own quorum is met, but not that of a part
that came later, the part is taken back alone.

A gang that once ran whole and lost a member later is another matter, and none of this concerns it. Nor does
one for whose other members room is being made: it is on its way to be completed.
"""

import asyncio
import logging
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.controllers.scheduling.condition_writer import COMPOSITE_SCHEDULED
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mate, Mirror
from maitred.controllers.scheduling.seating import SeatingRecord
from maitred.kube.outcomes import Done, Refused, Unknown
from maitred.kube.wire import Condition, WatchedComposite, WatchedGroup
from maitred.kube.writes import Writer
from maitred.model.plan import Plan

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 1.0
TAKEN_BACK = "SeatingUndone"
TAKEN_BACK_WORDS = "maitred could not place the whole group, so this member gives its node back"


@dataclass(slots=True)
class ShortGang:
    """A gang that was seated in part."""

    since: float
    told: bool = False


class GangRepair:
    def __init__(
        self,
        mirror: Mirror,
        writer: Writer,
        condition: str,
        within_seconds: float,
        metrics: Metrics,
    ) -> None:
        self._mirror = mirror
        self._writer = writer
        self._condition = condition
        self._within = within_seconds
        self._metrics = metrics
        self._short: dict[str, ShortGang] = {}
        self._interrupted: set[str] = set()

    def short(self) -> int:
        """How many gangs are bound in part."""
        return sum(group in self._mirror.mates for group in self._short)

    def interrupted(self, group: str) -> None:
        """We have seen the binding of this group fail part-way."""
        self._interrupted.add(group)

    def completed(self, group: str) -> None:
        """All that was ordered for this group has been bound."""
        self._interrupted.discard(group)

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        """After each cycle: which gangs are short, and since when."""
        short = self.find(snapshot)
        self._short = {group: self._short.get(group) or ShortGang(now) for group in short}
        self._interrupted &= self._mirror.mates.keys() | self._mirror.waiting_by_group.keys()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            due = time.monotonic() - self._within
            if any(short.since <= due and not short.told for short in self._short.values()):
                await self._take_back_overdue(due)

    async def _take_back_overdue(self, due: float) -> None:
        still = self.find(self._mirror.state.snapshot())
        for group, short in list(self._short.items()):
            if short.since <= due and group in still and not short.told:
                short.told = await self._take_back(group, still[group])
                short.since = time.monotonic()

    async def _take_back(self, group: str, view: GroupView) -> bool:
        """False if some could not be deleted, and it must be tried again."""
        mates = self._mates(group, view)
        owned = {key: mate for key, mate in mates.items() if mate.owned}
        log.warning(
            "group %s: %d of its %d members are bound, and the others could not be bound within %g s: %d "
            "are deleted, %d have no controller and stay",
            *(group, len(mates), view.group.quorum, self._within, len(owned), len(mates) - len(owned)),
        )
        return all([await self._delete(key, mate) for key, mate in sorted(owned.items())])

    async def _delete(self, key: str, mate: Mate) -> bool:
        outcome = await take_back(self._writer, self._metrics, key, mate.uid, TAKEN_BACK_WORDS)
        if isinstance(outcome, Done):
            return True
        log.warning("pod %s of a group that is bound in part could not be deleted: %s", key, outcome.message)
        return False

    # -- who is short ----------------------------------------------------------------------------------

    def find(self, snapshot: Snapshot) -> dict[str, GroupView]:
        mates, promised = self._mirror.mates, self._mirror.overlay.promised
        return {
            view.group.key: view
            for view in snapshot.groups
            if (view.missing if view.parts is None else view.parts.broken())
            and view.running
            and view.group.key in mates
            and not promised(view.group.key)
            and self._never_whole(view)
        }

    def _never_whole(self, view: GroupView) -> bool:
        """Whether the gang has not had its quorum since it was seated."""
        key = view.group.key
        declared = self._declared(view)
        if declared and all(one is not None and self._was_whole(one) for one in declared):
            return False
        if key in self._interrupted:
            return True
        seatings = Counter(mate.seating for mate in self._mates(key, view).values())
        incomplete = [seating for seating, bound in seatings.items() if bound < seating.bound]
        if declared:
            return bool(incomplete)
        return any(
            seatings[seating] + waited_then(view, seating) == seating.waiting for seating in incomplete
        )

    def _declared(self, view: GroupView) -> list[WatchedGroup | WatchedComposite | None]:
        """What declares the gang; of a tree, the parts of it that lack their quorum."""
        groups, composites = self._mirror.groups, self._mirror.composites
        if view.parts is None:
            return [groups[view.group.key]] if view.group.key in groups else []
        broken = view.parts.broken()
        return [groups.get(one.key) if one.is_leaf else composites.get(one.key) for one in broken]

    def _was_whole(self, declared: WatchedGroup | WatchedComposite) -> bool:
        of_tree = isinstance(declared, WatchedComposite)
        return is_true(declared, COMPOSITE_SCHEDULED if of_tree else self._condition)

    def _mates(self, group: str, view: GroupView) -> dict[str, Mate]:
        """The members that we have bound; of a tree, those of the parts that lack their quorum."""
        mates, state = dict(self._mirror.mates.get(group, {})), self._mirror.state
        if view.parts is None:
            return mates
        broken = {leaf.key for part in view.parts.broken() for leaf, _ in part.walk() if leaf.is_leaf}
        return {pod: mate for pod, mate in mates.items() if state.part_of(pod) in broken}


async def take_back(
    writer: Writer, metrics: Metrics, key: str, uid: str, words: str
) -> Done | Refused | Unknown:
    """Delete a pod that we have bound. The condition first: by it a failure policy of a Job knows that this
    is no failure of the pod."""
    namespace, _, name = key.partition("/")
    told = Condition("DisruptionTarget", "True", TAKEN_BACK, words, datetime.now(UTC))
    await writer.patch_pod_condition(namespace, name, uid, told)
    outcome = await writer.delete_pod(namespace, name, uid)
    if isinstance(outcome, Done):
        metrics.taken_back.inc()
    return outcome


def waited_then(view: GroupView, seating: SeatingRecord) -> int:
    """How many of the members that wait now waited when the others were seated.

    Where no object says that a gang was once whole, this tells: if those who were bound and those who still
    wait are together all who waited then, none has left since, and some were never bound.
    """
    at = seating.at.timestamp()
    return sum(created <= at for _, created, _ in view.orders)


def is_true(group: WatchedGroup | WatchedComposite, condition: str) -> bool:
    return any(c.type == condition and c.status == "True" for c in group.status.conditions)
