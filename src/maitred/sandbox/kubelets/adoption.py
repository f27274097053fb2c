"""Nodes by wish: whoever writes a marked Node to the API gets a machine, and deletes it to be rid of it."""

import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from maitred.kube.errors import ApiError
from maitred.sandbox.kubelets.kubelet import Kubelet
from maitred.sandbox.kubelets.marks import is_faulty, is_simulated
from maitred.sandbox.kubelets.objects import Node

log = logging.getLogger(__name__)

Step = Callable[[], Awaitable[None]]


class NodeGone(Exception):
    """There is no such node any more; the watch has yet to say so."""


class MachineKeeper(Protocol):
    """Who can do to a machine what a Node object asks for. All of them may raise NodeGone, or ApiError."""

    def kubelet(self, name: str) -> Kubelet | None: ...
    async def adopt(self, node: Node) -> None: ...
    async def dismiss(self, name: str) -> None: ...
    async def fail(self, name: str) -> None: ...
    async def heal(self, name: str) -> None: ...
    async def refresh(self, name: str) -> None: ...


class Adoption:
    """Brings the kubelets in line with the marked nodes: one for each, and dead while a fault is noted.

    What a node asks for can change while something is being done for it, so that for each node one thing is
    done after the other, until nothing is left to do.
    """

    def __init__(self, keeper: MachineKeeper, spawn: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        self._keeper = keeper
        self._spawn = spawn
        self._marked: dict[str, Node] = {}
        self._busy = set[str]()

    def put(self, node: Node) -> None:
        name = node.metadata.name
        kubelet = self._keeper.kubelet(name)
        if kubelet is not None and kubelet.node.metadata.uid == node.metadata.uid:
            kubelet.node = node
        if is_simulated(node.metadata):
            self._marked[name] = node
        else:
            self._marked.pop(name, None)
        self._attend(name)

    def gone(self, key: str) -> None:
        self._marked.pop(key, None)
        self._attend(key)

    def settled(self) -> None:
        """Nodes are attended to as they arrive."""

    def _attend(self, name: str) -> None:
        if name not in self._busy and self._next(name) is not None:
            self._busy.add(name)
            self._spawn(self._bring_about(name))

    async def _bring_about(self, name: str) -> None:
        try:
            while (step := self._next(name)) is not None:
                asked = self._marked.get(name)
                try:
                    await step()
                except NodeGone:
                    if self._marked.get(name) is asked:
                        self._marked.pop(name, None)
                except ApiError as error:
                    log.warning("node %s is ignored until it changes: %.400s", name, error)
                    if self._marked.get(name) is asked:
                        return
        finally:
            self._busy.discard(name)

    def _next(self, name: str) -> Step | None:
        node, kubelet = self._marked.get(name), self._keeper.kubelet(name)
        if kubelet is None:
            return None if node is None else partial(self._keeper.adopt, node)
        if node is None or node.metadata.uid != kubelet.node.metadata.uid:
            return partial(self._keeper.dismiss, name)
        if kubelet.alive == is_faulty(node.metadata):
            return partial(self._keeper.fail if kubelet.alive else self._keeper.heal, name)
        if kubelet.alive and not kubelet.node.status.is_ready:
            # Given up while all of us slept, as laptops do.
            return partial(self._keeper.refresh, name)
        return None
