"""ClusterState: however the cluster came to be what it is, what decisions see of it is the same."""

import pickle
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.news import News
from maitred.cluster.snapshot import UNKNOWN_TIME, Snapshot
from maitred.cluster.state import Change, ClusterState, Delete, Depart, Put
from maitred.cluster.supposing import supposing
from maitred.model.group import PodGroup
from maitred.model.objects import Object
from maitred.model.pod import Pod
from tests.cluster.changes import changes
from tests.cluster.seen import delete, name_of, plan_of, put, seen
from tests.oracle.builders import (
    HOSTNAME,
    INDEX,
    Obj,
    expr,
    namespace,
    near,
    node,
    pod,
    pod_group,
    pods,
    pv,
    pvc,
    spread,
    storage_class,
)
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters
from tests.support import read, state_of


@dataclass
class History:
    """Changes one after the other, with a look at the state after some of them."""

    changes: list[Change]
    looks: set[int]
    seed: int
    objects: dict[tuple[type[Object], str], Object] = field(default_factory=dict)

    def follow(self, change: Change) -> None:
        """The objects that there are after the change."""
        if isinstance(change, Put):
            self.objects[name_of(change.object)] = change.object
        elif isinstance(change, Delete):
            self.objects.pop((change.kind, change.key), None)

    def fresh(self) -> Snapshot:
        """The same objects, told all at once in some other order."""
        objects = list(self.objects.values())
        Random(self.seed).shuffle(objects)
        return state_of(objects).snapshot()


@st.composite
def histories(draw: DrawFn) -> History:
    made = draw(changes(30))
    looks = draw(st.sets(st.integers(0, len(made) - 1), max_size=2))
    return History(made, looks, draw(st.integers(0, 2**16)))


@given(histories())
@examples(60)
def test_any_sequence_of_changes_comes_to_the_same_as_a_fresh_state(history: History) -> None:
    state = ClusterState()
    for number, change in enumerate(history.changes):
        state.apply(change)
        history.follow(change)
        if number in history.looks or number == len(history.changes) - 1:
            found, right = state.snapshot(), history.fresh()
            assert seen(found) == seen(right)
            assert plan_of(found) == plan_of(right)


@given(histories())
@examples(40)
def test_snapshots_do_not_change_when_the_state_does(history: History) -> None:
    state, taken = ClusterState(), []
    for number, change in enumerate(history.changes):
        state.apply(change)
        if number in history.looks:
            snapshot = state.snapshot()
            taken.append((snapshot, seen(snapshot), plan_of(snapshot)))
    state.snapshot()
    for snapshot, saw, plan in taken:
        assert seen(snapshot) == saw
        assert plan_of(snapshot) == plan


@given(clusters(3, 3, 2))
@examples(40)
def test_a_snapshot_survives_pickling(objects: list[Obj]) -> None:
    snapshot = state_of(read(objects)).snapshot()
    copy = pickle.loads(pickle.dumps(snapshot))
    assert seen(copy) == seen(snapshot)
    assert plan_of(copy) == plan_of(snapshot)
    assert plan_of(pickle.loads(pickle.dumps(snapshot))) == plan_of(snapshot), (
        "after decisions were made on it"
    )


@given(histories())
@examples(30)
def test_telling_everything_twice_changes_nothing(history: History) -> None:
    state = ClusterState()
    for change in history.changes:
        state.apply(change)
        history.follow(change)
    before = seen(state.snapshot())
    for item in history.objects.values():
        state.apply(Put(item))
    assert seen(state.snapshot()) == before


@given(clusters(3, 3, 2))
@examples(20)
def test_deleting_everything_leaves_nothing(objects: list[Obj]) -> None:
    items = read(objects)
    state = state_of(items)
    state.snapshot()
    for item in items:
        state.apply(Delete(*name_of(item)))
    assert seen(state.snapshot()) == seen(ClusterState().snapshot())
    for item in items:
        state.apply(Put(item))
    assert plan_of(state.snapshot()) == plan_of(state_of(items).snapshot())


@given(clusters(3, 3, 2), st.integers(0, 2**16))
@examples(30)
def test_what_is_supposed_is_seen_once_and_leaves_no_trace(objects: list[Obj], seed: int) -> None:
    items = read(objects)
    Random(seed).shuffle(items)
    supposed = [item for item in items if isinstance(item, Pod | PodGroup)][::2]
    known = [item for item in items if not any(item is other for other in supposed)]
    state = state_of(known)
    before, news = seen(state.snapshot()), state.take_news()
    found = supposing(state, supposed)
    assert seen(found) == seen(state_of(items).snapshot())
    assert plan_of(found) == plan_of(state_of(items).snapshot())
    assert seen(state.snapshot()) == before
    assert state.take_news() == News(version=news.version)


