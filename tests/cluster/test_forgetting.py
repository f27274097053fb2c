"""What a state keeps besides pods and nodes goes with the objects that it came from."""

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
