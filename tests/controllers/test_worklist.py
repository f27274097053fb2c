"""Which groups a cycle looks at: enough of them that nobody is overlooked, and few that nothing concerns."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.state import Change, ClusterState, Delete, Put
from maitred.controllers.scheduling import worklist
from maitred.controllers.scheduling.amending import with_receipts
from maitred.controllers.scheduling.worklist import FIRST_REST, LONGEST_REST, Worklist, was_cut, woken_by
from maitred.decide import Scope, decide
from maitred.decide.queues.budget_words import SCAVENGES
from maitred.model.categories import ANYTHING, CATEGORIES, Effect
from maitred.model.membership import group_key
from maitred.model.meta import Timestamp
from maitred.model.plan import Blocker, GroupVerdict, Plan
from maitred.model.pod import Pod
from maitred.model.policy import Policy
from maitred.model.rotation import Rotation
from tests.cluster.changes import changes
from tests.cluster.seen import delete, name_of, put
from tests.oracle.builders import Obj, gang, namespace, node, pod, pods, priority_class
from tests.oracle.effort import examples
from tests.support import NOON, read

NOW = msgspec.convert(NOON, Timestamp)
ENOUGH = Policy().search.cycle_steps
"""Steps for whatever these few nodes are asked for."""


budgets = st.sampled_from((ENOUGH, 1, 30_000))


class Scheduler:
    """The cycle without a server: what it decides is done at once, and who is evicted is gone at once."""

    def __init__(self, steps: int = ENOUGH) -> None:
        self.steps = steps
        self.state = ClusterState()
        self.agenda = Worklist()
        self.pods: dict[str, Pod] = {}
        self.told: dict[str, GroupVerdict] = {}

    def follow(self, change: Change) -> None:
        self.state.apply(change)
        if isinstance(change, Put) and isinstance(change.object, Pod):
            self.pods[name_of(change.object)[1]] = change.object
        elif isinstance(change, Delete) and change.kind is Pod:
            self.pods.pop(change.key, None)

    @property
    def ours(self) -> dict[str, object]:
        waiting = {key: pod for key, pod in self.pods.items() if not pod.spec.node_name}
        return {group_key(pod) or key: None for key, pod in waiting.items()}

    def cycle(self, now: float = 0.0) -> Plan:
        selection = self.agenda.select(self.state.take_news(), self.ours, now)
        plan = Plan()
        if not selection.empty:
            snapshot, explained = self.state.snapshot(), selection.explained
            rotation = Rotation(self.steps, selection.first)
            plan = decide(
                snapshot, Policy(), NOW, Scope(None, selection, explained=explained, rotation=rotation)
            )
            self.agenda.decided(plan.groups, selection, self.ours)
            self.told |= {verdict.group: verdict for verdict in plan.groups if selection.explains(verdict)}
            plan = with_receipts(plan, selection)
            self.carry_out(plan)
        return plan

    def carry_out(self, plan: Plan) -> None:
        for bind in plan.binds:
            waiting = self.pods[bind.pod]
            spec = msgspec.structs.replace(waiting.spec, node_name=bind.node)
            self.follow(Put(msgspec.structs.replace(waiting, spec=spec)))
        decided = {verdict.group for verdict in plan.groups}
        for key, waiting in list(self.pods.items()):
            if (group_key(waiting) or key) in decided and not waiting.spec.node_name:
                self.promise(waiting, next((b.node for b in plan.nominations if b.pod == key), ""))
        for eviction in plan.evictions:
            self.follow(Delete(Pod, eviction.pod))

    def promise(self, waiting: Pod, node: str) -> None:
        if waiting.status.nominated_node_name != node:
            status = msgspec.structs.replace(waiting.status, nominated_node_name=node)
            self.follow(Put(msgspec.structs.replace(waiting, status=status)))

    def settle(self) -> None:
        """Until a cycle does nothing and nobody is left to be explained: what it does is news to the next."""
        while (plan := self.cycle()).binds or plan.evictions or self.agenda.next_at() is not None:
            pass

    def looked_at(self) -> set[str]:
        return {verdict.group for verdict in self.cycle().groups}


def check_nobody_is_overlooked(
    history: list[Change], at_once: int, most_explained: int, steps: int = ENOUGH
) -> None:
    scheduler = Scheduler(steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worklist, "MOST_EXPLAINED", most_explained)
        for start in range(0, len(history), at_once):
            for change in history[start : start + at_once]:
                scheduler.follow(change)
            scheduler.settle()
            complete = decide(scheduler.state.snapshot(), Policy(), NOW)
            assert (complete.binds, complete.evictions) == ((), ()), f"after {start + at_once} changes"
            assert {verdict.group for verdict in complete.groups} <= scheduler.told.keys()
            assert not any(was_cut(scheduler.told[verdict.group]) for verdict in complete.groups)


@given(changes(20), st.integers(1, 5), st.sampled_from((worklist.MOST_EXPLAINED, 1)), budgets)
@examples(150)
def test_nobody_who_could_be_seated_is_overlooked(
    history: list[Change], at_once: int, most_explained: int, steps: int
) -> None:
    check_nobody_is_overlooked(history, at_once, most_explained, steps)


def test_who_cannot_be_told_of_does_not_keep_the_loop_busy() -> None:
    """It was to be explained in the next cycle, and is not decided in that."""
    some, nothing = Worklist(), ClusterState().take_news()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worklist, "MOST_EXPLAINED", 1)
        ours = dict.fromkeys(("default/a", "default/b"))
        selection = some.select(nothing, ours, 0.0)
        some.decided([GroupVerdict(group, "Waiting", 1, 1, 0) for group in ours], selection, ours)
        assert some.next_at() == 0.0
        assert "default/b" in some.select(nothing, ours, 0.0)
        assert some.next_at() is None


def test_a_gated_group_is_told_of_once_it_is_known_what_is_behind_its_gates() -> None:
    scheduler = Scheduler()
    put(scheduler.state, node("n1", cpu=2))
    for item in read([pod(name, cpu=3, gates=["someone/waits"]) for name in ("a", "b", "c")]):
        scheduler.follow(Put(item))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worklist, "MOST_EXPLAINED", 1)
        scheduler.cycle()
        assert scheduler.told.keys() == {"default/a"}
        scheduler.settle()
    complete = decide(scheduler.state.snapshot(), Policy(), NOW)
    assert scheduler.told == {verdict.group: verdict for verdict in complete.groups}
    assert all(len(verdict.blockers) == 2 for verdict in complete.groups)


@st.composite
def crowds(draw: DrawFn) -> list[Change]:
    """Two nodes; guests of three ranks, some of them seated by others, who come, go, and change in rank."""
    house = [node("n1", cpu=3), node("n2", cpu=3), *(priority_class(f"p{n}", n) for n in (0, 10, 20))]
    items = list[Obj]()
    for number in range(8):
        name, size = f"g{number}", draw(st.integers(1, 2))
        marks = gang(name, size) if draw(st.booleans()) else {}
        fields: dict[str, Any] = {
            "cpu": draw(st.integers(1, 3)),
            "priority_class": f"p{draw(st.sampled_from((0, 10, 20)))}",
            "node": draw(st.sampled_from((None, None, "n1", "n2"))),
            "annotations": marks | draw(st.sampled_from(({}, {}, {"maitred.dev/non-preemptible": "true"}))),
        }
        items += pods(name, size, **fields)
    guests = read(items)
    rules = read([priority_class("p10", 30), priority_class("p20", 5), node("n2", cpu=3)])
    steps = draw(st.lists(st.sampled_from([*guests, *guests, *guests, *rules]), min_size=10, max_size=40))
    changes: list[Change] = [Put(item) for item in read(house)]
    return changes + [Delete(*name_of(item)) if draw(st.integers(0, 3)) == 0 else Put(item) for item in steps]


@given(crowds(), st.integers(1, 3), st.sampled_from((worklist.MOST_EXPLAINED, 1, 2)), budgets)
@examples(150)
def test_nobody_who_could_be_seated_at_the_expense_of_others_is_overlooked(
    history: list[Change], at_once: int, most_explained: int, steps: int
) -> None:
    check_nobody_is_overlooked(history, at_once, most_explained, steps)


def waiting_for_room() -> Scheduler:
    """Two nodes of two CPUs, full but for one; a gang that needs two, one that lacks a member."""
    scheduler = Scheduler()
    put(scheduler.state, node("n1", cpu=2), node("n2", cpu=2), pod("load", node="n1", cpu=2))
    objects = [
        *pods("wide", 2, cpu=2, annotations=gang("wide", 2)),
        *pods("few", 1, cpu=1, annotations=gang("few", 2)),
    ]
    for item in read(objects):
        scheduler.follow(Put(item))
    assert scheduler.looked_at() == {"default/wide", "default/few"}
    return scheduler


@pytest.mark.parametrize("cycles", [1, 2])
def test_nothing_is_decided_while_nothing_changes(cycles: int) -> None:
    scheduler = waiting_for_room()
    for _ in range(cycles):
        assert scheduler.looked_at() == set()


def test_a_heartbeat_of_a_node_is_no_change() -> None:
    scheduler = waiting_for_room()
    put(scheduler.state, node("n1", cpu=2))
    assert scheduler.looked_at() == set()


def test_room_is_news_to_those_who_wait_for_room_alone() -> None:
    scheduler = waiting_for_room()
    delete(scheduler.state, pod("load", node="n1", cpu=2))
    assert scheduler.looked_at() == {"default/wide"}


def test_a_pod_that_was_bound_is_no_news_to_those_who_wait_for_room() -> None:
    scheduler = waiting_for_room()
    put(scheduler.state, pod("other", node="n2", cpu=1))
    assert scheduler.looked_at() == set()


def making_room() -> Scheduler:
    """One node of two CPUs: a lesser pod on it leaves slowly, its place is promised, and another waits."""
    scheduler = Scheduler()
    objects = [
        node("n1", cpu=2),
        pod("lesser", node="n1", cpu=2, deleted=True),
        pod("high", cpu=2, priority=100),
        pod("late", cpu=2, priority=50),
    ]
    for item in read(objects):
        scheduler.follow(Put(item))
    assert {v.group: v.verdict for v in scheduler.cycle().groups} == {
        "default/high": "Preempting",
        "default/late": "Waiting",
    }
    scheduler.settle()
    assert scheduler.looked_at() == set()
    return scheduler


def test_a_pod_that_takes_a_promised_place_is_news_to_whom_it_was_promised() -> None:
    scheduler = making_room()
    put(scheduler.state, pod("thief", node="n1", cpu=1))
    assert scheduler.looked_at() == {"default/high"}


def test_a_promise_that_falls_is_news_to_those_who_wait_for_room() -> None:
    scheduler = making_room()
    scheduler.follow(Delete(Pod, "default/high"))
    assert scheduler.looked_at() == {"default/late"}


def test_who_came_too_late_is_told_what_is_short_once_the_others_are_seated() -> None:
    scheduler = Scheduler()
    put(scheduler.state, node("n1", cpu=2))
    for name in ("first", "late"):
        for item in read(pods(name, 2, cpu=1, annotations=gang(name, 2))):
            scheduler.follow(Put(item))
    told = [v.blockers[0].category for _ in range(3) for v in scheduler.cycle().groups if v.blockers]
    assert told == ["Priority", "Capacity"]


def test_a_member_is_news_to_its_own_group_alone() -> None:
    scheduler = waiting_for_room()
    for item in read(pods("few", 1, cpu=1, start=1, annotations=gang("few", 2))):
        scheduler.follow(Put(item))
    assert scheduler.looked_at() == {"default/few"}


def test_a_group_of_another_scheduler_is_not_looked_at_for_its_own_sake() -> None:
    scheduler = waiting_for_room()
    put(scheduler.state, pod("theirs", cpu=1, scheduler="default-scheduler"))
    news = scheduler.state.take_news()
    assert news.groups == {"default/theirs"}
    assert scheduler.agenda.select(news, scheduler.ours, 0.0).empty


@pytest.mark.parametrize("item", [priority_class("gold", 100), namespace("team", {"tier": "one"})])
def test_a_rule_that_is_told_again_unchanged_is_no_news(item: dict[str, object]) -> None:
    state = ClusterState()
    put(state, item)
    assert state.take_news().effects == Effect.RULES
    put(state, item)
    assert not state.take_news().effects


def test_a_group_whose_binds_were_refused_rests_longer_each_time() -> None:
    scheduler = waiting_for_room()
    agenda = scheduler.agenda
    assert agenda.rest("default/wide", 0.0) == FIRST_REST
    delete(scheduler.state, pod("load", node="n1", cpu=2))
    assert agenda.select(scheduler.state.take_news(), scheduler.ours, 0.5).empty
    assert agenda.next_at() == FIRST_REST
    selection = agenda.select(scheduler.state.take_news(), scheduler.ours, FIRST_REST)
    assert "default/wide" in selection
    for _ in range(10):
        seconds = agenda.rest("default/wide", 10.0)
    assert seconds == LONGEST_REST
    agenda.rested("default/wide")
    assert agenda.rest("default/wide", 20.0) == FIRST_REST


def test_who_would_run_without_paying_hears_of_whatever_a_budget_hears_of() -> None:
    """Whether it can be paid for may change at any time."""
    agenda, waits = Worklist(), GroupVerdict("default/g", "Waiting", 1, 1, 0)
    for detail, wakes in ({}, CATEGORIES["Capacity"].wakes), ({SCAVENGES: True}, ANYTHING):
        selection = agenda.select(ClusterState().take_news(), {"default/g": None}, 0.0)
        blockers = (Blocker("Capacity", "", detail),)
        assert woken_by(msgspec.structs.replace(waits, blockers=blockers), selection) == wakes


def test_everything_is_looked_at_when_that_is_asked_for() -> None:
    scheduler = waiting_for_room()
    scheduler.agenda.look_at_everything()
    assert scheduler.looked_at() == {"default/wide", "default/few"}
