"""When others are told of a verdict: as soon as it is news, and no sooner than it has settled.

Autoscalers buy nodes on conditions and people read them, so they change when the verdict or its category
does, not with every number in a message. A verdict that stands for less than a moment is not told at all:
while a group is being created it lacks members all the time.
"""

import asyncio
import math
import time
from collections.abc import Set
from dataclasses import dataclass

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.condition_writer import Teller
from maitred.controllers.scheduling.last_verdicts import LastVerdicts
from maitred.controllers.scheduling.mirror import Mirror
from maitred.explain.verdicts import head_of, pod_head
from maitred.kube.bodies import Regarding
from maitred.model.group import composite_from_object, group_from_pod_group
from maitred.model.plan import GroupVerdict, Plan

SETTLE_SECONDS = 1.0
MEMBERS_SETTLE_SECONDS = 5.0
"""A group is being created for as long as members come; that is no news."""
LONGEST_SETTLE_SECONDS = 10.0
"""A verdict that keeps changing is told all the same, by then."""
RENEW_SECONDS = 60.0
"""How often a message whose numbers have changed is written again."""
FIRST_RETRY = 2.0
"""What could not be written is tried again, after twice as long each time."""
WORKERS = 8
NEVER = math.inf
SLACK = 1000


Parts = tuple[GroupVerdict, ...]


@dataclass(slots=True)
class Notice:
    """What has been told of a group, and when to tell more. The verdict itself is in `LastVerdicts`."""

    heads: tuple[str, str]
    """Of the last verdict that was looked at: a verdict with others is news."""
    subject: Regarding | None
    due: float
    parts: Parts = ()
    """Of a tree, what is said of its parts."""
    told: str = ""
    """The head of the last Event,"""
    event_due: bool = False
    """which is yet to be written."""
    failures: int = 0
    told_at: float = -math.inf
    unsettled_since: float = math.inf
    """Since when there is something to tell."""
    members: frozenset[str] = frozenset()
    """Who was without a seat when it was last told."""

    @property
    def never_told(self) -> bool:
        return self.told_at == -math.inf


