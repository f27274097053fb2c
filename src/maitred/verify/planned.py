"""Holds for groups that wait: docs/holds.md, a second time. Nobody who starts now delays one.

At the time at which a hold begins, everybody who is there by known ends, who starts now and stays, and who is
planned to be there must fit on its nodes together. Only amounts are judged: other rules may close nodes for
more.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .case import LATE, Breach, Case, breach
from .fields import Doc
from .filters import place
from .groups import Group
from .limits import JobClock, group_limit
from .objects import Node
from .pods import Pod
from .rights import Books
from .times import instant, thousandths
from .world import World

OBJECT, LONGEST = "maitred-system/maitred-holds", 900_000
HOLDS = 15
SERVICES = ("ReplicaSet", "StatefulSet", "ReplicationController")
CAUSES = ("capacity", "rank", "unkept", "policy", "others")
WHO, LEAST = "holds", 1e-6
LEAST_STAY = 60_000


@dataclass(frozen=True)
class HeldPlace:
    group: str
    by_age: bool
    begins: int | None
    ends: int | None
    nodes: dict[str, int]
    moved: str
    idle: float
    rate: float
    at: int | None
    """From when on that many devices stand idle for it."""

    def covers(self, moment: int) -> bool:
        return self.begins is not None and self.begins <= moment and (self.ends is None or moment < self.ends)


def judge_planned(case: Case) -> Iterator[Breach]:
    if case.now is None:
        return
    said = case.plan.doc("planned")
    if not case.policy.holds.depth:
        if said.docs("holds"):
            yield breach(HOLDS, WHO, "are remembered, although the policy has none")
        return
    judge = HoldJudge(case, case.now)
    yield from judge.counts()
    for hold in judge.holds:
        yield from judge.hold(hold)


def is_held_up(case: Case, group: Group, entry: Doc) -> bool:
    """Whether a group is told that holds of others are in its way, and they are in the Plan, or were
    remembered until it was the turn of the others."""
    blockers = entry.docs("blockers")
    if case.now is None or not blockers or not blockers[0].doc("detail").given("heldFor"):
        return False
    judge = HoldJudge(case, case.now)
    held, end = {one.group: one for one in (*judge.before, *judge.holds)}, judge.end_if_started(group)
    named = [held.get(name) for name in blockers[0].doc("detail").texts("heldFor")]
    return bool(named) and all(
        one is not None and (one.by_age or one.begins is None or end is None or end > one.begins)
        for one in named
    )


class HoldJudge:
    def __init__(self, case: Case, now: int) -> None:
        self.case, self.now, self.books = case, now, Books(case)
        self.groups = {group.key: group for group in case.groups}

    @cached_property
    def before(self) -> list[HeldPlace]:
        """What cannot be read counts for nothing."""
        kept = self.case.cluster.raw.get(("ConfigMap", OBJECT))
        text = "" if kept is None else kept.doc("data").text("record")
        try:
            return _read(Doc(json.loads(text), WHO)) if 0 < len(text) <= LONGEST else []
        except ValueError:
            return []

    @cached_property
    def holds(self) -> list[HeldPlace]:
        """As they are from now on."""
        said = self.case.plan.doc("planned")
        found = _read(said) if said.raw else self.before
        return [one for one in found if one.nodes]

    # -- how many, and for whom ------------------------------------------------------------------------

    def counts(self) -> Iterator[Breach]:
        rules, queues = self.case.policy.holds, dict[str, int]()
        if len(self.holds) > rules.depth:
            yield breach(HOLDS, WHO, f"are {len(self.holds)}, and the policy allows {rules.depth}")
        for hold in self.holds:
            group = self.groups.get(hold.group)
            if group is None or not group.pending:
                yield breach(HOLDS, hold.group, "has a hold, and nothing of it waits")
                continue
            queue = self.books.queue(group.pending[0])
            queues[queue] = queues.get(queue, 0) + 1
        for queue, count in sorted(queues.items()):
            if rules.per_queue is not None and count > rules.per_queue:
                yield breach(HOLDS, f"queue {queue}", f"has {count} holds, and may have {rules.per_queue}")

    # -- one hold --------------------------------------------------------------------------------------

    def hold(self, hold: HeldPlace) -> Iterator[Breach]:
        group = self.groups.get(hold.group)
        if group is None or not group.pending:
            return
        if hold.by_age and hold.idle > self.case.policy.holds.idle + LEAST:
            yield breach(HOLDS, hold.group, f"has a hold for which {hold.idle:g} device-hours stood idle")
        if hold.by_age and not hold.rate and hold.at is not None and self._is_stale(hold.at):
            yield breach(HOLDS, hold.group, "has a hold where nobody has left for too long")
        yield from self._moves(hold)
        if not hold.by_age and (hold.begins is None or hold.begins < self.now):
            yield breach(HOLDS, hold.group, "has a hold that begins at no time to come")
            return
        world = self._world(hold.begins)
        for name, count in sorted(hold.nodes.items()):
            node = self.case.cluster.nodes.get(name)
            if node is None:
                yield breach(HOLDS, hold.group, f"has a hold on {name}, which is not there")
            elif not self._is_unsure(node):
                yield from self._on(world, hold, node, count)

    def _is_stale(self, since: int) -> bool:
        return since + max(self.case.policy.holds.after, LEAST_STAY) <= self.now

    def _moves(self, hold: HeldPlace) -> Iterator[Breach]:
        known = next((one for one in self.before if one.group == hold.group), None)
        if known is None or known.begins is None or hold.begins is None:
            return
        if hold.begins > known.begins and hold.moved not in CAUSES:
            yield breach(HOLDS, hold.group, "has a hold that begins later than it did, for no cause")

    def _on(self, world: World, hold: HeldPlace, node: Node, count: int) -> Iterator[Breach]:
        """Everybody on one of its nodes, when it begins."""
        there = [one for one in self.holds if one is hold or self._overlaps(one, hold)]
        least = self._least(hold)
        for resource in sorted(least):
            free = world.free(node, resource)
            free -= sum(self._least(one).get(resource, 0) * one.nodes.get(node.name, 0) for one in there)
            if free >= 0:
                continue
            late = sorted(pod.key for pod in self._starting(hold.begins, node) if pod.requests.get(resource))
            if late:
                what = f"takes {resource} on {node.name} beyond the beginning of the hold of {hold.group}"
                yield breach(HOLDS, late[0], what)
            else:
                what = f"has a hold on {node.name}, where {-free} {resource} are missing when it begins"
                yield breach(HOLDS, hold.group, what)
            return

    @staticmethod
    def _overlaps(one: HeldPlace, hold: HeldPlace) -> bool:
        """Whether it has its places when the hold begins."""
        if hold.begins is None or one.by_age:
            return one.by_age and hold.by_age
        return one.covers(hold.begins)

    def _least(self, hold: HeldPlace) -> dict[str, int]:
        """What each of its members takes at least."""
        group = self.groups.get(hold.group)
        pods = [] if group is None else group.pending
        if not pods:
            return {}
        return {name: min(pod.requests.get(name, 0) for pod in pods) for name in pods[0].requests}

    def _is_unsure(self, node: Node) -> bool:
        """Whether somebody gets what was promised there before: that is stronger than a hold."""
        seats = (*self.case.binds, *self.case.nominations, *self.case.kept, *self.case.reserved)
        return any(seat is node and (pod.nominated or not pod.pending) for pod, seat in seats)

    # -- who is there ----------------------------------------------------------------------------------

    def _world(self, moment: int | None) -> World:
        """At that time, or, where nobody knows when that is, once all have left who may."""
        gone = [pod for pod in self.case.cluster.pods.values() if pod.holds and self._is_gone(pod, moment)]
        world = self.case.before.copy()
        for pod in {pod.key: pod for pod in (*gone, *self.case.leaving)}.values():
            world.remove(pod)
        for node in self.case.cluster.nodes.values():
            for pod in self._starting(moment, node):
                place(world, pod, node)
        return world

    def _starting(self, moment: int | None, node: Node) -> list[Pod]:
        """Those who start there now and stay."""
        found = []
        for pod, seat in (*self.case.binds, *self.case.nominations):
            end = self.end_if_started(self.case.group_of[pod.key])
            if seat is node and (moment is None or end is None or end > moment):
                found.append(pod)
        return found

    def _is_gone(self, pod: Pod, moment: int | None) -> bool:
        if moment is None:
            kind = "" if pod.controller is None else pod.controller[0]
            return kind not in (*SERVICES, "DaemonSet", "Node") and not self.case.stuck(pod)
        end = self._end(pod)
        return end is not None and end <= moment and not self.case.stuck(pod)

    # -- when they end ---------------------------------------------------------------------------------

    def _end(self, pod: Pod) -> int | None:
        """When a pod on a node has left, as somebody enforces it."""
        group = self.case.leaf_of[pod.key]
        here = [one for one in group.members if one.node_name and not one.finished]
        starts = [self.now if one.started is None else thousandths(one.started) for one in here]
        start = self.now if pod.started is None else thousandths(pod.started)
        ends = self._ends(group, pod, start, min(starts, default=self.now))
        ends += [thousandths(pod.due)] if pod.terminating and pod.due is not None else []
        end = min(ends, default=None)
        if end is None or end > self.now:
            return end
        return end + LATE if end + LATE > self.now else None

    def end_if_started(self, group: Group) -> int | None:
        """When the whole group has left, if it starts now; who comes late to a group leaves with it."""
        if group.staying:
            return _last([self._end(pod) for pod in group.staying])
        said = (self._ends(self.case.leaf_of[pod.key], pod, self.now, self.now) for pod in group.pending)
        return _last([min(ends, default=None) for ends in said])

    def _ends(self, group: Group, pod: Pod, start: int, first: int) -> list[int]:
        """`first`: when the first of the group has started."""
        found, spec = list[int](), self.case.cluster.raw[("Pod", pod.key)].doc("spec")
        if spec.given("activeDeadlineSeconds"):
            found.append(start + spec.integer("activeDeadlineSeconds") * 1000)
        limit = group_limit(self.case, self.books, group, [pod])
        found += [] if limit is None else [first + limit]
        job = self._job(pod)
        # A Job that should have ended ends nobody who starts now.
        if job is not None and job.end is not None and (pod.holds or job.end > self.now):
            found.append(job.end)
        return found

    def _job(self, pod: Pod) -> JobClock | None:
        if pod.controller is None or pod.controller[0] != "Job":
            return None
        found = self.case.cluster.owners.get("Job", {}).get(f"{pod.namespace}/{pod.controller[1]}")
        return None if found is None else JobClock(found)


def _last(ends: Sequence[int | None]) -> int | None:
    """None if one of them is not known."""
    known = [end for end in ends if end is not None]
    return max(known, default=None) if len(known) == len(ends) else None


def _read(doc: Doc) -> list[HeldPlace]:
    return [
        HeldPlace(
            one.text("group"),
            one.text("basis") == "age",
            instant(one.text("begins")) if one.given("begins") else None,
            instant(one.text("ends")) if one.given("ends") else None,
            {str(node): int(count) for node, count in one.items("nodes")},
            one.text("moved"),
            float(one.raw.get("idle", 0.0)),
            float(one.raw.get("rate", 0.0)),
            instant(one.text("at")) if one.given("at") else None,
        )
        for one in doc.docs("holds")
    ]
