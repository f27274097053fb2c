"""Laws of healing, on small clusters in which nodes fail at random while gangs come and owners make lost
members anew: every Plan is lawful, nothing that runs well is touched, and it comes to an end."""

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from maitred.verify.laws import verify
from tests.decide.healing import MARK, again
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
GRACE, HOLD = timedelta(seconds=60), timedelta(minutes=10)
STEP = timedelta(seconds=40)
FAR = 20
"""Steps after which everything has come to rest, if it ever does."""


@dataclass
class HurtCluster:
    """A cluster that does what Plans say: binds, deletions, and owners that make anew what they have lost."""

    nodes: list[Obj]
    gangs: dict[str, int]
    """Their quorums, which are also their sizes."""
    groups: list[Obj] = field(default_factory=list)
    pods: dict[str, Obj] = field(default_factory=dict)
    memory: list[Obj] = field(default_factory=list)
    now: datetime = START
    made: int = 0
    deleted: list[str] = field(default_factory=list)
    checked: bool = False
    """Whether the independent checker looks at every Plan."""
    rule: str = ""
    """What they say under `maitred.dev/on-failure`. With a rule their owners are there, to be suspended."""

    def arrive(self, gang: str, priority: int = 0) -> None:
        self.groups.append(b.pod_group(gang, self.gangs[gang]))
        if self.rule:
            self.groups.append(b.job(gang, self.gangs[gang]))
        for index in range(self.gangs[gang]):
            self._make(gang, index, priority)

    def _make(self, gang: str, index: int, priority: int) -> None:
        self.made += 1
        name = f"{gang}-{index}-{self.made}"
        created = self.now.isoformat().replace("+00:00", "Z")
        fields: Obj = {"group": gang, "index": index, "owner": f"Job/{gang}", "priority": priority}
        fields["annotations"] = {MARK: self.rule} if self.rule else {}
        self.pods[name] = b.pod(name, gpu=1, created=created, **fields)

    def leave(self, gang: str) -> None:
        """Whoever made it has deleted all of it."""
        self.groups = [one for one in self.groups if one["metadata"]["name"] != gang]
        self.pods = {name: pod for name, pod in self.pods.items() if not name.startswith(f"{gang}-")}

    @property
    def objects(self) -> list[Obj]:
        return deepcopy([*self.nodes, *self.groups, *self.pods.values(), *self.memory])

    def node(self, name: str) -> Obj:
        return next(one for one in self.nodes if one["metadata"]["name"] == name)

    def lose(self, name: str) -> None:
        self.node(name)["status"]["conditions"] = [ready("Unknown", self.now)]

    def mend(self, name: str) -> None:
        self.node(name)["status"]["conditions"] = [ready("True", self.now)]

    def is_lost(self, pod: Obj) -> bool:
        node = pod["spec"].get("nodeName")
        if not node:
            return False
        condition = self.node(node)["status"]["conditions"][0]
        since = datetime.fromisoformat(condition["lastTransitionTime"])
        return condition["status"] != "True" and self.now - since >= GRACE

    def is_silent(self, pod: Obj) -> bool:
        """On a node that may come back. A gang that does not work any more does not wait for it: when that is
        so, `verify` says."""
        condition: Obj = self.node(pod["spec"]["nodeName"])["status"]["conditions"][0]
        return bool(condition["status"] != "True")

    def step(self) -> Obj:
        """One cycle, carried out. A pod on a lost node is gone at once, as if the node had been fenced."""
        objects, now = self.objects, self.now.isoformat().replace("+00:00", "Z")
        plan = decide(objects, None, now)
        assert not self.checked or verify(objects, plan, None, None, self.now) == []
        kept = [one for one in again([*self.memory], plan) if one["kind"] == "ConfigMap"]
        self.memory = kept if plan["memory"] is not None else self.memory
        for bind in plan["binds"]:
            pod = self.pods[bind["pod"].partition("/")[2]]
            pod["spec"]["nodeName"] = bind["node"]
            pod["status"] = {"phase": "Running"}
        for eviction in plan["evictions"]:
            self._made_anew(eviction["pod"].partition("/")[2])
        for entry in plan["healing"]:
            if entry["restart"] is not None:
                for name in self.running(entry["group"].partition("/")[2]):
                    self._made_anew(name)
            for one in entry["pods"]:
                if one["delete"]:
                    self._delete(one["pod"].partition("/")[2])
        self.now += STEP
        return plan

    def running(self, gang: str) -> list[str]:
        named = [(name, pod) for name, pod in self.pods.items() if name.startswith(f"{gang}-")]
        return [name for name, pod in named if pod["spec"].get("nodeName")]

    def priority(self, gang: str) -> int:
        named = (pod for name, pod in self.pods.items() if name.startswith(f"{gang}-"))
        return max(int(pod["spec"].get("priority", 0)) for pod in named)

    def _delete(self, name: str) -> None:
        pod = self.pods[name]
        assert self.is_lost(pod) or self.is_silent(pod), f"{name} runs well and was deleted"
        self._made_anew(name)

    def _made_anew(self, name: str) -> None:
        pod = self.pods.pop(name)
        self.deleted.append(name)
        gang, index, _ = name.split("-")
        self._make(gang, int(index), pod["spec"].get("priority", 0))


