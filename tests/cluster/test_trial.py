"""Trial: whatever is seated can be taken back, and what was counted before follows."""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.journal import Seated
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import ClusterState
from maitred.cluster.supply.volumes import Volumes
from maitred.cluster.trial import Trial
from maitred.model.objects import Object
from maitred.model.pod import Pod
from tests.cluster.seen import counts, has_waiting_claims, measured, name_of, put
from tests.oracle.builders import Obj, near, node, pod, pod_group, pods
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters
from tests.support import read, state_of

Seat = tuple[int, dict[int, int]]
"""A shape, and how many pods of it go to which rows."""
Moves = frozenset[int]
"""Of the running pods, those that leave, or come back if they are gone."""
Change = Seat | Moves


@dataclass
class Play:
    """A snapshot, and what is done on a trial of it: changes, a number to take back all but the first so
    many, None to look."""

    snapshot: Snapshot
    moves: list[Change | int | None]


@st.composite
def plays(draw: DrawFn) -> Play:
    snapshot = state_of(read(draw(clusters(3, 3, 2)))).snapshot()
    shapes, rows = len(snapshot.shapes), len(snapshot.nodes.names)
    assume(shapes)
    copies = st.dictionaries(st.integers(0, rows - 1), st.integers(1, 3), min_size=1, max_size=3)
    seat = st.tuples(st.integers(0, shapes - 1), copies)
    running = len(snapshot.bound.node)
    some = st.frozensets(st.integers(0, running - 1), min_size=1) if running else seat
    back, look = st.integers(0, 6), st.none()
    return Play(snapshot, draw(st.lists(st.one_of(seat, seat, some, some, back, look), max_size=10)))


def seat(trial: Trial, move: Seat) -> Seated:
    shape, (rows, copies) = move[0], zip(*move[1].items(), strict=True)
    return trial.seat(shape, np.array(rows, dtype=np.intp), np.array(copies, dtype=np.int64))


def change(trial: Trial, move: Change) -> None:
    """One entry of the journal."""
    if isinstance(move, tuple):
        seat(trial, move)
        return
    first = min(move)
    alike = [pod for pod in sorted(move) if trial.here[pod] == trial.here[first]]
    (trial.evict if trial.here[first] else trial.bring_back)(np.array(alike, dtype=np.intp))


def replayed(snapshot: Snapshot, changes: list[Change]) -> Trial:
    """A trial that has never been asked anything until all is done."""
    trial = Trial.of(snapshot)
    for move in changes:
        change(trial, move)
    return trial


@given(plays())
@examples(80)
def test_a_trial_always_says_what_a_fresh_one_would(play: Play) -> None:
    """Whether counts were made before a seat was taken or after, whatever was taken back between, and whoever
    has left or come back."""
    trial, seats = Trial.of(play.snapshot), list[Change]()
    for move in play.moves:
        if move is None:
            assert measured(trial) == measured(replayed(play.snapshot, seats))
        elif isinstance(move, int):
            seats = seats[: min(move, len(seats))]
            trial.rollback(len(seats))
        else:
            change(trial, move)
            seats.append(move)
    assert measured(trial) == measured(replayed(play.snapshot, seats))
    assert trial.changed is bool(seats)
    trial.rollback(0)
    assert measured(trial) == measured(Trial.of(play.snapshot))


@given(plays())
@examples(40)
def test_what_was_let_go_is_not_taken_back_again(play: Play) -> None:
    """Whoever came before it and after it stays until it is taken back in turn."""
    seats = [move for move in play.moves if isinstance(move, tuple)]
    for gone in range(len(seats)):
        trial = replayed(play.snapshot, [])
        entries = [seat(trial, move) for move in seats]
        trial.let_go(entries[gone])
        assert measured(trial) == measured(replayed(play.snapshot, [*seats[:gone], *seats[gone + 1 :]]))
        trial.rollback(0)
        assert measured(trial) == measured(Trial.of(play.snapshot))


@given(plays())
@examples(40)
def test_the_same_load_on_another_view_of_the_nodes(play: Play) -> None:
    """Moving a trial to nodes that differ in taints only keeps all its accounts, and leaves it alone."""
    trial = replayed(play.snapshot, [move for move in play.moves if isinstance(move, tuple | frozenset)])
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
            resource: int(trial.columns.free[column, row])
            for column, resource in enumerate(nodes.resources)
            if nodes.allocatable[column, row] or trial.columns.free[column, row]
        }
        for name, row in nodes.rows.items()
    }


def attach_room(trial: Trial) -> dict[str, dict[str, int]]:
    return {
        driver: {name: int(free[row]) for name, row in trial.nodes.rows.items()}
        for driver, free in trial.supply(Volumes).attachments.free.items()
    }


@given(plays())
@examples(40)
def test_every_supply_that_has_followed_fits_what_a_fresh_one_does(play: Play) -> None:
    """The interface that they all have: how many copies fit, and whether that is exact."""
    trial, seats = Trial.of(play.snapshot), list[Change]()
    shapes = tuple(range(len(play.snapshot.shapes)))
    for move in (move for move in play.moves if isinstance(move, tuple | frozenset)):
        fits(trial, shapes)
        change(trial, move)
        seats.append(move)
    assert fits(trial, shapes) == fits(replayed(play.snapshot, seats), shapes)
    if seats and isinstance(seats[0], tuple):
        trial.let_go(next(trial.load.seated()))
        assert fits(trial, shapes) == fits(replayed(play.snapshot, seats[1:]), shapes)


def fits(trial: Trial, shapes: tuple[int, ...]) -> list[Any]:
    found = [supply.fit(shapes, frozenset(), False) for supply in trial.supplies]
    return [
        (
            fit.exact,
            [None if mask is None else mask.tolist() for mask in fit.masks],
            [None if copies is None else copies.tolist() for copies in fit.copies],
            [(room.free.tolist(), room.use) for room in fit.rooms],
            [(quota.codes.tolist(), quota.limits.tolist(), quota.use) for quota in fit.quotas],
        )
        for fit in found
    ]


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
    assert trial.columns.copies(0)[row] == 3
    mark = trial.checkpoint()
    seat(trial, (0, {row: 2}))
    assert trial.columns.copies(0)[row] == 1
    assert trial.changed
    trial.rollback(mark)
    assert trial.columns.copies(0)[row] == 3
    assert not trial.changed


def test_checkpoints_nest() -> None:
    snapshot, trial = small()
    first, second = snapshot.nodes.rows["n1"], snapshot.nodes.rows["n2"]
    outer = trial.checkpoint()
    seat(trial, (0, {first: 1}))
    inner = trial.checkpoint()
    seat(trial, (0, {first: 1, second: 1}))
    trial.rollback(inner)
    assert (trial.columns.copies(0)[first], trial.columns.copies(0)[second]) == (2, 4)
    trial.rollback(outer)
    assert (trial.columns.copies(0)[first], trial.columns.copies(0)[second]) == (3, 4)


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
