"""Requests to drain nodes, as decisions see them; and what becomes of them, as the API server has it.

Who is told to leave is the business of the evicter. Here it is written down with the request how far that is,
nodes are cordoned, and requests that were done long ago are deleted. A process may die between any two of
these: the next one finds in the cluster who is still there, and in the records of suspended owners who comes
back.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import Delete, Put
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.kube.client import Client
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.reflector import Reflector
from maitred.kube.resources import CONFIG_MAPS
from maitred.kube.wire import ConfigMap
from maitred.kube.writes import Writer
from maitred.model.drain import DRAIN, PREFIX, PROGRESS, RECORD, DrainProgress
from maitred.model.memory import HOME, MemoryObject
from maitred.model.meta import ObjectMeta
from maitred.model.plan import DrainDecision, Plan

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
Outcome = Done | Refused | Unknown


class MaintenancePart:
    """Hears of every Plan of the scheduling loop. Without `acts` it only reads the requests."""

    def __init__(
        self, mirror: Mirror, worklist: Worklist, writer: Writer, namespace: str, acts: bool
    ) -> None:
        self._mirror, self._worklist, self._writer = mirror, worklist, writer
        self._namespace, self._acts = namespace, acts
        self._known: dict[str, dict[str, str]] = {}
        """By the names of the ConfigMaps, what is in them."""
        self._wanted: dict[str, str] = {}
        """Progress that the API server does not have yet."""
        self._cordoned: set[str] = set()
        """Nodes for which it is ordered, until that has failed or the next term."""
        self._orders: asyncio.Queue[Callable[[], Coroutine[Any, Any, None]]] = asyncio.Queue()

    # -- told by the watch -----------------------------------------------------------------------------

    def reflector(self, client: Client) -> Reflector[ConfigMap]:
        selector = {"labelSelector": f"{RECORD}={DRAIN}"}
        return Reflector(client, CONFIG_MAPS, ConfigMap, self, namespace=self._namespace, selector=selector)

    def put(self, item: ConfigMap) -> None:
        name = item.metadata.name
        data = dict(item.data)
        if name in self._wanted:  # ours is on its way, and later than this
            data[PROGRESS] = self._wanted[name]
        self._show(name, data)

    def gone(self, key: str) -> None:
        name = key.partition("/")[2]
        self._wanted.pop(name, None)
        if self._known.pop(name, None) is not None:
            log.info("drain request %s is gone", name.removeprefix(PREFIX))
            self._mirror.state.apply(Delete(MemoryObject, f"{HOME}/{name}"))
            self._look_again()

    def settled(self) -> None:
        self._mirror.changed.set()

    def _show(self, name: str, data: dict[str, str]) -> None:
        if self._known.get(name) == data:
            return
        if name not in self._known:
            log.info("drain request %s: %s", name.removeprefix(PREFIX), data.get("record", ""))
        self._known[name] = data
        meta = ObjectMeta(name=name, namespace=HOME, labels={RECORD: DRAIN})
        self._mirror.state.apply(Put(MemoryObject(meta, data)))
        self._look_again()

    def _look_again(self) -> None:
        """Nodes are closed, or open again, and somebody may have to leave."""
        self._worklist.look_at_everything()
        self._mirror.changed.set()

    # -- told by the loop ------------------------------------------------------------------------------

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        for decision in plan.drains if self._acts else ():
            name = f"{PREFIX}{decision.name}"
            if name not in self._known:
                continue  # it was taken back meanwhile
            if decision.progress is not None:
                self._note(name, decision, decision.progress)
            for node in decision.cordon:
                if node not in self._cordoned:
                    self._cordoned.add(node)
                    self._orders.put_nowait(partial(self._cordon, node, decision.name))
            if decision.over:
                self._orders.put_nowait(partial(self._delete, name))

    def _note(self, name: str, decision: DrainDecision, progress: DrainProgress) -> None:
        """Decisions see it from now on."""
        if decision.done:
            log.info("drain request %s is done: no pod is left to move", decision.name)
        is_under_way = name in self._wanted
        self._wanted[name] = text = str(progress)
        self._known[name] = {**self._known[name], PROGRESS: text}
        meta = ObjectMeta(name=name, namespace=HOME, labels={RECORD: DRAIN})
        self._mirror.state.apply(Put(MemoryObject(meta, self._known[name])))
        if not is_under_way:
            self._orders.put_nowait(partial(self._write, name))

    # -- carrying out ----------------------------------------------------------------------------------

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                order = await self._orders.get()
                tasks.create_task(order())

    async def _write(self, name: str) -> None:
        """Until the API server has what was decided last."""
        while name in self._wanted:
            text = self._wanted[name]
            outcome = await self._writer.note_progress(self._namespace, name, {PROGRESS: text})
            if isinstance(outcome, Done) or is_gone(outcome):
                if self._wanted.get(name) == text:
                    del self._wanted[name]
                continue
            log.warning("progress of %s could not be written; trying again: %s", name, outcome.message)
            await asyncio.sleep(RETRY_SECONDS)

    async def _cordon(self, node: str, request: str) -> None:
        outcome = await self._writer.cordon(node)
        if isinstance(outcome, Done):
            log.info("node %s is cordoned for drain request %s", node, request)
        elif not is_gone(outcome):
            log.warning("node %s could not be cordoned; trying again: %s", node, outcome.message)
            await asyncio.sleep(RETRY_SECONDS)
            self._cordoned.discard(node)

    async def _delete(self, name: str) -> None:
        with suppress(KeyError):
            del self._wanted[name]
        outcome = await self._writer.delete(CONFIG_MAPS, self._namespace, name)
        if not isinstance(outcome, Done):
            log.warning("drain request %s could not be deleted: %s", name, outcome.message)


def is_gone(outcome: Outcome) -> bool:
    return isinstance(outcome, Refused) and outcome.why is RefusalReason.GONE