class Notices:
    def __init__(
        self,
        mirror: Mirror,
        verdicts: LastVerdicts,
        teller: Teller,
        renew_seconds: float = RENEW_SECONDS,
    ) -> None:
        self._mirror = mirror
        self._verdicts = verdicts
        self._teller = teller
        self._renew_seconds = renew_seconds
        self._notices: dict[str, Notice] = {}
        self._changed = asyncio.Event()

    def seating(self, seats: Plan, snapshot: Snapshot, now: float) -> None:
        """These are told of when they are bound. Which object to tell of is seen now, while their members
        wait: when the rest of the Plan is known they may be bound."""
        for verdict, parts in seats.with_parts():
            self._note_on_its_way(verdict, parts, self._teller.subject(verdict.group))

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        being_seated = {bind.group for bind in plan.binds}
        for verdict, parts in plan.with_parts():
            if verdict.group in being_seated:
                continue
            subject = self._teller.subject(verdict.group)
            if verdict.verdict == "Scheduled" and self._mirror.is_away(verdict.group):
                self._note_on_its_way(verdict, parts, subject)
            else:
                self._note(verdict, parts, subject, now)
        self._forget_the_gone(being_seated)

    def _note_on_its_way(self, verdict: GroupVerdict, parts: Parts, subject: Regarding | None) -> None:
        if (known := self._notices.get(verdict.group)) is not None:
            known.subject, known.due, known.parts = subject, NEVER, parts
        else:
            self._notices[verdict.group] = Notice(heads(verdict), subject, NEVER, parts)

    def seated(self, verdict: GroupVerdict) -> None:
        """All binds of the group went well."""
        known = self._notices.get(verdict.group)
        subject = known.subject if known else self._teller.subject(verdict.group)
        self._note(verdict, known.parts if known else (), subject, time.monotonic())

    def unprepared(self, verdict: GroupVerdict) -> None:
        """The places of the group could not be made ready. It is decided anew soon, so this is told now."""
        known = self._notices.get(verdict.group)
        subject = self._teller.subject(verdict.group) or (known.subject if known else None)
        self._verdicts.note((verdict,))
        now = time.monotonic()
        self._note(verdict, known.parts if known else (), subject, now)
        self._notices[verdict.group].due = now

    def catch_up(self) -> None:
        """After a start: tell of groups that an earlier scheduler seated and did not come to tell of."""
        parts = dict[str, list[GroupVerdict]]()
        for key, group in self._mirror.groups.items():
            declared, tree = group_from_pod_group(group), self._mirror.tree_of(key)
            mates = self._mirror.mates.get(tree or key, ())
            bound = sum(self._mirror.state.part_of(pod) == key for pod in mates) if tree else len(mates)
            current = self._teller.condition_of(group)
            if bound < declared.quorum or (current is not None and current.status == "True"):
                continue
            verdict = GroupVerdict(key, "Scheduled", bound, declared.quorum, bound, parent=declared.parent)
            if tree:
                parts.setdefault(tree, []).append(verdict)
            else:
                self.seated(verdict)
        for tree, found in parts.items():
            self._tell_parts(tree, tuple(found))

    def _tell_parts(self, tree: str, parts: Parts) -> None:
        """Of a tree that runs, if so many of its parts do that this is certain: a composite within it may
        lack some of its own."""
        quorum = composite_from_object(self._mirror.composites[tree]).quorum
        verdict = GroupVerdict(tree, "Scheduled", len(parts), quorum, len(parts), counts="parts")
        if len(parts) >= quorum and all(part.parent == tree for part in parts):
            self._note(verdict, parts, self._teller.subject(tree), time.monotonic())

    def _note(self, verdict: GroupVerdict, parts: Parts, subject: Regarding | None, now: float) -> None:
        if verdict.verdict == "Scheduled":
            self._verdicts.scheduled(verdict)
        known = self._notices.get(verdict.group)
        if known is None or is_another(known.subject, subject):
            known = self._notices[verdict.group] = Notice(heads(verdict), subject, NEVER, parts)
            is_new = True
        else:
            is_new = known.heads != heads(verdict) or (known.never_told and known.due == NEVER)
            is_new |= [head_of(part) for part in known.parts] != [head_of(part) for part in parts]
            known.parts = parts
            known.heads, known.subject = heads(verdict), subject or known.subject
        if is_new:
            known.unsettled_since = min(known.unsettled_since, now)
            known.due = min(now + settling(verdict), known.unsettled_since + LONGEST_SETTLE_SECONDS)
        elif not known.never_told:
            known.due = min(known.due, self._next_due(known, verdict, now))
        self._changed.set()

    def _next_due(self, notice: Notice, verdict: GroupVerdict, now: float) -> float:
        """Nothing new in kind: new members are told soon, and new numbers now and then."""
        if self._unseated(verdict.group) - notice.members:
            return now + settling(verdict)
        return max(now, notice.told_at + self._renew_seconds)

    def _forget_the_gone(self, being_seated: Set[str]) -> None:
        kept, notices = self._mirror.waiting_by_group.keys() | being_seated, self._notices
        if len(notices) > 2 * len(kept) + SLACK:
            self._notices = {g: n for g, n in notices.items() if g in kept or n.due != NEVER}

    def _unseated(self, group: str) -> frozenset[str]:
        return frozenset(pod.metadata.uid for pod in self._mirror.unseated(group))

    # -- telling ---------------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            self._changed.clear()
            now = time.monotonic()
            await self._tell_all(sorted((n.due, group) for group, n in self._notices.items() if n.due <= now))
            upcoming = min((n.due for n in self._notices.values()), default=NEVER)
            try:
                async with asyncio.timeout(max(0.0, min(upcoming - time.monotonic(), RENEW_SECONDS))):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _tell_all(self, due: list[tuple[float, str]]) -> None:
        queue = iter(due)

        async def work() -> None:
            for _, group in queue:
                if (notice := self._notices.get(group)) is not None:
                    await self._tell(group, notice)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(WORKERS, len(due))):
                tasks.create_task(work())

    async def _tell(self, group: str, notice: Notice) -> None:
        verdict, waits = self._verdicts.to_tell(group), group in self._mirror.waiting_by_group
        if verdict is None and waits:
            notice.due = NEVER  # it is told when it is bound
            return
        if verdict is None or (verdict.verdict != "Scheduled" and not waits):
            self._notices.pop(group, None)
            return
        notice.due, notice.told_at, notice.unsettled_since = NEVER, time.monotonic(), math.inf
        notice.members = self._unseated(group)
        head, subject = head_of(verdict), notice.subject
        if notice.told != head:
            notice.event_due = subject is not None and not self._teller.was_told(verdict)
            notice.told = head
        done = await self._teller.tell_group(verdict, notice.parts)
        done &= await self._teller.tell_pods(verdict, lambda: notice.heads == heads(verdict))
        if notice.event_due and subject is not None:
            notice.event_due = not await self._teller.tell_event(verdict, subject)
        if not done or notice.event_due:
            wait = min(FIRST_RETRY * 2**notice.failures, RENEW_SECONDS)
            notice.due = min(notice.due, time.monotonic() + wait)
            notice.failures = min(notice.failures + 1, 10)
            return
        notice.failures = 0
        if notice.due != NEVER:
            return
        self._verdicts.told(group)
        if group not in self._mirror.waiting_by_group:
            self._notices.pop(group, None)


def is_another(known: Regarding | None, now: Regarding | None) -> bool:
    """Whether the object of that name is another one by now: nothing has been told of it yet."""
    if known is None or now is None or known.uid == now.uid:
        return False
    return (known.kind, known.name) == (now.kind, now.name)


def settling(verdict: GroupVerdict) -> float:
    """How long a verdict must have stood before it is told."""
    if verdict.verdict == "Scheduled":
        return 0.0
    lacks_members = verdict.blockers[0].category == "Members"
    return MEMBERS_SETTLE_SECONDS if lacks_members else SETTLE_SECONDS


def heads(verdict: GroupVerdict) -> tuple[str, str]:
    """What is said of the group, and what of its members without a seat."""
    return head_of(verdict), pod_head(verdict)
