"""Small runs for tests: clusters, jobs and faults said in a line, and strategies that draw them."""

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from maitred.model.meta import ObjectMeta
from maitred.model.node import Node, NodeSpec, NodeStatus
from maitred.model.pod import Container, PodSpec, ResourceRequirements, Resources
from maitred.model.policy import PREEMPTIVE_ORDERS, SHARING_PLACEMENTS, Healing, Level, Policy, Topology
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.faults import Breakdown, Reaction
from maitred.simulate.jobs import Crew, SimulatedJob, Workload
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.nodes import SimulatedNodes
from maitred.simulate.seating.displacing import Displacing
from maitred.simulate.seating.pod_by_pod import PodByPod
from maitred.simulate.seating.queued_groups import QueuedGroups
from maitred.simulate.seating.seater import Seater
from maitred.simulate.seating.shares.shared_devices import SharedDevices
from maitred.simulate.seating.whole_groups import WholeGroups

GPU = "nvidia.com/gpu"
RACK = Level("rack", "example.com/rack")


def node(name: str, gpus: int = 8, rack: str = "r1", cpu: int = 96) -> Node:
    return Node(
        ObjectMeta(name=name, labels={RACK.key: rack}),
        NodeSpec(),
        NodeStatus({"cpu": cpu, "memory": "1Ti", GPU: gpus}),
    )


def crew(count: int = 1, gpus: int = 1, cpu: int = 1, rack: str = "") -> Crew:
    """`rack` is the only one that its members may be in."""
    requests: Resources = {"cpu": cpu, "memory": "1Gi", **({GPU: gpus} if gpus else {})}
    containers = (Container(resources=ResourceRequirements(requests)),)
    return Crew(PodSpec(containers, node_selector={RACK.key: rack} if rack else {}), count, gpus)


def job(
    name: str, at: float = 0, workers: int = 1, gpus: int = 1, seconds: float | None = 60, **more: Any
) -> SimulatedJob:
    """Times in seconds; all other times as they are."""
    return SimulatedJob(
        name=name,
        arrival=round(at * SECOND),
        crews=(crew(workers, gpus, rack=more.pop("rack", "")),),
        quorum=more.pop("quorum", workers),
        run_time=None if seconds is None else round(seconds * SECOND),
        **more,
    )


def seater_for(
    policy: Policy, nodes: Sequence[Node], workload: Workload, reaction: Reaction | None
) -> Seater:
    if policy.placement == "pod-by-pod":
        return PodByPod(nodes, 1)
    if policy.placement in SHARING_PLACEMENTS:
        return SharedDevices(nodes, policy, workload)
    if policy.order in PREEMPTIVE_ORDERS:
        return Displacing(nodes, policy)
    if policy.queues:
        return QueuedGroups(nodes, policy, heals=reaction is not None)
    return WholeGroups(nodes, policy, heals=reaction is not None)


def play(
    nodes: Sequence[Node],
    jobs: Iterable[SimulatedJob],
    policy: Policy | None = None,
    faults: Iterable[Breakdown] = (),
    horizon: Time | None = None,
    period: Time = 0,
    watchers: Sequence[RunObserver] = (),
    reaction: Reaction | None = None,
) -> Simulation:
    policy = policy or Policy(topology=Topology((RACK,)))
    workload = tuple(sorted(jobs, key=lambda each: each.arrival))
    floor = SimulatedNodes(nodes, policy, (RACK,))
    loop = Simulation(
        floor,
        seater_for(policy, nodes, workload, reaction),
        workload,
        iter(faults),
        horizon,
        period,
        watchers,
        reaction=reaction,
    )
    loop.run()
    return loop


# -- strategies --------------------------------------------------------------------------------------------

TIMES = st.integers(0, 400).map(lambda count: count * SECOND // 4)
MANNERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "start_up": st.sampled_from((0, 5 * SECOND)),
        "checkpoint": st.sampled_from((None, 0, 7 * SECOND, 60 * SECOND)),
        "grace": st.sampled_from((0, 0, 3 * SECOND, 30 * SECOND)),
        "min_run_time": st.sampled_from((0, 0, 0, 20 * SECOND)),
        "non_preemptible": st.sampled_from((False, False, False, False, True)),
        "disruption": st.sampled_from(("Pod", "PodGroup")),
    }
)
"""How jobs start, and how they take it to be sent away."""


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Node, ...]:
    sizes = draw(st.lists(st.sampled_from((1, 2, 4, 8)), min_size=1, max_size=5))
    return tuple(node(f"n{i}", gpus, f"r{i // 2}", cpu=8) for i, gpus in enumerate(sizes))


@st.composite
def jobs(draw: st.DrawFn, name: str) -> SimulatedJob:
    crews = tuple(
        crew(draw(st.integers(1, 3)), draw(st.integers(0, 4)), draw(st.integers(1, 3)))
        for _ in range(draw(st.integers(1, 2)))
    )
    members = sum(each.count for each in crews)
    return SimulatedJob(
        name=name,
        arrival=draw(TIMES),
        crews=crews,
        quorum=draw(st.integers(1, members)) if draw(st.booleans()) else members,
        run_time=draw(st.integers(0, 200 * SECOND)),
        priority=draw(st.integers(0, 2)),
        within=draw(st.sampled_from(("", "", "rack"))) if members > 1 else "",
        **draw(MANNERS),
        cancelled=draw(st.none() | st.none() | TIMES),
        patience=draw(st.none() | st.none() | TIMES),
        rendezvous=draw(st.none() | st.just(30 * SECOND)),
    )


