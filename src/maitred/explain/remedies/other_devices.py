"""Claims as a remedy: devices that are there, and what a claim would have to say to get them.

- `{"kind": "deviceSelector", "claim": "gpus", "request": "gpu", "selectors": [{"from": "...", "to": "..."}],
  "values": [{"name": "gpu.example.com/model", "from": "h100", "to": "a100"}]}`: selectors with other values;
- `{"kind": "deviceConstraint", "claim": "gpus", "attribute": "gpu.example.com/link", "requests": [], "to":
  "gpu.example.com/numa"}`: an attribute that more devices have in common. `requests` are those that the
  constraint names, if it names any.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from maitred.cluster.devices.allocator import Claimed
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.looks import look_column
from maitred.cluster.devices.matching import matching
from maitred.cluster.devices.menus import claimed, menu, menus_of
from maitred.cluster.devices.needs import spec_bytes, spec_of
from maitred.cluster.devices.pools import PooledDevice
from maitred.cluster.devices.requests import program_of
from maitred.cluster.snapshot import Snapshot
from maitred.explain.remedies.asking import AskedRequest, OtherClaim, asked_by, claims_of, of_claim
from maitred.model.cel import ComparedConstant, comparisons, with_values
from maitred.model.devices.claims import DeviceClaim
from maitred.model.devices.classes import CelSelector, DeviceSelector
from maitred.model.plan import Detail
from maitred.model.quantity import QuantityError, parse_nano

MOST_REQUESTS = 8
"""Of a claim, of which other values are tried."""
MOST_KINDS = 3
MOST_ATTRIBUTES = 3
MOST_POOLS = 64
"""So many that differ are looked at to see which attributes lie within which; each that is found is tried."""
LONGEST_VALUE = 40
Values = tuple[str | int | None, ...]
"""What a device has of some attributes and capacities; None of what it has not."""


def fitting_claims(snapshot: Snapshot, number: int) -> Iterator[OtherClaim]:
    """Each claim with a wider link in one constraint, or with the values of devices that are there in the
    selectors of one request."""
    inventory = snapshot.inventory
    for spec, claim in claims_of(snapshot, number).items():
        if not program_of(spec, inventory).problem:
            yield from _wider_links(claim, spec, snapshot)
            for asked in islice(asked_by(claim, spec), MOST_REQUESTS):
                yield from islice(_other_kinds(asked, inventory), MOST_KINDS)


# -- devices of another kind -------------------------------------------------------------------------------


def _other_kinds(asked: AskedRequest, inventory: Inventory) -> Iterator[OtherClaim]:
    """The request as it would be for devices that differ in what its selectors compare: first those for which
    fewest values have to change, and of these the most frequent."""
    texts = [one.cel.expression if one.cel else "" for one in asked.source.selectors]
    compared = [(place, one) for place, text in enumerate(texts) for one in comparisons(text)]
    chosen = inventory.classes.get(asked.source.device_class_name)
    if not compared or chosen is None:
        return
    own = tuple(one.cel.expression for one in chosen.spec.selectors if one.cel)
    names = tuple((one.name, one.is_capacity) for _, one in compared)
    found = list[tuple[int, int, str, Mapping[int, str | int]]]()
    for kind, count in _kinds(own, names, inventory).items():
        changes = _changes([one for _, one in compared], kind)
        if changes:
            found.append((len(changes), -count, repr(kind), changes))
    for _, _, _, changes in sorted(found, key=lambda one: one[:3]):
        yield _with_other_values(asked, texts, compared, changes)


def _kinds(
    own: tuple[str, ...], names: tuple[tuple[str, bool], ...], inventory: Inventory
) -> Counter[Values]:
    """How many devices of a class have which values."""
    counts = Counter[Values]()
    for pool in inventory.pools.values():
        key: Hashable = ("values", own, names)
        if key not in pool.derived:
            bits = matching(own, pool, inventory).bits
            devices = (device for place, device in enumerate(pool.devices) if bits >> place & 1)
            pool.derived[key] = Counter(tuple(_value(device, *name) for name in names) for device in devices)
        counts.update(pool.derived[key])
    return counts


def _value(device: PooledDevice, name: str, is_capacity: bool) -> str | int | None:
    if is_capacity:
        domain, _, short = name.partition("/")
        capacity = device.source.capacity
        found = capacity.get(name) or (capacity.get(short) if domain == device.id.driver else None)
        return None if found is None else str(found.value)
    values = device.value(name)
    if len(values) != 1:
        return None
    ((kind, value),) = values
    return value if kind in ("string", "int") else None


def _changes(compared: Sequence[ComparedConstant], kind: Values) -> Mapping[int, str | int]:
    """The values that have to change for devices of this kind, by the places of the comparisons. None if no
    other value would do."""
    found = dict[int, str | int]()
    for place, (one, value) in enumerate(zip(compared, kind, strict=True)):
        if value is None or (not one.is_capacity and type(value) is not type(one.value)):
            return {}
        if not _holds(one, value):
            found[place] = value
    return found


def _holds(one: ComparedConstant, value: str | int) -> bool:
    if not one.is_capacity:
        return value >= one.value if one.at_least else value == one.value  # type: ignore[operator]
    try:
        has, wanted = parse_nano(value), parse_nano(one.value)
    except QuantityError:
        return True
    return has >= wanted if one.at_least else has == wanted


def _with_other_values(
    asked: AskedRequest,
    texts: Sequence[str],
    compared: Sequence[tuple[int, ComparedConstant]],
    changes: Mapping[int, str | int],
) -> OtherClaim:
    by_text = dict[int, dict[ComparedConstant, str | int]]()
    for number, value in changes.items():
        place, one = compared[number]
        by_text.setdefault(place, {})[one] = value
    after = {place: with_values(texts[place], values) for place, values in by_text.items()}
    selectors = tuple(
        DeviceSelector(CelSelector(after[place])) if place in after else one
        for place, one in enumerate(asked.source.selectors)
    )
    source = msgspec.structs.replace(asked.source, selectors=selectors)
    changed = [(compared[number][1], value) for number, value in sorted(changes.items())]
    words = f"select devices with {' and '.join(_value_words(one, value) for one, value in changed)}"
    share = len(changes) / (len(compared) + 1) / 2
    return asked.changed(
        source,
        words,
        share,
        kind="deviceSelector",
        selectors=[{"from": texts[place], "to": text} for place, text in sorted(after.items())],
        values=[{"name": one.name, "from": one.value, "to": value} for one, value in changed],
    )


def _value_words(one: ComparedConstant, value: str | int) -> str:
    """`model a100 instead of h100`, or `at least 40Gi instead of 80Gi memory`."""
    short = one.name.rpartition("/")[2]
    new, old = _shortened(value), _shortened(one.value)
    if one.at_least:
        return f"at least {new} instead of {old} {short}"
    return f"{new} instead of {old} {short}" if one.is_capacity else f"{short} {new} instead of {old}"


def _shortened(value: str | int) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


# -- a wider link ------------------------------------------------------------------------------------------


def _wider_links(name: str, spec: bytes, snapshot: Snapshot) -> Iterator[OtherClaim]:
    claim = spec_of(spec)
    asks = program_of(spec, snapshot.inventory).asks
    sights = list(_sights(spec, snapshot)) if claim.constraints else []
    for place, one in enumerate(claim.constraints):
        if not one.match_attribute:
            continue
        concerned = [number for number, ask in enumerate(asks) if place in ask.constraints]
        wider = _wider(one.match_attribute, _by_place(concerned, sights))[:MOST_ATTRIBUTES]
        for step, attribute in enumerate(wider, 1):
            constraints = list(claim.constraints)
            constraints[place] = msgspec.structs.replace(one, match_attribute=attribute)
            after = DeviceClaim(claim.requests, tuple(constraints), claim.config)
            devices, link = of_claim(name, one, claim), one.match_attribute
            words = f"require that {devices} share {attribute} instead of {link}"
            detail: Detail = {
                "kind": "deviceConstraint",
                "claim": name,
                "attribute": one.match_attribute,
                "requests": list(one.requests),
                "to": attribute,
            }
            share = step / (len(wider) + 1) / (len(claim.constraints) + 1)
            yield OtherClaim(name, spec, spec_bytes(after), words, detail, share)


def _sights(spec: bytes, snapshot: Snapshot) -> Iterator[tuple[Claimed, list[PooledDevice]]]:
    """Devices as a claim sees them: of nodes that differ to it, and of pools that several nodes can use."""
    inventory, menus = snapshot.inventory, menus_of(spec, snapshot.inventory)
    looks = look_column(menus.reading, snapshot.nodes, inventory)
    for look, pools in looks.distinct[:MOST_POOLS]:
        yield menu(menus, look, pools, inventory)[1], [device for pool in pools for device in pool.devices]
    for pool in inventory.wide[:MOST_POOLS]:
        yield claimed(menus.program, (pool,), inventory), list(pool.devices)


def _by_place(
    asks: Sequence[int], sights: Iterable[tuple[Claimed, list[PooledDevice]]]
) -> list[list[PooledDevice]]:
    """Devices that some requests select, node by node, or pool by pool where several nodes can use them."""
    found = list[list[PooledDevice]]()
    for sight, devices in sights:
        bits = 0
        for ask in asks:
            bits |= sight.selected[ask]
        found.append([device for place, device in enumerate(devices) if bits >> place & 1])
    return found


def _wider(link: str, places: Sequence[Sequence[PooledDevice]]) -> list[str]:
    """Attributes of all devices that have the link, which are equal where it is and divide the devices of a
    place into fewer sets: such as the NUMA node instead of the PCIe root. The narrowest first."""
    linked = [[device for device in place if device.value(link)] for place in places]
    linked = [place for place in linked if place]
    everyone = [device for place in linked for device in place]
    if not everyone:
        return []
    names = set.intersection(*(set(_names(device)) for device in everyone)) - {link}
    sets = {name: _sets(link, name, linked) for name in names}
    links = sum(len({device.value(link) for device in place}) for place in linked)
    found = [(-sum(counts), name) for name, counts in sets.items() if max(counts, default=0) > 1]
    return [name for count, name in sorted(found) if -count < links]


def _names(device: PooledDevice) -> Iterator[str]:
    for name in device.source.attributes:
        yield name if "/" in name else f"{device.id.driver}/{name}"


def _sets(link: str, name: str, places: Sequence[Sequence[PooledDevice]]) -> list[int]:
    """Into how many sets an attribute divides the devices of each place; none if it parts some that have one
    link."""
    counts = list[int]()
    for place in places:
        beside = dict[Hashable, Hashable]()
        for device in place:
            value = device.value(name)
            if beside.setdefault(device.value(link), value) != value:
                return []
        counts.append(len(set(beside.values())))
    return counts