def ready(status: str, since: datetime) -> Obj:
    return {"type": "Ready", "status": status, "lastTransitionTime": since.isoformat().replace("+00:00", "Z")}


@st.composite
def clusters(draw: st.DrawFn) -> HurtCluster:
    nodes = [b.node(f"n{number}", gpu=draw(st.integers(1, 3))) for number in range(draw(st.integers(2, 5)))]
    for node in nodes:
        node["status"]["conditions"] = [ready("True", START - timedelta(days=1))]
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    return HurtCluster(nodes, {f"g{number}": size for number, size in enumerate(sizes)})


EVENTS = st.lists(st.tuples(st.sampled_from(("lose", "mend", "wait")), st.integers(0, 4)), max_size=8)


def play(cluster: HurtCluster, events: list[tuple[str, int]]) -> list[Obj]:
    plans = list[Obj]()
    for gang in cluster.gangs:
        cluster.arrive(gang)
        plans.append(cluster.step())
    for what, number in events:
        name = cluster.nodes[number % len(cluster.nodes)]["metadata"]["name"]
        if what != "wait":
            getattr(cluster, what)(name)
        plans += [cluster.step() for _ in range(3)]
    return plans


@given(clusters(), EVENTS)
def test_every_plan_is_lawful_and_no_pod_is_deleted_that_runs_well(
    cluster: HurtCluster, events: list[tuple[str, int]]
) -> None:
    cluster.checked = True
    play(cluster, events)


@settings(max_examples=40)
@given(clusters(), EVENTS)
def test_healing_comes_to_an_end(cluster: HurtCluster, events: list[tuple[str, int]]) -> None:
    """Once nothing fails any more, nothing is deleted, no room is kept, and every incident has ended."""
    play(cluster, events)
    plans = [cluster.step() for _ in range(FAR)]
    last = plans[-1]
    assert not any(one["delete"] for entry in last["healing"] for one in entry["pods"])
    assert last["holds"] == []
    assert (last["binds"], last["memory"]) == ([], None)


@settings(max_examples=40)
@given(clusters(), EVENTS)
def test_no_gang_is_left_in_part_by_healing(cluster: HurtCluster, events: list[tuple[str, int]]) -> None:
    """At the end each gang has its quorum, or none of its waiting members would fit beside those that run."""
    play(cluster, events)
    for node in cluster.nodes:
        cluster.mend(node["metadata"]["name"])
    for _ in range(FAR):
        cluster.step()
    room = sum(int(node["status"]["allocatable"].get("nvidia.com/gpu", 0)) for node in cluster.nodes)
    taken = sum(bool(pod["spec"].get("nodeName")) for pod in cluster.pods.values())
    for gang, quorum in cluster.gangs.items():
        members = [pod for name, pod in cluster.pods.items() if name.startswith(f"{gang}-")]
        running = sum(bool(pod["spec"].get("nodeName")) for pod in members)
        assert running == quorum or quorum - running > room - taken or running == 0


