"""What the state tells of pods that start and end, and of devices that break, for those who keep books."""

from maitred.cluster.news import Ends, PodEnd
from maitred.cluster.state import ClusterState
from maitred.model.node import Node
from maitred.model.unwell import UnwellDevices, unwell_devices
from tests.cluster.seen import delete, put
from tests.oracle.builders import GPU, Obj, node, pod
from tests.support import read


def listening(*objects: Obj) -> tuple[ClusterState, Ends]:
    ends = Ends()
    state = ClusterState(ends=ends)
    put(state, *objects)
    return state, ends


def test_pods_that_end_are_told_once() -> None:
    state, ends = listening(node("n1"), *(pod(name, node="n1") for name in "abcd"), pod("waits"))
    put(state, pod("a", node="n1", phase="Succeeded"), pod("b", node="n1", phase="Failed"))
    put(state, pod("a", node="n1", phase="Succeeded", labels={"more": "yes"}))
    put(state, pod("c", node="n1", deleted=True))
    delete(state, pod("a"), pod("c"), pod("d"), pod("waits"))
    assert ends.take() == (
        PodEnd("default/a", "default/a", "Succeeded", False),
        PodEnd("default/b", "default/b", "Failed", False),
        PodEnd("default/c", "default/c", "Gone", True),
        PodEnd("default/d", "default/d", "Gone", False),
    )
    assert ends.take() == ()


def test_one_that_was_replaced_is_gone() -> None:
    state, ends = listening(pod("a", node="n1", group="g"))
    other = pod("a", group="g")
    other["metadata"]["uid"] = "another"
    put(state, other)
    assert ends.take() == (PodEnd("default/a", "default/g", "Gone", False),)


def test_the_version_grows_with_what_a_snapshot_shows_and_with_nothing_else() -> None:
    state = ClusterState()

    def grows(*objects: Obj) -> bool:
        before = state.version
        put(state, *objects)
        return state.version > before

    assert grows(node("n1"))
    assert not grows(node("n1"))
    assert grows(node("n1", cordoned=True))
    assert grows(pod("a", node="n1", phase="Pending"))
    assert not grows(pod("a", node="n1", phase="Pending"))
    assert grows(pod("a", node="n1"))
    assert state.snapshot().bound.working.tolist() == [True]
    assert grows(pod("a", node="n1", deleted=True))


def with_gpus(capacity: int | None, allocatable: int | None) -> Obj:
    made = node("n1")
    for name, count in (("capacity", capacity), ("allocatable", allocatable)):
        if count is not None:
            made["status"][name][GPU] = str(count)
    made["status"]["capacity"]["cpu"] = "96"
    return made


def test_devices_that_are_not_allocatable_are_broken() -> None:
    for capacity, allocatable, expected in (
        (8, 6, {GPU: UnwellDevices(2, 8)}),
        (8, None, {GPU: UnwellDevices(8, 8)}),
        (8, 8, {}),
        (None, 8, {}),
        (6, 8, {}),
    ):
        [found] = read([with_gpus(capacity, allocatable)])
        assert isinstance(found, Node)
        assert unwell_devices(found) == expected


def test_a_node_knows_its_broken_devices() -> None:
    state = ClusterState()
    put(state, with_gpus(8, 6))
    assert dict(state.nodes.unwell) == {0: {GPU: UnwellDevices(2, 8)}}
    put(state, with_gpus(8, 8))
    assert dict(state.nodes.unwell) == {}
    put(state, with_gpus(8, 7))
    delete(state, with_gpus(8, 7))
    assert dict(state.nodes.unwell) == {}
