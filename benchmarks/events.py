"""One pod event from the bytes of a watch to the state."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bare import EVENTS, NODES, BareTable
from benchmarks.figures import Figure, Goal, Work, in_turns, say
from benchmarks.pages import event, node_name, node_pages, pod_template, stamped
from maitred.cluster.state import ClusterState, Put
from maitred.model.node import Node
from maitred.model.pod import Pod

REPEATS = 5


@dataclass(frozen=True, slots=True)
class Stage:
    what: str
    events: list[bytes]


def run(quick: bool) -> list[Figure]:
    nodes, pods = (200, 640) if quick else (5_000, 6_400)
    items = [item for page in node_pages(nodes) for item in NODES.decode(page).items]
    stages = life(pods, nodes)
    for stage in stages:
        say(f"  {stage.what}: {sum(map(len, stage.events)) // pods} bytes each")
    case = f"One pod event, JSON to state, {nodes:,} nodes"
    return [figure(case, stages, number, items) for number in range(len(stages))]


def life(pods: int, nodes: int) -> list[Stage]:
    """What a watch tells of each pod: it was made, it was bound, it was started."""
    made = (
        ("ADDED", "waiting", pod_template(bound=False)),
        ("MODIFIED", "bound", pod_template(bound=True)),
        ("MODIFIED", "started", pod_template(bound=True, running=True)),
    )
    return [
        Stage(f"{kind}, {what}", [event(kind, stamped(t, n, node_name(n % nodes))) for n in range(pods)])
        for kind, what, t in made
    ]


def figure(case: str, stages: list[Stage], number: int, nodes: list[Node]) -> Figure:
    """A stage is measured on a state that has seen those before it; the state is made anew every time."""
    stage, earlier = stages[number], [line for before in stages[:number] for line in before.events]
    own, bare = Target(nodes, earlier, real_state), Target(nodes, earlier, bare_state)
    works = [
        Work(lambda: own.feed(stage.events), own.renew),
        Work(lambda: bare.feed(stage.events), bare.renew),
    ]
    each = 1e6 / len(stage.events)
    taken, floor = (seconds.times(each) for seconds in in_turns(works, REPEATS))
    return Figure(case, stage.what, "µs", taken, floor, Goal(25))


class Target:
    """Something that takes pods, made anew before each run."""

    def __init__(
        self, nodes: list[Node], earlier: list[bytes], make: Callable[[list[Node]], Callable[[Pod], None]]
    ) -> None:
        self._nodes, self._earlier, self._make = nodes, earlier, make
        self._put = make(nodes)

    def renew(self) -> None:
        self._put = self._make(self._nodes)
        self.feed(self._earlier)

    def feed(self, lines: list[bytes]) -> None:
        put, decode = self._put, EVENTS.decode
        for line in lines:
            put(decode(line).object)


def real_state(nodes: list[Node]) -> Callable[[Pod], None]:
    state = ClusterState()
    for node in nodes:
        state.apply(Put(node))
    return lambda pod: state.apply(Put(pod))


def bare_state(nodes: list[Node]) -> Callable[[Pod], None]:
    table = BareTable(len(nodes))
    for node in nodes:
        table.put_node(node)
    return table.put_pod
