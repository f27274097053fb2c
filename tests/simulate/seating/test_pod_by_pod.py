"""The baseline without groups seats each pod as kube-scheduler would, and in its order."""

from hypothesis import given
from hypothesis import strategies as st

from maitred.model.node import Node, Taint
from maitred.model.pod import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodSpec,
    Toleration,
)
from maitred.model.selector import Requirement
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import Crew
from maitred.simulate.seating.pod_by_pod import PodByPod
from maitred.simulate.seating.seater import UNDIAGNOSED, Seater
from tests.simulate.seating.groups import MI, container, crew, group, node, run_cycle, send_away
from tests.simulate.seating.plain_scheduler import PlainNode, PlainPod, best


def seated(nodes: list[Node], *groups: SimulatedGroup, seed: int = 0) -> list[tuple[str, int, str]]:
    """What the first cycle does."""
    seater: Seater = PodByPod(nodes, seed)
    for one in groups:
        seater.wants(one, 0)
    return run_cycle(seater)


def home(nodes: list[Node], spec: PodSpec) -> list[str]:
    """Where a lone pod goes, if anywhere."""
    return [name for _, _, name in seated(nodes, group(0, Crew(spec, 1, 0)))]


# ---- where


def test_the_emptier_node_is_taken() -> None:
    nodes = [node("small", cpu=4, memory="16Gi"), node("large", cpu=64, memory="256Gi")]
    assert seated(nodes, group(0, crew(2, 1, "4Gi"))) == [("job0", 0, "large"), ("job0", 1, "large")]


def test_balance_outweighs_room() -> None:
    """On `wide` 50 % and 87 % stay free and evenness falls from 100 to 81. On `even` it is 75 % of both, and
    evenness stays 100."""
    nodes = [node("wide", cpu=2, memory="32Gi"), node("even", cpu=4, memory="16Gi")]
    assert home(nodes, PodSpec((container(1, "4Gi"),))) == ["even"]


def test_gpus_are_not_scored() -> None:
    """A node with all its devices free is broken into, since its CPUs and memory are the emptier ones."""
    nodes = [node("whole", cpu=64, memory="256Gi", gpu=8), node("snug", gpu=1)]
    assert home(nodes, crew(1, 1, "1Gi", 1).spec) == ["whole"]


def test_pods_without_requests_are_spread() -> None:
    nodes = [node(name, cpu=1, memory="1Gi") for name in "abc"]
    assert sorted(name for _, _, name in seated(nodes, group(0, crew(3)))) == ["a", "b", "c"]


def test_all_that_is_requested_must_be_there() -> None:
    nodes = [node("a", cpu=8, gpu=1), node("b", cpu=1, gpu=8)]
    assert seated(nodes, group(0, crew(1, cpu=2, gpu=2))) == []
    assert seated(nodes, group(0, crew(3, cpu=1, gpu=4))) == [("job0", 0, "b")]
    other = PodSpec((container(),), overhead={"example.com/fpga": 1})
    assert home(nodes, other) == []


def test_a_node_takes_no_more_pods_than_it_may() -> None:
    assert len(seated([node("a")], group(0, crew(200, "1m", "1Mi")))) == 110


def test_closed_nodes_are_left_alone() -> None:
    keep_off = (Taint("team", "NoSchedule", "b"),)
    nodes = [node("tainted", 64, taints=keep_off), node("broken", 64, ready=False), node("open")]
    assert home(nodes, PodSpec((container(1),))) == ["open"]
    tolerant = PodSpec((container(1),), tolerations=(Toleration("team", "Equal", "b"),))
    assert home(nodes[:1], tolerant) == ["tainted"]


def test_node_selector_and_required_affinity_are_kept() -> None:
    nodes = [node("a", 64, labels={"gpu": "A100"}), node("b", labels={"gpu": "H100"}), node("c", 64)]
    assert home(nodes, PodSpec((container(1),), node_selector={"gpu": "H100"})) == ["b"]
    term = NodeSelectorTerm((Requirement("gpu", "In", ("H100", "B200")),))
    affinity = Affinity(NodeAffinity(NodeSelector((term,))))
    assert home(nodes, PodSpec((container(1),), affinity=affinity)) == ["b"]


def test_topology_is_not_known() -> None:
    nodes = [node("a", labels={"rack": "r1"}, gpu=1), node("b", labels={"rack": "r2"}, gpu=1)]
    assert len(seated(nodes, group(0, crew(2, gpu=1), within="rack"))) == 2


# ---- who


def test_order_is_priority_then_arrival_then_number() -> None:
    nodes = [node("a", gpu=4)]
    groups = [group(0, crew(2, gpu=1)), group(1, crew(1, gpu=1)), group(2, crew(2, gpu=1), priority=5)]
    expected = [("job2", 0, "a"), ("job2", 1, "a"), ("job0", 0, "a"), ("job0", 1, "a")]
    assert seated(nodes, *groups) == expected
    assert (
        seated(nodes, *(group(p.number, *p.job.crews, priority=p.job.priority) for p in groups[::-1]))
        == expected
    )


