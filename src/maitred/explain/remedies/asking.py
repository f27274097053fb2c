"""Claims as a remedy: one request that asks for less, for something else, or with one constraint less.

- `{"kind": "deviceCount", "claim": "gpus", "request": "gpu", "from": 4, "to": 2}`;
- `{"kind": "deviceCapacity", "claim": "gpus", "request": "gpu", "capacity": "memory", "from": "40Gi", "to":
  "20Gi"}`;
- `{"kind": "deviceSelector", "claim": "gpus", "request": "gpu", "selectors": [{"from":
  "device.driver == 'x'", "to": null}]}`: to be dropped; `other_devices` has those that are changed;
- `{"kind": "deviceClass", "claim": "gpus", "request": "gpu", "from": "h100", "to": "a100"}`;
- `{"kind": "deviceConstraint", "claim": "gpus", "attribute": "gpu.example.com/link", "requests": [], "to":
  null}`: to be dropped. `requests` are those that it names, if it names any.

The claim is named as pods name it, or by its own name if they share it; the request as results name it,
`gpu/a` for one of several alternatives.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import msgspec

from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.needs import ClaimNeed, spec_bytes, spec_of
from maitred.cluster.snapshot import GroupView, Shape, Snapshot
from maitred.decide.devices import shortened
from maitred.explain.remedies.changes import shown_names, with_members_like
from maitred.model.cel import drivers_named
from maitred.model.devices.claims import CapacityRequirements, DeviceClaim, DeviceConstraint, ExactRequest
from maitred.model.needs import Needs
from maitred.model.plan import Detail, Remedy
from maitred.model.quantity import QuantityError, nano_text, parse_nano

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
    detail: Detail = field(compare=False)
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        def changed(shape: Shape, needs: Needs) -> tuple[Shape, Needs]:
            return replace(shape, devices=tuple(map(self._changed, shape.devices))), needs

        return with_members_like(snapshot, number, changed)

    def _changed(self, need: ClaimNeed) -> ClaimNeed:
        return msgspec.structs.replace(need, spec=self.after) if need.spec == self.before else need

    @property
    def kind(self) -> str:
        return str(self.detail["kind"])

    def remedy(self, view: GroupView) -> Remedy:
        return Remedy(self.words, self.detail)


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
        named: Detail = {"kind": detail.pop("kind"), "claim": self.claim, "request": self.name, **detail}
        return OtherClaim(self.claim, self.spec, after, f"{words} {self.where}", named, share)


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
        for asked in asked_by(claim, spec):
            yield from _without_selectors(asked)
            yield from _other_classes(asked, snapshot.inventory)


def smaller_claims(snapshot: Snapshot, number: int) -> Iterator[tuple[int, Callable[[int], OtherClaim]]]:
    """Requests that may be smaller: up to which size, and the change to a size."""
    for spec, claim in claims_of(snapshot, number).items():
        for asked in asked_by(claim, spec):
            count = max(1, asked.source.count)
            if asked.source.allocation_mode != "All" and count > 1:
                yield count - 1, _to_count(asked, count)
            yield from _smaller_capacities(asked)


def asked_by(claim: str, spec: bytes) -> Iterator[AskedRequest]:
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
        detail: Detail = {
            "kind": "deviceConstraint",
            "claim": name,
            "attribute": attribute,
            "requests": list(one.requests),
            "to": None,
        }
        words = f"do not require that {of_claim(name, one, claim)} {must}"
        share = 1 / (len(claim.constraints) + 1)
        yield OtherClaim(name, spec, spec_bytes(after), words, detail, share)


def of_claim(name: str, constraint: DeviceConstraint, claim: DeviceClaim) -> str:
    """The devices that a constraint is about."""
    requests = constraint.requests
    if not requests or {one.name for one in claim.requests} <= set(requests):
        return f"devices of claim {name}"
    return f"devices of request{'s' if len(requests) > 1 else ''} {shown_names(requests)} of claim {name}"


def _without_selectors(asked: AskedRequest) -> Iterator[OtherClaim]:
    selectors = asked.source.selectors
    for place, one in enumerate(selectors):
        if one.cel is not None:
            text, others = one.cel.expression, (*selectors[:place], *selectors[place + 1 :])
            source = msgspec.structs.replace(asked.source, selectors=others)
            words, share = f"do not select devices by {shortened(text)}", 1 / (len(selectors) + 1)
            dropped = [{"from": text, "to": None}]
            yield asked.changed(source, words, share, kind="deviceSelector", selectors=dropped)


def _other_classes(asked: AskedRequest, inventory: Inventory) -> Iterator[OtherClaim]:
    """Classes of devices of the same drivers, as far as classes say of which they are: a network interface
    does not do for a GPU."""
    before = asked.source.device_class_name
    drivers = _drivers(before, inventory)
    others = (name for name in sorted(inventory.classes.keys() - {before}))
    alike = [name for name in others if not drivers or _drivers(name, inventory) in (drivers, frozenset())]
    for other in alike[:MOST_CLASSES]:
        source = msgspec.structs.replace(asked.source, device_class_name=other)
        words = f"ask for device class {other} instead of {before}"
        yield asked.changed(source, words, 1 / 2, kind="deviceClass", **{"from": before, "to": other})


def _drivers(name: str, inventory: Inventory) -> frozenset[str]:
    known = inventory.classes.get(name)
    selectors = known.spec.selectors if known else ()
    return frozenset[str]().union(*(drivers_named(one.cel.expression) for one in selectors if one.cel))


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
