"""Devices that are claimed, as shapes ask for them: by class, and by model where a class has several."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from maitred.cluster.devices.counted import ByKind
from maitred.cluster.devices.hardware import DeviceKind, model_expression, units_of
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.needs import ClaimNeed, spec_bytes, spec_of
from maitred.cluster.devices.pools import DevicePool
from maitred.cluster.devices.requests import program_of, suiting
from maitred.decide.devices import shortened
from maitred.model.devices.claims import DeviceClaim, DeviceRequest, ExactRequest
from maitred.model.devices.classes import CelSelector, DeviceSelector

CLAIM = "devices"
HIDDEN = "a selector of another tenant"


@dataclass(frozen=True, slots=True)
class ClassOfKind:
    """The class by which devices of one kind are asked for."""

    kind: DeviceKind
    device_class: str
    expression: str
    """Selects the kind among others of the class; empty if there are none."""
    total: int
    per_node: int
    """How many of them a node mostly has."""

    def claim(self, count: int) -> ClaimNeed:
        selectors = (DeviceSelector(CelSelector(self.expression)),) if self.expression else ()
        exactly = ExactRequest(self.device_class, selectors, count=count)
        return ClaimNeed(spec=spec_bytes(DeviceClaim((DeviceRequest(CLAIM, exactly),))))


def classes_of_kinds(claimable: ByKind, inventory: Inventory) -> Iterator[ClassOfKind]:
    """Kinds that no class selects cannot be asked for. Of several classes, the one with the fewest kinds of
    devices counts. Devices that belong to no single node are left out: one of them is asked for by a whole
    group, not by each member."""
    samples = dict(_samples(claimable, inventory))
    chosen = {
        name: [kind for kind, at in samples.items() if _selects(name, at, inventory)]
        for name in inventory.classes
    }
    for kind, (pool, place) in samples.items():
        having = [name for name in sorted(chosen) if kind in chosen[name]]
        having.sort(key=lambda name: len(chosen[name]))
        total = claimable[kind].total
        if having and total.any() and not claimable[kind].beyond.total:
            sizes, counts = np.unique(total[total > 0], return_counts=True)
            among = len(chosen[having[0]]) > 1
            yield ClassOfKind(
                kind,
                having[0],
                model_expression(pool.devices[place]) if among else "",
                int(total.sum()),
                int(sizes[counts.argmax()]),
            )


def _samples(claimable: ByKind, inventory: Inventory) -> Iterator[tuple[DeviceKind, tuple[DevicePool, int]]]:
    """A device of each kind, which is not cut from another."""
    left = set(claimable)
    for id in sorted(inventory.pools):
        for unit in units_of(inventory.pools[id]) if left else ():
            if unit.kind in left:
                left.remove(unit.kind)
                yield unit.kind, (inventory.pools[id], unit.devices[0])


def _selects(device_class: str, sample: tuple[DevicePool, int], inventory: Inventory) -> bool:
    pool, place = sample
    exactly = ExactRequest(device_class)
    (ask,) = program_of(spec_bytes(DeviceClaim((DeviceRequest(CLAIM, exactly),))), inventory).asks
    bits = suiting(ask, pool, inventory).bits
    return bool(bits >> place & 1)


# -- what pods of the cluster claim ------------------------------------------------------------------------


def own_claims(devices: Iterable[ClaimNeed]) -> tuple[ClaimNeed, ...] | None:
    """The claims of a pod that it has for itself; None where some are shared, allocated or not to be had."""
    claims = tuple(devices)
    return claims if all(one.spec and not one.claim and not one.problem for one in claims) else None


def claimed_amounts(claims: Iterable[ClaimNeed]) -> dict[str, str]:
    """By class; of alternatives, the first."""
    found = dict[str, int | None]()
    for one in _first_choices(claims):
        every, known = one.allocation_mode == "All", found.get(one.device_class_name, 0)
        found[one.device_class_name] = None if every or known is None else known + max(1, one.count)
    return {name: "all" if count is None else str(count) for name, count in sorted(found.items())}


def claimed_selectors(claims: Iterable[ClaimNeed], inventory: Inventory) -> tuple[str, ...]:
    texts = (
        one.cel.expression for each in _first_choices(claims) for one in each.selectors if one.cel is not None
    )
    return tuple(HIDDEN if text in inventory.hidden else shortened(text) for text in dict.fromkeys(texts))


def _first_choices(claims: Iterable[ClaimNeed]) -> Iterator[ExactRequest]:
    for claim in claims:
        for request in spec_of(claim.spec).requests:
            yield from (one for one in (request.exactly, *request.first_available[:1]) if one is not None)
