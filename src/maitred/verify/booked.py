"""Booked starts: docs/bookings.md, a second time. Nobody who starts now delays one, and none is forgotten.

Only amounts are judged: other rules may close nodes for more.
"""

from collections import Counter
from collections.abc import Iterator

from .bookings import WHO, BookedStart, BookedStarts, EndedStart
from .case import Breach, Case, breach
from .groups import Group
from .objects import Node
from .overrides import Lifts
from .payers import places_of
from .planned import HoldJudge
from .times import instant, thousandths

BOOKED = 18
START_BY = "maitred.dev/start-by"
CAUSES = ("capacity", "healing", "override", "foreign", "unkept", "policy", "queue", "late", "others")
LAG = 60_000
"""Thousandths of a second that the clock of a kubelet may be behind."""


def judge_booked(case: Case) -> Iterator[Breach]:
    starts = BookedStarts(case)
    if case.now is None or not (starts.says or starts.before):
        return
    judge = BookingJudge(case, case.now, starts)
    yield from judge.counts()
    for booking in starts.after:
        yield from judge.standing(booking)
    for booking in starts.before:
        if not any((one.group, one.made) == (booking.group, booking.made) for one in starts.after):
            yield from judge.over(booking)


class BookingJudge:
    def __init__(self, case: Case, now: int, starts: BookedStarts) -> None:
        self.case, self.now, self.starts = case, now, starts
        self.later = HoldJudge(case, now)
        self.groups = self.later.groups
        self.begun = {case.group_of[pod.key].key for pod, _ in case.binds}

    def counts(self) -> Iterator[Breach]:
        """What was promised stays so if the policy allows fewer by now."""
        old = {(one.group, one.made) for one in self.starts.before}
        queues = Counter(one.queue for one in self.starts.after)
        for queue in sorted({one.queue for one in self.starts.after if (one.group, one.made) not in old}):
            most = self.case.policy.bookings.get(queue, 0)
            if queues[queue] > most:
                who = f"queue {queue}" if queue else WHO
                yield breach(BOOKED, who, f"has {queues[queue]} booked starts, and may have {most}")

    # -- those that stand ------------------------------------------------------------------------------

    def standing(self, booking: BookedStart) -> Iterator[Breach]:
        group = self.groups.get(booking.group)
        if group is None or not group.pending:
            yield breach(BOOKED, booking.group, "has a booked start, and nothing of it waits")
            return
        before = next((one for one in self.starts.before if one.group == booking.group), None)
        if before is None or before.made != booking.made:
            yield from self._new(booking, group)
        elif before.at != booking.at or before.queue != booking.queue:
            yield breach(BOOKED, booking.group, "has another booked start than was promised")
        if booking.group in self.begun:
            return
        for name, count in sorted(booking.nodes.items()):
            node = self.case.cluster.nodes.get(name)
            if node is None:
                yield breach(BOOKED, booking.group, f"is booked on {name}, which is not there")
            elif not self.later.is_unsure(node):
                yield from self._on(booking, node, count)

    def _new(self, booking: BookedStart, group: Group) -> Iterator[Breach]:
        wanted = self._wanted(group)
        if booking.made != self.now:
            yield breach(BOOKED, booking.group, "is booked at another time than now")
        if wanted is None or not self.now < booking.at <= wanted:
            yield breach(BOOKED, booking.group, f"is booked for {booking.at}, and wants to start by {wanted}")
        if self.later.books.queue(group.pending[0]) != booking.queue and self.case.policy.rights:
            yield breach(BOOKED, booking.group, f"is booked for queue {booking.queue}, and is not in it")
        own = {pod.scheduler for pod in group.pending}
        for pod in self.case.cluster.pods.values():
            kind = "" if pod.controller is None else pod.controller[0]
            foreign = pod.holds and pod.scheduler not in own and kind not in ("DaemonSet", "Node")
            if foreign and pod.node_name in booking.nodes:
                what = f"is booked on {pod.node_name}, where {pod.key} of another scheduler is"
                yield breach(BOOKED, booking.group, what)

    def _wanted(self, group: Group) -> int | None:
        leaves = ((pod, leaf.key) for leaf in group.leaves for pod in leaf.members if not pod.finished)
        said = (
            [marks.get(START_BY, "") for marks in places_of(pod, leaf, self.case.cluster)]
            for pod, leaf in leaves
        )
        times = (
            next((time for text in texts if (time := instant(text)) is not None), None) for texts in said
        )
        return min((time for time in times if time is not None), default=None)

    def _on(self, booking: BookedStart, node: Node, count: int) -> Iterator[Breach]:
        """Everybody on one of its nodes, when it begins."""
        moment = booking.begins if self.now < booking.begins else max(booking.at, self.now + 1)
        world, least = self.later.world(moment), self.later.least(booking.group)
        others = [one for one in self.starts.after if one is not booking and self._is_there(one, moment)]
        for resource, amount in sorted(least.items()):
            free = world.free(node, resource) - amount * count
            free -= sum(
                self.later.least(one.group).get(resource, 0) * one.nodes.get(node.name, 0) for one in others
            )
            if free < 0 and amount:
                starting = self.later.starting(moment, node)
                late = sorted(pod.key for pod in starting if pod.requests.get(resource))
                what = f"{'starts' if late else 'is booked'} on {node.name}, where {-free} {resource} are"
                who = late[0] if late else booking.group
                yield breach(BOOKED, who, f"{what} missing for the booked start of {booking.group}")
                return

    def _is_there(self, one: BookedStart, moment: int) -> bool:
        begun = one.begins <= moment and (one.ends is None or moment < one.ends)
        return begun and one.group not in self.begun

    # -- those that are over ---------------------------------------------------------------------------

    def over(self, booking: BookedStart) -> Iterator[Breach]:
        found = [one for one in self.starts.ended if (one.group, one.made) == (booking.group, booking.made)]
        group = self.groups.get(booking.group)
        if not found:
            if group is not None and not self._has_none_any_more(booking, group):
                yield breach(BOOKED, booking.group, "had a booked start, which is forgotten")
            return
        ended = found[0]
        if ended.kept:
            if group is None or not group.staying:
                yield breach(BOOKED, booking.group, "is told to have started in time, and has not")
        elif ended.cause not in CAUSES or not ended.who:
            yield breach(BOOKED, booking.group, "has a booked start that is broken for no cause")
        else:
            yield from self._cause(booking, ended)

    def _has_none_any_more(self, booking: BookedStart, group: Group) -> bool:
        """Whether it does not want it any more, is another one, or may not start by itself."""
        wanted = self._wanted(group)
        newest = max((thousandths(pod.created) for pod in group.pending if pod.created), default=0)
        other = wanted is None or wanted < booking.at or newest > booking.newest
        short = group.missing or group.short or group.barred or group.problems or not group.pending
        return bool(other or short or group.may_be_early or group.held_back)

    def _cause(self, booking: BookedStart, ended: EndedStart) -> Iterator[Breach]:
        if ended.cause == "late" and self.now <= booking.at:
            yield breach(BOOKED, booking.group, "is told to be late, before its time")
        if ended.cause == "override" and not any(one.by in ended.who for one in Lifts(self.case).known):
            yield breach(BOOKED, booking.group, "is broken by an override that there is not")