def test_jobs_that_come_together_take_turns_as_their_pods_are_created() -> None:
    first, second = group(0, crew(3, gpu=1)), group(1, crew(3, gpu=1))
    second.created[:] = first.created
    assert seated([node("a", gpu=4)], first, second) == [
        ("job0", 0, "a"),
        ("job0", 1, "a"),
        ("job1", 0, "a"),
        ("job1", 1, "a"),
    ]


def test_a_pod_that_is_created_anew_comes_after_those_who_wait() -> None:
    seater = PodByPod([node("a", gpu=2)], 0)
    first, second = group(0, crew(2, gpu=1)), group(1, crew(1, gpu=1))
    for one in (first, second):
        seater.wants(one, 0)
    assert run_cycle(seater) == [("job0", 0, "a"), ("job0", 1, "a")]
    send_away(seater, first, [1])
    first.created[1] = second.created[0] + 1
    seater.wants(first, 0)
    assert run_cycle(seater) == [("job1", 0, "a")]


def test_kinds_take_turns_by_rank() -> None:
    """The two who need a GPU each come first and last: between them the larger one takes what it finds."""
    small = [group(0, crew(1, gpu=1)), group(2, crew(1, gpu=1))]
    assert seated([node("a", gpu=3)], *small, group(1, crew(1, gpu=2))) == [
        ("job0", 0, "a"),
        ("job1", 0, "a"),
    ]


def test_one_who_does_not_fit_keeps_no_other_kind_back() -> None:
    done = seated([node("a", gpu=3)], group(0, crew(2, gpu=2)), group(1, crew(3, gpu=1)))
    assert done == [("job0", 0, "a"), ("job1", 0, "a")]


def test_crews_of_a_group_come_one_after_the_other() -> None:
    done = seated([node("a", cpu=3, gpu=2)], group(0, crew(1, cpu=1), crew(3, gpu=1), crew(1, cpu=2)))
    assert done == [("job0", 0, "a"), ("job0", 1, "a"), ("job0", 2, "a"), ("job0", 4, "a")]


def test_gangs_are_split_and_hold_what_they_have() -> None:
    seater = PodByPod([node("a", gpu=8), node("b", gpu=8)], 0)
    gangs = [group(0, crew(3, gpu=4)), group(1, crew(3, gpu=4))]
    for gang in gangs:
        seater.wants(gang, 0)
    assert len(run_cycle(seater)) == 4
    assert [gang.sitting for gang in gangs] == [3, 1]
    assert not seater.cycle(1)
    assert (seater.why(gangs[1]), seater.waited(gangs[1], 2, 5)) == (UNDIAGNOSED, {UNDIAGNOSED: 3})
    assert seater.next_look(1) is None


# ---- what changes


def test_seats_that_are_given_up_are_taken_by_those_who_wait() -> None:
    seater = PodByPod([node("a", gpu=2)], 0)
    first, second = group(0, crew(2, gpu=1)), group(1, crew(2, gpu=1))
    for one in (first, second):
        seater.wants(one, 0)
    assert run_cycle(seater) == [("job0", 0, "a"), ("job0", 1, "a")]
    send_away(seater, first, [1])
    seater.wants(first, 1)
    assert run_cycle(seater) == [("job0", 1, "a")]
    send_away(seater, first)
    seater.leaves(first)
    assert run_cycle(seater) == [("job1", 0, "a"), ("job1", 1, "a")]
    assert run_cycle(seater) == []


def test_who_leaves_waits_no_more() -> None:
    seater = PodByPod([node("a", gpu=1)], 0)
    first, second = group(0, crew(2, gpu=1)), group(1, crew(1, gpu=1))
    for one in (first, second):
        seater.wants(one, 0)
    run_cycle(seater)
    send_away(seater, first)
    seater.leaves(first)
    assert run_cycle(seater) == [("job1", 0, "a")]


def test_nodes_break_and_are_mended_lose_devices_and_come() -> None:
    seater = PodByPod([node("a", gpu=2)], 0)
    one = group(0, crew(6, gpu=1))
    seater.node_changed(node("a", gpu=2, ready=False))
    seater.wants(one, 0)
    assert run_cycle(seater) == []
    seater.node_changed(node("a", gpu=1))
    assert run_cycle(seater) == [("job0", 0, "a")]
    seater.node_changed(node("a", gpu=2))
    assert run_cycle(seater) == [("job0", 1, "a")]
    seater.node_changed(node("b", gpu=1))
    assert run_cycle(seater) == [("job0", 2, "b")]


# ---- chance and samples


def test_ties_are_broken_by_lot_from_the_seed() -> None:
    nodes = [node(f"n{number}") for number in range(8)]

    def run(seed: int) -> list[tuple[str, int, str]]:
        return seated(nodes, group(0, crew(20, 1)), seed=seed)

    runs = [run(seed) for seed in range(50)]
    assert runs == [run(seed) for seed in range(50)]
    assert {first for (*_, first), *_ in runs} == {node.metadata.name for node in nodes}


