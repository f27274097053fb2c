"""One thing to judge: a cluster, its groups, and a Plan read with as much mistrust as the cluster."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from .fields import Doc
from .filters import place
from .groups import Group, by_pod, read_groups
from .objects import Cluster, Node, read_allocation, read_cluster
from .pods import Pod
from .policy import Policy, read_policy
from .rules import Bind
from .selectors import matches
from .times import thousandths
from .world import World, world_of

SHOWN = 4
PREEMPTION = "Preemption"
LAWS = {
    1: "No overcommit",
    2: "No split gang",
    3: "Every hard constraint holds",
    4: "No upward eviction",
    5: "No eviction in vain",
    7: "No silence",
    8: "Impossible means proven",
}


@dataclass(frozen=True, order=True)
class Breach:
    """One law broken: by number and name, by whom, and how."""

    law: int
    name: str
    subject: str
    message: str


def breach(law: int, subject: str, message: str) -> Breach:
    return Breach(law, LAWS[law], subject, message)


def shown(seats: dict[str, str]) -> str:
    """Seats in words, the first few."""
    words = [f"{pod} on {node}" for pod, node in sorted(seats.items())]
    return ", ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")


@dataclass(frozen=True)
class Eviction:
    pod: Pod
    cause: str
    preemptor: str
    receipt: Doc


@dataclass
class Case:
    """What is judged. Binds, nominations and evictions hold only those that name things that exist.

    `now` is in thousandths of a second; None where nobody says, so that nothing is judged by the time.
    """

    cluster: Cluster
    policy: Policy
    groups: list[Group]
    scheduler: str | None
    now: int | None
    plan: Doc
    faults: list[Breach] = field(default_factory=list)
    binds: list[Bind] = field(default_factory=list)
    nominations: list[Bind] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.group_of = by_pod(self.groups)
        self.entries: dict[str, list[Doc]] = {}
        for entry in self.plan.docs("groups"):
            self.entries.setdefault(entry.text("group"), []).append(entry)
        self.before = world_of(self.cluster, self.cluster.pods.values())

    @property
    def exhausted(self) -> bool:
        return self.plan.flag("searchExhausted")

    @cached_property
    def after(self) -> World:
        """The world with all the binds of the Plan in it."""
        world = self.before.copy()
        for pod, node in self.binds:
            place(world, pod, node)
        return world

    def managed(self) -> list[Node]:
        """The nodes on which groups may be seated."""
        nodes = self.cluster.nodes.values()
        chosen = self.policy.managed
        return [node for node in nodes if chosen is None or matches(chosen, node.labels)]

    @cached_property
    def _bound(self) -> dict[int, list[Bind]]:
        found: dict[int, list[Bind]] = {}
        for pod, node in self.binds:
            found.setdefault(id(self.group_of[pod.key]), []).append((pod, node))
        return found

    def bound(self, group: Group) -> list[Bind]:
        """What the Plan binds of a group. Two groups may share a name, so it is the object that counts."""
        return self._bound.get(id(group), [])

    def nominated(self, group: Group) -> list[Bind]:
        return [(pod, node) for pod, node in self.nominations if self.group_of[pod.key] is group]

    def running(self, group: Group) -> list[Bind]:
        nodes = self.cluster.nodes
        return [(pod, nodes[pod.node_name]) for pod in group.running if pod.node_name in nodes]

    def seats(self, group: Group) -> list[Bind]:
        """Where the members of a group are after the Plan: those that run and those that it binds."""
        return self.running(group) + self.bound(group)

    def verdicts(self, group: Group) -> list[str]:
        return [entry.text("verdict") for entry in self.entries.get(group.key, [])]

    @cached_property
    def preempting(self) -> list[Group]:
        """The groups that wait for their victims, in the order in which they were decided."""
        found = [group for group in self.groups if group.pending and "Preempting" in self.verdicts(group)]
        return sorted(found, key=turn)

    def evicted_for(self, group: Group) -> list[Eviction]:
        return [e for e in self.evictions if e.cause == PREEMPTION and e.preemptor == group.key]

    def placed(self, group: Group) -> int:
        return group.counted + len(self.bound(group))

    def due(self, group: Group) -> bool:
        """Whether the Plan has to speak of a group."""
        names = {pod.scheduler for pod in group.pending}
        return bool(names) and (self.scheduler is None or names == {self.scheduler})

    def allowed(self, group: Group) -> bool:
        """Whether the Plan may speak of a group: one that mixes schedulers belongs to each of them."""
        names = {pod.scheduler for pod in group.pending}
        return bool(names) and (self.scheduler is None or self.scheduler in names)


def turn(group: Group) -> tuple[float, bool, float, str]:
    """When a group is decided: by rank, nominated ones first, then by age and name."""
    rank = float("inf") if group.rank is None else -group.rank
    times = [pod.created for pod in group.members if pod.created is not None]
    standing = any(pod.nominated for pod in group.pending)
    return rank, not standing, min(times, default=float("inf")), group.key


def read_case(
    objects: Iterable[Any],
    plan: dict[str, Any] | None,
    policy: dict[str, Any] | None,
    scheduler: str | None,
    now: datetime | None,
) -> Case:
    cluster, rules = read_cluster(objects), read_policy(policy)
    doc = Doc(plan, "Plan")
    for claim in doc.docs("claims"):
        cluster.allocations[claim.text("claim")] = read_allocation(claim)
    time = None if now is None else thousandths(now.timestamp())
    case = Case(cluster, rules, read_groups(cluster, rules), scheduler, time, doc)
    _read_binds(case)
    _read_nominations(case)
    _read_evictions(case)
    return case


def _read_binds(case: Case) -> None:
    seen: set[str] = set()
    for doc in case.plan.docs("binds"):
        pod, faults = _named_pod(case, doc, "bound")
        if pod is not None and pod.key in seen:
            faults.append("bound more than once")
        node = case.cluster.nodes.get(doc.text("node"))
        if node is None:
            faults.append(f"bound to {doc.text('node') or 'no node'}, which does not exist")
        case.faults += [breach(1, doc.text("pod"), fault) for fault in faults]
        if pod is not None and node is not None and pod.pending and pod.key not in seen:
            case.binds.append((pod, node))
            seen.add(pod.key)


def _named_pod(case: Case, doc: Doc, what: str) -> tuple[Pod | None, list[str]]:
    """The pod to be decided that a bind or nomination names, and what is wrong with how it does."""
    pod = case.cluster.pods.get(doc.text("pod"))
    if pod is None:
        return None, [f"{what}, but there is no such pod"]
    faults = []
    if not pod.pending:
        faults.append(f"{what}, but it is not to be decided")
    elif case.scheduler is not None and pod.scheduler != case.scheduler:
        faults.append(f"{what}, but it belongs to the scheduler {pod.scheduler}")
    if doc.text("uid") != pod.uid:
        faults.append(f"{what} by uid {doc.text('uid')!r}, but it is {pod.uid!r}")
    if doc.text("group") != case.group_of[pod.key].key:
        faults.append(f"{what} as a member of {doc.text('group')!r}, not of {case.group_of[pod.key].key!r}")
    return pod, faults


def _read_nominations(case: Case) -> None:
    seen: set[str] = set()
    for doc in case.plan.docs("nominations"):
        pod, faults = _named_pod(case, doc, "nominated")
        node = case.cluster.nodes.get(doc.text("node"))
        if node is None:
            faults.append(f"nominated to {doc.text('node') or 'no node'}, which does not exist")
        if pod is not None and pod.key in seen:
            faults.append("nominated more than once")
        case.faults += [breach(5, doc.text("pod"), fault) for fault in faults]
        if pod is not None and node is not None and pod.pending and pod.key not in seen:
            case.nominations.append((pod, node))
            seen.add(pod.key)


def _read_evictions(case: Case) -> None:
    seen: set[str] = set()
    for doc in case.plan.docs("evictions"):
        pod = case.cluster.pods.get(doc.text("pod"))
        if pod is None or not pod.running:
            case.faults.append(breach(4, doc.text("pod"), "evicted, but no such pod runs"))
            continue
        group = case.group_of[pod.key]
        if doc.text("uid") != pod.uid:
            case.faults.append(
                breach(4, pod.key, f"evicted by uid {doc.text('uid')!r}, but it is {pod.uid!r}")
            )
        if doc.text("group") not in ("", group.key) or (doc.given("group") is False and _grouped(group)):
            case.faults.append(breach(4, pod.key, f"evicted as a member of {doc.raw.get('group')!r}"))
        if pod.key in seen:
            case.faults.append(breach(4, pod.key, "evicted more than once"))
        else:
            case.evictions.append(Eviction(pod, doc.text("cause"), doc.text("for"), doc.doc("receipt")))
        seen.add(pod.key)


def _grouped(group: Group) -> bool:
    """Whether a group is more than a lone pod, so that an eviction must name it."""
    return group.key != group.members[0].key
