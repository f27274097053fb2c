"""The overlay: what we have ordered and the API server does not show yet, laid over what it shows.

A bind takes a moment to come back by the watch. Until then the pod is assumed to be where it was sent, so
that the next cycle, which may start at once, does not give its place away. Likewise a place is held for a pod
from the order on, and a pod that was told to go is leaving from then on, so that no other pod is told to go
for the same room. Stand-ins are pods that do not exist: those that a suspended owner would make.

This is the only place that knows such things. The state is told of pods as they look through the overlay, and
hears of nothing else.
"""

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Literal

import msgspec

from maitred.cluster.state import ClusterState, Depart, Put
from maitred.controllers.scheduling.departures import LONGEST_GRACE, PodDepartures, grace_of
from maitred.controllers.scheduling.lineage import OwnerId
from maitred.controllers.scheduling.promised_claims import PromisedClaims
from maitred.controllers.scheduling.promised_volumes import PromisedVolumes
from maitred.kube.wire import WatchedClaim, WatchedOwner, WatchedPod
from maitred.model.objects import Object
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.pod import Pod
from maitred.model.policy import Policy
from maitred.model.suspending import OwnerName, SuspendableKind

FINISHED = ("Succeeded", "Failed")

HoldCause = Literal["Nomination", "Return"]
"""Why a place is kept: others were told to leave for it, or an owner that was suspended comes back to it."""


@dataclass(slots=True)
class OverlayHold:
    """Places that are kept, against all who rank no higher than the pods that they are kept for.

    The state has them as the nominated nodes of these pods. A decision knows no other kind of hold, and gives
    such a place away to groups of higher rank only.
    """

    who: str
    """The group; the kind and name of the owner, where it returns."""
    why: HoldCause
    places: dict[str, str] = field(default_factory=dict)
    """Pods that wait, and the node of each."""
    until: float = math.inf
    """By the monotonic clock. A nomination has no end: it is taken back."""


@dataclass(frozen=True, slots=True)
class Assumption:
    uid: str
    node: str


