"""The cluster as the watches tell it: what of it is ours, by group, and the state that decisions read.

What we have ordered on top of that is in the overlay.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from maitred.cluster.news import Ends
from maitred.cluster.state import ClusterState, Delete, Journal, Put
from maitred.cluster.trees import COMPOSITE_POD_GROUP
from maitred.controllers.scheduling.departures import controller_of
from maitred.controllers.scheduling.device_claims import DeviceClaimTable
from maitred.controllers.scheduling.gangs import ShadowGangs
from maitred.controllers.scheduling.overlay import Overlay, is_over
from maitred.controllers.scheduling.seating import ANNOTATION, SeatingRecord, parse_seating
from maitred.kube.wire import WatchedClaim, WatchedComposite, WatchedGroup, WatchedPod
from maitred.model.group import CompositePodGroup, PodGroup
from maitred.model.kinds import row_of
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.pod import Pod
from maitred.model.policy import Policy, Workloads
from maitred.model.suspending import OwnerName, SuspendableKind

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Mate:
    """A member of a group that we have bound: what it takes to take it back, should it come to that."""

    uid: str
    owned: bool
    """It has a controller, which makes another one in its place."""
    seating: SeatingRecord


class Mirror:
    """Fed by the watches, on the event loop alone; it is the one writer of the ClusterState."""

    def __init__(
        self,
        scheduler: str | None,
        journal: Journal | None = None,
        clock: Callable[[], float] = time.monotonic,
        policy: Callable[[], Policy] = Policy,
        ends: Ends | None = None,
    ) -> None:
        self.state = ClusterState(journal, ends, waits_for_owners=True)
        self.changed = asyncio.Event()
        self.waiting: dict[str, WatchedPod] = {}
        """Pods that are ours to seat, as the API server has them, assumed ones among them."""
        self.waiting_by_group: dict[str, set[str]] = {}
        """The same pods by group; a lone pod is a group of one."""
        self.groups: dict[str, WatchedGroup] = {}
        self.composites: dict[str, WatchedComposite] = {}
        self.mates: dict[str, dict[str, Mate]] = {}
        """Group -> its members that we have bound and that have not finished."""
        self.owners: dict[OwnerName, Object] = {}
        """Owners of pods that can be suspended, Jobs among them."""
        self.workloads: dict[str, KueueWorkload] = {}
        self._imagined: dict[OwnerName, list[Object]] = {}
        self._group_of: dict[str, str] = {}
        self._waits_in: dict[str, str] = {}
        """Pods that wait -> the group that they are listed under."""
        self.device_claims = DeviceClaimTable()
        claims = self.device_claims.claims
        self.overlay = Overlay(self.state, self.waiting, self.changed.set, policy, clock, claims)
        self.scheduler = scheduler
        self.gangs: ShadowGangs | None = None
        """Set for a shadow, which tells gangs as an audit does."""

    def watch_gangs(self) -> None:
        self.gangs = ShadowGangs(self.state)

    # -- told by the watches ---------------------------------------------------------------------------

    def put_pod(self, pod: WatchedPod) -> None:
        key = key_of(pod.metadata)
        ours = self.scheduler is None or pod.spec.scheduler_name == self.scheduler
        self._stop_waiting(key)
        if ours and not pod.spec.node_name and not is_over(pod):
            self.waiting[key] = pod
        if self.gangs is not None:
            self.gangs.put(key, pod)
        self.overlay.show(key, pod)
        if key in self.waiting:
            self._wait_in_group(key)
        self._remember_mate(key, pod if ours else None)
        if not pod.spec.node_name or is_over(pod):
            self.device_claims.left_by(key, self.state.part_of(key))

    def pod_gone(self, key: str) -> None:
        self._stop_waiting(key)
        self.device_claims.left_by(key, self.state.part_of(key))
        self.overlay.gone(key)
        self._remember_mate(key, None)
        if self.gangs is not None:
            self.gangs.gone(key)
        self.state.apply(Delete(Pod, key))

    def stand_in(self, owner: OwnerName, pods: Iterable[WatchedPod]) -> None:
        """These too wait for an owner that has no pods. Nothing may be written of them: they do not exist."""
        for pod in pods:
            self.overlay.stand_in(key_of(pod.metadata), owner)
            self.put_pod(pod)
        self.changed.set()

    def imagine(self, owner: OwnerName, between: Iterable[Object]) -> None:
        """What an owner will make between itself and its pods, for as long as pods stand in for it."""
        for one in between:
            self._imagined.setdefault(owner, []).append(one)
            self.state.apply(Put(one))
        self._regroup()

    def stand_down(self, owner: OwnerName, most: int) -> bool:
        """No stand-in is to wait for the owner any more. So many go at once; whether others are left."""
        for key in list(islice(self.overlay.standing.get(owner, ()), most)):
            self.pod_gone(key)
            self.overlay.stand_down(key)
            self.changed.set()
        if owner in self.overlay.standing:
            return True
        for one in self._imagined.pop(owner, ()):
            self.state.apply(Delete(row_of(type(one)).type, key_of(one.metadata)))
        return False

    def put_group(self, group: WatchedGroup) -> None:
        self.groups[key_of(group.metadata)] = group
        self.state.apply(Put(group))
        self._regroup()

    def group_gone(self, key: str) -> None:
        self.groups.pop(key, None)
        self.state.apply(Delete(PodGroup, key))
        self._regroup()

    def put_composite(self, composite: WatchedComposite) -> None:
        self.composites[key_of(composite.metadata)] = composite
        self.state.apply(Put(composite))
        self._regroup()

    def composite_gone(self, key: str) -> None:
        self.composites.pop(key, None)
        self.state.apply(Delete(CompositePodGroup, key))
        self._regroup()

    def put_owner(self, one: Object, row: SuspendableKind) -> None:
        """An object that makes pods, and can be suspended."""
        self.owners[OwnerName(row.title, key_of(one.metadata))] = one
        self.state.apply(Put(one))
        self.overlay.put_owner(one, row)
        self._regroup()

    def owner_gone(self, owner: OwnerName, row: SuspendableKind) -> None:
        if (one := self.owners.pop(owner, None)) is not None:
            self.overlay.owner_gone(one)
        self.state.apply(Delete(row.type, owner.key))
        self._regroup()

    def put_workload(self, workload: KueueWorkload) -> None:
        """Of Kueue."""
        self.workloads[key_of(workload.metadata)] = workload
        self.state.apply(Put(workload))
        self.overlay.put_workload(workload)

    def workload_gone(self, key: str) -> None:
        if (known := self.workloads.pop(key, None)) is not None:
            self.overlay.owner_gone(known)
        self.state.apply(Delete(KueueWorkload, key))

    def put_claim(self, claim: WatchedClaim) -> None:
        self.device_claims.put(key_of(claim.metadata), claim)
        self.overlay.claims.put(claim)

    def claim_gone(self, key: str) -> None:
        self.device_claims.gone(key)
        self.overlay.claims.gone(key)

    def follow(self, workloads: Workloads) -> None:
        """The policy has this to say of workloads from now on."""
        self.state.follow(workloads)
        self._regroup()

    # -- by group --------------------------------------------------------------------------------------

    def _regroup(self) -> None:
        """An object may have put pods into other groups than those in which they wait and are bound here."""
        for key in self.state.regrouped:
            if key in self.waiting:
                self._leave_group(key)
                self._wait_in_group(key)
                self.overlay.regrouped(key)
            if (known := self._group_of.get(key)) is not None:
                mate = self.mates[known][key]
                self._forget_mate(key, known)
                self._add_mate(key, mate)
        self.state.regrouped.clear()

    def _wait_in_group(self, key: str) -> None:
        group = self._waits_in[key] = self.state.group_key(key)
        self.waiting_by_group.setdefault(group, set()).add(key)

    def _leave_group(self, key: str) -> None:
        group = self._waits_in.pop(key)
        self.waiting_by_group[group].discard(key)
        if not self.waiting_by_group[group]:
            del self.waiting_by_group[group]

    def _stop_waiting(self, key: str) -> None:
        if self.waiting.pop(key, None) is not None:
            self._leave_group(key)
            self.overlay.waits_no_more(key)

    def _add_mate(self, key: str, mate: Mate) -> None:
        group = self.state.group_of(key)
        if group is not None:
            self._group_of[key] = group.key
            self.mates.setdefault(group.key, {})[key] = mate

    def _remember_mate(self, key: str, pod: WatchedPod | None) -> None:
        group = None if pod is None or self.state.group_of(key) is None else self.state.group_key(key)
        record = None if pod is None else pod.metadata.annotations.get(ANNOTATION)
        seating = None if record is None else parse_seating(record)
        known = self._group_of.get(key)
        if known is not None and known != group:
            self._forget_mate(key, known)
        if pod is None or group is None or seating is None:
            return
        if is_over(pod):
            self._forget_mate(key, group)
            return
        self._add_mate(key, Mate(pod.metadata.uid, controller_of(pod) is not None, seating))

    def _forget_mate(self, key: str, group: str) -> None:
        self._group_of.pop(key, None)
        mates = self.mates.get(group, {})
        mates.pop(key, None)
        if not mates:
            self.mates.pop(group, None)

    # -- who waits -------------------------------------------------------------------------------------

    def is_unseated(self, pod: WatchedPod) -> bool:
        """Whether this pod still waits, and has not been sent anywhere."""
        key = key_of(pod.metadata)
        now = self.waiting.get(key)
        return now is not None and now.metadata.uid == pod.metadata.uid and not self.overlay.is_assumed(key)

    def unseated(self, group: str) -> list[WatchedPod]:
        """Members of the group that exist, wait, and have not been sent anywhere."""
        overlay, members = self.overlay, sorted(self.waiting_by_group.get(group, ()))
        waiting = [key for key in members if key not in overlay.stand_ins]
        return [self.waiting[key] for key in waiting if not overlay.is_assumed(key)]

    def tree_of(self, group: str) -> str:
        """The tree that a PodGroup is in, if its composite exists; empty for one that is decided alone."""
        tree = self.state.tree_of(group)
        return tree if tree in self.composites else ""

    def is_tree(self, group: str) -> bool:
        """Whether a group is a tree, which is called like its outermost composite."""
        members = self.waiting_by_group.get(group) or self.mates.get(group) or ()
        known = self.state.group_of(next(iter(members), ""))
        return group in self.composites if known is None else known.source == COMPOSITE_POD_GROUP

    def is_away(self, group: str) -> bool:
        """Whether members of the group do not exist, and others stand in for them."""
        stand_ins = self.overlay.stand_ins
        return bool(stand_ins) and any(key in stand_ins for key in self.waiting_by_group.get(group, ()))

    def away(self, groups: Iterable[str]) -> set[str]:
        return {group for group in groups if self.is_away(group)}


class MirrorFeed(Generic[T]):
    """The end of one watch: hands every object to the mirror, and wakes whoever waits for a change."""

    def __init__(self, changed: asyncio.Event, put: Callable[[T], None], gone: Callable[[str], None]) -> None:
        self._changed = changed
        self._put = put
        self.gone = gone

    def put(self, item: T) -> None:
        try:
            self._put(item)
        except ValueError as problem:
            # Amounts that no cluster has, for instance. One object must not stop the others.
            log.error("%s %s is ignored: %s", type(item).__name__, key_of(item.metadata), problem)

    def settled(self) -> None:
        self._changed.set()


def feed_pods(mirror: Mirror) -> MirrorFeed[WatchedPod]:
    return MirrorFeed(mirror.changed, mirror.put_pod, mirror.pod_gone)


def feed_groups(mirror: Mirror) -> MirrorFeed[WatchedGroup]:
    return MirrorFeed(mirror.changed, mirror.put_group, mirror.group_gone)


def feed_composites(mirror: Mirror) -> MirrorFeed[WatchedComposite]:
    return MirrorFeed(mirror.changed, mirror.put_composite, mirror.composite_gone)


def feed_owners(mirror: Mirror, row: SuspendableKind) -> MirrorFeed[Object]:
    def put(one: Object) -> None:
        mirror.put_owner(one, row)

    def gone(key: str) -> None:
        mirror.owner_gone(OwnerName(row.title, key), row)

    return MirrorFeed(mirror.changed, put, gone)


def feed_workloads(mirror: Mirror) -> MirrorFeed[KueueWorkload]:
    return MirrorFeed(mirror.changed, mirror.put_workload, mirror.workload_gone)


def feed_claims(mirror: Mirror) -> MirrorFeed[WatchedClaim]:
    return MirrorFeed(mirror.changed, mirror.put_claim, mirror.claim_gone)


def feed_plain(mirror: Mirror, kind: type[Object]) -> MirrorFeed[Object]:
    """Objects that go to the state as they are, or as we have promised them."""
    promised = mirror.overlay.volumes
    return MirrorFeed(mirror.changed, promised.put, lambda key: promised.gone(kind, key))
