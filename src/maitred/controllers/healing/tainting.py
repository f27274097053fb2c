"""Taints of lemons, written as the last Plan says. A Plan names a taint for as long as the node does not show
it, so what was lost with a process, or taken off by somebody, is written by the next one."""

import logging
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

from maitred.controllers.retry import Retry
from maitred.kube.node_taints import TaintWriter
from maitred.kube.outcomes import Done
from maitred.kube.writes import Writer
from maitred.model.node import LEMON_EFFECT
from maitred.model.plan import NodeTaint

log = logging.getLogger(__name__)


@dataclass(slots=True)
class WantedTaint:
    taint: NodeTaint
    retry: Retry
    done: bool = False
    """Written: the watch will show it."""


class Tainter:
    def __init__(self, writer: Writer) -> None:
        self._writer = TaintWriter(writer)
        self._wanted: dict[str, WantedTaint] = {}
        """By node."""

    def decided(self, taints: Iterable[NodeTaint]) -> bool:
        """Whether anything is to be written."""
        known, self._wanted = self._wanted, {}
        for one in taints:
            before = known.get(one.node)
            same = before is not None and before.taint.add is one.add
            self._wanted[one.node] = before if before is not None and same else WantedTaint(one, Retry())
        return any(not one.done for one in self._wanted.values())

    def forget(self) -> None:
        """What was decided does not count any more."""
        self._wanted = {}

    @property
    def next_at(self) -> float:
        """By the monotonic clock; infinity if nothing is left to write."""
        return min((one.retry.at for one in self._wanted.values() if not one.done), default=math.inf)

    async def write_those_due(self) -> None:
        now = time.monotonic()
        for one in [one for one in self._wanted.values() if not one.done and one.retry.at <= now]:
            if self._wanted.get(one.taint.node) is one:  # cycles go on meanwhile
                await self._write(one)

    async def _write(self, one: WantedTaint) -> None:
        taint = one.taint
        outcome = await self._writer.change(taint.node, taint.key, taint.value, LEMON_EFFECT, taint.add)
        what = f"the taint {taint.key} is {'added' if taint.add else 'removed'}"
        if isinstance(outcome, Done):
            one.done = True
            log.info("node %s: %s: %s", taint.node, what, taint.words)
            return
        seconds = one.retry.again()
        log.warning(
            "node %s: not yet so that %s; trying again in %g s: %s",
            *(taint.node, what, seconds, outcome.message),
        )
