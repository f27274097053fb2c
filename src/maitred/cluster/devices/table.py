"""The state of devices: what is published, what is allocated, and what the claims of pods mean by now."""

from collections.abc import Callable, Iterable

from maitred.cluster.devices.allocated import AllocatedTable
from maitred.cluster.devices.findings import Bounded
from maitred.cluster.devices.inventory import InventoryTable, KindTables
from maitred.cluster.devices.needs import ClaimNeed, ClaimReader, PodClaim, Taken
from maitred.model.devices.claims import ResourceClaim, ResourceClaimTemplate
from maitred.model.group import PodGroup
from maitred.model.objects import Object

Needed = tuple[tuple[str, ClaimNeed], ...]
"""The key of each claim of a pod, and what it means for its place."""


MOST_CLAIMS = 100_000
"""So many changes are told apart by claim."""


class DeviceTable:
    def __init__(self, tables: KindTables, group_of: Callable[[str], PodGroup | None], waits: bool) -> None:
        """`group_of` looks up a PodGroup by its key. `waits`: what is not made yet will be."""
        self.inventory = InventoryTable(tables)
        self.allocated = AllocatedTable()
        self._group_of = group_of
        self._reader = ClaimReader(tables[ResourceClaim], tables[ResourceClaimTemplate], waits)
        self.version = 0
        """Grows when any claim may mean something else to a pod than before."""
        self.moment = 0
        """Grows when a claim has changed."""
        self._groups: set[str] = set()
        """PodGroups that have claims."""
        self._changed_at: Bounded[str, int] = Bounded(MOST_CLAIMS)
        """By claim, the moment when it changed last."""

    def changed(self, kind: type[Object], key: str, now: Object | None) -> None:
        """An object of this kind has come, has changed, or is gone."""
        self.inventory.changed(kind, key, now)
        self.allocated.changed(kind, key, now)
        if kind is ResourceClaim:
            self.version += len(self._changed_at) >= MOST_CLAIMS  # from here on they are forgotten
            self.moment += 1
            self._changed_at[key] = self.moment
        elif kind is ResourceClaimTemplate:
            self.version += 1
        elif kind is PodGroup:
            claims = isinstance(now, PodGroup) and bool(now.spec.resource_claims)
            self.version += claims or key in self._groups
            (self._groups.add if claims else self._groups.discard)(key)

    def changed_since(self, claims: Iterable[str], moment: int) -> bool:
        """Whether one of these claims has changed after a moment."""
        return any(self._changed_at.get(claim, 0) > moment for claim in claims)

    def needs_of(
        self, claims: tuple[PodClaim, ...], pod: str, uid: str, group: str, taken: Taken = "as they are"
    ) -> Needed:
        """`group` is the key of its PodGroup, if it has one."""
        known = self._group_of(group) if group else None
        return tuple(self._reader.needs(claims, pod, uid, known, taken))
