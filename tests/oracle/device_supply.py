"""Devices as the oracle sees them: what there is, who reaches it, whether it is what a request asks for.

No library of CEL evaluates selectors here: generated ones are of a few forms, joined by ``&&``, and each form
is read by itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracle.builders import Obj
from tests.oracle.selectors import node_terms_match, quantity, tolerated

Amounts = dict[str, Fraction]
Id = tuple[str, str, str]

_DRIVER = re.compile(r'device\.driver == "(.+)"')
_SHARED = re.compile(r"device\.allowMultipleAllocations")
_EQUAL = re.compile(r'device\.attributes\["(.+)"\]\.(\w+) == (.+)')
_KNOWN = re.compile(r'"(\w+)" in device\.attributes\["(.+)"\]')
_AT_LEAST = re.compile(r'device\.capacity\["(.+)"\]\.(\w+)\.compareTo\(quantity\("(.+)"\)\) >= 0')
_SINCE = re.compile(r'device\.attributes\["(.+)"\]\.(\w+)\.compareTo\(semver\("(.+)"\)\) >= 0')
_AMONG = re.compile(r'device\.attributes\["(.+)"\]\.(\w+)\.exists\(v, v == "(.+)"\)')


@dataclass(frozen=True, eq=False)
class Gadget:
    """A device in its slice."""

    id: Id
    raw: Obj
    slice: Obj
    taints: list[Obj]

    def reached(self, node: Obj) -> bool:
        own = self.slice["spec"].get("perDeviceNodeSelection")
        return _reached(self.raw if own else self.slice["spec"], node)

    @property
    def shared(self) -> bool:
        return bool(self.raw.get("allowMultipleAllocations"))

    def value(self, name: str) -> Any:
        """An attribute by its full name, or None."""
        attributes = self.raw.get("attributes", {})
        return attributes.get(name) or attributes.get(name.removeprefix(f"{self.id[0]}/"))


class Supply:
    """All devices of the newest generation of every pool."""

    def __init__(self, objects: Iterable[Obj]) -> None:
        self.rules = [o["spec"] for o in objects if o["kind"] == "DeviceTaintRule"]
        self.classes = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "DeviceClass"}
        self.pools: dict[tuple[str, str], list[Obj]] = {}
        for obj in (o for o in objects if o["kind"] == "ResourceSlice"):
            key = obj["spec"]["driver"], obj["spec"]["pool"]["name"]
            self.pools.setdefault(key, []).append(obj)
        for key, slices in self.pools.items():
            newest = max(s["spec"]["pool"]["generation"] for s in slices)
            self.pools[key] = [s for s in slices if s["spec"]["pool"]["generation"] == newest]
        self.gadgets = [g for slices in self.pools.values() for s in slices for g in self._gadgets(s)]
        self.by_id = {gadget.id: gadget for gadget in self.gadgets}

    def _gadgets(self, obj: Obj) -> Iterator[Gadget]:
        spec = obj["spec"]
        for raw in spec.get("devices", ()):
            key = spec["driver"], spec["pool"]["name"], raw["name"]
            named = dict(zip(("driver", "pool", "device"), key, strict=True))
            ruled = [r["taint"] for r in self.rules if r["deviceSelector"].items() <= named.items()]
            yield Gadget(key, raw, obj, [*raw.get("taints", []), *ruled])

    def whole(self, pool: tuple[str, str]) -> bool:
        """Whether every slice of a pool is there."""
        slices = self.pools[pool]
        return bool(len(slices) == slices[0]["spec"]["pool"]["resourceSliceCount"])

    def on(self, node: Obj) -> list[Gadget]:
        return [g for g in self.gadgets if g.reached(node) and self.whole(g.id[:2])]

    def known_in_full(self, node: Obj) -> bool:
        """Whether no device that the node reaches, or might, is in a pool of which slices are missing."""
        near = {g.id[:2] for g in self.gadgets if g.reached(node)}
        near |= {key for key, slices in self.pools.items() for s in slices if _reached(s["spec"], node)}
        return all(self.whole(pool) for pool in near)

    def counters(self, pool: tuple[str, str]) -> dict[tuple[str, str], Fraction]:
        sets = [s for obj in self.pools[pool] for s in obj["spec"].get("sharedCounters", ())]
        return {(s["name"], k): quantity(v["value"]) for s in sets for k, v in s["counters"].items()}

    def selects(self, wanted: Obj, gadget: Gadget) -> bool:
        """Whether the device is what is asked for, tainted or not, in use or not."""
        selectors = [*self.classes[wanted["deviceClassName"]].get("selectors", ())]
        selectors += wanted.get("selectors", ())
        parts = (part for s in selectors for part in s["cel"]["expression"].split(" && "))
        return all(_holds(part, gadget) for part in parts) and consumed(wanted, gadget) is not None


def bearable(wanted: Obj, gadget: Gadget) -> bool:
    keeps = (t for t in gadget.taints if t["effect"] in ("NoSchedule", "NoExecute"))
    return all(tolerated(taint, wanted.get("tolerations", ())) for taint in keeps)


def consumed(wanted: Obj, gadget: Gadget) -> Amounts | None:
    """What it takes of each capacity; None where the device does not have that, or not in such parts."""
    asked = wanted.get("capacity", {}).get("requests", {})
    known = gadget.raw.get("capacity", {})
    if not asked.keys() <= known.keys():
        return None
    taken = {}
    for name, capacity in known.items():
        amount = _part(capacity, asked.get(name))
        if amount is None or amount > quantity(capacity["value"]):
            return None
        taken[name] = amount
    return taken


def _part(capacity: Obj, asked: str | None) -> Fraction | None:
    """The amount that a policy makes of a wish, by looking through all that it offers."""
    policy, value = capacity.get("requestPolicy", {}), quantity(capacity["value"])
    if asked is None:
        return quantity(policy["default"]) if "default" in policy else value
    wanted = quantity(asked)
    if "validValues" in policy:
        return min((q for q in map(quantity, policy["validValues"]) if q >= wanted), default=None)
    if "validRange" not in policy:
        return wanted
    limits = {name: quantity(text) for name, text in policy["validRange"].items()}
    amount = limits["min"]
    if "step" not in limits:
        amount = max(amount, wanted)
    while amount < wanted:
        amount += limits["step"]
    return amount if amount <= limits.get("max", amount) else None


def _reached(where: Obj, node: Obj) -> bool:
    meta = node["metadata"]
    if where.get("nodeName"):
        return bool(where["nodeName"] == meta["name"])
    selector = where.get("nodeSelector")
    if selector is not None:
        return node_terms_match(selector["nodeSelectorTerms"], meta.get("labels", {}), meta["name"])
    return bool(where.get("allNodes"))


def _holds(part: str, gadget: Gadget) -> bool:
    if match := _DRIVER.fullmatch(part):
        return gadget.id[0] == match[1]
    if _SHARED.fullmatch(part):
        return gadget.shared
    if match := _KNOWN.fullmatch(part):
        return gadget.value(f"{match[2]}/{match[1]}") is not None
    if match := _AT_LEAST.fullmatch(part):
        own = gadget.raw.get("capacity", {}) if gadget.id[0] == match[1] else {}
        return match[2] in own and quantity(own[match[2]]["value"]) >= quantity(match[3])
    if match := _SINCE.fullmatch(part):
        version = (gadget.value(f"{match[1]}/{match[2]}") or {}).get("version")
        return version is not None and _numbers(version) >= _numbers(match[3])
    if match := _AMONG.fullmatch(part):
        value = gadget.value(f"{match[1]}/{match[2]}") or {}
        return match[3] in value.get("strings", ())
    match = _EQUAL.fullmatch(part)
    assert match, f"no selector that the oracle knows: {part}"
    value = gadget.value(f"{match[1]}/{match[2]}") or {}
    return _literal(match[3]) in [value[k] for k in ("string", "int", "bool") if k in value]


def _literal(text: str) -> Any:
    words: Mapping[str, Any] = {"true": True, "false": False}
    return text[1:-1] if text[0] == '"' else words[text] if text in words else int(text)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