# ---- the same, one case at a time


def used(state: ClusterState, resource: str = "cpu") -> dict[str, int]:
    nodes: dict[str, tuple[bool, dict[str, tuple[int, int, int]]]] = seen(state.snapshot())["nodes"]
    return {name: told[1].get(resource, (0, 0, 0))[1] for name, told in nodes.items()}


def groups(state: ClusterState) -> list[str]:
    return [view.group.key for view in state.snapshot().groups]


def test_one_that_departs_holds_its_place_and_is_a_member_no_more_until_that_is_taken_back() -> None:
    state = state_of(read([node("n1", cpu=4), *pods("g", 2, cpu=1, node="n1"), *pods("h", 1, cpu=1)]))
    before = seen(state.snapshot())
    going = Depart("default/g-0", state.snapshot().bound.occupants[0].uid)
    assert not state.could_apply(Depart("default/g-0", "another"))
    for nothing in (Depart("default/g-0", "another"), Depart("default/x", ""), Depart("default/h-0", "")):
        state.apply(nothing)
    assert seen(state.snapshot()) == before
    state.apply(going)
    assert state.snapshot().bound.terminating.tolist() == [True, False]
    assert used(state) == {"n1": 2000}
    assert not state.could_apply(going), "it leaves already"
    state.apply(Depart(going.pod, going.uid, leaving=False))
    assert seen(state.snapshot()) == before


def test_a_second_departure_knows_nothing_of_the_first() -> None:
    """Its time was over long ago, and the pod would be taken for stuck as soon as it is told to go again."""
    state = state_of(read([node("n1", cpu=4), pod("a", cpu=1, node="n1", deleted=True)]))
    going = Depart("default/a", state.snapshot().bound.occupants[0].uid)
    assert state.snapshot().bound.due[0] != UNKNOWN_TIME
    state.apply(Depart(going.pod, going.uid, leaving=False))
    state.apply(going)
    bound = state.snapshot().bound
    assert (bound.terminating.tolist(), bound.due.tolist()) == ([True], [UNKNOWN_TIME])


def test_a_pod_is_charged_to_a_node_that_is_not_known_yet() -> None:
    state = ClusterState()
    put(state, pod("a", 2, node="n1"))
    assert used(state) == {"n1": 2000}
    put(state, node("n1", cpu=3))
    assert used(state) == {"n1": 2000}


def test_a_node_that_comes_back_finds_its_pods_charged() -> None:
    state, here = ClusterState(), node("n1", cpu=3)
    put(state, here, pod("a", 2, node="n1"))
    delete(state, here)
    put(state, node("n1", cpu=5))
    assert used(state) == {"n1": 2000}


def test_a_node_that_is_gone_with_its_pods_leaves_nothing_to_the_next() -> None:
    state, here, guest = ClusterState(), node("n1", cpu=3), pod("a", 2, node="n1")
    put(state, here, guest)
    delete(state, here, guest)
    put(state, node("n2", cpu=3))
    assert used(state) == {"n2": 0}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_finishes_gives_its_room_back(phase: str) -> None:
    state = ClusterState()
    put(state, node("n1"), pod("a", 2, node="n1"))
    put(state, pod("a", 2, node="n1", phase=phase))
    assert used(state) == {"n1": 0}


def test_a_pod_that_is_bound_leaves_the_waiting_and_takes_room() -> None:
    state = ClusterState()
    put(state, node("n1"), pod("a", 2))
    assert groups(state) == ["default/a"]
    put(state, pod("a", 2, node="n1"))
    assert (groups(state), used(state)) == ([], {"n1": 2000})


def test_a_pod_that_changes_size_in_place_is_charged_anew() -> None:
    state = ClusterState()
    put(state, node("n1"), pod("a", 2, node="n1"))
    put(state, pod("a", 3, node="n1"))
    assert used(state) == {"n1": 3000}


