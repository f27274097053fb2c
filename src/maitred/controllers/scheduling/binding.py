"""Plans carried out: many binds in flight at once, gang by gang, and an account of each.

There is no bind of several pods in the Kubernetes API, so a gang can fail part-way. What was refused waits
again; what became of the others is settled in `repair`.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from maitred.controllers.scheduling.claims import ClaimPreparer
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.seating import ANNOTATION, SeatingRecord
from maitred.kube.outcomes import Bound, RefusalReason, Refused, Unbound, Unknown
from maitred.kube.writes import Writer
from maitred.model.plan import Bind, GroupVerdict, VolumeChoice

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 2.0


@dataclass(slots=True)
class Order:
    """The members of one group that one cycle has seated."""

    verdict: GroupVerdict
    """Without what is in the way of members that are left over, until the cycle has found that out."""
    binds: Sequence[Bind]
    seating: SeatingRecord
    ordered_at: float
    volumes: Sequence[VolumeChoice] = ()
    """What the claims of its pods get first."""
    open: int = 0
    bound: int = 0
    refused: list[tuple[Bind, Refused]] = field(default_factory=list)
    is_explained: bool = False
    settled_at: float = math.inf

    annotations: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.open = len(self.binds)
        self.annotations = {ANNOTATION: str(self.seating)}

    @property
    def group(self) -> str:
        return self.verdict.group


class Binder:
    def __init__(
        self, writer: Writer, mirror: Mirror, in_flight: int, finished: Callable[[Order], None]
    ) -> None:
        """`finished` is told of an order when its binds are settled and its group is explained."""
        self._writer = writer
        self._mirror = mirror
        self._in_flight = in_flight
        self._finished = finished
        self._claims = ClaimPreparer(mirror, writer)
        self._unprepared: asyncio.Queue[Order] = asyncio.Queue()
        self._queue: asyncio.Queue[tuple[Order, Bind]] = asyncio.Queue()
        self._doubts: list[tuple[Order, Bind]] = []
        self._unfinished = 0

    def send(self, order: Order) -> None:
        self._unfinished += len(order.binds)
        if order.volumes:
            self._mirror.overlay.volumes.add(order.volumes)
            self._unprepared.put_nowait(order)
        else:
            self._enqueue(order)

    def explained(self, order: Order, verdict: GroupVerdict) -> None:
        """The cycle that gave the order has come to its end, and says this of the group."""
        order.verdict, order.is_explained = verdict, True
        if not order.open:
            self._finished(order)

    def _enqueue(self, order: Order) -> None:
        for bind in order.binds:
            self._queue.put_nowait((order, bind))

    @property
    def unfinished(self) -> int:
        """Binds that were ordered and are not settled."""
        return self._unfinished

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._in_flight):
                tasks.create_task(self._work())
            tasks.create_task(self._resolve_doubts())
            while True:
                tasks.create_task(self._prepare(await self._unprepared.get()))

    async def _prepare(self, order: Order) -> None:
        """A group whose claims need volumes first. It may take minutes, and keeps no other group waiting."""
        try:
            problem = await self._claims.prepare(order.volumes)
        finally:
            self._mirror.overlay.volumes.remove(order.volumes)
        if not problem:
            self._enqueue(order)
            return
        for bind in order.binds:
            self._settle(order, bind, Refused(RefusalReason.UNPREPARED, problem))

    async def _work(self) -> None:
        while True:
            order, bind = await self._queue.get()
            namespace, _, name = bind.pod.partition("/")
            outcome = await self._writer.bind(namespace, name, bind.uid, bind.node, order.annotations)
            self._settle(order, bind, outcome)

    def _settle(self, order: Order, bind: Bind, outcome: Bound | Refused | Unknown) -> None:
        if isinstance(outcome, Unknown):
            # Its place stays taken until we know.
            log.warning("bind of %s to %s: outcome unknown: %s", bind.pod, bind.node, outcome.message)
            self._doubts.append((order, bind))
            return
        order.open -= 1
        self._unfinished -= 1
        if isinstance(outcome, Refused):
            order.refused.append((bind, outcome))
            self._mirror.overlay.retract([bind.pod])
        else:
            order.bound += 1
        if not order.open:
            order.settled_at = time.monotonic()
            if order.is_explained:
                self._finished(order)

    async def _resolve_doubts(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            doubts, self._doubts = self._doubts, []
            for order, bind in doubts:
                namespace, _, name = bind.pod.partition("/")
                outcome = await self._writer.look(namespace, name, bind.uid, bind.node)
                if isinstance(outcome, Unbound):
                    # The same bind once more does no harm, even if the first one still lands.
                    self._queue.put_nowait((order, bind))
                else:
                    self._settle(order, bind, outcome)
