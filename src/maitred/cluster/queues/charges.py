"""What an hour of devices costs: of those that pods request as resources, and of those that they have by
resource claims, which are counted as limits count them (`claimed.py`).

Devices of one class cost the same, whichever way a pod gets them. A class is known by several names: they are
devices if any of these is a name of devices, and cost what the policy says of the first that has a price.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.devices.needs import ClaimNeed
from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.queues.claimed import ClaimCounter, DevicesByClaims, shared_needs
from maitred.cluster.snapshot import Snapshot
from maitred.model.devices.classes import IMPLIED_PREFIX
from maitred.model.devices.counting import resources_of_class
from maitred.model.needs import Needs
from maitred.model.policy import Policy, is_device, is_device_driver, price_of
from maitred.model.quantity import amount

Floats = NDArray[np.float64]

DEVICE_HOURS, MONEY = 0, 1
UNITS = 2


class Charges:
    """Rates are of an hour, in each unit, on devices of each model."""

    def __init__(self, snapshot: Snapshot, policy: Policy, models: tuple[str, ...], unpaid: Mask) -> None:
        """`unpaid`: pods on nodes that cost nothing."""
        self.snapshot, self.policy, self.models, self.unpaid = snapshot, policy, models, unpaid
        # Devices of a class stay what they are when the class is gone.
        held = (name for kinds in set(snapshot.allocated.held.values()) for name, _ in kinds)
        known = sorted({*snapshot.inventory.classes, *held})
        self._rates_of_class = {name: rates for name in known if (rates := self._of_class(name)) is not None}
        places = tuple(f"{IMPLIED_PREFIX}{name}" for name in self._rates_of_class)
        self._claims = ClaimCounter(snapshot, places)

    def _of_class(self, name: str) -> Floats | None:
        """Of one device; None if it is none that counts."""
        implied, *served = resources_of_class(name, self.snapshot.inventory.classes)
        first, _, domain = name.partition(".")
        names = (*served, name, f"{domain}/{first}", implied)
        counts = is_device_driver(self.policy, name) or any(is_device(self.policy, one) for one in names)
        return self._of_names(names) if counts else None

    def _of_names(self, names: tuple[str, ...]) -> Floats:
        found = np.ones((UNITS, len(self.models)))
        for place, model in enumerate(self.models):
            prices = (price_of(self.policy, name, model) for name in names)
            found[MONEY, place] = next((price for price in prices if price is not None), 0.0)
        return found

    @cached_property
    def _by_class(self) -> Floats:
        return np.array(list(self._rates_of_class.values())).reshape(-1, UNITS, len(self.models))

    # -- what is asked for -----------------------------------------------------------------------------

    def requested(self, needs: Needs) -> Floats:
        """Of what a pod requests as resources."""
        found = np.zeros((UNITS, len(self.models)))
        for resource, count in needs.requests:
            found += count * self.of_resource(resource)
        return found

    def of_resource(self, resource: str) -> Floats:
        """Of one device by this name; nothing if it is none."""
        served_by = self.snapshot.device_classes.get(resource, "")
        if served_by in self._rates_of_class:
            return self._rates_of_class[served_by]
        if not is_device(self.policy, resource):
            return np.zeros((UNITS, len(self.models)))
        return self._of_names((resource,)) / amount(resource, 1)

    def of_pod(self, needs: Needs, claims: Iterable[ClaimNeed]) -> Floats:
        """Of all that a pod has to itself."""
        own = (self._claimed(claim) for claim in claims if not claim.claim)
        return sum(own, start=self.requested(needs))

    def shared_by(self, claims: tuple[ClaimNeed, ...]) -> Iterator[tuple[str, Floats]]:
        """Of each claim that several pods may share; those aside that cost nothing."""
        for need in shared_needs(claims) if self._rates_of_class else ():
            rates = self._claimed(need)
            if rates.any():
                yield need.claim, rates

    def _claimed(self, need: ClaimNeed) -> Floats:
        if not self._rates_of_class:
            return np.zeros((UNITS, len(self.models)))
        found: Floats = np.tensordot(self._claims.claimed(need), self._by_class, axes=1)
        return found

    # -- what bound pods have --------------------------------------------------------------------------

    @cached_property
    def _by_needs(self) -> Floats:
        """Of all needs that pods have."""
        found = np.zeros((len(self.snapshot.needs), UNITS, len(self.models)))
        for number, one in enumerate(self.snapshot.needs):
            found[number] = self.requested(one)
        return found

    @cached_property
    def held(self) -> DevicesByClaims | None:
        """What bound pods have by claims, by class."""
        return self._claims.held(named_claims(self.snapshot), self.unpaid) if self._rates_of_class else None

    def paid_claims(self) -> Iterator[str]:
        """Claims that several may share, and that somebody pays for."""
        for claim, one in {} if self.held is None else self.held.shared.items():
            if not self.unpaid[one.payer]:
                yield claim

    def of_bound(self, pods: Rows, units: Ints, models: Codes) -> Floats:
        """What each of these costs in one unit, on devices of one model. What pods share costs the one for
        which it counts."""
        found: Floats = self._by_needs[self.snapshot.bound.needs[pods], units, models]
        if self.held is None:
            return found
        of_claims: Floats = (self.held.by_pod[pods].T * self._by_class[:, units, models]).sum(axis=0)
        return found + of_claims


def named_claims(snapshot: Snapshot) -> frozenset[str]:
    """Allocated claims that pods name which wait: they may come to share them."""
    shapes = snapshot.shapes if snapshot.allocated.held else ()
    needs = (need for shape in shapes for need in shape.devices if need.allocated and need.claim)
    return frozenset(need.claim for need in needs)
