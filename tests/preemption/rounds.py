"""Round after round: a Plan is made and carried out, victims leave and come back, until nothing changes.

What a controller and a few kubelets would do, in virtual time. The state that decides is kept up to date
change by change, as in production; the checker looks at every Plan with the objects as they are then.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.controllers.scheduling.worklist import was_cut
from maitred.decide import Scope, decide
from maitred.model.node import Node
from maitred.model.pod import Pod
from maitred.model.policy import Policy
from maitred.model.rotation import Rotation
from maitred.verify import verify
from tests.oracle.builders import Obj
from tests.preemption.worlds import START, free_cpu
from tests.support import read

ROUND = timedelta(minutes=1)
DAY = timedelta(days=1)
MOST_ROUNDS = 60

Slowness = Callable[[str], int]
"""How many rounds a pod takes to leave."""


@dataclass
class Habits:
    """How the others behave."""

    slowness: Slowness = lambda _: 0
    eager: bool = False
    """Whether owners make a new pod as soon as the old one is told to leave."""


@dataclass
class Rounds:
    objects: list[Obj]
    habits: Habits = field(default_factory=Habits)
    policy: Policy = field(default_factory=Policy)
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=START) + DAY
    made_for: dict[str, list[str]] = field(default_factory=dict)
    """By the group they left for, whoever was evicted, by the name that all of its successors share."""
    ranks: dict[str, int] = field(default_factory=dict)
    """Of those groups."""
    preemptions: dict[str, int] = field(default_factory=dict)
    """By group, the number of Plans that evicted somebody for it."""
    seated: set[str] = field(default_factory=set)
    """Groups of which something was bound."""
    steps: int | None = None
    """The budget of a cycle, if it has one."""
    cut: dict[str, None] = field(default_factory=dict)
    """Groups that cycles did not get to, who has waited longest first."""
    rounds: int = 0

    def __post_init__(self) -> None:
        self.state = ClusterState()
        self.there: dict[str, Obj] = {}
        self.leaving: dict[str, int] = {}
        self.generation = 0
        for obj in self.objects:
            self.put(deepcopy(obj))

    # ---- what there is

    def put(self, obj: Obj) -> None:
        self.there[_key(obj)] = obj
        for item in read([obj]):
            self.state.apply(Put(item))

    def drop(self, obj: Obj) -> None:
        del self.there[_key(obj)]
        kind, name = (Node, "") if obj["kind"] == "Node" else (Pod, f"{obj['metadata']['namespace']}/")
        self.state.apply(Delete(kind, name + obj["metadata"]["name"]))

    def pod(self, name: str) -> Obj:
        return self.there[f"Pod {name}"]

    def pods(self) -> list[Obj]:
        return [obj for obj in self.there.values() if obj["kind"] == "Pod"]

    def promised(self) -> dict[str, list[str]]:
        """Nodes that somebody was promised, and whom."""
        found: dict[str, list[str]] = {}
        for pod in self.pods():
            node = pod["status"].get("nominatedNodeName")
            if node:
                found.setdefault(node, []).append(pod["metadata"]["name"])
        return found

    def free(self, node: str) -> int:
        """Thousandths of a CPU that nobody uses now."""
        return free_cpu(self.there[f"Node {node}"], self.there.values())

    # ---- one round

    def decided(self) -> Obj:
        """The next Plan, which keeps every law."""
        rotation = None if self.steps is None else Rotation(self.steps, tuple(self.cut))
        found = decide(self.state.snapshot(), self.policy, self.now, Scope(rotation=rotation))
        now_cut = [verdict.group for verdict in found.groups if was_cut(verdict)]
        self.cut = dict.fromkeys([*(group for group in self.cut if group in now_cut), *now_cut])
        plan: Obj = msgspec.json.decode(msgspec.json.encode(found))
        raw = [deepcopy(obj) for obj in self.there.values()]
        policy = msgspec.json.decode(msgspec.json.encode(self.policy))
        breaches = verify(raw, plan, policy, now=self.now)
        assert breaches == [], (breaches, plan["evictions"])
        return plan

    def play(self) -> bool:
        """One round; False if nothing came of it and nothing is under way."""
        self.rounds += 1
        plan = self.decided()
        moved = self.carry_out(plan)
        self.now += ROUND
        moved |= self.time_passes()
        if self.cut and self.steps is not None and not moved:
            self.steps *= 8  # Every round is about everybody: with more of a budget it gets to more of them.
        return moved or bool(self.cut)

    def carry_out(self, plan: Obj) -> bool:
        promised = {seat["pod"]: seat["node"] for seat in plan["nominations"]}
        moved = self._nominate(promised)
        for seat in plan["binds"]:
            pod = self.pod(seat["pod"])
            pod["spec"]["nodeName"] = seat["node"]
            pod["status"] = {"phase": "Running", "startTime": self.now.isoformat()}
            self.put(pod)
            self.seated.add(seat["group"])
        for group in {eviction["for"] for eviction in plan["evictions"]}:
            self.preemptions[group] = self.preemptions.get(group, 0) + 1
        for eviction in plan["evictions"]:
            self.made_for.setdefault(eviction["for"], []).append(_lineage(eviction["pod"]))
            self.ranks[eviction["for"]] = eviction["receipt"]["preemptorPriority"]
            self._tell_to_leave(self.pod(eviction["pod"]))
        return moved or bool(plan["binds"] or plan["evictions"])

    def _nominate(self, promised: dict[str, str]) -> bool:
        """Write what is promised; a promise that is not repeated is withdrawn."""
        moved = False
        for pod in self.pods():
            if "nodeName" in pod["spec"]:
                continue
            before = pod["status"].get("nominatedNodeName", "")
            after = promised.get(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}", "")
            if before != after:
                pod["status"] = {"phase": "Pending"} | ({"nominatedNodeName": after} if after else {})
                self.put(pod)
                moved = True
        return moved

    def _tell_to_leave(self, pod: Obj) -> None:
        pod["metadata"]["deletionTimestamp"] = (self.now + DAY).isoformat()  # Some are slow; none is late.
        self.put(pod)
        self.leaving[_key(pod)] = self.habits.slowness(pod["metadata"]["name"])
        if self.habits.eager:
            self.make_again(pod)

    def time_passes(self) -> bool:
        """Those who were told to leave leave in time; True if anybody is still on the way."""
        under_way = bool(self.leaving)
        for key, left in list(self.leaving.items()):
            if left > 0:
                self.leaving[key] = left - 1
                continue
            del self.leaving[key]
            pod = self.there[key]
            self.drop(pod)
            if not self.habits.eager:
                self.make_again(pod)
        return under_way

    def make_again(self, pod: Obj) -> None:
        """Its owner makes another one, which is new and waits."""
        self.generation += 1
        name = f"{_lineage(pod['metadata']['name'])}--{self.generation}"
        spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
        kept = {key: value for key, value in pod["metadata"].items() if key != "deletionTimestamp"}
        about = {"name": name, "uid": f"uid-{name}", "creationTimestamp": self.now.isoformat()}
        self.put({**pod, "metadata": kept | about, "spec": spec, "status": {"phase": "Pending"}})

    def lose(self, node: str) -> None:
        """A node is gone, and all that was on it with it."""
        self.drop(self.there[f"Node {node}"])
        for pod in self.pods():
            if pod["spec"].get("nodeName") == node:
                told = self.leaving.pop(_key(pod), None)
                self.drop(pod)
                if told is None or not self.habits.eager:
                    self.make_again(pod)

    # ---- all of them

    def settle(self) -> None:
        """Play until nothing changes any more; it must not take for ever."""
        start = self.rounds
        while self.play():
            assert self.rounds - start < MOST_ROUNDS, f"no fixed point: {self.preemptions}"


def _key(obj: Obj) -> str:
    meta = obj["metadata"]
    space = f"{meta['namespace']}/" if "namespace" in meta else ""
    return f"{obj['kind']} {space}{meta['name']}"


def _lineage(name: str) -> str:
    """The name that a pod shares with those who take its place."""
    return name.partition("--")[0]
