"""Claims made ready for the search: which devices suit each request, and what they must have in common."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import msgspec

from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.matching import matching
from maitred.cluster.devices.needs import spec_bytes, spec_of
from maitred.cluster.devices.pools import DevicePool, PooledDevice
from maitred.model.devices.claims import (
    MOST_DEVICES,
    DeviceRequest,
    DeviceToleration,
    ExactRequest,
)
from maitred.model.devices.slices import DeviceTaint
from maitred.model.quantity import QuantityError, parse_nano

MOST_SELECTORS = 256
"""Of one claim, beside those of its classes."""
MOST_SELECTOR_BYTES = 64 * 1024
"""Of all of these together."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceAsk:
    """A request, or one alternative of it."""

    name: str
    """As results name it: `gpu`, or `gpu/h100` for an alternative."""
    source: ExactRequest
    expressions: tuple[str, ...]
    """Selectors of the class, then its own."""
    capacity: Mapping[str, int]
    """In billionths."""
    constraints: tuple[int, ...]
    """Numbers of the constraints of the claim that speak of it."""
    problem: str = ""
    """Why no device will do."""

    @property
    def count(self) -> int:
        return max(1, self.source.count)

    @property
    def wants_all(self) -> bool:
        return self.source.allocation_mode == "All"

    @property
    def is_admin(self) -> bool:
        return bool(self.source.admin_access)


@dataclass(frozen=True, slots=True, eq=False)
class AttributeConstraint:
    attribute: str
    distinct: bool
    """All devices differ in it; else they have one value in common."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A claim, ready for the search."""

    spec: bytes
    requests: tuple[tuple[DeviceAsk, ...], ...]
    """The alternatives of each, the preferred first."""
    constraints: tuple[AttributeConstraint, ...]
    problem: str = ""
    asks: tuple[DeviceAsk, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "asks", tuple(ask for request in self.requests for ask in request))

    @property
    def fewest(self) -> int:
        """Devices that it takes at least."""
        return sum(min(1 if ask.wants_all else ask.count for ask in request) for request in self.requests)


def program_of(spec: bytes, inventory: Inventory) -> Program:
    """Made once for each claim that is asked for, as long as classes stay the same."""
    known = inventory.findings.programs
    found: Program | None = known.get(spec)
    if found is None:
        found = known[spec] = _compile(spec, inventory)
    return found


def _compile(spec: bytes, inventory: Inventory) -> Program:
    claim = spec_of(spec)
    constraints, speaking = list[AttributeConstraint](), list[frozenset[str]]()
    problem = ""
    for one in claim.constraints:
        attribute = one.match_attribute or one.distinct_attribute
        if not attribute:
            problem = problem or "it has a constraint of a kind that is not known"
        constraints.append(AttributeConstraint(attribute, not one.match_attribute))
        speaking.append(frozenset(one.requests))
    requests = tuple(tuple(_asks(request, speaking, inventory)) for request in claim.requests)
    if any(not request for request in requests):
        problem = problem or "it has a request of a kind that is not known"
    problem = problem or _too_many_selectors(requests)
    found = Program(spec, requests, tuple(constraints), problem)
    if problem or found.fewest <= MOST_DEVICES:
        return found
    return replace(found, problem=f"it asks for {found.fewest} devices, and a claim can have {MOST_DEVICES}")


def _too_many_selectors(requests: Sequence[Sequence[DeviceAsk]]) -> str:
    own = [one for request in requests for ask in request for one in ask.source.selectors if one.cel]
    if len(own) > MOST_SELECTORS:
        return f"it has {len(own)} selectors, and maitred evaluates at most {MOST_SELECTORS}"
    size = sum(len(one.cel.expression.encode()) for one in own if one.cel)
    if size > MOST_SELECTOR_BYTES:
        return f"its selectors have {size} bytes, and maitred evaluates at most {MOST_SELECTOR_BYTES}"
    return ""


def _asks(
    request: DeviceRequest, speaking: list[frozenset[str]], inventory: Inventory
) -> Iterator[DeviceAsk]:
    """A constraint that names no request speaks of all."""
    for source in request.first_available or ((request.exactly,) if request.exactly else ()):
        name = f"{request.name}/{source.name}" if request.first_available else request.name
        chosen = inventory.classes.get(source.device_class_name)
        selectors = (*(chosen.spec.selectors if chosen else ()), *source.selectors)
        problem = "" if chosen else f"device class {source.device_class_name} does not exist"
        if any(one.cel is None for one in selectors):
            problem = problem or "it has a selector of a kind that is not known"
        if source.derived_attributes:
            problem = problem or "it has derived attributes, which maitred does not evaluate"
        capacity = dict[str, int]()
        try:
            wanted = source.capacity.requests if source.capacity else {}
            capacity = {key: parse_nano(amount) for key, amount in wanted.items()}
        except QuantityError as error:
            problem = problem or str(error)
        yield DeviceAsk(
            name=name,
            source=source,
            expressions=tuple(one.cel.expression for one in selectors if one.cel is not None),
            capacity=capacity,
            constraints=tuple(
                number
                for number, names in enumerate(speaking)
                if not names or request.name in names or name in names
            ),
            problem=problem,
        )


def choices(spec: bytes) -> int:
    """How many alternatives a request of a claim has at most."""
    return max((len(request.first_available) for request in spec_of(spec).requests), default=0)


@lru_cache(maxsize=4096)
def preferred(spec: bytes, count: int) -> bytes:
    """The same claim with so many alternatives of each request, the first; or as it is, if it has no more."""
    if choices(spec) <= count:
        return spec
    claim = spec_of(spec)
    firsts = tuple(
        msgspec.structs.replace(request, first_available=request.first_available[:count])
        for request in claim.requests
    )
    return spec_bytes(msgspec.structs.replace(claim, requests=firsts))


class Suiting(NamedTuple):
    """The devices of a pool that an ask selects; whether they are free or tainted is another matter."""

    bits: int
    cost: int
    """What it takes to find that out, see `Matched`."""
    evaluations: int


def suiting(ask: DeviceAsk, pool: DevicePool, inventory: Inventory) -> Suiting:
    """A selector that fails for a device does not select it."""
    if ask.problem:
        return Suiting(0, 0, 0)
    known = pool.derived.get(ask.expressions)
    if known is None:
        matched = matching(ask.expressions, pool, inventory)
        known = Suiting(matched.bits, matched.cost, matched.evaluations)
        pool.derived[ask.expressions] = known
    found: Suiting = known
    return found


def tolerated(ask: DeviceAsk, device: PooledDevice) -> bool:
    return not device.taints or _tolerates(ask.source.tolerations, device.taints)


@lru_cache(maxsize=4096)
def _tolerates(tolerations: tuple[DeviceToleration, ...], taints: tuple[DeviceTaint, ...]) -> bool:
    return all(any(_tolerates_one(one, taint) for one in tolerations) for taint in taints)


def _tolerates_one(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value