def test_resources_that_only_pods_know_are_charged_once_a_node_has_them() -> None:
    """A column is as long as there are nodes, and users may call resources what they like."""
    state = ClusterState()
    put(
        state, node("n1"), *(pod(f"p{i}", requests={f"example.com/r{i}": i}, node="n1") for i in range(1, 20))
    )
    assert len(state.snapshot().nodes.resources) < 10
    assert not state.fits_where_it_is("default/p19")
    put(state, node("n2", allocatable={"example.com/r19": 20}))
    assert used(state, "example.com/r19") == {"n1": 19, "n2": 0}
    assert not state.fits_where_it_is("default/p19")
    put(state, node("n1", allocatable={"example.com/r19": 19}))
    assert state.fits_where_it_is("default/p19")
    delete(state, pod("p19"))
    assert used(state, "example.com/r19") == {"n1": 0, "n2": 0}


def test_many_nodes_and_pods_make_the_tables_grow() -> None:
    state = ClusterState()
    put(
        state,
        *(node(f"n{i}") for i in range(100)),
        *(pod(f"p{i}", 1, node=f"n{i % 100}") for i in range(400)),
    )
    assert set(used(state).values()) == {4000}


def test_a_pod_group_that_is_deleted_leaves_its_pods_waiting_for_it() -> None:
    state, declared = ClusterState(), pod_group("g", 2)
    put(state, node("n1"), declared, *pods("g", 2, group="g"))
    assert [view.group.exists for view in state.snapshot().groups] == [True]
    delete(state, declared)
    assert [view.group.exists for view in state.snapshot().groups] == [False]
    put(state, pod_group("g", 3))
    assert [view.group.quorum for view in state.snapshot().groups] == [3]


def test_a_member_that_changes_its_group_is_counted_once() -> None:
    state = ClusterState()
    put(state, pod_group("g", 1), pod_group("h", 1), pod("p", group="g"))
    put(state, pod("p", group="h"))
    assert groups(state) == ["default/h"]


def test_deleting_what_is_not_there_is_no_trouble() -> None:
    state = ClusterState()
    put(state, node("n1"))
    delete(state, node("n2"), pod("p"), pod_group("g", 1), pvc("c"), namespace("x"))
    assert used(state) == {"n1": 0}


