"""Devices as ResourceSlices describe them: pools of one generation, who reaches what, and what is tainted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from . import quantity
from .fields import Doc
from .selectors import Labels, NodeTerms, Taint, any_term, node_terms, taints

DeviceId = tuple[str, str, str]  # driver, pool, device
Counters = dict[tuple[str, str], Fraction]  # by counter set and counter
Values = frozenset[tuple[str, object]]
KINDS = ("int", "bool", "string", "version")


def shown_device(device: DeviceId) -> str:
    return "/".join(device)


@dataclass(frozen=True)
class Reach:
    """The nodes that can use a device, or what a slice has: one, all, or those that a selector matches."""

    node_name: str
    all_nodes: bool
    terms: NodeTerms | None

    def includes(self, name: str, labels: Labels) -> bool:
        if self.node_name:
            return self.node_name == name
        return self.all_nodes or (self.terms is not None and any_term(self.terms, labels, name))


@dataclass(frozen=True, eq=False)
class Device:
    id: DeviceId
    doc: Doc
    reach: Reach
    taints: tuple[Taint, ...]
    counters: Counters

    @property
    def shared(self) -> bool:
        """Whether several claims may have parts of it."""
        return self.doc.flag("allowMultipleAllocations")

    @property
    def capacity(self) -> dict[str, Doc]:
        known = self.doc.doc("capacity")
        return {name: known.doc(name) for name in known.raw}

    def values(self, attribute: str) -> Values:
        """What it has for the fully qualified name of an attribute; a lone value is a list of one."""
        known, (domain, _, name) = self.doc.doc("attributes"), attribute.rpartition("/")
        if attribute not in known.raw and domain == self.id[0]:
            attribute = name
        value = known.doc(attribute)
        for kind in KINDS:
            if value.items(f"{kind}s"):
                return frozenset((kind, one) for one in value.items(f"{kind}s"))
        return frozenset((kind, value.raw[kind]) for kind in KINDS if value.given(kind))


@dataclass(frozen=True, eq=False)
class Slice:
    generation: int
    expected: int
    """How many slices its pool has, as it says."""
    reach: Reach | None
    """None where each device says it for itself."""
    devices: tuple[Device, ...]
    counters: Counters

    def concerns(self, name: str, labels: Labels) -> bool:
        if self.reach is not None:
            return self.reach.includes(name, labels)
        return any(device.reach.includes(name, labels) for device in self.devices)


@dataclass(frozen=True, eq=False)
class Pool:
    """The slices of its newest generation."""

    slices: tuple[Slice, ...]

    @property
    def complete(self) -> bool:
        return len(self.slices) == self.slices[0].expected

    @property
    def devices(self) -> dict[DeviceId, Device]:
        return {device.id: device for one in self.slices for device in one.devices}

    @property
    def counters(self) -> Counters:
        return {name: amount for one in self.slices for name, amount in one.counters.items()}

    def problem(self, name: str, labels: Labels) -> str | None:
        """Why nothing in it can be allocated for a node."""
        if not self.complete:
            return f"has {len(self.slices)} of {self.slices[0].expected} slices"
        near = [device.id for one in self.slices if one.concerns(name, labels) for device in one.devices]
        if len(near) != len(set(near)):
            return "has two devices of one name"
        sets = [s for one in self.slices for s in {s for s, _ in one.counters}]
        if len(sets) != len(set(sets)):
            return "has two counter sets of one name"
        unknown = sorted({c for d in self.devices.values() for c in d.counters} - self.counters.keys())
        return f"has no counter {'/'.join(unknown[0])}, which its devices consume" if unknown else None


Pools = dict[tuple[str, str], Pool]


def read_pools(slices: Mapping[str, Doc], rules: Mapping[str, Doc]) -> Pools:
    """The pools by driver and name. Slices of older generations are leftovers."""
    found: dict[tuple[str, str], list[Slice]] = {}
    for doc in (doc.doc("spec") for _, doc in sorted(slices.items())):
        key = doc.text("driver"), doc.doc("pool").text("name")
        found.setdefault(key, []).append(_slice(doc, key, [rule.doc("spec") for rule in rules.values()]))
    pools = {}
    for key, every in found.items():
        newest = max(one.generation for one in every)
        pools[key] = Pool(tuple(one for one in every if one.generation == newest))
    return pools


def _slice(spec: Doc, key: tuple[str, str], rules: list[Doc]) -> Slice:
    pool, own = spec.doc("pool"), spec.flag("perDeviceNodeSelection")
    reach = None if own else _reach(spec)
    counters = {
        (one.text("name"), name): _amount(one.doc("counters"), name)
        for one in spec.docs("sharedCounters")
        for name in one.doc("counters").raw
    }
    # What has counters has no devices; an API server that is older may have let it.
    docs = [] if counters else spec.docs("devices")
    return Slice(
        generation=pool.integer("generation"),
        expected=pool.integer("resourceSliceCount"),
        reach=reach,
        devices=tuple(_device(doc, key, reach, rules) for doc in docs),
        counters=counters,
    )


def _device(doc: Doc, pool: tuple[str, str], reach: Reach | None, rules: list[Doc]) -> Device:
    """In v1beta1 all but the name is one level below."""
    body, key = (doc.doc("basic") if doc.given("basic") else doc), (*pool, doc.text("name"))
    consumed = {
        (one.text("counterSet"), name): _amount(one.doc("counters"), name)
        for one in body.docs("consumesCounters")
        for name in one.doc("counters").raw
    }
    ruled = [taint for rule in rules if _speaks_of(rule, key) for taint in _lone_taint(rule)]
    own = _reach(body) if reach is None else reach
    return Device(key, body, own, (*taints(body, "taints"), *ruled), consumed)


def _reach(doc: Doc) -> Reach:
    return Reach(doc.text("nodeName"), doc.flag("allNodes"), node_terms(doc, "nodeSelector"))


def _amount(owner: Doc, name: str) -> Fraction:
    return parsed(owner.doc(name), "value")


def parsed(owner: Doc, field: str) -> Fraction:
    try:
        return quantity.parse(owner.raw.get(field))
    except ValueError as error:
        raise owner.error(field, str(error)) from None


def _speaks_of(rule: Doc, device: DeviceId) -> bool:
    """A rule without a selector speaks of no device, one with an empty selector of all."""
    selector = rule.doc("deviceSelector")
    said = zip(("driver", "pool", "device"), device, strict=True)
    matching = all(selector.text(field, value) == value for field, value in said)
    return rule.given("deviceSelector") and matching


def _lone_taint(rule: Doc) -> Iterator[Taint]:
    taint = rule.doc("taint")
    yield Taint(taint.text("key"), taint.text("value"), taint.text("effect"))
