"""What makes a cycle look for failures where no group waits: that something is amiss, and nothing else."""

from maitred.cluster.state import ClusterState, Put
from maitred.controllers.keeping import kept_as
from tests.cluster.seen import put
from tests.decide.healing import lost
from tests.oracle import builders as b


def is_news(state: ClusterState, *objects: b.Obj) -> bool:
    state.take_news()
    put(state, *objects)
    return state.take_news().health


def test_what_is_well_is_no_news_of_failures() -> None:
    state = ClusterState()
    assert not is_news(state, b.node("n1", gpu=8), b.node("n2", gpu=8))
    assert not is_news(state, b.pod("a", gpu=8, node="n1"), b.pod("b", gpu=8))
    assert not is_news(state, b.node("n1", gpu=8, labels={"new": "label"}))


def test_a_node_that_falls_silent_is_news_once_and_so_is_its_return() -> None:
    state = ClusterState()
    put(state, b.node("n1", gpu=8))
    assert is_news(state, lost("n1", gpu=8))
    assert not is_news(state, lost("n1", gpu=8)), "its heartbeats, or those of others about it"
    assert is_news(state, b.node("n1", gpu=8))


def test_what_is_remembered_is_news_when_it_changes() -> None:
    state = ClusterState()
    state.take_news()
    state.apply(Put(kept_as('{"incidents":[]}')))
    assert state.take_news().health
    state.apply(Put(kept_as('{"incidents":[]}')))
    assert not state.take_news().health
