"""Claims get their devices before the pods get their nodes, and lose them again where the pods do not.

Which devices each claim gets is in the Plan. Here that is written, for one group after another, and the
devices are waited for that have to be made ready. Nothing else is decided: a claim that others have allocated
meanwhile is theirs, and the group is decided anew.

Whatever is given back is given back here too, be it for a group that could not be bound, or for what an
earlier scheduler has left behind (`reclaiming`). For each claim one thing is done at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from weakref import WeakValueDictionary

import msgspec

from maitred.controllers.scheduling.claim_shares import by_user, share_of, user_in_plan, users_of
from maitred.controllers.scheduling.claim_users import (
    group_is_idle,
    idle_users,
    is_left_over,
    is_made_in_vain,
)
from maitred.controllers.scheduling.device_claims import POD_GROUPS
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.claim_writes import ClaimWriter
from maitred.kube.outcomes import Done, Refused, Unknown
from maitred.kube.wire import WatchedClaim
from maitred.kube.writes import Writer
from maitred.model.devices.claims import Allocation
from maitred.model.devices.readiness import failure, needs_time, unready
from maitred.model.plan import Bind, ClaimAllocation, Detail

LONGEST_LOOK_SECONDS = 1.0
"""For what a watch has yet to show."""


class DevicePreparer:
    def __init__(
        self, mirror: Mirror, writer: Writer, claims: ClaimWriter, scheduler: str, in_flight: int
    ) -> None:
        self._mirror = mirror
        self._writer = writer
        self._claims = claims
        self._scheduler = scheduler
        self._places = asyncio.Semaphore(in_flight)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._written: dict[str, WatchedClaim] = {}
        """Claims of groups that are being bound, as the server has answered."""

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with self._places, lock:
            yield

    # -- for a group -----------------------------------------------------------------------------------

    async def allocate(self, claims: Sequence[ClaimAllocation]) -> str:
        """What went wrong, or nothing. After the first thing that does, no other is begun."""
        problems = list[str]()

        async def one(claim: ClaimAllocation) -> None:
            async with self._alone(claim.claim):
                if not problems and (problem := await self._allocate(claim)):
                    problems.append(problem)

        async with asyncio.TaskGroup() as tasks:
            for claim in claims:
                tasks.create_task(one(claim))
        return problems[0] if problems else await self._lost(claims)

    async def _lost(self, claims: Sequence[ClaimAllocation]) -> str:
        """Whether others were faster. Once the watch has come as far as our own writes, it has shown all that
        was written before them. A watch that is late keeps nobody waiting for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_LOOK_SECONDS):
                await self._mirror.overlay.claims.shown(claims)
        device = self._mirror.device_claims.lost(claims)
        if device is None:
            return ""
        _, pool, name = device
        return f"another scheduler gave device {name} of pool {pool} to another claim at the same time"

    async def _allocate(self, claim: ClaimAllocation) -> str:
        known: WatchedClaim | Refused | Unknown | None = self._mirror.device_claims.claims.get(claim.claim)
        if claim.made is not None:
            known = await self._claims.make(claim, claim.reserved_for[0]["uid"])
        if known is None:
            return f"claim {claim.claim} does not exist any more"
        if isinstance(known, WatchedClaim):
            self._written[claim.claim] = known
            known = await self._claims.allocate(claim, known)
        if not isinstance(known, WatchedClaim):
            return known.message
        self._written[claim.claim] = known
        self._mirror.overlay.claims.written(known)
        return await self._name_in_pod(claim)

    async def _name_in_pod(self, claim: ClaimAllocation) -> str:
        """A kubelet looks for the claim there, if the pod itself names none."""
        if claim.made is None:
            return ""
        namespace, _, name = claim.made.pod.partition("/")
        uid, made = claim.reserved_for[0]["uid"], claim.claim.partition("/")[2]
        outcome = await self._writer.name_claim(namespace, name, uid, made, claim.made.request_mappings)
        return "" if isinstance(outcome, Done) else f"pod {claim.made.pod}: {outcome.message}"

    def needs_time(self, claims: Iterable[ClaimAllocation]) -> bool:
        """Whether any device of these, which are allocated, has to be made ready."""
        return any(needs_time(self._latest(claim).status) for claim in claims)

    def used_by(self, bind: Bind, claims: Iterable[ClaimAllocation]) -> tuple[ClaimAllocation, ...]:
        """Those of a group that one of its pods uses."""
        pod = self._mirror.waiting.get(bind.pod)
        return () if pod is None else share_of(users_of(bind, pod), by_user(claims))

    def failure(self, claims: Iterable[ClaimAllocation]) -> str:
        """Why some of them will never be ready; empty if they may be."""
        for claim in claims:
            latest = self._latest(claim)
            if latest.status.allocation is None:
                return f"claim {claim.claim} was deallocated by others"
            if problem := failure(latest.status):
                return f"claim {claim.claim}: {problem}"
        return ""

    def unready(self, claims: Iterable[ClaimAllocation]) -> str:
        """What is waited for; empty if all their devices are ready."""
        problems = ((claim.claim, unready(self._latest(claim).status)) for claim in claims)
        return next((f"claim {claim}: {problem}" for claim, problem in problems if problem), "")

    def _latest(self, claim: ClaimAllocation) -> WatchedClaim:
        """As the watch has it, once that has come as far as our own writes."""
        seen, written = self._mirror.device_claims.claims.get(claim.claim), self._written[claim.claim]
        return written if seen is None or self._mirror.overlay.claims.is_promised(claim.claim) else seen

    def settled(self, claims: Iterable[ClaimAllocation]) -> None:
        """The binds of the group have come to their end, and whoever was not bound uses nothing."""
        for claim in claims:
            if not self._mirror.overlay.claims.is_ordered(claim.claim):
                self._written.pop(claim.claim, None)

    async def free(self, claims: Iterable[ClaimAllocation], binds: Sequence[Bind]) -> None:
        """These pods of a group are not bound after all. What cannot be freed now is freed later: the watch
        will show it."""
        pods = frozenset(bind.pod for bind in binds)
        async with asyncio.TaskGroup() as tasks:
            for claim in claims:
                tasks.create_task(self._free(claim, pods))

    async def _free(self, claim: ClaimAllocation, pods: Collection[str]) -> None:
        leaving = frozenset(one["uid"] for one in claim.reserved_for if self._leaves(claim, one, pods))
        async with self._alone(claim.claim):
            written = self._written.get(claim.claim)
            if written is None or not leaving:
                return
            if claim.made is not None:
                await self._claims.remove(claim.claim, written.metadata.uid, leaving)
            else:
                allocation = msgspec.convert(claim.allocation, Allocation)
                await self._claims.release(claim.claim, written.metadata.uid, leaving, allocation)

    def _leaves(self, claim: ClaimAllocation, user: Detail, pods: Collection[str]) -> bool:
        *kind, key = user_in_plan(claim, user)
        if tuple(kind) != POD_GROUPS:
            return key in pods
        return group_is_idle(self._mirror, key, self._scheduler, if_empty=True, besides=pods)

    # -- for whoever has left something behind ---------------------------------------------------------

    def is_unused(self, key: str) -> bool:
        """Whether something of a claim can be freed."""
        claim = self._mirror.device_claims.claims.get(key)
        if claim is None or self._mirror.overlay.claims.is_ordered(key):
            return False
        return (
            is_left_over(claim, self._scheduler)
            or is_made_in_vain(self._mirror, claim)
            or bool(idle_users(self._mirror, claim, self._scheduler))
        )

    async def reclaim(self, key: str) -> Done | Refused | Unknown:
        """Free what nobody uses of a claim."""
        async with self._alone(key):
            claim = self._mirror.device_claims.claims.get(key)
            if claim is None or not self.is_unused(key):
                return Done()  # a group is being bound with it by now
            idle, uid = idle_users(self._mirror, claim, self._scheduler), claim.metadata.uid
            if is_made_in_vain(self._mirror, claim):
                return await self._claims.remove(key, uid, idle)
            return await self._claims.release(key, uid, idle, claim.status.allocation)