class Overlay:
    """`waiting`: the pods that are ours to seat, as the API server has them; so has it `claims`."""

    def __init__(
        self,
        state: ClusterState,
        waiting: Mapping[str, WatchedPod],
        changed: Callable[[], None],
        policy: Callable[[], Policy] = Policy,
        clock: Callable[[], float] = time.monotonic,
        claims: Mapping[str, WatchedClaim] = MappingProxyType({}),
    ) -> None:
        """`changed` is told when pods that were taken as seated wait again."""
        self._state = state
        self._changed = changed
        self._waiting = waiting
        self._departures = PodDepartures(policy, clock)
        self.volumes = PromisedVolumes(state)
        self.claims = PromisedClaims(state, claims)
        self._assumed: dict[str, Assumption] = {}
        self._seated_at: dict[str, datetime] = {}
        """When pods were sent to their nodes, until these say when they started."""
        self._promises: dict[str, Assumption] = {}
        """Places that we keep and the API server does not show; no node where one is taken back."""
        self._holds: dict[tuple[HoldCause, str], OverlayHold] = {}
        self._holder: dict[str, tuple[HoldCause, str]] = {}
        """Pods that wait -> the hold in which a place is kept for them."""
        self.stand_ins: dict[str, OwnerName] = {}
        """Waiting pods that do not exist -> the suspended owner that would make them."""
        self.standing: dict[OwnerName, set[str]] = {}
        """The same by the owner."""
        self._resumed: dict[OwnerName, str] = {}
        """Owners that return -> the scheduler that their pods name."""

    # -- what the state is told ------------------------------------------------------------------------

    def show(self, key: str, pod: WatchedPod) -> None:
        """Let the state have the pod as the API server has it, and as we have ordered it."""
        holds = bool(pod.spec.node_name) and pod.status.phase not in FINISHED
        if is_over(pod) and not holds:
            self._departures.gone(key)
        pod = self._as_promised(key, self._as_assumed(key, self._as_made(key, pod)))
        pod = self._as_started(key, pod)
        promised = "" if pod.spec.node_name else pod.status.nominated_node_name
        counts = key not in self.stand_ins and (holds or not is_over(pod))
        if counts and self._departures.put(key, pod):
            pod = on_its_way_out(pod)
        self._state.apply(Put(pod))
        if key in self._waiting:
            self._note_hold(key, promised)

    def gone(self, key: str) -> None:
        """There is no such pod any more."""
        self._assumed.pop(key, None)
        self._promises.pop(key, None)
        self._seated_at.pop(key, None)
        self._departures.gone(key)

    def _show_again(self, key: str) -> None:
        if (pod := self._waiting.get(key)) is not None:
            self.show(key, pod)

    def _as_made(self, key: str, pod: WatchedPod) -> WatchedPod:
        """A stand-in of an owner that returns is what its pods will be, and names the same scheduler."""
        owner = self.stand_ins.get(key)
        scheduler = (
            pod.spec.scheduler_name if owner is None else self._resumed.get(owner, pod.spec.scheduler_name)
        )
        return pod if scheduler == pod.spec.scheduler_name else of_scheduler(pod, scheduler)

    def _as_assumed(self, key: str, pod: WatchedPod) -> WatchedPod:
        """The pod where we have sent it, unless the API server already says where it is."""
        assumed = self._assumed.get(key)
        if assumed is None:
            return pod
        if pod.metadata.uid != assumed.uid or pod.spec.node_name or is_over(pod):
            del self._assumed[key]
            return pod
        return on_node(pod, assumed.node)

    def _as_started(self, key: str, pod: WatchedPod) -> WatchedPod:
        """Since when it has its node, until the kubelet says when it has started it: room that is kept for
        pods that come after it is kept from then on."""
        since = self._seated_at.get(key)
        if since is None:
            return pod
        if pod.status.start_time is not None or is_over(pod) or not pod.spec.node_name:
            del self._seated_at[key]
            return pod
        return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, start_time=since))

    def _as_promised(self, key: str, pod: WatchedPod) -> WatchedPod:
        promise = self._promises.get(key)
        if promise is None:
            return pod
        known = pod.status.nominated_node_name == promise.node
        if known or pod.metadata.uid != promise.uid or pod.spec.node_name or is_over(pod):
            del self._promises[key]
            return pod
        return nominated_to(pod, promise.node)

    # -- binds -----------------------------------------------------------------------------------------

    @property
    def assumed(self) -> int:
        return len(self._assumed)

    def is_assumed(self, key: str) -> bool:
        """Whether the pod was sent to a node and is not seen there yet."""
        return key in self._assumed

    def assume(self, key: str, uid: str, node: str) -> bool:
        """Take the pod as seated from now on; False if it is no longer the pod that was decided."""
        self._seated_at[key] = datetime.now(UTC)
        if self._suppose(self._assumed, key, uid, node):
            return True
        del self._seated_at[key]
        return False

    def _suppose(self, supposed: dict[str, Assumption], key: str, uid: str, node: str) -> bool:
        pod = self._waiting.get(key)
        if pod is None or pod.metadata.uid != uid or key in self._assumed:
            return False
        supposed[key] = Assumption(uid, node)
        self.show(key, pod)
        return True

    def retract(self, keys: Iterable[str]) -> None:
        """These were not bound after all: they wait again, as the API server has them."""
        for key in keys:
            if self._assumed.pop(key, None) is not None:
                self._seated_at.pop(key, None)
                self._show_again(key)
        self._changed()

    # -- holds -----------------------------------------------------------------------------------------

    def hold(self, why: HoldCause, who: str) -> OverlayHold | None:
        return self._holds.get((why, who))

    def promised(self, group: str) -> Mapping[str, str]:
        """The members of the group that have a place promised, and where."""
        hold = self.hold("Nomination", group)
        return {} if hold is None else hold.places

    def promise(self, key: str, uid: str, node: str) -> bool:
        """Keep a place for the pod from now on; False as for `assume`. No node: none is kept any more."""
        return self._suppose(self._promises, key, uid, node)

    def retract_promise(self, key: str, node: str) -> None:
        """The pod does not have this place after all, and no other was promised since."""
        promise = self._promises.get(key)
        if promise is not None and promise.node == node:
            del self._promises[key]
            self._show_again(key)

    def waits_no_more(self, key: str) -> None:
        """It was one of those that wait."""
        self._note_hold(key, "")

    def regrouped(self, key: str) -> None:
        """A pod that waits is in another group now, and what is kept for it with it."""
        if (holder := self._holder.get(key)) is not None:
            self._note_hold(key, self._holds[holder].places[key])

    def _note_hold(self, key: str, node: str) -> None:
        if (holder := self._holder.pop(key, None)) is not None:
            del self._holds[holder].places[key]
            if not self._holds[holder].places:
                del self._holds[holder]
        if node:
            owner = self.stand_ins.get(key)
            why: HoldCause = "Nomination" if owner is None else "Return"
            who = self._state.group_key(key) if owner is None else str(owner)
            self._holder[key] = (why, who)
            self._holds.setdefault((why, who), OverlayHold(who, why)).places[key] = node

    # -- departures ------------------------------------------------------------------------------------

    def dismiss(self, key: str, uid: str) -> bool:
        """Take a pod on a node as leaving from now on; False if it is not that pod, or leaves already."""
        departures = self._departures
        if (pod := departures.deleted.get(key)) is not None:
            if pod.metadata.uid != uid or not departures.lingers(pod) or departures.is_told(key):
                return False
            departures.tell(key)
            self.show(key, pod)
            return True
        if not self._state.could_apply(going := Depart(key, uid)):
            return False
        self._state.apply(going)
        departures.tell(key)
        return True

    def retract_dismissal(self, key: str, uid: str) -> None:
        """It was not told to go after all."""
        if self._departures.untell(key):
            self._set_leaving(key, uid, False)

    def put_owner(self, one: Object, row: SuspendableKind) -> None:
        """Pods below a suspended owner leave, whoever has suspended it."""
        self._leave_or_stay(self._departures.put_owner(one, row))

    def put_workload(self, workload: KueueWorkload) -> None:
        """Pods of an owner that Kueue stops leave too."""
        self._leave_or_stay(self._departures.put_workload(workload))

    def _leave_or_stay(self, pods: Mapping[str, tuple[str, bool]]) -> None:
        for key, (uid, leaving) in pods.items():
            self._set_leaving(key, uid, leaving)

    def owner_gone(self, one: Object) -> None:
        self._departures.owner_gone(one)

    def let_stay(self) -> None:
        """Who ought to have left by now, and has not, counts as running again."""
        for key, uid in self._departures.overdue().items():
            self._set_leaving(key, uid, False)

    def next_overdue(self) -> float:
        return self._departures.next_at()

    def _set_leaving(self, key: str, uid: str, leaving: bool) -> None:
        """Let the state know that a pod has begun to leave, or does not any more."""
        pod = self._waiting.get(key) or self._departures.deleted.get(key)
        if pod is not None:
            self.show(key, pod)
        else:
            self._state.apply(Depart(key, uid, leaving))

    def shorter_grace(self, key: str) -> int | None:
        """The grace period to evict a pod with, in seconds, where the policy gives less than it asks for."""
        return self._departures.shorter_grace(key)

    def lingering(self) -> dict[str, WatchedPod]:
        """Pods on nodes that are being deleted, and were given longer for it than the policy gives anyone."""
        departures = self._departures
        return {key: pod for key, pod in departures.deleted.items() if departures.lingers(pod)}

    def pods_below(self, owner: OwnerName, uid: str) -> Collection[str]:
        """Pods below this owner that have neither finished nor begun to terminate."""
        return self._departures.below(OwnerId(owner.namespace, owner.kind, owner.name, uid))

    def owners_above(self, pod: WatchedPod) -> Iterator[OwnerId]:
        """Its controller, and who is above that."""
        return self._departures.above(pod)

    def has_outstayed(self, key: str) -> bool:
        """Whether the pod was evicted before, and nobody has deleted it in time."""
        return self._departures.outstayed(key)

    def owner(self, key: str) -> WatchedOwner | None:
        """The controller of a pod that has not finished."""
        return self._departures.owners.get(key)

    # -- stand-ins -------------------------------------------------------------------------------------

    def stand_in(self, key: str, owner: OwnerName) -> None:
        """The pod of this key, which is shown next, does not exist: it stands in for one of the owner."""
        self.stand_ins[key] = owner
        self.standing.setdefault(owner, set()).add(key)

    def resume(self, owner: OwnerName, scheduler: str) -> None:
        """The owner is about to make its pods, which will name this scheduler. Members of one group that name
        different ones would make it invalid, and nothing is held for a group that is."""
        self._resumed[owner] = scheduler
        self._show_stand_ins(owner, scheduler)

    def stays_away(self, owner: OwnerName) -> None:
        """It is not resumed after all."""
        if (scheduler := self._resumed.pop(owner, None)) is not None:
            self._show_stand_ins(owner, scheduler)

    def _show_stand_ins(self, owner: OwnerName, scheduler: str) -> None:
        """Those that name another scheduler, or did."""
        for key in sorted(self.standing.get(owner, ())):
            if self._waiting[key].spec.scheduler_name != scheduler:
                self._show_again(key)

    def stand_down(self, key: str) -> None:
        owner = self.stand_ins.pop(key)
        self.standing[owner].discard(key)
        if not self.standing[owner]:
            del self.standing[owner]
            self._resumed.pop(owner, None)


def on_node(pod: WatchedPod, node: str) -> WatchedPod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def of_scheduler(pod: WatchedPod, scheduler: str) -> WatchedPod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduler_name=scheduler))


def nominated_to(pod: WatchedPod, node: str) -> WatchedPod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, nominated_node_name=node))


def on_its_way_out(pod: WatchedPod) -> WatchedPod:
    """As if it were deleted now, with the time that it asks for."""
    due = datetime.now(UTC) + timedelta(seconds=min(grace_of(pod), LONGEST_GRACE))
    leaving = msgspec.structs.replace(pod.metadata, deletion_timestamp=due, deletion_grace_period_seconds=0)
    return msgspec.structs.replace(pod, metadata=leaving)


def is_over(pod: Pod) -> bool:
    """Finished, or about to be: it will not be bound any more."""
    return pod.status.phase in FINISHED or pod.metadata.deletion_timestamp is not None