def scratch(storage: str) -> Obj:
    """A volume that a pod brings along."""
    return {"name": "w", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": storage}}}}


MARKED: Obj = {"annotations": {"maitred.dev/group": "m", "maitred.dev/min-count": "1"}, "group": None}
EDITS: dict[str, Obj] = {
    "gates": {"gates": ["example.com/wait"]},
    "marks": MARKED,
    "the group by mark": {"group": None, "labels": {"maitred.dev/group": "h"}},
    "the group": {"group": "h"},
    "the scheduler": {"scheduler": "other"},
    "claims": {"claims": ["disk"]},
    "ephemeral claims": {"spec": {"volumes": [scratch("late")]}},
    "the index": {"index": 7},
    "the age": {"created": 9},
    "priority": {"priority": 3},
    "the priority class": {"priority_class": "high"},
    "the preemption policy": {"preemption": "Never"},
    "requests": {"requests": {"memory": "1Gi"}},
    "labels that are read": {"labels": {"app": "b"}},
    "the node": {"node": "n2"},
    "the state": {"node": "n1", "deleted": True},
    "the owner": {"node": "n1", "owner": "DaemonSet/d"},
    "two names for its group": {"annotations": {"maitred.dev/group": "h"}},
}
LATER: dict[str, tuple[Obj, Obj]] = {
    "the count": (MARKED, {"annotations": {**MARKED["annotations"], "maitred.dev/min-count": "2"}}),
    "the level": (
        MARKED,
        {"annotations": {**MARKED["annotations"], "maitred.dev/topology-required": "rack"}},
    ),
    "the class of an ephemeral claim": (
        {"spec": {"volumes": [scratch("late")]}},
        {"spec": {"volumes": [scratch("fast")]}},
    ),
    "gates that are lifted": ({"gates": ["a", "b"]}, {"gates": ["b"]}),
}
EDITED: dict[str, tuple[Obj, Obj]] = {name: ({}, edit) for name, edit in EDITS.items()} | LATER


@pytest.mark.parametrize("where", [None, "n1"])
@pytest.mark.parametrize(("start", "edit"), EDITED.values(), ids=EDITED.keys())
def test_every_change_of_a_pod_that_decisions_read_is_seen(start: Obj, edit: Obj, where: str | None) -> None:
    """One field at a time, of a pod that waits and of one that runs beside one that waits."""
    reader = pod("reader", node="n1", anti_affinity=[near("rack", {"app": "b"})])
    base = [node("n1", rack="r1"), node("n2", rack="r2"), pod_group("g", 2), pod("peer", group="g"), reader]
    plain: Obj = {"group": "g", "node": where, "created": 5, "labels": {"app": "a"}, **start}
    before, after = pod("p", 1, **plain), pod("p", 1, **{**plain, **edit})
    state, fresh = ClusterState(), ClusterState()
    put(state, *base, before)
    state.snapshot()
    put(state, after)
    put(fresh, *base, after)
    assert seen(state.snapshot()) == seen(fresh.snapshot())


def test_a_pod_that_is_made_anew_under_its_name_is_another_pod() -> None:
    state, again = ClusterState(), pod("p")
    again["metadata"]["uid"] = "another"
    put(state, pod("p"))
    put(state, again)
    assert [view.uids for view in state.snapshot().groups] == [("another",)]


def volumes(state: ClusterState) -> Any:
    snapshot = state.snapshot()
    return snapshot.shapes[snapshot.groups[0].shapes[0]].volumes


def test_a_claim_that_is_bound_later_changes_its_pod_without_an_event_of_it() -> None:
    state = ClusterState()
    put(state, node("n1"), storage_class("late"), pvc("c", storage_class="late"), pod("p", claims=["c"]))
    before = volumes(state)
    put(
        state,
        pvc("c", storage_class="late", volume="v"),
        pv("v", claim="default/c", on=[expr(HOSTNAME, "In", "n1")]),
    )
    assert volumes(state) != before


def test_a_claim_that_gets_a_second_user_changes_the_first() -> None:
    state, second = ClusterState(), pod("q", claims=["c"], node="n1")
    put(state, node("n1"), storage_class("late"), pod("p", claims=["c"]))
    put(state, pvc("c", storage_class="late", modes=["ReadWriteOncePod"]))
    alone = volumes(state)
    put(state, second)
    assert volumes(state) != alone
    delete(state, second)
    assert volumes(state) == alone


# ---- shapes


def shapes(*objects: Obj) -> int:
    """How many shapes the members of the one group that waits have."""
    state = ClusterState()
    put(state, *objects)
    [view] = state.snapshot().groups
    return len(set(view.shapes.tolist()))


def indexed(count: int = 64, **more: Any) -> list[Obj]:
    """The pods of an Indexed Job, as its controller makes them: each with an index in four places."""
    return [
        pod(
            f"train-{i}-x7k2p",
            8,
            gpu=8,
            group="g",
            labels={"app": "train", INDEX: str(i), "batch.kubernetes.io/controller-uid": "job"},
            annotations={INDEX: str(i)},
            spec={"hostname": f"train-{i}", "subdomain": "train"},
            created=i % 3,
            **more,
        )
        for i in range(count)
    ]


GANG = pod_group("g", 64)


def test_the_pods_of_an_indexed_job_are_one_shape() -> None:
    assert shapes(GANG, *indexed()) == 1


def test_environment_and_volumes_without_a_claim_make_no_shape() -> None:
    members = indexed(8)
    for i, member in enumerate(members):
        member["spec"]["containers"][0]["env"] = [{"name": "RANK", "value": str(i)}]
        member["spec"]["volumes"] = [{"name": "cfg", "configMap": {"name": f"cfg-{i}"}}]
    assert shapes(GANG, *members) == 1


def test_an_index_is_part_of_the_shape_only_while_a_selector_reads_it() -> None:
    state = ClusterState()
    reader = pod("watcher", node="n1", anti_affinity=[near("rack", {INDEX: "5"})])
    put(state, node("n1", rack="r1"), GANG, *indexed())

    def count() -> int:
        [view] = state.snapshot().groups
        return len(set(view.shapes.tolist()))

    assert count() == 1
    put(state, reader)
    assert count() == 64
    delete(state, reader)
    assert count() == 1
    put(state, {**reader, "status": {"phase": "Succeeded"}})
    assert count() == 1, "a finished pod selects nothing"


READERS: dict[str, Obj] = {
    "affinity": pod("r", node="n1", affinity=[near("rack", {INDEX: "5"})]),
    "a waiting pod": pod("r", group="other", affinity=[near("rack", {INDEX: "5"})]),
    "a terminating pod": pod("r", node="n1", anti_affinity=[near("rack", {INDEX: "5"})], deleted=True),
    "spread": pod("r", node="n1", spread=[spread("rack", {INDEX: "5"})]),
    "soft spread": pod("r", node="n1", spread=[spread("rack", {INDEX: "5"}, soft=True)]),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_selectors_that_are_live(reader: Obj) -> None:
    state = ClusterState()
    put(state, GANG, *indexed(4), reader)
    [view] = [view for view in state.snapshot().groups if view.group.key == "default/g"]
    assert len(set(view.shapes.tolist())) == 4


def test_a_selector_makes_no_shapes_in_namespaces_that_it_does_not_read() -> None:
    """Otherwise one pod of one tenant would make a gang of another many times as hard to place."""
    own, named = near("rack", {INDEX: "5"}), near("rack", {INDEX: "5"}, namespaces=["default"])
    anywhere = near("rack", {INDEX: "5"}, namespace_selector={})

    def count(term: Obj) -> int:
        state = ClusterState()
        put(state, GANG, *indexed(4), pod("r", node="n1", namespace="liar", anti_affinity=[term]))
        [view] = [view for view in state.snapshot().groups if view.group.key == "default/g"]
        return len(set(view.shapes.tolist()))

    assert (count(own), count(named), count(anywhere)) == (1, 4, 4)


def test_a_selector_that_reads_other_labels_leaves_the_shape_alone() -> None:
    own = [near("rack", {"app": "train"})]
    assert (
        shapes(GANG, *indexed(anti_affinity=own), pod("r", node="n1", affinity=[near("rack", {"app": "x"})]))
        == 1
    )


def test_label_keys_that_pods_compare_themselves_by_are_part_of_the_shape() -> None:
    same = [near("rack", {"app": "train"}, match_label_keys=[INDEX])]
    assert shapes(GANG, *indexed(4, affinity=same)) == 4


def test_claims_of_one_template_are_one_shape() -> None:
    claims = [pvc(f"data-{i}", storage_class="late") for i in range(8)]
    members = [pod(f"g-{i}", group="g", index=i, claims=[f"data-{i}"]) for i in range(8)]
    assert shapes(GANG, storage_class("late"), *claims, *members) == 1


def test_a_claim_of_another_class_is_another_shape() -> None:
    claims = [pvc("data-0", storage_class="late"), pvc("data-1", storage_class="fast")]
    members = [pod(f"g-{i}", group="g", index=i, claims=[f"data-{i}"]) for i in range(2)]
    assert shapes(GANG, storage_class("late"), storage_class("fast", zones=["z1"]), *claims, *members) == 2


DIFFERENT: dict[str, Obj] = {
    "requests": {"requests": {"cpu": "9"}},
    "a node selector": {"where": {"disk": "ssd"}},
    "a toleration": {"tolerations": ["x"]},
    "a port": {"ports": [80]},
    "affinity": {"affinity": [near("rack", {"app": "x"})]},
    "a spread": {"spread": [spread("rack", {"app": "x"})]},
    "a soft spread": {"spread": [spread("rack", {"app": "x"}, soft=True)]},
    "a device claim": {"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}},
}


@pytest.mark.parametrize("fields", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_what_scheduling_looks_at_makes_a_shape(fields: Obj) -> None:
    assert shapes(GANG, pod("a", group="g"), pod("b", group="g", **fields)) == 2


SAME: dict[str, tuple[Obj, Obj]] = {
    "quantities in other words": ({"cpu": "1000m"}, {"cpu": "1"}),
    "limits for requests": ({"requests": {"cpu": "1"}}, {"limits": {"cpu": "1"}}),
    "the order of tolerations": ({"tolerations": ["x", "y"]}, {"tolerations": ["y", "x"]}),
    "priority": ({"priority": 1}, {"priority": 1, "priority_class": ""}),
    "labels that nobody reads": ({"labels": {"a": "1"}}, {"labels": {"b": "2"}}),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_what_means_the_same_is_one_shape(one: Obj, other: Obj) -> None:
    assert shapes(GANG, pod("a", group="g", **one), pod("b", group="g", **other)) == 1


def test_a_pod_that_asks_for_what_its_node_has_not_does_not_fit_there() -> None:
    """Whatever else it asks for, of which there is enough."""
    odd = pod("odd", requests={"cpu": 1, "example.com/odd": 1}, node="n1")
    state = state_of(read([node("n1", cpu=8), odd, pod("plain", cpu=1, node="n1")]))
    assert [state.fits_where_it_is(f"default/{name}") for name in ("odd", "plain")] == [False, True]
