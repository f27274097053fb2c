"""What a ResourceClaim asks for: requests with their alternatives, and constraints across them."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from .devices import Device, parsed
from .expressions import matches
from .fields import Doc
from .selectors import Toleration, tolerations, untolerated

ALL = "All"
Amounts = dict[str, Fraction]


@dataclass(frozen=True, eq=False)
class Request:
    """A request, or one alternative of it, by the name that results have for it."""

    name: str
    parent: str
    doc: Doc
    class_doc: Doc | None

    @property
    def count(self) -> int | None:
        """How many devices; None: all."""
        return None if self.doc.text("allocationMode") == ALL else self.doc.integer("count") or 1

    @property
    def admin(self) -> bool:
        return self.doc.flag("adminAccess")

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        return tolerations(self.doc)

    @property
    def class_name(self) -> str:
        return self.doc.text("deviceClassName")

    @property
    def asked(self) -> Amounts:
        amounts = self.doc.doc("capacity").doc("requests")
        return {name: parsed(amounts, name) for name in amounts.raw}

    def why_not(self, device: Device) -> str | None:
        """Why a device is not what is asked for, whoever has it."""
        reason = self.why_not_chosen(device)
        if reason is not None:
            return reason
        taint = untolerated(device.taints, self.tolerations)
        return None if taint is None else f"it has the taint {taint.key}={taint.value}:{taint.effect}"

    def why_not_chosen(self, device: Device) -> str | None:
        """The same but for taints: a device that is asked for counts among all even if it is tainted."""
        if self.class_doc is None:
            return f"there is no device class {self.class_name}"
        for owner in (self.class_doc.doc("spec"), self.doc):
            for selector in owner.docs("selectors"):
                text = selector.doc("cel").text("expression")
                if matches(text, device.id[0], device.doc.raw) is False:
                    return f"it does not match {text}"
        return None if self.consumed(device) is not None else "it does not have the capacity"

    def consumed(self, device: Device) -> Amounts | None:
        """What the request takes of a device that nobody else uses; None if it does not have that much."""
        capacity, asked = device.capacity, self.asked
        if asked.keys() - capacity.keys():
            return None
        found = {name: _taken(one, asked.get(name)) for name, one in capacity.items()}
        for name, one in capacity.items():
            if found[name] > parsed(one, "value") or not _allowed(one.doc("requestPolicy"), found[name]):
                return None
        return found


@dataclass(frozen=True)
class Constraint:
    requests: frozenset[str]
    match: str
    distinct: str

    def covers(self, request: Request) -> bool:
        return not self.requests or bool(self.requests & {request.name, request.parent})

    def why_not(self, devices: list[Device]) -> str | None:
        """Why devices of the requests that it covers may not go together."""
        attribute = self.match or self.distinct
        values = [device.values(attribute) for device in devices]
        if not all(values):
            return f"one of its devices has no {attribute}"
        if self.match and values and not frozenset.intersection(*values):
            return f"its devices do not share {attribute}"
        if self.distinct and sum(map(len, values)) != len(frozenset().union(*values)):
            return f"two of its devices have the same {attribute}"
        return None


@dataclass(frozen=True, eq=False)
class Wish:
    """The spec of a claim. Of each request one alternative is to be had."""

    requests: tuple[tuple[Request, ...], ...]
    constraints: tuple[Constraint, ...]
    doc: Doc

    def named(self, name: str) -> Request | None:
        return next((one for every in self.requests for one in every if one.name == name), None)


def read_wish(spec: Doc, classes: dict[str, Doc]) -> Wish:
    devices = spec.doc("devices")
    constraints = (
        Constraint(frozenset(c.texts("requests")), c.text("matchAttribute"), c.text("distinctAttribute"))
        for c in devices.docs("constraints")
    )
    requests = (_alternatives(doc, classes) for doc in devices.docs("requests"))
    return Wish(tuple(requests), tuple(constraints), devices)


def _alternatives(doc: Doc, classes: dict[str, Doc]) -> tuple[Request, ...]:
    """In v1beta1 a request without alternatives says all by itself."""
    name = doc.text("name")
    several = doc.docs("firstAvailable")
    if several:
        return tuple(
            Request(f"{name}/{one.text('name')}", name, one, classes.get(one.text("deviceClassName")))
            for one in several
        )
    one = doc.doc("exactly") if doc.given("exactly") else doc
    return (Request(name, name, one, classes.get(one.text("deviceClassName"))),)


def _taken(capacity: Doc, asked: Fraction | None) -> Fraction:
    """Rounded up to what the policy of a capacity allows; without a wish its default, or else all of it."""
    policy = capacity.doc("requestPolicy")
    limits = policy.doc("validRange")
    if asked is None:
        return parsed(policy, "default") if policy.given("default") else parsed(capacity, "value")
    if limits.given("min"):
        least = parsed(limits, "min")
        if asked <= least or not limits.given("step"):
            return max(asked, least)
        step = parsed(limits, "step")
        return least + ceil((asked - least) / step) * step
    enough = [value for value in _values(policy) if value >= asked]
    return min(enough, default=asked)


def _allowed(policy: Doc, amount: Fraction) -> bool:
    limits, values = policy.doc("validRange"), _values(policy)
    if policy.given("default") and amount == parsed(policy, "default"):
        return True
    if limits.given("max") and amount > parsed(limits, "max"):
        return False
    if limits.given("step") and (amount - parsed(limits, "min")) % parsed(limits, "step"):
        return False
    return not values or amount in values


def _values(policy: Doc) -> list[Fraction]:
    items = policy.items("validValues")
    return [parsed(Doc({"value": item}, policy.name, policy.where("validValues")), "value") for item in items]
