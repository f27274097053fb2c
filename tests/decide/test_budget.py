"""A cycle with a budget: every namespace has its share of steps, and who was cut off comes first later."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.state import Put
from maitred.controllers.scheduling.worklist import was_cut
from maitred.decide import Scope, decide
from maitred.model.meta import Timestamp
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.model.rotation import Rotation
from tests.oracle.builders import Obj, gang, node, pods
from tests.oracle.effort import examples
from tests.support import NOON, read, snapshot_of, state_of

NOW = msgspec.convert(NOON, Timestamp)
NEXT_TO_NOTHING = 1


def queue(namespace: str, count: int, **more: Any) -> list[Obj]:
    """Gangs of two, the first of them the oldest."""
    return [
        member
        for number in range(count)
        for member in pods(
            f"{namespace}-{number:02}",
            2,
            namespace=namespace,
            annotations=gang(f"{namespace}-{number:02}", 2),
            created=number,
            **more,
        )
    ]


def decided(objects: list[Obj], steps: int | None, first: tuple[str, ...] = ()) -> Plan:
    rotation = None if steps is None else Rotation(steps, first)
    return decide(snapshot_of(objects), Policy(), NOW, Scope(rotation=rotation))


def cut_of(plan: Plan) -> tuple[str, ...]:
    return tuple(verdict.group for verdict in plan.groups if was_cut(verdict))


def seated_in(plan: Plan) -> set[str]:
    return {bind.group for bind in plan.binds}


ROOM = [node(f"n{number}", cpu=16) for number in range(4)]


def test_many_groups_of_one_namespace_do_not_keep_another_waiting() -> None:
    """The other's group is the youngest of all. Without a budget it comes last."""
    plan = decided([*ROOM, *queue("crowd", 20), *queue("guest", 1)], NEXT_TO_NOTHING)
    assert seated_in(plan) == {"crowd/crowd-00", "guest/guest-00"}
    assert len(cut_of(plan)) == 19


def test_who_was_cut_off_is_told_so() -> None:
    plan = decided([*ROOM, *queue("crowd", 2)], 7)
    (verdict,) = (verdict for verdict in plan.groups if was_cut(verdict))
    (blocker,) = verdict.blockers
    assert (verdict.verdict, blocker.category, blocker.detail) == ("Waiting", "Backoff", {"budgetSteps": 7})
    assert blocker.message == (
        "not decided yet: earlier groups used up the share of namespace crowd in the 7 search steps of "
        "this cycle; "
        "the group comes first in a later cycle"
    )


def test_who_was_cut_off_comes_first_in_its_own_priority_only() -> None:
    objects = [*ROOM, *queue("crowd", 3), *queue("high", 1, priority=5)]
    plan = decided(objects, NEXT_TO_NOTHING, ("crowd/crowd-02",))
    assert seated_in(plan) == {"high/high-00", "crowd/crowd-02"}


def test_every_priority_has_its_share() -> None:
    """Those of the higher priority that the cycle does not get to do not keep the lower one waiting."""
    objects = [*ROOM, *queue("high", 9, priority=5), *queue("low", 1)]
    assert seated_in(decided(objects, NEXT_TO_NOTHING)) == {"high/high-00", "low/low-00"}


def test_nobody_leaves_for_a_group_whose_room_one_that_was_cut_off_would_take() -> None:
    """Both high gangs could have the node. The lower one may not clear it before the second was examined."""
    full = [node("n", cpu=4), *pods("old", 4, node="n", cpu=1, priority=-5)]
    objects = [*full, *queue("high", 2, cpu=1, priority=5), *queue("mid", 1, cpu=1)]
    plan = decided(objects, NEXT_TO_NOTHING)
    assert {eviction.preemptor for eviction in plan.evictions} == {"high/high-00"}
    assert "high/high-01" in cut_of(plan)


def test_a_budget_that_is_not_used_up_changes_nothing() -> None:
    objects = [*ROOM, *queue("crowd", 30), *queue("guest", 3, priority=5)]
    assert decided(objects, 10**9) == decided(objects, None)


def test_work_is_counted_the_same_each_time() -> None:
    objects = [*ROOM, *queue("crowd", 30), *queue("guest", 9)]
    plan = decided(objects, 60_000)
    assert 0 < len(cut_of(plan)) < 39
    assert decided(objects, 60_000) == plan


class Cycles:
    """Cycle after cycle, each carried out before the next, and about those whom none has got to yet."""

    def __init__(self, objects: list[Obj], steps: int) -> None:
        items = read(objects)
        self.state, self.steps, self.first = state_of(items), steps, tuple[str, ...]()
        self.to_come: set[str] | None = None
        self.pods = {f"{item.metadata.namespace}/{item.metadata.name}": item for item in items}

    def play(self) -> Plan:
        rotation = Rotation(self.steps, self.first)
        plan = decide(self.state.snapshot(), Policy(), NOW, Scope(groups=self.to_come, rotation=rotation))
        cut = cut_of(plan)
        self.to_come = set(cut)
        self.first = tuple(dict.fromkeys([*(group for group in self.first if group in cut), *cut]))
        for bind in plan.binds:
            waiting: Any = self.pods[bind.pod]
            spec = msgspec.structs.replace(waiting.spec, node_name=bind.node)
            self.state.apply(Put(msgspec.structs.replace(waiting, spec=spec)))
        return plan


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from((0, 5)), st.sampled_from((1, 3, 40))), max_size=12
    ),
    st.sampled_from((1, 20_000, 60_000)),
)
@examples(60)
def test_everybody_is_examined_within_as_many_cycles_as_a_namespace_has_groups(
    asked: list[tuple[str, int, int]], steps: int
) -> None:
    """There is room for all who fit on a node at all, so nobody is in another's way, and in the end everybody
    has the verdict that a cycle without a budget gives."""
    objects = [node(f"n{number}", cpu=6) for number in range(24)]
    for number, (namespace, priority, cpu) in enumerate(asked):
        name = f"g{number:02}"
        marks = gang(name, 2)
        objects += pods(name, 2, namespace=namespace, priority=priority, cpu=cpu, annotations=marks)
    unlimited = {verdict.group: verdict.verdict for verdict in decided(objects, None).groups}
    cycles, found = Cycles(objects, steps), dict[str, str]()
    longest = max((sum(one[0] == other[0] for other in asked) for one in asked), default=0)
    for _ in range(2 * longest + 1):
        plan = cycles.play()
        found |= {verdict.group: verdict.verdict for verdict in plan.groups if not was_cut(verdict)}
        assert all(verdict.verdict != "Impossible" for verdict in plan.groups if was_cut(verdict))
    assert not cycles.first
    assert found == unlimited
