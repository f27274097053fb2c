"""Small clusters with devices, and what happens to them, for whoever counts devices."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import Change, ClusterState, Delete, Put
from tests.cluster.seen import name_of
from tests.oracle.builders import GPU, Obj, node, pod, pod_group
from tests.support import read, state_of

MODEL = "nvidia.com/gpu.product"
MIG = "nvidia.com/mig-1g.5gb"
NOMINATED = "nominatedNodeName"


class ChangingCluster:
    """Its objects come and go."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state

    def put(self, *objects: Obj) -> None:
        for item in read(list(objects)):
            self.state.apply(Put(item))

    def delete(self, *objects: Obj) -> None:
        for item in read(list(objects)):
            self.state.apply(Delete(*name_of(item)))


def gpu_node(name: str, gpus: int = 8, model: str = "NVIDIA-H100", unwell: int = 0, **fields: Any) -> Obj:
    """`unwell` devices are there and not allocatable."""
    made = node(name, gpu=gpus, cpu="64", labels={MODEL: model} if model else {}, **fields)
    made["status"]["allocatable"][GPU] = str(gpus - unwell)
    return made


def member(name: str, gpus: int = 1, **fields: Any) -> Obj:
    """A pod; `promised` is the node that it was promised, `started` when it did."""
    promised, started = fields.pop("promised", None), fields.pop("started", None)
    made = pod(name, "1", gpu=gpus, **fields)
    made["status"] |= {NOMINATED: promised} if promised else {}
    made["status"] |= {"startTime": started} if started else {}
    return made


def snapshot_of(*objects: Obj) -> Snapshot:
    return state_of(read(objects)).snapshot()


NODES = ("n0", "n1", "n2")
PODS = tuple(f"p{number}" for number in range(8))
NAMES = st.sampled_from(NODES)


@st.composite
def some_node(draw: DrawFn) -> Obj:
    gpus = draw(st.integers(0, 4))
    made = gpu_node(
        draw(NAMES),
        gpus,
        draw(st.sampled_from(["NVIDIA-H100", "NVIDIA-L4", ""])),
        draw(st.integers(0, gpus)),
        cordoned=draw(st.booleans()),
        ready=draw(st.sampled_from([True, True, False])),
    )
    slices = str(draw(st.integers(0, 7)))
    for amounts in made["status"]["capacity"], made["status"]["allocatable"]:
        amounts[MIG] = slices
    return made


@st.composite
def some_pod(draw: DrawFn) -> Obj:
    bound = draw(st.booleans())
    return member(
        draw(st.sampled_from(PODS)),
        draw(st.integers(0, 3)),
        namespace=draw(st.sampled_from(["red", "blue"])),
        labels={"team": draw(st.sampled_from(["one", "two"]))} if draw(st.booleans()) else {},
        group=draw(st.sampled_from([None, "g", "h"])),
        requests={MIG: draw(st.integers(1, 2))} if draw(st.booleans()) else {},
        node=draw(NAMES) if bound else None,
        phase=draw(st.sampled_from(["Running", "Pending", "Succeeded", "Failed"])) if bound else None,
        deleted=draw(st.booleans()) and draw(st.booleans()),
        promised=None if bound else draw(st.sampled_from([None, *NODES])),
    )


@st.composite
def some_group(draw: DrawFn) -> Obj:
    return pod_group(
        draw(st.sampled_from(["g", "h"])),
        draw(st.integers(1, 4)),
        namespace=draw(st.sampled_from(["red", "blue"])),
    )


@st.composite
def histories(draw: DrawFn, most: int = 12) -> list[tuple[int, Change]]:
    """Changes, and how many milliseconds pass before each."""
    first = [gpu_node(name) for name in NODES]
    found: list[tuple[int, Change]] = [(0, Put(item)) for item in read(first)]
    things = st.one_of(some_pod(), some_pod(), some_node(), some_group())
    for item in (read([thing])[0] for thing in draw(st.lists(things, max_size=most))):
        change = Delete(*name_of(item)) if draw(st.integers(0, 4)) == 0 else Put(item)
        found.append((draw(st.integers(0, 50_000)), change))
    return found
