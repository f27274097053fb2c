"""Plans carried out: many binds in flight at once, gang by gang, and an account of each.

There is no bind of several pods in the Kubernetes API, so a gang can fail part-way. What was refused waits
again; what became of the others is settled in `repair`.

Before that, the claims of the group get their volumes and their devices. It may take minutes, and keeps no
other group waiting.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from maitred.controllers.scheduling.allocating import DevicePreparer
from maitred.controllers.scheduling.claims import ClaimPreparer
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.seating import ANNOTATION, SeatingRecord
from maitred.kube.outcomes import Bound, RefusalReason, Refused, Unbound, Unknown
from maitred.kube.writes import Writer
from maitred.model.plan import Bind, Blocker, ClaimAllocation, GroupVerdict, VolumeChoice
from maitred.model.policy import Policy, binding_seconds

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 2.0
SECONDS_BETWEEN_CHECKS = 0.1
"""Whether the devices of a group are ready."""


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
    claims: Sequence[ClaimAllocation] = ()
    """Which devices their resource claims get."""
    unprepared: Blocker | None = None
    """What could not be made ready, so that the group, or some of it, was not bound."""
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

    @property
    def needed(self) -> int:
        """How many of the binds it takes for the quorum; of a tree of groups, all of them."""
        if self.verdict.counts == "parts":
            return len(self.binds)
        there = self.verdict.placed - len(self.binds)
        return max(1, min(self.verdict.quorum - there, len(self.binds)))


class Binder:
    def __init__(
        self,
        writer: Writer,
        mirror: Mirror,
        in_flight: int,
        finished: Callable[[Order], None],
        devices: DevicePreparer | None = None,
        policy: Callable[[], Policy] = Policy,
    ) -> None:
        """`finished` is told of an order when its binds are settled and its group is explained. `devices`:
        where the API server has resource claims."""
        self._writer = writer
        self._mirror = mirror
        self._in_flight = in_flight
        self._finished = finished
        self._claims = ClaimPreparer(mirror, writer)
        self._devices = devices
        self._policy = policy
        self._unprepared: asyncio.Queue[Order] = asyncio.Queue()
        self._queue: asyncio.Queue[tuple[Order, Bind]] = asyncio.Queue()
        self._doubts: list[tuple[Order, Bind]] = []
        self._unfinished = 0

    def send(self, order: Order) -> None:
        self._unfinished += len(order.binds)
        if order.volumes or order.claims:
            self._mirror.overlay.volumes.add(order.volumes)
            self._mirror.overlay.claims.begin(order.claims)
            self._unprepared.put_nowait(order)
        else:
            self._enqueue(order, order.binds)

    def explained(self, order: Order, verdict: GroupVerdict) -> None:
        """The cycle that gave the order has come to its end, and says this of the group."""
        order.verdict, order.is_explained = verdict, True
        if not order.open:
            self._finished(order)

    def _enqueue(self, order: Order, binds: Iterable[Bind]) -> None:
        for bind in binds:
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
        """The devices are written first, since others may be after them, and waited for last."""
        try:
            blocker = await self._allocate(order)
            if blocker is None and (problem := await self._claims.prepare(order.volumes)):
                blocker = Blocker("Volume", problem)
        finally:
            self._mirror.overlay.volumes.remove(order.volumes)
        if blocker is not None:
            await self._give_up(order, order.binds, blocker)
        elif self._devices is not None and self._devices.needs_time(order.claims):
            await self._wait_for_devices(order, self._devices)
        else:
            self._enqueue(order, order.binds)

    async def _allocate(self, order: Order) -> Blocker | None:
        if not order.claims:
            return None
        if self._devices is None:
            return Blocker("Devices", "the API server does not serve resource claims")
        problem = await self._devices.allocate(order.claims)
        return Blocker("Devices", problem) if problem else None

    async def _wait_for_devices(self, order: Order, devices: DevicePreparer) -> None:
        """Nobody is bound before the devices of a quorum are ready; from then on, everyone whose are. When
        one fails, those who are not bound by then wait again."""
        own = {bind.pod: devices.used_by(bind, order.claims) for bind in order.binds}
        held, needed, started = list(order.binds), order.needed, time.monotonic()
        while True:
            late = {bind.pod: problem for bind in held if (problem := devices.unready(own[bind.pod]))}
            if len(held) - len(late) >= needed:
                self._enqueue(order, (bind for bind in held if bind.pod not in late))
                held, needed = [bind for bind in held if bind.pod in late], 1
            if not held:
                return
            problem = devices.failure(claim for bind in held for claim in own[bind.pod])
            limit = binding_seconds(self._policy())
            if not problem and time.monotonic() - started > limit:
                problem = f"{next(iter(late.values()))} (waited {limit:g} s)"
            if problem:
                await self._give_up(order, held, Blocker("Devices", problem))
                return
            await asyncio.sleep(SECONDS_BETWEEN_CHECKS)

    async def _give_up(self, order: Order, binds: Sequence[Bind], blocker: Blocker) -> None:
        order.unprepared = blocker
        if self._devices is not None:
            await self._devices.free(order.claims, binds)
        for bind in binds:
            self._settle(order, bind, Refused(RefusalReason.UNPREPARED, blocker.message))

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
            self._let_go(order)
            if order.is_explained:
                self._finished(order)

    def _let_go(self, order: Order) -> None:
        """From now on others may look after the claims of those who were not bound."""
        self._mirror.overlay.claims.end(order.claims)
        self._mirror.device_claims.touch(claim.claim for claim in order.claims)
        if self._devices is not None:
            self._devices.settled(order.claims)

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
