"""Reservations: docs/reservations.md, a second time. Who is not named gets no place in one.

The Plan says which nodes each has. Whether these are enough, and who is put there, is judged here; which of
several that would do are chosen is left to the Plan.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from .calendars import Span
from .case import Breach, Case, breach
from .fields import Doc
from .groups import Group
from .made_reservations import rules_in_force
from .objects import Node
from .planned import HoldJudge
from .pods import Pod
from .provisioning import CameFor, came_for, has_strangers
from .queues import is_model
from .reservation_rules import ReservationRule
from .selectors import matches

RESERVED = 16


def judge_reserved(case: Case) -> Iterator[Breach]:
    if case.now is None:
        return
    said = {doc.text("name"): doc for doc in case.plan.docs("reservations")}
    rules, came, judge = rules_in_force(case), came_for(case), ReservedJudge(case, case.now, said)
    for one in came.values():
        yield from judge.newcomers(one, said.get(one.name))
    for name in sorted(said.keys() - rules.keys() - came.keys()):
        yield breach(RESERVED, name, "is reserved, and neither the policy nor anybody said so")
    for rule in rules.values():
        spans = rule.calendar.spans(case.now)
        if rule.name not in said:
            if spans:
                yield breach(RESERVED, rule.name, "is a reservation that the Plan does not keep")
        elif not spans:
            yield breach(RESERVED, rule.name, "is over, and the Plan keeps it")
        else:
            yield from judge.reservation(rule, spans, said[rule.name])


def reserved_nodes(case: Case) -> Callable[[Group], frozenset[str]]:
    """On which nodes a group may not start now, as the Plan says which are reserved."""
    if case.now is None or not (rules_in_force(case) or case.policy.asking.kind):
        return lambda group: frozenset()
    judge = ReservedJudge(case, case.now, {doc.text("name"): doc for doc in case.plan.docs("reservations")})
    return judge.closed_to


class ReservedJudge:
    def __init__(self, case: Case, now: int, said: dict[str, Doc]) -> None:
        self.case, self.now, self.said = case, now, said
        self.rules = tuple(rules_in_force(case).values())
        self.ends = HoldJudge(case, now)

    def reservation(self, rule: ReservationRule, spans: list[Span], said: Doc) -> Iterator[Breach]:
        begin, end = (_written(at) for at in spans[0])
        if (said.text("from"), said.text("until")) != (begin, end):
            what = f"is from {begin} to {end}, and the Plan says {said.text('from')} to {said.text('until')}"
            yield breach(RESERVED, rule.name, what)
        missing = [name for name in said.texts("nodes") if name not in self.case.cluster.nodes]
        if missing:
            yield breach(RESERVED, rule.name, f"has {missing[0]}, which is not there")
            return
        nodes = [self.case.cluster.nodes[name] for name in said.texts("nodes")]
        yield from self._places(rule, nodes)
        back = said.text("state") == "given back"
        if back and not self._may_be_given_back(rule, spans[0], nodes):
            yield breach(RESERVED, rule.name, "is given back, though it is not unused for so long")
        yield from self._strangers(rule, spans[1:] if back else spans, nodes)

    # -- nodes that came for somebody ------------------------------------------------------------------

    def newcomers(self, one: CameFor, said: Doc | None) -> Iterator[Breach]:
        """None of them is kept for others by anything else."""
        names = [] if said is None else said.texts("nodes")
        for name in names:
            node = self.case.cluster.nodes.get(name)
            if name not in one.nodes or node is None:
                yield breach(RESERVED, one.name, f"keeps {name}, which did not come for {one.group}")
            elif has_strangers(self.case, node, one.group):
                yield breach(RESERVED, one.name, f"keeps {name}, which others have")
        if said is not None and (said.text("for"), said.text("until")) != (
            f"group {one.group}",
            _written(one.span[1]),
        ):
            yield breach(RESERVED, one.name, "is kept for somebody else, or until another time")
        for pod, node in (*self.case.binds, *self.case.nominations):
            if node.name in names and self.case.group_of[pod.key].key != one.group:
                what = f"starts on {node.name}, which has come for {one.group} (request {one.name})"
                yield breach(RESERVED, pod.key, what)

    # -- where -----------------------------------------------------------------------------------------

    def _places(self, rule: ReservationRule, nodes: list[Node]) -> Iterator[Breach]:
        if rule.nodes is not None:
            wanted = {
                node.name for node in self.case.cluster.nodes.values() if matches(rule.nodes, node.labels)
            }
            found = {node.name for node in nodes}
            lost = (self.case.cluster.nodes[name] for name in wanted - found)
            if found - wanted or not all(self._is_others(rule, node) for node in lost):
                yield breach(RESERVED, rule.name, "is not kept on the nodes that its selector means")
            return
        domains = {self._domain(rule, node) for node in nodes}
        if len(domains) > 1:
            yield breach(RESERVED, rule.name, f"is in {len(domains)} domains of {rule.within}")
        have = self._devices(rule, nodes)
        if have >= rule.count:
            if have - max(self._devices(rule, [node]) for node in nodes) >= rule.count:
                yield breach(RESERVED, rule.name, "is kept on more nodes than it needs")
            return
        free = [node for node in self.case.cluster.nodes.values() if not self._is_others(rule, node)]
        for domain in {self._domain(rule, node) for node in free} - {None}:
            there = self._devices(rule, [node for node in free if self._domain(rule, node) == domain])
            if there >= rule.count:
                what = f"has {have} of {rule.count} {rule.resource}, and all of them are there elsewhere"
                yield breach(RESERVED, rule.name, what)
                return

    def _domain(self, rule: ReservationRule, node: Node) -> str | None:
        return node.labels.get(self.case.policy.level(rule.within)) if rule.within else ""

    def _devices(self, rule: ReservationRule, nodes: list[Node]) -> int:
        policy = self.case.policy
        return sum(
            node.allocatable.get(rule.resource, 0)
            for node in nodes
            if is_model(rule.model, self.case.model_of(node))
            and (policy.managed is None or matches(policy.managed, node.labels))
            and not any(taint.key in policy.health for taint in node.taints)
        )

    def _is_others(self, rule: ReservationRule, node: Node) -> bool:
        """Whether another reservation has it. That this is at another time is not looked at: then it is not
        certain that the Plan is wrong."""
        return any(name != rule.name and node.name in doc.texts("nodes") for name, doc in self.said.items())

    # -- who -------------------------------------------------------------------------------------------

    def _strangers(self, rule: ReservationRule, spans: list[Span], nodes: list[Node]) -> Iterator[Breach]:
        names, groups = {node.name for node in nodes}, dict[str, tuple[Group, Pod, Node]]()
        for pod, node in (*self.case.binds, *self.case.nominations):
            if node.name in names and not self.is_for(rule, pod):
                group = self.case.group_of[pod.key]
                groups.setdefault(group.key, (group, pod, node))
        for group, pod, node in groups.values():
            if self._is_in_the_way(rule, spans, group):
                since = _written(spans[0][0])
                what = f"starts on {node.name}, which is reserved from {since} (reservation {rule.name})"
                yield breach(RESERVED, pod.key, what)

    def _is_in_the_way(self, rule: ReservationRule, spans: list[Span], group: Group) -> bool:
        if not spans:
            return False
        end = self.ends.end_if_started(group)
        return spans[0][0] - rule.lead <= self.now if end is None else spans[0][0] < end

    def closed_to(self, group: Group) -> frozenset[str]:
        found = frozenset[str]()
        for rule in self.rules:
            said = self.said.get(rule.name)
            if said is None or any(self.is_for(rule, pod) for pod in group.pending[:1]):
                continue
            spans = rule.calendar.spans(self.now)[said.text("state") == "given back" :]
            if self._is_in_the_way(rule, spans, group):
                found |= frozenset(said.texts("nodes"))
        for name, one in came_for(self.case).items():
            if name in self.said and one.group != group.key:
                found |= frozenset(self.said[name].texts("nodes"))
        return found

    def is_for(self, rule: ReservationRule, pod: Pod) -> bool:
        if rule.group:
            return self.case.group_of[pod.key].key == rule.group
        if rule.namespace:
            return pod.namespace == rule.namespace
        queue = self.ends.books.queue(pod)
        return bool(queue) and rule.queue in self.case.policy.rights.chain(queue)

    def _may_be_given_back(self, rule: ReservationRule, span: Span, nodes: list[Node]) -> bool:
        """Where a queue is not for everybody, it is left open who of those that name it may."""
        if rule.release is None or span[0] + rule.release > self.now:
            return False
        rights = self.case.policy.rights
        if any(rights.queues[name].is_selective for name in rights.chain(rule.queue)):
            return True
        names = {node.name for node in nodes}
        inside = (pod for pod in self.case.cluster.pods.values() if pod.node_name in names and pod.holds)
        return not any(self.is_for(rule, pod) for pod in inside if not pod.terminating)


def _written(at: int) -> str:
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
