"""Trial: whatever is seated can be taken back, and what was counted before follows."""

from dataclasses import dataclass

import msgspec
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import ClusterState
from maitred.cluster.trial import Trial
from maitred.model.objects import Object
from maitred.model.pod import Pod
from tests.cluster.seen import (
    counts,
    has_waiting_claims,
    measured,
    name_of,
    put,
    read,
    state_of,
)
from tests.oracle.builders import Obj, near, node, pod, pod_group, pods
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters

Seat = tuple[int, dict[int, int]]
"""A shape, and how many pods of it go to which rows."""


@dataclass
class Play:
    """A snapshot, and what is done on a trial of it: seats, None to take some back, True to look."""

    snapshot: Snapshot
    moves: list[Seat | int | None]


@st.composite
def plays(draw: DrawFn) -> Play:
    snapshot = state_of(read(draw(clusters(3, 3, 2)))).snapshot()
    shapes, rows = len(snapshot.shapes), len(snapshot.nodes.names)
    assume(shapes)
    copies = st.dictionaries(st.integers(0, rows - 1), st.integers(1, 3), min_size=1, max_size=3)
    seat = st.tuples(st.integers(0, shapes - 1), copies)
    back, look = st.integers(0, 6), st.none()
    return Play(snapshot, draw(st.lists(st.one_of(seat, seat, back, look), max_size=10)))


def seat(trial: Trial, move: Seat) -> None:
    shape, copies = move
    trial.seat(shape, np.array(list(copies), dtype=np.intp), np.array(list(copies.values()), dtype=np.int64))


def replayed(snapshot: Snapshot, seats: list[Seat]) -> Trial:
    """A trial that has never been asked anything until all is seated."""
    trial = Trial.of(snapshot)
    for move in seats:
        seat(trial, move)
    return trial


@given(plays())
@examples(80)
def test_a_trial_always_says_what_a_fresh_one_would(play: Play) -> None:
    """Whether counts were made before a seat was taken or after, and whatever was taken back between."""
    trial, seats = Trial.of(play.snapshot), list[Seat]()
    for move in play.moves:
        if move is None:
            assert measured(trial) == measured(replayed(play.snapshot, seats))
        elif isinstance(move, int):
            seats = seats[: min(move, len(seats))]
            trial.rollback(len(seats))
        else:
            seat(trial, move)
            seats.append(move)
    assert measured(trial) == measured(replayed(play.snapshot, seats))
    assert trial.changed is bool(seats)
    trial.rollback(0)
    assert measured(trial) == measured(Trial.of(play.snapshot))


@given(plays())
@examples(40)
def test_the_same_load_on_another_view_of_the_nodes(play: Play) -> None:
    """Moving a trial to nodes that differ in taints only keeps all its accounts, and leaves it alone."""
    trial = replayed(play.snapshot, [move for move in play.moves if isinstance(move, tuple)])
    before = measured(trial)
    keys = frozenset(taint.key for taints in trial.nodes.taint_sets for taint in taints)
    moved = trial.on(trial.nodes.without_taints(keys))
    assert measured(moved) == before
    moved.rollback(0)
    assert measured(moved) == measured(Trial.of(play.snapshot))
    assert measured(trial) == before


@st.composite
def seatings(draw: DrawFn) -> tuple[list[Object], dict[str, str]]:
    """A cluster, and nodes for some of the pods that wait, whether they fit there or not."""
    objects = read(draw(clusters(3, 3, 2)))
    names = sorted(name for kind, name in map(name_of, objects) if kind.__name__ == "Node")
    waiting = [key for view in state_of(objects).snapshot().groups for key in view.pods]
    seats = {key: draw(st.sampled_from(names)) for key in waiting if draw(st.booleans())}
    return objects, seats


@given(seatings())
@examples(80)
def test_seating_pods_is_as_if_they_ran(case: tuple[list[Object], dict[str, str]]) -> None:
    """Counted again from the objects, with the seats written into the pods."""
    objects, seats = case
    snapshot = state_of(objects).snapshot()
    trial = Trial.of(snapshot)
    counts(trial)
    shape_of = {
        pod: shape for view in snapshot.groups for pod, shape in zip(view.pods, view.shapes, strict=True)
    }
    for key, name in seats.items():
        seat(trial, (int(shape_of[key]), {snapshot.nodes.rows[name]: 1}))
    ran = Trial.of(state_of([bound(item, seats) for item in objects]).snapshot())
    known = set(snapshot.nodes.resources)  # a resource that no node has gets a column with its first pod only
    assert room(trial) == {
        name: {resource: free for resource, free in amounts.items() if resource in known}
        for name, amounts in room(ran).items()
    }
    assert counts(trial) == counts(ran)
    if not has_waiting_claims(objects):
        assert attach_room(trial) == attach_room(ran)