@st.composite
def faults(draw: st.DrawFn, nodes: Sequence[Node], of_all_kinds: bool = False) -> tuple[Breakdown, ...]:
    """`of_all_kinds`: also of processes, and of devices that nothing reports."""
    names = [each.metadata.name for each in nodes]
    found = []
    for _ in range(draw(st.integers(0, 4))):
        time = draw(TIMES)
        whole = draw(st.booleans())
        found.append(
            Breakdown(
                time=time,
                nodes=tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))[
                    : 2 if whole else 1
                ],
                repaired=time + draw(st.integers(1, 100)) * SECOND,
                cause="drawn",
                device=None if whole else draw(st.floats(0, 1, exclude_max=True)),
                process=of_all_kinds and whole and draw(st.booleans()),
                silent=of_all_kinds and not whole and draw(st.booleans()),
            )
        )
    return tuple(sorted(found, key=lambda each: each.time))


REACTED = st.builds(
    Reaction,
    detection=st.sampled_from((0, 5 * SECOND)),
    eviction=st.sampled_from((0, 60 * SECOND)),
    retry=st.sampled_from((0, 3 * SECOND)),
    relapse=st.sampled_from((10 * SECOND, 40 * SECOND)),
)
REACTIONS = st.none() | REACTED
"""How the cluster learns of faults,"""
HEALINGS = st.builds(
    Healing, grace=st.sampled_from(("0s", "5s", "60s")), hold=st.sampled_from(("10s", "10m"))
)
"""and what maitred does about them."""


@st.composite
def patients(draw: st.DrawFn) -> tuple[tuple[Node, ...], tuple[SimulatedJob, ...], tuple[Breakdown, ...]]:
    """Gangs that take most of a few nodes for long, and faults while they run."""
    nodes = tuple(node(f"n{i}", 4, f"r{i // 2}", cpu=16) for i in range(draw(st.integers(3, 5))))
    jobs = [
        job(
            f"j{number}",
            at=draw(st.integers(0, 100)),
            workers=(workers := draw(st.integers(1, 3))),
            gpus=draw(st.sampled_from((2, 4))),
            seconds=draw(st.integers(150, 300)),
            quorum=draw(st.integers(1, workers)),
            priority=draw(st.integers(0, 1)),
            start_up=draw(st.sampled_from((0, 5 * SECOND))),
            checkpoint=draw(st.sampled_from((0, 7 * SECOND))),
            grace=draw(st.sampled_from((0, 30 * SECOND))),
        )
        for number in range(draw(st.integers(2, 5)))
    ]
    broken = []
    for _ in range(draw(st.integers(1, 4))):
        time, kind = draw(st.integers(10, 200)) * SECOND, draw(st.sampled_from(KINDS_OF_FAULTS))
        of_device = kind in ("device", "silent")
        names = draw(st.permutations([each.metadata.name for each in nodes]))
        broken.append(
            Breakdown(
                time=time,
                nodes=tuple(names[: 2 if kind == "rack" else 1]),
                repaired=time + draw(st.integers(1, 200)) * SECOND,
                cause="drawn",
                device=draw(st.floats(0, 1, exclude_max=True)) if of_device else None,
                process=kind == "process",
                silent=kind == "silent",
            )
        )
    return nodes, tuple(jobs), tuple(sorted(broken, key=lambda each: each.time))


KINDS_OF_FAULTS = ("node", "rack", "device", "silent", "process")


@st.composite
def workloads(draw: st.DrawFn) -> tuple[SimulatedJob, ...]:
    return tuple(draw(jobs(f"j{number}")) for number in range(draw(st.integers(0, 7))))


@st.composite
def rivals(draw: st.DrawFn) -> tuple[tuple[Node, ...], tuple[SimulatedJob, ...]]:
    """A few nodes, and jobs of several priorities that cannot all have them at once."""
    nodes = tuple(node(f"n{i}", 4, f"r{i // 2}", cpu=16) for i in range(draw(st.integers(1, 4))))
    jobs = []
    for number in range(draw(st.integers(2, 8))):
        workers = draw(st.integers(1, 3))
        drawn = job(
            f"j{number}",
            at=draw(st.integers(0, 240)) / 4,
            workers=workers,
            gpus=draw(st.integers(1, 4)),
            seconds=draw(st.integers(40, 200)),
            quorum=draw(st.integers(1, workers)) if draw(st.booleans()) else workers,
            priority=draw(st.integers(0, 3)),
            within=draw(st.sampled_from(("", "", "rack"))) if workers > 1 else "",
            **draw(MANNERS),
        )
        jobs.append(drawn)
    return nodes, tuple(jobs)
