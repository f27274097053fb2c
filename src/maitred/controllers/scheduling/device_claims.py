"""Resource claims as the watches tell them: who uses each, and which have to be looked at again.

A claim is looked at again when it changes, and when one of its users stops using it: when a pod is not on a
node, or is gone, or an order that was to bind it has come to its end.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from maitred.kube.wire import WatchedClaim
from maitred.model.devices.claims import FINALIZER, Allocation, Consumer
from maitred.model.meta import key_of
from maitred.model.plan import ClaimAllocation

PODS, POD_GROUPS = ("", "pods"), ("scheduling.k8s.io", "podgroups")
User = tuple[str, str, str]
"""API group, resource, and `namespace/name`."""
Device = tuple[str, str, str]
"""Driver, pool and name."""
K = TypeVar("K")


def user_of(namespace: str, consumer: Consumer) -> User:
    return consumer.api_group, consumer.resource, f"{namespace}/{consumer.name}"


class DeviceClaimTable:
    def __init__(self) -> None:
        self.claims: dict[str, WatchedClaim] = {}
        self.touched: set[str] = set()
        """Claims that have to be looked at again, until they are taken from here."""
        self._used_by: dict[User, set[str]] = {}
        self._held_by: dict[Device, set[str]] = {}
        """Devices that are given to one claim only -> the claims that have them; more than one, if two
        schedulers were after one device at the same time."""
        self.contested: set[Device] = set()
        """Those with more than one."""

    def put(self, key: str, claim: WatchedClaim) -> None:
        self._forget(key)
        self.claims[key] = claim
        for user in self._users(claim):
            self._used_by.setdefault(user, set()).add(key)
        for device in devices_of(claim.status.allocation):
            self._held_by.setdefault(device, set()).add(key)
            self._compare(device)
        if claim.status.allocation is not None or FINALIZER in claim.metadata.finalizers:
            self.touched.add(key)

    def gone(self, key: str) -> None:
        self._forget(key)
        self.claims.pop(key, None)
        self.touched.discard(key)

    def touch(self, keys: Iterable[str]) -> None:
        self.touched.update(key for key in keys if key in self.claims)

    def lost(self, claims: Iterable[ClaimAllocation]) -> Device | None:
        """One of these devices that another claim has by now. A server does not compare claims, so the second
        to write has a device that the first has."""
        return next(
            (
                device
                for claim in claims
                for device in sorted(devices_of(msgspec.convert(claim.allocation, Allocation)))
                if self._held_by.get(device, set()) - {claim.claim}
            ),
            None,
        )

    def holders(self, device: Device) -> list[str]:
        """The claims that have it."""
        return sorted(self._held_by.get(device, ()))

    def left_by(self, pod: str, group: str) -> None:
        """The pod has no node, or not any more. `group`: the PodGroup that it is in, if any."""
        self.touch(self._used_by.get((*PODS, pod), ()))
        if group:
            self.touch(self._used_by.get((*POD_GROUPS, group), ()))

    def _compare(self, device: Device) -> None:
        if len(self._held_by.get(device, ())) > 1:
            self.contested.add(device)
        else:
            self.contested.discard(device)

    def _forget(self, key: str) -> None:
        if (known := self.claims.get(key)) is not None:
            for user in self._users(known):
                discard(self._used_by, user, key)
            for device in devices_of(known.status.allocation):
                discard(self._held_by, device, key)
                self._compare(device)

    @staticmethod
    def _users(claim: WatchedClaim) -> Iterator[User]:
        namespace = key_of(claim.metadata).partition("/")[0]
        return iter({user_of(namespace, one) for one in claim.status.reserved_for})


def devices_of(allocation: Allocation | None) -> set[Device]:
    """Those that nobody else may have: neither shares of a device nor access for administrators."""
    results = () if allocation is None else allocation.devices.results
    return {
        (one.driver, one.pool, one.device) for one in results if not one.share_id and not one.admin_access
    }


def discard(index: dict[K, set[str]], key: K, value: str) -> None:
    index[key].discard(value)
    if not index[key]:
        del index[key]
