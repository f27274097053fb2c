"""What a state keeps besides pods and nodes goes with the objects that it came from."""

from collections.abc import Callable

import pytest

from maitred.cluster import interning
from maitred.cluster.state import ClusterState
from tests.cluster.seen import delete, plan_of, put, read, seen, state_of
from tests.decide.preempting import budget, gang, running
from tests.oracle.builders import Obj, near, node, pod


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
    before = plan_of(state.snapshot())
    put(state, guard)
    assert plan_of(state.snapshot()) == plan_of(state_of(read([*objects, guard])).snapshot()) != before
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
        numbered = (found.standings, found.classes, found.shapes, found.needs, found.nodes.resources)
        assert max(map(len, numbered)) <= 2 * 3 + 3
    fresh = state_of(read([*kept, passing(59)]))
    assert seen(state.snapshot()) == seen(fresh.snapshot())
    assert plan_of(state.snapshot()) == plan_of(fresh.snapshot())
