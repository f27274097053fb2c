"""Which node and which device each rule takes: in cases worked out by hand, and against the plain rules."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.node import Node
from maitred.model.policy import SHARING_PLACEMENTS, Placement, Policy
from maitred.simulate.clock import SECOND
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.seating.seater import UNDIAGNOSED
from maitred.simulate.seating.shares.asks import asks_of
from maitred.simulate.seating.shares.fragmentation import without_memory
from maitred.simulate.seating.shares.shared_devices import SharedDevices
from maitred.simulate.traces.workers import MODEL, crew
from tests.oracle.effort import examples
from tests.simulate.seating.groups import node, send_away
from tests.simulate.seating.shares.plain_rules import (
    Choice,
    PlainBestFit,
    PlainFragmentationGradient,
    PlainLeastLoss,
    PlainNode,
    PlainPod,
    fits,
    places,
    with_pod,
)

MI = 1024**2
Plain = PlainBestFit | PlainFragmentationGradient | PlainLeastLoss


def as_node(name: str, plain: PlainNode) -> Node:
    labels = {MODEL: plain.model} if plain.model else {}
    return node(
        name, f"{plain.cpu}m", plain.memory * MI, len(plain.devices), labels=labels, ready=plain.ready
    )


def as_group(number: int, pod: PlainPod, priority: int = 0) -> SimulatedGroup:
    whole = pod.devices if pod.each == 1000 else 0
    share = pod.each if pod.shares else 0
    crews = (crew(1, f"{pod.cpu}m", f"{pod.memory}Mi", whole, share, pod.models),)
    return SimulatedGroup(SimulatedJob(f"pod{number}", number * SECOND, crews, 1, None, priority), number)


def run_cycle(seater: SharedDevices) -> dict[SimulatedGroup, Choice]:
    found: dict[SimulatedGroup, Choice] = {}
    for seating in seater.cycle(0).seatings:
        ((member, name),) = seating.seats
        assert (member, seating.group.seats) == (0, [""])
        seating.group.seats[0], seating.group.sitting = name, 1
        seater.seated(seating.group, [0])
        found[seating.group] = name, seating.device
    return found


class Table:
    """A seater, and pods that come to it one by one."""

    def __init__(self, placement: Placement, nodes: dict[str, PlainNode], demand: Sequence[PlainPod]) -> None:
        self.seater = SharedDevices(
            [as_node(name, plain) for name, plain in nodes.items()],
            Policy(placement=placement),
            tuple(as_group(number, pod).job for number, pod in enumerate(demand)),
        )
        self.groups: list[SimulatedGroup] = []

    def seat(self, pod: PlainPod, priority: int = 0) -> Choice | None:
        group = as_group(len(self.groups), pod, priority)
        self.groups.append(group)
        self.seater.wants(group, 0)
        return run_cycle(self.seater).get(group)


def share(each: int, cpu: int = 1000, models: tuple[str, ...] = ()) -> PlainPod:
    return PlainPod(cpu, 100, 1, each, models)


def whole(devices: int = 1, cpu: int = 1000, models: tuple[str, ...] = ()) -> PlainPod:
    return PlainPod(cpu, 100, devices, 1000, models)


def small(devices: int, model: str = "") -> PlainNode:
    return PlainNode(32_000, 32_000, (1000,) * devices, model)


# ---- best-fit


def test_best_fit_takes_the_node_on_which_least_is_left() -> None:
    table = Table("best-fit", {"two": small(2), "one": small(1), "eight": small(8)}, [share(500)])
    assert [table.seat(share(500)) for _ in range(3)] == [("one", 0), ("one", 0), ("two", 0)]


def test_best_fit_takes_the_tightest_device() -> None:
    table = Table("best-fit", {"a": small(3)}, [share(500)])
    sizes = (600, 700, 300, 300, 400, 100)
    assert [table.seat(share(size)) for size in sizes] == [
        ("a", 0),
        ("a", 1),
        ("a", 1),
        ("a", 0),
        ("a", 2),
        ("a", 0),
    ]


def test_best_fit_weighs_cpus_as_much_as_devices() -> None:
    nodes = {"cpus": PlainNode(32_000, 9000, (1000,)), "devices": PlainNode(8000, 9000, (1000,) * 2)}
    assert Table("best-fit", nodes, [share(500)]).seat(share(500)) == ("devices", 0)


# ---- fragmentation-gradient


def test_fgd_breaks_no_device_that_others_need_whole() -> None:
    """Of all, half want a whole device and half a half. With `b` broken into, half a device more is lost to
    those who want a whole one; on `a` half a device less, as nothing is left there."""
    nodes = {"b": small(1), "a": small(1)}
    table = Table("fragmentation-gradient", nodes, [whole(), share(500)] * 10)
    assert table.seat(share(500)) == ("b", 0)
    assert table.seat(share(500)) == ("b", 0)
    assert table.seat(whole()) == ("a", None)


def test_fgd_takes_the_device_on_which_least_is_stranded() -> None:
    """With 400 left on device 0, those would be lost to the half that asks for 700; with 700 left on both,
    nothing is."""
    table = Table("fragmentation-gradient", {"a": small(2)}, [share(300), share(700)] * 10)
    assert [table.seat(share(size)) for size in (300, 300, 700, 700)] == [
        ("a", 0),
        ("a", 1),
        ("a", 0),
        ("a", 1),
    ]


def test_fgd_keeps_devices_together_for_those_who_need_several() -> None:
    """On `two` nobody could take two devices any more, so both would be lost to half of the demand."""
    table = Table("fragmentation-gradient", {"two": small(2), "three": small(3)}, [whole(2), whole()] * 10)
    assert table.seat(share(300)) == ("three", 0)


def test_fgd_takes_pods_that_differ_in_memory_for_the_same() -> None:
    jobs = [as_group(number, PlainPod(1000, 100 * number, 1, 500)).job for number in (1, 2, 3)]
    ((ask, count),) = without_memory(asks_of(tuple(jobs))).items()
    assert (ask.cpu, ask.memory, ask.devices, ask.each, count) == (1000, 0, 1, 500, 3)


def test_fgd_knows_which_models_the_demand_can_use() -> None:
    """Nobody can use the devices of `old`: what is free there is lost already."""
    nodes = {"new": small(2, "H100"), "old": small(2, "P100")}
    table = Table("fragmentation-gradient", nodes, [whole(models=("H100",))] * 30 + [whole()])
    assert table.seat(whole()) == ("old", None)


# ---- least-loss


def test_least_loss_completes_devices_that_are_broken_into() -> None:
    nodes = {"a": small(2), "b": small(2)}
    table = Table("least-loss", nodes, [whole(), share(500)] * 10)
    taken = [table.seat(share(500)) for _ in range(3)]
    assert taken == [("a", 0), ("a", 0), ("a", 1)]
    assert table.seat(whole(2)) == ("b", None)


def test_least_loss_keeps_parts_for_those_that_fill_them() -> None:
    """A device that has 700 left is worth as much as the 700 that fit there; with 400 left, as 300."""
    table = Table("least-loss", {"a": small(2)}, [share(700), share(300)] * 10)
    assert table.seat(share(700)) == ("a", 0)
    assert table.seat(share(300)) == ("a", 0)
    assert table.seat(share(300)) == ("a", 1)
    assert table.seat(share(700)) == ("a", 1)


def test_least_loss_leaves_devices_untouched() -> None:
    """By price alone half of a device is worth the same wherever it is."""
    table = Table("least-loss", {"a": small(1, "H100"), "b": small(1, "P100")}, [share(500)] * 10)
    assert table.seat(share(500, models=("P100",))) == ("b", 0)
    assert [table.seat(share(500)) for _ in range(2)] == [("b", 0), ("a", 0)]


def test_least_loss_spares_the_models_that_are_sought_after() -> None:
    nodes = {"new": small(2, "H100"), "old": small(2, "P100")}
    table = Table("least-loss", nodes, [whole(models=("H100",)), whole()] * 10)
    assert [table.seat(whole()) for _ in range(3)] == [("old", None), ("old", None), ("new", None)]


def test_least_loss_takes_cpus_where_no_device_needs_them() -> None:
    """Each device needs 8 CPUs, and on `spare` there are 8 more than that."""
    nodes = {"tight": PlainNode(16_000, 9000, (1000,) * 2), "spare": PlainNode(24_000, 9000, (1000,) * 2)}
    table = Table("least-loss", nodes, [whole(cpu=8000)] * 10)
    cpus = PlainPod(4000, 100)
    assert [table.seat(cpus) for _ in range(3)] == [("spare", None), ("spare", None), ("tight", None)]


def test_least_loss_without_a_demand_for_shares_or_devices() -> None:
    nodes = {"a": small(2), "b": small(2), "none": small(0)}
    for demand in ([whole()], [PlainPod(1000, 100)]):
        table = Table("least-loss", nodes, demand * 30)
        assert [table.seat(share(400)) for _ in range(3)] == [("a", 0), ("a", 0), ("a", 1)]
        assert table.seat(whole()) == ("b", None)


def test_least_loss_takes_the_fuller_of_devices_that_are_worth_the_same() -> None:
    table = Table("least-loss", {"a": small(2)}, [whole()] * 30)
    assert [table.seat(share(size)) for size in (600, 700, 300)] == [("a", 0), ("a", 1), ("a", 1)]


# ---- all of them


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
def test_ties_go_to_the_node_that_came_first(placement: Placement) -> None:
    table = Table(placement, {name: small(1) for name in "cab"}, [share(500), whole()] * 10)
    assert [table.seat(whole()) for _ in range(4)] == [("c", None), ("a", None), ("b", None), None]


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
def test_whole_devices_are_those_that_nobody_shares(placement: Placement) -> None:
    table = Table(placement, {"a": small(3)}, [share(500), whole(2)] * 10)
    assert table.seat(share(100)) == ("a", 0)
    assert table.seat(whole(3)) is None
    assert table.seat(whole(2)) == ("a", None)
    assert table.seat(share(901)) is None
    assert table.seat(share(900)) == ("a", 0)


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
def test_who_waits_is_seated_by_priority_and_arrival_when_something_gets_free(placement: Placement) -> None:
    table = Table(placement, {"a": small(1)}, [share(600)] * 10)
    assert table.seat(share(600)) == ("a", 0)
    assert [table.seat(share(600), priority) for priority in (0, 0, 5)] == [None] * 3
    assert table.seat(share(400)) == ("a", 0)
    first, second, third, urgent, filler = table.groups
    assert (table.seater.why(second), table.seater.waited(second, 2, 5)) == (UNDIAGNOSED, {UNDIAGNOSED: 3})
    assert table.seater.next_look(0) is None
    for gone, follower in ((first, urgent), (urgent, second)):
        send_away(table.seater, gone)
        table.seater.leaves(gone)
        assert run_cycle(table.seater) == {follower: ("a", 0)}
    table.seater.leaves(third)
    send_away(table.seater, second)
    table.seater.leaves(second)
    assert run_cycle(table.seater) == {}
    assert filler.seats == ["a"]


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
def test_a_node_that_lost_a_device_gets_it_back(placement: Placement) -> None:
    table = Table(placement, {"a": small(2)}, [share(600)] * 10)
    assert table.seat(share(600)) == ("a", 0)
    table.seater.node_changed(as_node("a", small(1)))
    assert table.seat(share(600)) is None
    assert table.seat(share(400)) == ("a", 0)
    table.seater.node_changed(as_node("a", small(2)))
    assert run_cycle(table.seater) == {table.groups[1]: ("a", 1)}


# ---- against the plain rules

RULES: dict[Placement, type[Plain]] = {
    "best-fit": PlainBestFit,
    "fragmentation-gradient": PlainFragmentationGradient,
    "least-loss": PlainLeastLoss,
}
CLOSE = 1e-8

NODES = st.builds(
    PlainNode,
    cpu=st.integers(1, 8).map(lambda cores: 2500 * cores),
    memory=st.integers(1, 6).map(lambda part: 700 * part),
    devices=st.integers(0, 4).map(lambda count: (1000,) * count),
    model=st.sampled_from(("", "H100", "P100")),
)
SIZES = st.sampled_from((100, 250, 300, 333, 500, 600, 700))
PODS = st.builds(
    lambda cpu, memory, size, models: PlainPod(
        1000 * cpu, 300 * memory, size[0], size[1], models if size[0] else ()
    ),
    cpu=st.integers(1, 4),
    memory=st.integers(1, 4),
    size=SIZES.map(lambda each: (1, each)) | st.sampled_from(((0, 0), (1, 1000), (2, 1000))),
    models=st.sampled_from(((), (), ("H100",), ("H100", "P100"))),
)
CROWDS = st.lists(st.tuples(PODS, st.integers(1, 40)), max_size=4)


class Twins(Table):
    """The seater and the plain rule beside it, which has to agree with every choice."""

    def __init__(self, placement: Placement, nodes: list[PlainNode], demand: Sequence[PlainPod]) -> None:
        self.nodes = {f"n{number}": plain for number, plain in enumerate(nodes)}
        super().__init__(placement, self.nodes, demand)
        self.rule = RULES[placement](self.nodes, demand)
        self.empty = dict(self.nodes)
        self.pods: dict[SimulatedGroup, PlainPod] = {}
        self.seats: dict[SimulatedGroup, tuple[str, tuple[int, ...]]] = {}

    def arrive(self, pod: PlainPod) -> None:
        group = as_group(len(self.groups), pod)
        self.groups.append(group)
        self.pods[group] = pod
        self.seater.wants(group, 0)

    def depart(self, which: int) -> None:
        """For good, or to come back at once."""
        staying = list(self.seats)
        if staying:
            group = staying[which % len(staying)]
            self.stand_up(group)
            if which % 2:
                self.seater.wants(group, 0)
            else:
                self.seater.leaves(group)
                del self.pods[group]

    def stand_up(self, group: SimulatedGroup) -> None:
        name, devices = self.seats.pop(group)
        self.nodes[name] = with_pod(self.nodes[name], self.pods[group], devices, -1)
        send_away(self.seater, group)

    def flip(self, which: int) -> None:
        """A node breaks, and who sat there wants to sit elsewhere; or it is mended."""
        name = f"n{which % len(self.nodes)}"
        ready = not self.nodes[name].ready
        for group in [group for group, (seat, _) in self.seats.items() if seat == name]:
            self.stand_up(group)
            self.seater.wants(group, 0)
        self.nodes[name] = PlainNode(**{**vars(self.empty[name]), "ready": ready})
        self.seater.node_changed(as_node(name, self.nodes[name]))

    def cycle(self) -> None:
        chosen = run_cycle(self.seater)
        for group, pod in self.pods.items():
            if group in self.seats:
                continue
            fitting = [name for name, plain in self.nodes.items() if fits(plain, pod)]
            assert (group in chosen) == bool(fitting)
            if group in chosen:
                self.check(pod, chosen[group])
                self.sit(group, pod, *chosen[group])

    def check(self, pod: PlainPod, choice: Choice) -> None:
        if not isinstance(self.rule, PlainLeastLoss):
            assert choice == self.rule.best(self.nodes, pod)
            return
        names = dict.fromkeys(name for name, _ in places(self.nodes, pod))
        losses = {name: self.rule.loss(name, self.nodes[name], pod) for name in names}
        loss, device = losses[choice[0]]
        assert loss <= min(losses.values())[0] + CLOSE
        assert choice[1] == device

    def sit(self, group: SimulatedGroup, pod: PlainPod, name: str, device: int | None) -> None:
        plain = self.nodes[name]
        untouched = [number for number, free in enumerate(plain.devices) if free == 1000]
        devices = tuple(untouched[: pod.devices]) if device is None else (device,)
        self.nodes[name] = with_pod(plain, pod, devices)
        self.seats[group] = name, devices


EVENTS = st.tuples(st.just("depart"), st.integers(0, 20)) | st.tuples(st.just("flip"), st.integers(0, 20))


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
@examples(150)
@given(
    nodes=st.lists(NODES, min_size=1, max_size=4),
    story=st.lists(st.tuples(st.just("arrive"), PODS) | EVENTS, min_size=1, max_size=20),
    expected=CROWDS,
)
def test_every_choice_is_that_of_the_plain_rule(
    placement: Placement,
    nodes: list[PlainNode],
    story: list[tuple[str, object]],
    expected: list[tuple[PlainPod, int]],
) -> None:
    """The rule expects some who never come."""
    demand = [pod for _, pod in story if isinstance(pod, PlainPod)]
    demand += [pod for pod, count in expected for _ in range(count)]
    twins = Twins(placement, nodes, demand)
    for what, argument in story:
        getattr(twins, what)(argument)
        twins.cycle()
