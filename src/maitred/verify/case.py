"""One thing to judge: a cluster, its groups, and a Plan read with as much mistrust as the cluster."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from .claimed import told_models
from .fields import Doc
from .filters import place
from .groups import Group, by_pod
from .later import Links
from .objects import NOT_READY, Cluster, Node
from .pods import Pod
from .policy import Policy
from .rules import Bind
from .selectors import matches
from .times import thousandths
from .world import World, world_of

if TYPE_CHECKING:
    from .drains import DrainOrder

SHOWN = 4
LOST = tuple(NOT_READY.values())
LATE = 60_000
"""Thousandths of a second after which a pod that should be gone is not waited for any more."""
PREEMPTION, RECLAIM, BUDGET = "Preemption", "Reclaim", "Budget"
LAWS = {
    1: "No overcommit",
    2: "No split gang",
    3: "Every hard constraint holds",
    4: "No upward eviction",
    5: "No eviction in vain",
    7: "No silence",
    8: "Impossible means proven",
    14: "No queue beyond its limits",
    15: "No hold is delayed",
    16: "No reservation is taken",
    17: "Nodes are asked for once",
    18: "No booked start is delayed",
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

    `now` is in thousandths of a second; None where nobody says, so that nothing is judged by the time. `kept`
    are the places that members were promised before, as far as these promises hold.
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
    kept: list[Bind] = field(default_factory=list)
    links: Links = field(default_factory=Links)
    requests: "list[DrainOrder]" = field(default_factory=list)
    """To drain nodes, the one whose time comes first first."""
    along: list[Bind] = field(default_factory=list)
    """Pods that are not there, in the room that the Plan keeps for them beside those that it binds."""
    reserved: list[Bind] = field(default_factory=list)
    """Those in the room that it keeps for groups that come next, and stand-ins for their waiting members."""
    vague: bool = False
    """It is not known which of these pods is where."""
    healed: set[Group] = field(default_factory=set)
    """Groups for which the Plan keeps room because hardware has failed under them."""
    reserved_from: Callable[[Group], frozenset[str]] = lambda group: frozenset()
    """Nodes on which a group may not start now, as they are reserved for others."""
    allocated_before: dict[str, Doc] = field(default_factory=dict)
    """What resource claims had been allocated when the Plan was made."""

    def __post_init__(self) -> None:
        self.group_of = by_pod(self.groups)
        self.leaf_of = by_pod(leaf for group in self.groups for leaf in group.leaves)
        """The PodGroup of a pod in a tree, and else its group: what a victim is part of by itself."""
        self.entries: dict[str, list[Doc]] = {}
        self.parts: list[Doc] = []
        """What the Plan says of the parts of trees."""
        for entry in self.plan.docs("groups"):
            if entry.text("parent"):
                self.parts.append(entry)
            else:
                self.entries.setdefault(entry.text("group"), []).append(entry)
        self.before = self._world(self.cluster.pods.values())

    @property
    def exhausted(self) -> bool:
        return self.plan.flag("searchExhausted")

    def model_of(self, node: Node) -> str:
        """The model of the devices of a node, by which queues are charged."""
        return self.policy.rights.model(node.labels) or self._told_models.get(node.name, "")

    @cached_property
    def _told_models(self) -> dict[str, str]:
        return told_models(self.cluster, self.policy.devices)

    @cached_property
    def _held(self) -> dict[str, list[Doc]]:
        found: dict[str, list[Doc]] = {}
        for hold in self.plan.docs("holds"):
            found.setdefault(hold.text("group"), []).append(hold)
        return found

    def held_for(self, key: str) -> list[Doc]:
        """What the Plan says of room that it keeps for a group."""
        return self._held.get(key, [])

    def held_count(self, key: str) -> int:
        return sum(hold.integer("pods") for hold in self.held_for(key))

    @cached_property
    def after(self) -> World:
        """The world with all the binds of the Plan in it."""
        world = self.before.copy()
        for pod, node in self.binds:
            place(world, pod, node)
        return world

    def _world(self, pods: Iterable[Pod]) -> World:
        """These pods where they are, in a world in which claims get the volumes that the Plan says."""
        world = world_of(self.cluster, pods)
        choices = self.plan.docs("volumes")
        world.given = {entry.text("claim"): entry.text("volume") for entry in choices}
        return world

    def lingers(self, pod: Pod) -> bool:
        """Whether it is on a node and being deleted, but was given more time than the policy gives a victim:
        its room is not waited for, and it may be evicted, which gives it less."""
        limit = self.policy.preemption.grace_limit
        given_more = pod.terminating and pod.holds and limit is not None and pod.given > limit
        return given_more and not self.stuck(pod)

    def stuck(self, pod: Pod) -> bool:
        """Whether it is on a node and should be gone, or cannot be stopped because its node is lost: its room
        is not waited for, and a second deletion would change nothing."""
        if not pod.terminating or not pod.holds or pod.due is None:
            return False
        node = self.cluster.nodes.get(pod.node_name)
        if node is None or any(taint.key in LOST for taint in node.taints):
            return True
        return self.now is not None and thousandths(pod.due) + LATE <= self.now

    @cached_property
    def is_hour_missing(self) -> bool:
        """Whether some pod terminates, and nobody says for what time, so that it may be stuck or not."""
        return self.now is None and any(pod.terminating and pod.holds for pod in self.cluster.pods.values())

    @cached_property
    def _settled(self) -> World:
        pods = self.cluster.pods.values()
        return self._world(
            [pod for pod in pods if not pod.terminating or self.lingers(pod) or self.stuck(pod)]
        )

    def once_gone(self, gone: Iterable[Pod], seats: Iterable[Bind]) -> World:
        """The world once those who leave have left, and these too, with some more pods on their seats."""
        world = self._settled.copy()
        for pod in gone:
            world.remove(pod)
        for pod, node in seats:
            place(world, pod, node)
        return world

    @cached_property
    def leaving(self) -> list[Pod]:
        """Who is on the way out: those who terminate in time, and those whom the Plan makes leave."""
        pods = self.cluster.pods.values()
        terminating = [pod for pod in pods if pod.terminating and pod.holds]
        going = [pod for pod in terminating if not self.lingers(pod) and not self.stuck(pod)]
        return [*going, *(eviction.pod for eviction in self.evictions)]

    def managed(self) -> list[Node]:
        """The nodes on which groups may be seated."""
        nodes = self.cluster.nodes.values()
        chosen = self.policy.managed
        return [node for node in nodes if chosen is None or matches(chosen, node.labels)]

    def open_to(self, group: Group) -> list[Node]:
        """The same without those that are reserved for others, and without those that the Plan keeps free for
        repairs, but for groups that may be evicted."""
        spares, kept = self.policy.spares, self.reserved_from(group)
        if spares.nodes and (group.rank is None or group.rank >= spares.below):
            holds = self.plan.docs("holds")
            kept = kept | {hold.text("node") for hold in holds if hold.text("cause") == "Spare"}
        return [node for node in self.managed() if node.name not in kept]

    @cached_property
    def _bound(self) -> dict[int, list[Bind]]:
        return self._by_group(self.binds)

    def _by_group(self, seats: list[Bind]) -> dict[int, list[Bind]]:
        found: dict[int, list[Bind]] = {}
        for pod, node in seats:
            found.setdefault(id(self.group_of[pod.key]), []).append((pod, node))
        return found

    def bound(self, group: Group) -> list[Bind]:
        """What the Plan binds of a group. Two groups may share a name, so it is the object that counts."""
        return self._bound.get(id(group), [])

    @cached_property
    def _nominated(self) -> dict[int, list[Bind]]:
        return self._by_group(self.nominations)

    def nominated(self, group: Group) -> list[Bind]:
        return self._nominated.get(id(group), [])

    def staying(self, group: Group) -> list[Bind]:
        nodes = self.cluster.nodes
        return [(pod, nodes[pod.node_name]) for pod in group.staying if pod.node_name in nodes]

    def seats(self, group: Group) -> list[Bind]:
        """Where the members of a group are after the Plan: those that stay and those that it binds."""
        return self.staying(group) + self.bound(group)

    def verdicts(self, group: Group) -> list[str]:
        return [entry.text("verdict") for entry in self.entries.get(group.key, [])]

    def invalid(self, group: Group) -> bool:
        """Whether a group is out of the question, or may be: where the rules leave it open the Plan says."""
        if group.problems or not group.doubts:
            return bool(group.problems)
        return not self.allowed(group) or "Invalid" in self.verdicts(group)

    @cached_property
    def preempting(self) -> list[Group]:
        """The groups that wait for their victims, in the order in which they were decided."""
        found = [group for group in self.groups if group.pending and "Preempting" in self.verdicts(group)]
        return sorted(found, key=turn)

    def is_vague(self, group: Group) -> bool:
        """Whether there is room that it may not have, or needs, of which the Plan does not say where it is:
        of a group that waits for its victims, the pods that come later have been promised room too."""
        ahead = (other for other in self.preempting if other is not group and rank(other) >= rank(group))
        promised = any(self.links.coming(other) for other in ahead)
        return self.vague or promised or self.links.is_unclear(group)

    @cached_property
    def _evicted_for(self) -> dict[str, list[Eviction]]:
        found: dict[str, list[Eviction]] = {}
        for eviction in self.evictions:
            if eviction.cause in (PREEMPTION, RECLAIM, BUDGET):
                found.setdefault(eviction.preemptor, []).append(eviction)
        return found

    def evicted_for(self, group: Group) -> list[Eviction]:
        return self._evicted_for.get(group.key, [])

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


def seniority(group: Group) -> tuple[float, float, str]:
    """Who comes first: by rank, age and name. Whose rank nobody knows comes last."""
    return -rank(group), min(group.since, default=float("inf")), group.key


def in_line(group: Group) -> tuple[float, float, float, str]:
    """The same where the order may have deadlines, which come before age."""
    first, age, name = seniority(group)
    return first, group.due_by, age, name


def rank(group: Group) -> float:
    return float("-inf") if group.rank is None else group.rank


def turn(group: Group) -> tuple[float, bool, float, float, str]:
    """When a group is decided: by rank, nominated ones first, then by deadline, age and name."""
    first, due, age, name = in_line(group)
    return first, not any(pod.nominated for pod in group.pending), due, age, name
