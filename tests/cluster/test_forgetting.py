"""What a state keeps besides pods and nodes goes with the objects that it came from."""

import json
from collections.abc import Callable

import pytest

from maitred.cluster import interning
from maitred.cluster.state import ClusterState
from tests.cluster.seen import delete, plan_of, put, seen
from tests.decide.preempting import budget, gang, running
from tests.oracle.builders import Obj, near, node, pod
from tests.oracle.builders import gang as marked
from tests.support import read, state_of


def test_a_budget_that_is_deleted_guards_nobody() -> None:
    """Two victims would do; the budget guards one of them, and then it does not."""
    objects = [
        *(node(name, cpu=1) for name in ("n1", "n2")),
        running("a-guarded", "n1", started=100, labels={"app": "a"}),
        running("b-plain", "n2", started=0),
        *gang(1),
    ]
    guard = budget({"app": "a"}, minAvailable=1)
    state = state_of(read(objects))

    def victims() -> list[str]:
        return [eviction["pod"] for eviction in json.loads(plan_of(state.snapshot()))["evictions"]]

    before = plan_of(state.snapshot())
    assert victims() == ["default/a-guarded"]
    put(state, guard)
    assert victims() == ["default/b-plain"]
    delete(state, guard)
    assert plan_of(state.snapshot()) == before


def test_needs_that_no_pod_has_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is left is seen as in a state that has never known the others."""
    monkeypatch.setattr(interning, "FEWEST_TO_FORGET", 3)
    kept: list[Obj] = [
        node("n1", cpu=8),
        node("n2", cpu=8),
        pod("bound", cpu=2, node="n1", labels={"app": "a"}),
        pod("waits", cpu=3, anti_affinity=[near("hostname", {"app": "a"})]),
    ]
    passing = [pod(f"p{i}", cpu=f"{i + 1}m", node="n2" if i % 2 else None) for i in range(12)]
    state = ClusterState()
    put(state, *passing[:6], *kept, *passing[6:])
    assert len(state.snapshot().needs) == 14
    delete(state, *passing)
    assert len(state.snapshot().needs) == 2
    fresh = state_of(read(kept))
    assert seen(state.snapshot()) == seen(fresh.snapshot())
    assert plan_of(state.snapshot()) == plan_of(fresh.snapshot())
    put(state, *passing)
    put(fresh, *passing)
    assert seen(state.snapshot()) == seen(fresh.snapshot())


PASSING: dict[str, Callable[[int], Obj]] = {
    "marks": lambda n: pod("p", 1, node="n2", annotations={"maitred.dev/expected-runtime": f"{n + 1}s"}),
    "marks that cannot be read": lambda n: pod("p", 1, annotations={"maitred.dev/min-runtime": f"x{n}"}),
    "queues": lambda n: pod("p", 1, node="n2", annotations={"maitred.dev/queue": f"q{n}"}),
    "labels": lambda n: pod("p", 1, node="n2", labels={"app": f"v{n}"}),
    "labels of one that waits": lambda n: pod("p", 1, labels={"app": f"v{n}"}),
    "schedulers": lambda n: pod("p", 1, scheduler=f"s{n}"),
    "claims": lambda n: pod("p", 1, claims=[f"c{n}"]),
    "resources": lambda n: pod("p", node="n2", requests={f"example.com/r{n}": 1}),
}


@pytest.mark.parametrize("passing", PASSING.values(), ids=list(PASSING))
def test_what_a_pod_once_said_is_forgotten(
    passing: Callable[[int], Obj], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may change a pod may do so for ever, and the state must not grow by it."""
    monkeypatch.setattr(interning, "FEWEST_TO_FORGET", 3)
    kept: list[Obj] = [
        node("n1", cpu=8),
        node("n2", cpu=8),
        pod("bound", cpu=2, node="n1", labels={"app": "a"}, annotations={"maitred.dev/min-runtime": "1h"}),
        pod("waits", cpu=3, anti_affinity=[near("hostname", {"app": "a"})]),
    ]
    state = ClusterState()
    put(state, *kept)
    for number in range(60):
        put(state, passing(number))
        found = state.snapshot()
        numbered = [found.standings, found.payers, found.classes, found.shapes, found.needs]
        numbered.append(found.nodes.resources)
        assert max(map(len, numbered)) <= 2 * 3 + 3
    fresh = state_of(read([*kept, passing(59)]))
    assert seen(state.snapshot()) == seen(fresh.snapshot())
    assert plan_of(state.snapshot()) == plan_of(fresh.snapshot())


def test_a_pod_numbered_anew_still_counts_as_a_user_of_its_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs were forgotten, and those that are left have other numbers: the last pod that wants to be near
    others goes, and labels that only it has read make no shapes any more."""
    monkeypatch.setattr(interning, "FEWEST_TO_FORGET", 3)
    reader = pod("reader", cpu=2, node="n1", anti_affinity=[near("hostname", {"job": "x"})])
    waiting = [pod(f"w{i}", cpu=3, labels={"job": name}) for i, name in enumerate("xy")]
    passing = [pod(f"p{i}", cpu=f"{i + 1}m", node="n1") for i in range(12)]
    state = ClusterState()

    def shapes() -> int:
        return len({shape for view in state.snapshot().groups for shape in view.shapes.tolist()})

    put(state, node("n1", cpu=8), *passing, reader, *waiting)
    assert shapes() == 2
    delete(state, *passing)
    assert shapes() == 2
    delete(state, reader)
    assert shapes() == 1


def test_a_group_that_loses_a_member_keeps_its_own_number() -> None:
    """What is known of it does not become that of the next group that takes its place."""
    gangs = [
        pod(f"{name}-{i}", cpu=1, node="n1", annotations=marked(name, 1)) for name in "gh" for i in (0, 1)
    ]
    later = pod("k-0", cpu=1, node="n1", annotations=marked("k", 1))
    state = state_of(read([node("n1", cpu=8), *gangs]))
    state.snapshot()
    delete(state, gangs[0])
    put(state, later)

    def seated() -> dict[str, int]:
        return {one.group.key: one.counted for one in state.snapshot().seated if one is not None}

    assert seated() == {"default/g": 1, "default/h": 2, "default/k": 1}
    delete(state, *gangs[1:], later)
    assert seated() == {}


def test_a_controller_all_of_whose_pods_are_gone_is_forgotten() -> None:
    owned = [pod(f"train-{i}", cpu=1, node="n1", owner="Job/train") for i in (0, 1)]
    state = state_of(read([node("n1", cpu=8), *owned]))
    assert [one for one in state.snapshot().controllers if one is not None]
    delete(state, *owned)
    assert [one for one in state.snapshot().controllers if one is not None] == []


def test_limits_that_no_pod_asks_for_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may write another one every minute."""
    monkeypatch.setattr(interning, "FEWEST_TO_FORGET", 3)

    def asking(minutes: int) -> Obj:
        return pod("restless", cpu=1, node="n1", annotations={"maitred.dev/max-runtime": f"{minutes}m"})

    state = ClusterState()
    put(state, node("n1", cpu=8), pod("calm", cpu=1, node="n1"))
    for minutes in range(1, 40):
        put(state, asking(minutes))
        assert len(state.snapshot().stays) <= 12
    assert seen(state.snapshot()) == seen(
        state_of(read([node("n1", cpu=8), pod("calm", cpu=1, node="n1"), asking(39)])).snapshot()
    )
