"""The controllers of pods, numbered, and by which owner the pods of each are made to leave.

A pod names its controller, and that stays. What is above the controller comes and goes with other objects:
a Job may be seen before the JobSet that it belongs to, or a Workload of Kueue long after both. So the owner
to suspend is worked out again for those controllers only whose way up leads past an object that has changed.
"""

from collections.abc import Iterable

from maitred.cluster.snapshot import NO_CONTROLLER, Controller
from maitred.cluster.tables import Tables
from maitred.model.kinds import row_of
from maitred.model.meta import ObjectMeta, OwnerReference, controller_of, key_of
from maitred.model.objects import Object
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.owner_chain import owners_above, row_of_owner
from maitred.model.suspending import OWNERS, TopOwner, is_kueues, top_owner

API_VERSIONS = {row.title: row_of(row.type).api_versions[0] for row in OWNERS}
Stop = tuple[type[Object], str]
"""An object that a way up leads to, whether it is known or not: its kind and its key."""
OwnerOfPod = tuple[str, str, str]
"""Kind, name and UID."""


class ControllerTable:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._numbers: dict[tuple[str, OwnerOfPod], int] = {}
        self._controllers: list[Controller | None] = []
        self._pods: list[int] = []
        """How many each has."""
        self._free: list[int] = []
        self._stops: dict[Stop, set[int]] = {}
        """The controllers whose way up leads there,"""
        self._ways: dict[int, tuple[Stop, ...]] = {}
        """and the way of each."""
        self._workloads: dict[str, KueueWorkload] = {}
        self._queued: dict[Stop, dict[str, KueueWorkload]] = {}
        """What Kueue has, and the Workloads that it has for each."""
        self._stale: dict[int, None] = {}

    # -- pods ------------------------------------------------------------------------------------------

    def arrive(self, namespace: str, owner: OwnerOfPod) -> int:
        """One more pod of a controller: its number, if pods of its kind can leave by a suspension."""
        if owner[0] not in API_VERSIONS:
            return NO_CONTROLLER
        number = self._numbers.get((namespace, owner))
        if number is None:
            number = self._free.pop() if self._free else len(self._controllers)
            if number == len(self._controllers):
                self._controllers.append(None)
                self._pods.append(0)
            self._numbers[namespace, owner] = number
            self._controllers[number] = Controller(namespace, *owner)
            self._stale[number] = None
        self._pods[number] += 1
        return number

    def depart(self, namespace: str, owner: OwnerOfPod) -> None:
        if owner[0] not in API_VERSIONS:
            return
        number = self._numbers[namespace, owner]
        self._pods[number] -= 1
        if not self._pods[number]:
            del self._numbers[namespace, owner]
            self._forget_way(number)
            self._stale.pop(number, None)
            self._controllers[number] = None
            self._free.append(number)

    # -- objects ---------------------------------------------------------------------------------------

    def changed(self, kind: type[Object], key: str, now: Object | None) -> None:
        """An object of this kind has come, has changed, or is gone."""
        if kind is KueueWorkload:
            before = self._workloads.pop(key, None)
            if isinstance(now, KueueWorkload) and not now.is_finished:
                self._workloads[key] = now
            for workload in (before, now):
                if isinstance(workload, KueueWorkload):
                    self._note(key, workload)
        else:
            self._stale |= dict.fromkeys(self._stops.get((kind, key), ()))

    def _note(self, key: str, workload: KueueWorkload) -> None:
        """Whatever this Workload names, or has named, may be Kueue's now, or may not be any longer."""
        for owner in workload.metadata.owner_references:
            if (row := row_of_owner(owner)) is None:
                continue
            stop = (row.type, f"{workload.metadata.namespace}/{owner.name}")
            queued = self._queued.setdefault(stop, {})
            queued.pop(key, None)
            if (now := self._workloads.get(key)) is not None:
                queued[key] = now
            if not queued:
                del self._queued[stop]
            self._stale |= dict.fromkeys(self._stops.get(stop, ()))

    def workload_of(self, one: Object) -> KueueWorkload | None:
        """Kueue's Workload for this very object; the first by name, should there be several."""
        queued = self._queued.get((row_of(type(one)).type, key_of(one.metadata)), {})
        return next((queued[key] for key in sorted(queued) if is_kueues(queued[key], one)), None)

    # -- reading ---------------------------------------------------------------------------------------

    def view(self) -> tuple[Controller | None, ...]:
        self._refresh()
        return tuple(self._controllers)

    def top_owner(self, number: int) -> TopOwner | None:
        self._refresh()
        controller = self._controllers[number] if number != NO_CONTROLLER else None
        return None if controller is None else controller.top

    def _refresh(self) -> None:
        for number in self._stale:
            known = self._controllers[number]
            if known is not None:
                self._controllers[number] = known.under(self._look_up(number, known))
        self._stale = {}

    def _look_up(self, number: int, controller: Controller) -> TopOwner | None:
        about = ObjectMeta(namespace=controller.namespace, owner_references=(reference_to(controller),))
        self._forget_way(number)
        self._ways[number] = way = tuple(self._way(about))
        for stop in way:
            self._stops.setdefault(stop, set()).add(number)
        return top_owner(about, self._tables, self.workload_of)

    def _way(self, about: ObjectMeta) -> Iterable[Stop]:
        """Every object on the way up, and the first that is not known."""
        for one in (about, *(owner.metadata for owner in owners_above(about, self._tables))):
            owner = controller_of(one)
            row = None if owner is None else row_of_owner(owner)
            if owner is not None and row is not None:
                yield row.type, f"{about.namespace}/{owner.name}"

    def _forget_way(self, number: int) -> None:
        for stop in dict.fromkeys(self._ways.pop(number, ())):
            self._stops[stop].discard(number)
            if not self._stops[stop]:
                del self._stops[stop]


def reference_to(controller: Controller) -> OwnerReference:
    """In full: in files, pods may name their controllers without an API version."""
    return OwnerReference(
        kind=controller.kind,
        name=controller.name,
        uid=controller.uid,
        controller=True,
        api_version=API_VERSIONS[controller.kind],
    )
