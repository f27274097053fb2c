"""How much a pod takes from its node: containers, init containers, sidecars, overhead, the pod as a whole."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.pod import PodSpec
from maitred.model.requests import pod_requests
from maitred.verify import pods as checker
from maitred.verify.fields import Doc
from tests.oracle.builders import Obj, container


def requests(spec: Obj) -> dict[str, int]:
    """As the engine adds it up; the checker, which shares no code with it, comes to the same."""
    found = pod_requests(msgspec.convert(spec, PodSpec))
    assert {name: number for name, number in checker.pod_requests(Doc(spec, "p")).items() if number} == found
    return found


def cpu(*amounts: int) -> list[Obj]:
    return [container(f"c{i}", {"cpu": f"{amount}m"}) for i, amount in enumerate(amounts)]


def sidecar(amount: int) -> Obj:
    return container("s", {"cpu": f"{amount}m"}, sidecar=True)


def whole(containers: list[Obj], **more: object) -> Obj:
    return {"containers": containers, **more}


# Requests of CPU in thousandths.
CPU: dict[str, tuple[Obj, int]] = {
    "nothing": (whole([]), 0),
    "containers add up": (whole(cpu(100, 250)), 350),
    "a small init container hides": (whole(cpu(100, 250), initContainers=cpu(300)), 350),
    "a large init container counts": (whole(cpu(100, 250), initContainers=cpu(400)), 400),
    "init containers run one by one": (whole(cpu(100), initContainers=cpu(300, 200)), 300),
    "a sidecar adds up": (whole(cpu(100), initContainers=[sidecar(50)]), 150),
    "sidecars add up": (whole(cpu(100), initContainers=[sidecar(50), sidecar(70)]), 220),
    "an init container beside an earlier sidecar": (
        whole(cpu(100), initContainers=[sidecar(50), *cpu(300)]),
        350,
    ),
    "an init container before a sidecar": (whole(cpu(100), initContainers=[*cpu(300), sidecar(50)]), 300),
    "an init container between sidecars": (
        whole(cpu(100), initContainers=[sidecar(50), *cpu(300), sidecar(400)]),
        550,
    ),
    "overhead comes on top": (whole(cpu(100), overhead={"cpu": "50m"}), 150),
    "overhead comes on top of init": (whole(cpu(100), initContainers=cpu(300), overhead={"cpu": "50m"}), 350),
    "a limit is a request": (whole([container("c", limits={"cpu": "2"})]), 2000),
    "a request goes before a limit": (whole([container("c", {"cpu": "1"}, {"cpu": "2"})]), 1000),
    "a request of none goes before a limit": (whole([container("c", {"cpu": "0"}, {"cpu": "2"})]), 0),
    "fractions are rounded up container by container": (
        whole([container("a", {"cpu": "100u"}), container("b", {"cpu": "100u"})]),
        2,
    ),
    "the pod as a whole": (whole(cpu(100), resources={"requests": {"cpu": "2"}}), 2000),
    "the pod as a whole, though less": (whole(cpu(3000), resources={"requests": {"cpu": "2"}}), 2000),
    "the pod as a whole, with overhead": (
        whole(cpu(100), resources={"requests": {"cpu": "2"}}, overhead={"cpu": "50m"}),
        2050,
    ),
    "the pod as a whole, with a large init container": (
        whole(cpu(100), initContainers=cpu(3000), resources={"requests": {"cpu": "2"}}),
        2000,
    ),
    "a limit of the whole pod": (whole([container("c")], resources={"limits": {"cpu": "2"}}), 2000),
    "a limit of the whole pod beside requests of containers": (
        whole(cpu(100), resources={"limits": {"cpu": "2"}}),
        100,
    ),
    "request and limit of the whole pod": (
        whole(cpu(100), resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}),
        1000,
    ),
    "the whole pod asks for something else": (
        whole(cpu(100), resources={"requests": {"memory": "1Gi"}}),
        100,
    ),
}


@pytest.mark.parametrize(("spec", "right"), CPU.values(), ids=CPU.keys())
def test_cpu(spec: Obj, right: int) -> None:
    assert requests(spec).get("cpu", 0) == right


def test_every_pod_takes_one_of_pods() -> None:
    assert requests(whole([])) == {"pods": 1}


def test_resources_of_which_nothing_is_asked_are_left_out() -> None:
    assert requests(whole([container("c", {"cpu": "0", "nvidia.com/gpu": "0"})])) == {"pods": 1}


def test_resources_are_counted_apart() -> None:
    """The largest init container in CPU is not that in memory."""
    init = [container("a", {"cpu": "3", "memory": "1Gi"}), container("b", {"cpu": "1", "memory": "3Gi"})]
    spec = whole([container("c", {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "1"})], initContainers=init)
    assert requests(spec) == {"cpu": 3000, "memory": 3 * 2**30, "nvidia.com/gpu": 1, "pods": 1}


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "ephemeral-storage"])
def test_only_some_resources_can_be_asked_for_by_the_pod_as_a_whole(resource: str) -> None:
    spec = whole([container("c", {resource: "1"})], resources={"requests": {resource: "4"}})
    assert requests(spec)[resource] == 1


def test_fractions_of_bytes_are_added_up_before_they_are_rounded() -> None:
    half = {"memory": "500m"}
    assert requests(whole([container("a", half), container("b", half)]))["memory"] == 1


@pytest.mark.parametrize("resource", ["memory", "hugepages-2Mi"])
def test_memory_and_huge_pages_can_be_asked_for_by_the_pod_as_a_whole(resource: str) -> None:
    spec = whole([container("c", {resource: "2Mi"})], resources={"requests": {resource: "8Mi"}})
    assert requests(spec)[resource] == 8 * 2**20


amounts = st.integers(0, 5)


@given(st.lists(amounts, max_size=3), st.lists(st.tuples(amounts, st.booleans()), max_size=5), amounts)
def test_requests_are_the_most_that_runs_at_any_moment(
    main: list[int], init: list[tuple[int, bool]], overhead: int
) -> None:
    """Played through: sidecars stay once started, init containers leave, then the containers come."""
    running, most = 0, 0
    for amount, stays in init:
        most = max(most, running + amount)
        running += amount if stays else 0
    most = max(most, running + sum(main)) + overhead
    inits = [sidecar(amount) if stays else cpu(amount)[0] for amount, stays in init]
    spec = whole(cpu(*main), initContainers=inits, overhead={"cpu": f"{overhead}m"})
    assert requests(spec).get("cpu", 0) == most