@settings(max_examples=60)
@given(
    clusters(), st.lists(st.integers(0, 2), min_size=4, max_size=4), st.lists(st.integers(0, 4), max_size=3)
)
def test_healing_never_evicts_upward(cluster: HurtCluster, ranks: list[int], losses: list[int]) -> None:
    """Gangs of different priorities, on nodes that fail: victims rank lower than those they make room for."""
    cluster.checked = True
    for gang, priority in zip(cluster.gangs, ranks, strict=False):
        cluster.arrive(gang, priority)
        cluster.step()
    for number in losses:
        cluster.lose(cluster.nodes[number % len(cluster.nodes)]["metadata"]["name"])
        for _ in range(3):
            before = {name: pod["spec"].get("priority", 0) for name, pod in cluster.pods.items()}
            greatest = {gang: cluster.priority(gang) for gang in cluster.gangs}
            for eviction in cluster.step()["evictions"]:
                victim = before[eviction["pod"].partition("/")[2]]
                assert victim < greatest[eviction["for"].partition("/")[2]]


@settings(max_examples=60)
@given(clusters(), EVENTS)
def test_no_gang_is_restarted_in_part(cluster: HurtCluster, events: list[tuple[str, int]]) -> None:
    """All members stop, or what was lost is replaced; and each failure is a cause for one restart at most."""
    cluster.rule, restarts, failures = "restart", Counter[str](), 0
    for gang in cluster.gangs:
        cluster.arrive(gang)
        cluster.step()
    for what, number in [*events, ("wait", 0), ("wait", 0)]:
        name = cluster.nodes[number % len(cluster.nodes)]["metadata"]["name"]
        failures += what == "lose"
        if what != "wait":
            getattr(cluster, what)(name)
        for _ in range(3):
            running = {gang: len(cluster.running(gang)) for gang in cluster.gangs}
            for entry in cluster.step()["healing"]:
                gang = entry["group"].partition("/")[2]
                if entry["restart"] is not None:
                    restarts[gang] += 1
                    assert entry["restart"]["pods"] == running[gang]
                    assert not any(one["delete"] for one in entry["pods"])
    assert max(restarts.values(), default=0) <= failures


@settings(max_examples=60)
@given(clusters(), st.integers(0, 4))
def test_places_that_were_held_are_free_once_the_group_is_gone(cluster: HurtCluster, number: int) -> None:
    play(cluster, [])
    cluster.lose(cluster.nodes[number % len(cluster.nodes)]["metadata"]["name"])
    plans = [cluster.step() for _ in range(3)]
    held = {hold["group"].partition("/")[2] for hold in plans[-1]["holds"]}
    for gang in held:
        cluster.leave(gang)
    plan = cluster.step()
    assert {hold["group"].partition("/")[2] for hold in plan["holds"]}.isdisjoint(held)
    assert not any(entry["group"].partition("/")[2] in held for entry in plan["healing"])
    event(f"{min(len(held), 2)} groups had room")


@given(clusters(), st.integers(0, 4))
def test_a_newcomer_of_the_same_rank_never_gets_the_room(cluster: HurtCluster, number: int) -> None:
    play(cluster, [])
    cluster.lose(cluster.nodes[number % len(cluster.nodes)]["metadata"]["name"])
    for _ in range(3):
        cluster.step()
    cluster.gangs["late"] = 1
    cluster.arrive("late")
    plan = cluster.step()
    held = {hold["group"] for hold in plan["holds"]}
    healed = {entry["group"] for entry in plan["healing"] if entry["heldUntil"]}
    if any(bind["group"] == "default/late" for bind in plan["binds"]):
        # It may only have what those who are healed have no use for.
        without = [one for one in cluster.objects if not one["metadata"]["name"].startswith("late")]
        after = decide(without, None, cluster.now.isoformat().replace("+00:00", "Z"))
        assert {bind["group"] for bind in after["binds"]}.isdisjoint(healed - held)


@given(clusters(), st.integers(1, 255), st.integers(0, 3))
def test_what_programs_do_to_themselves_is_healed_by_nobody(
    cluster: HurtCluster, code: int, times: int
) -> None:
    play(cluster, [])
    running = [pod for pod in cluster.pods.values() if pod["spec"].get("nodeName")]
    for pod in running[:times]:
        ended: dict[str, Any] = {"exitCode": code, "finishedAt": "2026-01-31T12:00:00Z"}
        pod["status"] = {
            "phase": "Failed",
            "containerStatuses": [{"name": "main", "state": {"terminated": ended}}],
        }
    plan = cluster.step()
    assert [entry for entry in plan["healing"] if entry["rule"] != "none"] == []
    assert plan["memory"] is None
