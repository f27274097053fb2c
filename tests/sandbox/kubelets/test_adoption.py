"""Kubelets follow what Node objects ask for, whatever happens in between."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from maitred.kube.errors import ApiError
from maitred.model.reports import SaidCondition
from maitred.sandbox.kubelets.adoption import Adoption, NodeGone
from maitred.sandbox.kubelets.marks import FAULT, KUBELET, SIMULATED
from maitred.sandbox.kubelets.objects import Node, NodeMeta, NodeStatus


class Machine:
    """What Adoption looks at of a kubelet."""

    def __init__(self, node: Node, alive: bool) -> None:
        self.node = node
        self.alive = alive


class Keeper:
    """Does what is asked, in its own time, to a server that knows which nodes there are."""

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self.server: dict[str, str] = {}
        """UIDs of nodes that exist, by name."""
        self.doing = set[str]()
        self.refused = set[str]()
        """UIDs of nodes of which the server takes no writes."""

    def kubelet(self, name: str) -> Any:
        return self.machines.get(name)

    async def adopt(self, node: Node) -> None:
        name = node.metadata.name
        await self._work(name)
        if self.server.get(name) != node.metadata.uid:
            raise NodeGone(name)
        if node.metadata.uid in self.refused:
            raise ApiError("PATCH", f"/api/v1/nodes/{name}", 422, "Invalid", "spec: Invalid value")
        self.machines[name] = Machine(made_ready(node), FAULT not in node.metadata.annotations)

    async def dismiss(self, name: str) -> None:
        del self.machines[name]
        await self._work(name)

    async def fail(self, name: str) -> None:
        self.machines[name].alive = False
        await self._work(name)

    async def heal(self, name: str) -> None:
        await self.refresh(name)
        self.machines[name].alive = True

    async def refresh(self, name: str) -> None:
        await self._work(name)
        self.machines[name].node = made_ready(self.machines[name].node)

    async def _work(self, name: str) -> None:
        assert name not in self.doing, "one thing at a time"
        self.doing.add(name)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.doing.discard(name)


def node(name: str = "n1", uid: str = "1", fault: bool = False, marked: bool = True) -> Node:
    labels = {KUBELET: SIMULATED} if marked else {}
    return Node(NodeMeta(name=name, uid=uid, labels=labels, annotations={FAULT: "power"} if fault else {}))


def made_ready(node: Node) -> Node:
    return Node(node.metadata, status=NodeStatus(conditions=(SaidCondition("Ready", "True"),)))


def play(*steps: Callable[[Adoption, Keeper], None], turns: int = 0) -> Keeper:
    """Between two steps so many turns of the event loop pass; after the last, as many as it takes."""
    keeper = Keeper()

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:

            def spawn(work: Coroutine[Any, Any, None]) -> object:
                return tasks.create_task(work)

            adoption = Adoption(keeper, spawn)
            for step in steps:
                step(adoption, keeper)
                for _ in range(turns):
                    await asyncio.sleep(0)

    asyncio.run(run())
    return keeper


def put(given: Node) -> Callable[[Adoption, Keeper], None]:
    def step(adoption: Adoption, keeper: Keeper) -> None:
        keeper.server[given.metadata.name] = given.metadata.uid
        adoption.put(given)

    return step


def gone(name: str = "n1") -> Callable[[Adoption, Keeper], None]:
    def step(adoption: Adoption, keeper: Keeper) -> None:
        keeper.server.pop(name, None)
        adoption.gone(name)

    return step


def test_marked_nodes_get_a_kubelet_and_others_do_not() -> None:
    keeper = play(put(node("n1")), put(node("n2", marked=False)))
    assert set(keeper.machines) == {"n1"}
    assert keeper.machines["n1"].alive


def test_a_fault_kills_and_its_end_heals() -> None:
    assert not play(put(node()), put(node(fault=True))).machines["n1"].alive
    assert play(put(node()), put(node(fault=True)), put(node())).machines["n1"].alive


def test_a_node_that_is_deleted_or_loses_its_mark_has_no_kubelet() -> None:
    assert not play(put(node()), gone()).machines
    assert not play(put(node()), put(node(marked=False))).machines


def test_a_node_that_others_gave_up_is_ready_again() -> None:
    keeper = play(put(made_ready(node())), put(node()), turns=9)
    assert keeper.machines["n1"].node.status.is_ready


def test_a_node_whose_writes_are_refused_is_tried_again_when_it_changes() -> None:
    def refuse(adoption: Adoption, keeper: Keeper) -> None:
        keeper.refused = {"1"}

    def accept(adoption: Adoption, keeper: Keeper) -> None:
        keeper.refused = set()

    assert set(play(refuse, put(node()), put(node("n2", uid="2")), turns=9).machines) == {"n2"}
    assert set(play(refuse, put(node()), accept, put(node()), turns=9).machines) == {"n1"}


EVENTS = st.sampled_from(
    [
        put(node()),
        put(node(fault=True)),
        put(node(marked=False)),
        gone(),
        put(node(uid="2")),
        put(node(uid="3", fault=True)),
    ]
)


@given(st.lists(EVENTS, max_size=8), st.integers(0, 5), st.sampled_from(["alive", "dead", "none"]))
def test_in_the_end_it_is_as_the_last_word_says(
    events: list[Callable[[Adoption, Keeper], None]], turns: int, last: str
) -> None:
    final = {"alive": put(node(uid="9")), "dead": put(node(uid="9", fault=True)), "none": gone()}[last]
    machines = play(*events, final, turns=turns).machines
    if last == "none":
        assert not machines
    else:
        assert machines["n1"].node.metadata.uid == "9"
        assert machines["n1"].alive == (last == "alive")
        assert machines["n1"].node.status.is_ready or last == "dead"