def large_one_taken(closed: int, large: int, pods: int) -> list[bool]:
    """150 small nodes, the first of them closed and one of the others large: which pods take that one?"""
    closing = (Taint("closed", "NoSchedule"),)
    nodes = [node(f"n{number}", 4, "4Gi", taints=closing * (number < closed)) for number in range(150)]
    nodes[large] = node("large", 64, "64Gi")
    return [name == "large" for *_, name in seated(nodes, group(0, crew(pods, 1, "1Gi")))]


def test_samples_of_large_clusters_go_round() -> None:
    """They begin at nodes 0, 100, 50, 0 and so on, and have 100 nodes each."""
    assert large_one_taken(closed=0, large=99, pods=6) == [True, False, True] * 2
    assert large_one_taken(closed=0, large=100, pods=6) == [False, True, True] * 2


def test_samples_count_nodes_that_will_do() -> None:
    """Of 140 open nodes they have 10 to 109, 110 to 69, 70 to 29, 30 to 129, 130 to 89."""
    assert large_one_taken(closed=10, large=105, pods=5) == [True, False, True, True, False]


# ---- against the plain scheduler

CPUS = st.none() | st.integers(0, 8).map(lambda quarter: 250 * quarter)
MEMORIES = st.none() | st.integers(0, 16).map(lambda part: 100 * MI * part)
PODS = st.builds(PlainPod, CPUS, MEMORIES, st.integers(0, 2))
NODES = st.builds(
    PlainNode,
    cpu=st.integers(0, 6).map(lambda cores: 700 * cores),
    memory=st.integers(0, 6).map(lambda part: 512 * MI * part),
    gpu=st.integers(0, 3),
    pods=st.builds(list),
)


def as_node(name: str, plain: PlainNode) -> Node:
    return node(name, f"{plain.cpu}m", plain.memory, plain.gpu, ready=plain.ready)


def as_crew(pod: PlainPod, count: int) -> Crew:
    cpu = "" if pod.cpu is None else f"{pod.cpu}m"
    return crew(count, cpu, "" if pod.memory is None else pod.memory, pod.gpu)


class Twins:
    """The seater and the plain scheduler beside it, which has to agree with every choice."""

    def __init__(self, nodes: list[PlainNode], seed: int) -> None:
        self.nodes = {f"n{number}": plain for number, plain in enumerate(nodes)}
        self.seater = PodByPod([as_node(name, plain) for name, plain in self.nodes.items()], seed)
        self.groups: list[SimulatedGroup] = []
        self.pods: dict[SimulatedGroup, PlainPod] = {}

    def arrive(self, pod: PlainPod, count: int, priority: int) -> None:
        one = group(len(self.groups), as_crew(pod, count), priority=priority)
        self.groups.append(one)
        self.pods[one] = pod
        self.seater.wants(one, 0)

    def depart(self, which: int) -> None:
        """For good, or to come back at once."""
        staying = list(self.pods)
        if staying:
            one = staying[which % len(staying)]
            for name in filter(None, one.seats):
                self.nodes[name].pods.remove(self.pods[one])
            send_away(self.seater, one)
            if which % 2:
                self.seater.wants(one, 0)
            else:
                self.seater.leaves(one)
                del self.pods[one]

    def flip(self, which: int) -> None:
        """A node breaks, or is mended."""
        name = f"n{which % len(self.nodes)}"
        self.nodes[name].ready = not self.nodes[name].ready
        self.seater.node_changed(as_node(name, self.nodes[name]))

    def cycle(self) -> None:
        ranked = sorted(self.pods, key=lambda one: (-one.job.priority, one.number))
        waiting = [(one, member) for one in ranked for member in one.standing()]
        run_cycle(self.seater)
        for one, member in waiting:
            options, chosen = best(self.nodes, self.pods[one]), one.seats[member]
            assert chosen in (options or {""})
            if chosen:
                self.nodes[chosen].pods.append(self.pods[one])


ARRIVALS = st.tuples(st.just("arrive"), PODS, st.integers(1, 4), st.integers(0, 1))
DEPARTURES = st.tuples(st.just("depart"), st.integers(0, 20))
FLIPS = st.tuples(st.just("flip"), st.integers(0, 20))


@given(
    nodes=st.lists(NODES, min_size=1, max_size=5),
    story=st.lists(ARRIVALS | ARRIVALS | DEPARTURES | FLIPS, max_size=12),
    seed=st.integers(0, 3),
)
def test_every_choice_is_one_that_kube_scheduler_could_make(
    nodes: list[PlainNode], story: list[tuple[str, object]], seed: int
) -> None:
    twins = Twins(nodes, seed)
    for what, *arguments in story:
        getattr(twins, what)(*arguments)
        twins.cycle()