def bound(item: Object, seats: dict[str, str]) -> Object:
    key = name_of(item)[1]
    if not isinstance(item, Pod) or key not in seats:
        return item
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, node_name=seats[key]))


def room(trial: Trial) -> dict[str, dict[str, int]]:
    nodes = trial.nodes
    return {
        name: {
            resource: int(trial.free[column, row])
            for column, resource in enumerate(nodes.resources)
            if nodes.allocatable[column, row] or trial.free[column, row]
        }
        for name, row in nodes.rows.items()
    }


def attach_room(trial: Trial) -> dict[str, dict[str, int]]:
    return {
        driver: {name: int(free[row]) for name, row in trial.nodes.rows.items()}
        for driver, free in trial.attachments.free.items()
    }


# ---- the empty cluster


@given(clusters(3, 3, 2))
@examples(40)
def test_an_empty_trial_is_a_cluster_with_only_what_belongs_to_its_nodes(objects: list[Obj]) -> None:
    items = read(objects)
    snapshot = state_of(items).snapshot()
    empty = Trial.empty(snapshot, snapshot.nodes)
    stays = [i for i in items if not isinstance(i, Pod) or not i.spec.node_name or is_daemon(i)]
    right = Trial.of(state_of(stays).snapshot())
    assert room(empty) == room(right)
    known = counts(right)
    assert {key: value for key, value in counts(empty).items() if key in known} == known


def is_daemon(item: Pod) -> bool:
    return any(owner.kind == "DaemonSet" for owner in item.metadata.owner_references)


# ---- one case at a time


def small() -> tuple[Snapshot, Trial]:
    state = ClusterState()
    apart = [near("rack", {"app": "g"})]
    put(state, node("n1", cpu=4, rack="r1"), node("n2", cpu=4, rack="r2"), pod("old", 1, node="n1"))
    put(
        state,
        pod_group("g", 3),
        *pods("g", 3, 1, group="g", labels={"app": "g"}, anti_affinity=apart, ports=[80]),
    )
    snapshot = state.snapshot()
    return snapshot, Trial.of(snapshot)


def test_seating_takes_room_and_rollback_gives_it_back() -> None:
    snapshot, trial = small()
    row = snapshot.nodes.rows["n1"]
    assert trial.copies(0)[row] == 3
    mark = trial.checkpoint()
    seat(trial, (0, {row: 2}))
    assert trial.copies(0)[row] == 1
    assert trial.changed
    trial.rollback(mark)
    assert trial.copies(0)[row] == 3
    assert not trial.changed


def test_checkpoints_nest() -> None:
    snapshot, trial = small()
    first, second = snapshot.nodes.rows["n1"], snapshot.nodes.rows["n2"]
    outer = trial.checkpoint()
    seat(trial, (0, {first: 1}))
    inner = trial.checkpoint()
    seat(trial, (0, {first: 1, second: 1}))
    trial.rollback(inner)
    assert (trial.copies(0)[first], trial.copies(0)[second]) == (2, 4)
    trial.rollback(outer)
    assert (trial.copies(0)[first], trial.copies(0)[second]) == (3, 4)


def test_ports_and_terms_that_seated_pods_hold_are_counted() -> None:
    snapshot, trial = small()
    assert counts(trial) == {}
    seat(trial, (0, {snapshot.nodes.rows["n2"]: 2}))
    assert set(map(str, counts(trial).values())) == {str({"n2": 2})}
    assert len(counts(trial)) == 4, "a port, a term, and the two ways to count those whom the term means"
    trial.rollback(0)
    assert counts(trial) == {}


def test_the_snapshot_is_left_alone() -> None:
    snapshot, trial = small()
    before = snapshot.used.copy(), snapshot.nodes.allocatable.copy()
    seat(trial, (0, {0: 3, 1: 1}))
    assert (snapshot.used == before[0]).all()
    assert (snapshot.nodes.allocatable == before[1]).all()
    assert measured(Trial.of(snapshot)) != measured(trial)
