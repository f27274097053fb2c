"""What claims have been allocated, by the pools that it came from, and who has the use of it."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from maitred.cluster.devices.findings import MOST_SPECS, Bounded
from maitred.cluster.devices.needs import sought_bytes
from maitred.cluster.devices.pools import PoolId
from maitred.model.devices.claims import AllocatedDevice, ResourceClaim, ResourceClaimStatus
from maitred.model.devices.counting import DevicesByClass, allocated_by_class
from maitred.model.objects import Object
from maitred.model.quantity import QuantityError, parse_nano


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A device, or a share of one, that a claim has."""

    claim: str
    device: str
    consumed: tuple[tuple[str, int], ...] | None
    """What is taken of a device that several share; None if it is the claim's alone."""


PoolUse = tuple[DeviceUse, ...]


@dataclass(frozen=True, eq=False)
class Allocated:
    """The allocated claims of one moment."""

    by_pool: Mapping[PoolId, PoolUse] = field(default_factory=dict)
    claims: Mapping[str, ResourceClaimStatus] = field(default_factory=dict)
    """Every claim that is allocated."""
    sought: Mapping[str, bytes] = field(default_factory=dict)
    """What these asked for; empty if no device."""
    held: Mapping[str, DevicesByClass] = field(default_factory=dict)
    """What these have, by class; claims that have nothing which counts are left out."""
    derived: dict[Hashable, Any] = field(default_factory=dict, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Allocated, (self.by_pool, self.claims, self.sought, self.held)


NOTHING_ALLOCATED = Allocated()


class AllocatedTable:
    """Kept true as claims change; a change costs as much as the pools that the claim has devices of."""

    def __init__(self) -> None:
        self._uses: dict[PoolId, dict[str, PoolUse]] = {}
        self._by_pool: dict[PoolId, PoolUse] = {}
        self._claims: dict[str, ResourceClaimStatus] = {}
        self._sought: dict[str, bytes] = {}
        self._held: dict[str, DevicesByClass] = {}
        self._known: Bounded[bytes, bytes] = Bounded(MOST_SPECS)
        """Claims that ask for the same are alike."""
        self._pools: dict[str, tuple[PoolId, ...]] = {}
        """The pools that each claim has devices of."""
        self._view: Allocated | None = NOTHING_ALLOCATED

    def changed(self, kind: type[Object], key: str, now: Object | None) -> None:
        if kind is not ResourceClaim:
            return
        claim = now if isinstance(now, ResourceClaim) else None
        allocation = None if claim is None else claim.status.allocation
        if allocation is None and key not in self._claims:
            return
        self._view = None
        self._forget(key)
        if claim is not None and allocation is not None:
            self._claims[key] = claim.status
            sought = sought_bytes(claim.spec.devices)
            if sought not in self._known:
                self._known[sought] = sought
            self._sought[key] = self._known[sought]
            if held := allocated_by_class(claim.spec.devices, allocation):
                self._held[key] = held
            uses = dict[PoolId, list[DeviceUse]]()
            for result in allocation.devices.results:
                if not result.admin_access:
                    use = DeviceUse(key, result.device, _consumed(result))
                    uses.setdefault(PoolId(result.driver, result.pool), []).append(use)
            self._pools[key] = tuple(uses)
            for pool, found in uses.items():
                self._uses.setdefault(pool, {})[key] = tuple(found)
                self._sum(pool)

    def _forget(self, key: str) -> None:
        self._claims.pop(key, None)
        self._sought.pop(key, None)
        self._held.pop(key, None)
        for pool in self._pools.pop(key, ()):
            del self._uses[pool][key]
            self._sum(pool)

    def _sum(self, pool: PoolId) -> None:
        uses = self._uses[pool]
        if uses:
            self._by_pool[pool] = tuple(use for claim in sorted(uses) for use in uses[claim])
        else:
            del self._uses[pool], self._by_pool[pool]

    def view(self) -> Allocated:
        if self._view is None:
            self._view = Allocated(
                dict(self._by_pool), dict(self._claims), dict(self._sought), dict(self._held)
            )
        return self._view


def _consumed(result: AllocatedDevice) -> tuple[tuple[str, int], ...] | None:
    if not result.share_id:
        return None
    try:
        return tuple(sorted((name, parse_nano(one)) for name, one in result.consumed_capacity.items()))
    except QuantityError:
        return None
