"""Claims as a remedy: one request that asks for less, for something else, or with one constraint less.

- `{"kind": "deviceCount", "claim": "gpus", "request": "gpu", "from": 4, "to": 2}`;
- `{"kind": "deviceCapacity", "claim": "gpus", "request": "gpu", "capacity": "memory", "from": "40Gi", "to":
  "20Gi"}`;
- `{"kind": "deviceSelector", "claim": "gpus", "request": "gpu", "selector": "device.driver == 'x'"}`: to be
  dropped;
- `{"kind": "deviceClass", "claim": "gpus", "request": "gpu", "from": "h100", "to": "a100"}`;
- `{"kind": "deviceConstraint", "claim": "gpus", "attribute": "gpu.example.com/link"}`: to be dropped;
- `{"kind": "devices", "devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]}`: devices
  that are tainted, to be brought back.

The claim is named as pods name it, or by its own name if they share it; the request as results name it,
`gpu/a` for one of several alternatives.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import msgspec

from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.needs import ClaimNeed, spec_bytes, spec_of
from maitred.cluster.devices.pools import DeviceId, DevicePool, PoolId
from maitred.cluster.snapshot import GroupView, Shape, Snapshot
from maitred.decide.devices import shortened
from maitred.explain.remedies.changes import available, shown_names, with_members_like
from maitred.model.devices.claims import CapacityRequirements, DeviceClaim, ExactRequest
from maitred.model.needs import Needs
from maitred.model.plan import Blocker, Detail, Remedy
from maitred.model.quantity import QuantityError, nano_text, parse_nano
from maitred.model.words import counted

MOST_CLASSES = 3
STEPS = 8
"""A smaller capacity is so many parts of what is asked for."""


@dataclass(frozen=True, slots=True)
class OtherClaim:
    """Members ask for something else by one of their claims."""

    claim: str
    before: bytes
    after: bytes
    words: str
    detail_: tuple[tuple[str, object], ...]
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        def changed(shape: Shape, needs: Needs) -> tuple[Shape, Needs]:
            return replace(shape, devices=tuple(map(self._changed, shape.devices))), needs

        return with_members_like(snapshot, number, changed)

    def _changed(self, need: ClaimNeed) -> ClaimNeed:
        return msgspec.structs.replace(need, spec=self.after) if need.spec == self.before else need

    @property
    def kind(self) -> str:
        return str(dict(self.detail_)["kind"])

    def remedy(self, view: GroupView) -> Remedy:
        return Remedy(self.words, dict(self.detail_))


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """A request of a claim, or one of its alternatives."""

    claim: str
    spec: bytes
    place: int
    alternative: int | None

    @property
    def source(self) -> ExactRequest:
        request = spec_of(self.spec).requests[self.place]
        if self.alternative is not None:
            return request.first_available[self.alternative]
        return request.exactly or ExactRequest()

    @property
    def name(self) -> str:
        request = spec_of(self.spec).requests[self.place].name
        return request if self.alternative is None else f"{request}/{self.source.name}"

    @property
    def where(self) -> str:
        return f"in request {self.name} of claim {self.claim}"

    def changed(self, source: ExactRequest, words: str, share: float, **detail: object) -> OtherClaim:
        """The claim with this request in place of the one that is there."""
        claim = spec_of(self.spec)
        request = claim.requests[self.place]
        if self.alternative is None:
            request = msgspec.structs.replace(request, exactly=source)
        else:
            others = list(request.first_available)
            others[self.alternative] = source
            request = msgspec.structs.replace(request, first_available=tuple(others))
        requests = (*claim.requests[: self.place], request, *claim.requests[self.place + 1 :])
        after = spec_bytes(msgspec.structs.replace(claim, requests=requests))
        named = {"kind": detail.pop("kind"), "claim": self.claim, "request": self.name, **detail}
        return OtherClaim(self.claim, self.spec, after, f"{words} {self.where}", tuple(named.items()), share)


# -- which changes there are -------------------------------------------------------------------------------


def claims_of(snapshot: Snapshot, number: int) -> dict[bytes, str]:
    """What the waiting members of a group ask for by claims that they share with no other group, and what
    these are called."""
    view, found = snapshot.groups[number], dict[bytes, str]()
    foreign = {
        need.claim
        for other, group in enumerate(snapshot.groups)
        if other != number
        for shape in set(group.shapes.tolist())
        for need in snapshot.shapes[shape].devices
        if need.claim
    }
    for shape in dict.fromkeys(view.shapes.tolist()):
        needs, names = (
            snapshot.shapes[shape].devices,
            snapshot.needs[snapshot.shapes[shape].needs].device_claims,
        )
        for place, need in enumerate(needs):
            if need.spec and need.claim not in foreign:
                name = need.claim or (names[place] if len(names) == len(needs) else "")
                found.setdefault(need.spec, name)
    return found


def looser_claims(snapshot: Snapshot, number: int) -> Iterator[OtherClaim]:
    """Each claim with one selector or constraint less, or another class."""
    for spec, claim in claims_of(snapshot, number).items():
        yield from _without_constraints(claim, spec)
        for asked in _asked(claim, spec):
            yield from _without_selectors(asked)
            yield from _other_classes(asked, snapshot.inventory)


def smaller_claims(snapshot: Snapshot, number: int) -> Iterator[tuple[int, Callable[[int], OtherClaim]]]:
    """Requests that may be smaller: up to which size, and the change to a size."""
    for spec, claim in claims_of(snapshot, number).items():
        for asked in _asked(claim, spec):
            count = max(1, asked.source.count)
            if asked.source.allocation_mode != "All" and count > 1:
                yield count - 1, _to_count(asked, count)
            yield from _smaller_capacities(asked)


def _asked(claim: str, spec: bytes) -> Iterator[AskedRequest]:
    for place, request in enumerate(spec_of(spec).requests):
        if request.first_available:
            yield from (
                AskedRequest(claim, spec, place, number) for number in range(len(request.first_available))
            )
        elif request.exactly is not None:
            yield AskedRequest(claim, spec, place, None)


def _without_constraints(name: str, spec: bytes) -> Iterator[OtherClaim]:
    claim = spec_of(spec)
    for place, one in enumerate(claim.constraints):
        attribute = one.match_attribute or one.distinct_attribute
        must = f"share {attribute}" if one.match_attribute else f"differ in {attribute}"
        others = (*claim.constraints[:place], *claim.constraints[place + 1 :])
        after = DeviceClaim(claim.requests, others, claim.config)
        detail = {"kind": "deviceConstraint", "claim": name, "attribute": attribute}
        words = f"do not require that devices of claim {name} {must}"
        share = 1 / (len(claim.constraints) + 1)
        yield OtherClaim(name, spec, spec_bytes(after), words, tuple(detail.items()), share)


def _without_selectors(asked: AskedRequest) -> Iterator[OtherClaim]:
    selectors = asked.source.selectors
    for place, one in enumerate(selectors):
        if one.cel is not None:
            text, others = one.cel.expression, (*selectors[:place], *selectors[place + 1 :])
            source = msgspec.structs.replace(asked.source, selectors=others)
            words, share = f"do not select devices by {shortened(text)}", 1 / (len(selectors) + 1)
            yield asked.changed(source, words, share, kind="deviceSelector", selector=text)


def _other_classes(asked: AskedRequest, inventory: Inventory) -> Iterator[OtherClaim]:
    before = asked.source.device_class_name
    for other in sorted(inventory.classes.keys() - {before})[:MOST_CLASSES]:
        source = msgspec.structs.replace(asked.source, device_class_name=other)
        words = f"ask for device class {other} instead of {before}"
        yield asked.changed(source, words, 1 / 2, kind="deviceClass", **{"from": before, "to": other})


def _to_count(asked: AskedRequest, before: int) -> Callable[[int], OtherClaim]:
    def make(count: int) -> OtherClaim:
        source = msgspec.structs.replace(asked.source, count=count)
        words, share = f"ask for {count} instead of {before} devices", (before - count) / before
        return asked.changed(source, words, share, kind="deviceCount", **{"from": before, "to": count})

    return make


def _smaller_capacities(asked: AskedRequest) -> Iterator[tuple[int, Callable[[int], OtherClaim]]]:
    wanted = dict(asked.source.capacity.requests) if asked.source.capacity else {}
    for name in sorted(wanted):
        try:
            before = parse_nano(wanted[name])
        except QuantityError:
            continue
        if before >= STEPS:
            yield STEPS - 1, _to_capacity(asked, name, before)


def _to_capacity(asked: AskedRequest, name: str, before: int) -> Callable[[int], OtherClaim]:
    wanted = dict(asked.source.capacity.requests) if asked.source.capacity else {}

    def make(parts: int) -> OtherClaim:
        after, old = nano_text(before * parts // STEPS), str(wanted[name])
        source = msgspec.structs.replace(asked.source, capacity=CapacityRequirements({**wanted, name: after}))
        words, share = f"ask for {after} instead of {old} {name}", 1 - parts / STEPS
        sizes = {"capacity": name, "from": old, "to": after}
        return asked.changed(source, words, share, kind="deviceCapacity", **sizes)

    return make


# -- devices that are unwell -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MendedDevices:
    """Devices that are tainted are well again."""

    devices: tuple[DeviceId, ...]
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        inventory, mended = snapshot.inventory, set(self.devices)
        pools = dict(inventory.pools)
        for id in {PoolId(one.driver, one.pool) for one in self.devices} & pools.keys():
            pool = pools[id]
            devices = tuple(replace(one, taints=()) if one.id in mended else one for one in pool.devices)
            pools[id] = DevicePool(pool.id, devices, pool.counters, pool.node, pool.problem)
        return replace(snapshot, inventory=Inventory(pools, inventory.classes))

    def remedy(self, view: GroupView) -> Remedy:
        pools = dict[str, list[str]]()
        for one in self.devices:
            pools.setdefault(one.pool, []).append(one.device)
        names = shown_names(
            [
                f"{names[0] if len(names) == 1 else counted(len(names), 'device')} of pool {pool}"
                for pool, names in pools.items()
            ]
        )
        detail: Detail = {"kind": "devices", "devices": [one._asdict() for one in self.devices]}
        return Remedy(f"bring back {names}", detail)


def devices_back(view: GroupView, blockers: tuple[Blocker, ...]) -> Iterator[MendedDevices]:
    """What the blocker of health names, if it names all."""
    for blocker in blockers:
        named = blocker.detail.get("tainted", ())
        if blocker.category == "Health" and named and len(named) == blocker.detail["taintedDevices"]:
            ids = tuple(DeviceId(one["driver"], one["pool"], one["device"]) for one in named)
            places = len({(one.driver, one.pool) for one in ids})
            yield MendedDevices(ids, places / max(places, available(view)))
