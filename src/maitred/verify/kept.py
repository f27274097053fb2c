"""Devices that stand idle for somebody: where members were promised places, and in room that the Plan keeps.

Of a node, what those still have who leave serves promises first, and then room for members that are not
there. The rest of what these ask for is kept of what is free.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from .case import Breach, Case, breach
from .fields import Doc
from .groups import Group
from .later import Link
from .objects import Node
from .pods import Pod
from .rules import Bind

LATER = "Later"

Amounts = dict[str, int]
Range = tuple[int, int]


@dataclass
class Left:
    """What is left of a node, by resource."""

    free: Amounts
    leaving: dict[str, Range]
    """At least and at most: who has which of several places is not told."""


@dataclass(frozen=True)
class KeptDevices:
    payer: Pod | None
    """None if it is not known whom they are for."""
    group: Group | None
    node: Node
    amounts: Amounts


@dataclass
class Kept:
    case: Case

    @cached_property
    def promised(self) -> list[KeptDevices]:
        """As it was when the Plan was made."""
        return list(self._promised({}, []))

    def _promised(self, left: dict[str, Left], bound: Sequence[Bind]) -> Iterator[KeptDevices]:
        nodes, seated = self.case.cluster.nodes, {pod.key for pod, _ in bound}
        for _, seat in bound:
            left.setdefault(seat.name, self._left_on(seat, bound))
        for group in sorted(self.case.groups, key=lambda group: group.key):
            for pod in sorted(group.pending, key=Pod.order):
                node = nodes.get(pod.nominated)
                if node is not None and pod.key not in seated:
                    wanted = {name: (amount, amount) for name, amount in pod.requests.items()}
                    most = {name: most for name, (_, most) in self._take(node, wanted, left).items()}
                    payer = min(group.pending, key=Pod.order)  # of all, should they name different queues
                    yield KeptDevices(payer, group, node, most)

    @cached_property
    def rooms(self) -> list[KeptDevices]:
        """What is kept from now on for pods that are not there, as the Plan tells it."""
        nodes = self.case.cluster.nodes
        return [
            KeptDevices(*self._payer(hold), nodes[hold.text("node")], _devices(hold))
            for hold in self._holds
            if hold.text("node") in nodes and _devices(hold)
        ]

    def judge(self) -> Iterator[Breach]:
        """Whether it tells it rightly."""
        left = dict[str, Left]()
        for _ in self._promised(left, self.case.binds):
            pass
        for hold in self._holds:
            node, told = self.case.cluster.nodes.get(hold.text("node")), _devices(hold)
            if node is None:
                continue
            right = self._take(node, self._wanted(hold, told), left, told)
            for name in sorted({*right, *told}):
                least, most = right.get(name, (0, 0))
                if not least <= told.get(name, 0) <= most:
                    words = f"{told.get(name, 0)} of {name} are said to stand idle for it on {node.name}"
                    yield breach(7, hold.text("group"), f"{words}, and it is {most}")

    @property
    def _holds(self) -> list[Doc]:
        docs = (hold for hold in self.case.plan.docs("holds") if hold.text("cause") != "Spare")
        return sorted(docs, key=lambda hold: tuple(map(hold.text, ("group", "node", "owner"))))

    def _take(
        self,
        node: Node,
        wanted: Mapping[str, Range],
        left: dict[str, Left],
        told: Mapping[str, int] | None = None,
    ) -> dict[str, Range]:
        """What is kept of a node for those who want so much."""
        if node.name not in left:
            left[node.name] = self._left_on(node, ())
        there, found = left[node.name], dict[str, Range]()
        for name, (least, most) in wanted.items():
            free, going = there.free.get(name, 0), there.leaving.get(name, (0, 0))
            found[name] = min(max(0, least - going[1]), free), min(max(0, most - going[0]), free)
            there.leaving[name] = max(0, going[0] - most), max(0, going[1] - least)
            there.free[name] = max(0, free - (found[name][1] if told is None else told.get(name, 0)))
        return found

    def _left_on(self, node: Node, bound: Sequence[Bind]) -> Left:
        """What is free on a node of devices by resources, beside who is bound there now, and what those have
        who leave it."""
        patterns, there = self.case.policy.devices, self.case.cluster.pods.values()
        here = [pod for pod in there if pod.holds and pod.node_name == node.name]
        new = [pod for pod, seat in bound if seat is node]
        ill = any(
            taint.key in self.case.policy.health and taint.effect in ("NoSchedule", "NoExecute")
            for taint in node.taints
        )
        free, leaving = dict[str, int](), dict[str, Range]()
        for name, amount in node.allocatable.items():
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                used = sum(pod.requests.get(name, 0) for pod in (*here, *new))
                going = sum(pod.requests.get(name, 0) for pod in here if pod.terminating)
                free[name], leaving[name] = 0 if ill else max(0, amount - used), (going, going)
        return Left(free, leaving)

    # -- whom room is for ------------------------------------------------------------------------------

    def _wanted(self, hold: Doc, told: Amounts) -> dict[str, Range]:
        """By pods of its group. Of whom nothing is known, no more than what is there."""
        like, pods = self._like(hold), max(0, hold.integer("pods"))
        if not like:
            return {name: (0, amount) for name, amount in told.items()}
        names = {name for pod in like for name in pod.requests}
        each = {name: [pod.requests.get(name, 0) for pod in like] for name in names}
        return {name: (pods * min(amounts), pods * max(amounts)) for name, amounts in each.items()}

    def _like(self, hold: Doc) -> list[Pod]:
        link, key = self._link(hold), hold.text("group")
        if link is not None:
            is_bound = key != link.host.key or self.case.bound(link.host)
            return [*link.coming.get(key, []), *(() if is_bound else link.host.pending)]
        groups = (group for group in self.case.groups if group.key == key)
        return [pod for group in groups for pod in group.members if not pod.succeeded]

    def _link(self, hold: Doc) -> Link | None:
        """If they come later."""
        if hold.text("cause", LATER) != LATER:
            return None
        key, owner = hold.text("group"), hold.text("owner")
        links = (link for link in self.case.links.every if link.owner == owner)
        return next((link for link in links if key in (link.host.key, *link.coming)), None)

    def _payer(self, hold: Doc) -> tuple[Pod | None, Group | None]:
        link, key = self._link(hold), hold.text("group")
        if link is None:
            group = next((group for group in self.case.groups if group.key == key), None)
        else:
            group = link.host if link.host.members else next(iter(link.before), None)
        if group is None or not group.members:
            return None, None
        return min(group.pending or group.members, key=Pod.order), group


def _devices(hold: Doc) -> Amounts:
    said = hold.doc("devices")
    return {name: said.integer(name) for name in said.raw}


def judge_kept(case: Case) -> Iterator[Breach]:
    yield from Kept(case).judge()
