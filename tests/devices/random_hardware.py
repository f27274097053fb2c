"""Random devices: classes, pools of slices, taints and rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.devices.made import (
    SHARED,
    consuming,
    counters,
    device,
    device_class,
    in_rack,
    pool_slice,
    taint,
    taint_rule,
    version,
)

Obj = dict[str, Any]

MEMORY = ("10Gi", "20Gi", "40Gi")
TAINTS = ("unwell", "maintenance")
EXTENDED = "example.com/gpu"


class Dice:
    """Chances that depend on what a world is about."""

    def __init__(self, random: Random, themes: frozenset[str]) -> None:
        self.random, self.themes = random, themes

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def theme(self, name: str, share: float) -> bool:
        """No chance in worlds that are about something else: with all at once, little would fit."""
        return name in self.themes and self.chance(share)

    def one(self, *values: Any) -> Any:
        return self.random.choice(values)


@dataclass(frozen=True)
class Known:
    """A device that others may hold."""

    driver: str
    pool: str
    spec: Obj
    node: str
    """Empty if it can be used from several nodes."""


class Hardware:
    def __init__(self, dice: Dice, prefix: str, nodes: Sequence[str]) -> None:
        self._dice, self._prefix, self.nodes = dice, prefix, nodes
        self.gpus, self.nics = f"{prefix}.gpu.example.com", f"{prefix}.nic.example.com"
        self.known: list[Known] = []
        self.objects = [*self._classes(), *self._slices(), *self._rules()]

    # -- classes ---------------------------------------------------------------------------------------------

    def class_name(self, short: str) -> str:
        return f"{self._prefix}-{short}"

    def _classes(self) -> list[Obj]:
        gpu: Obj = {}
        if self._dice.chance(0.3):
            gpu["config"] = [{"opaque": {"driver": self.gpus, "parameters": {"mode": "shared"}}}]
        if "extended" in self._dice.themes:
            gpu["extendedResourceName"] = f"{self._prefix}.{EXTENDED}"
        large = f'device.capacity["{self.gpus}"].memory.compareTo(quantity("20Gi")) >= 0'
        of_gpus = f'device.driver == "{self.gpus}"'
        return [
            device_class(self.class_name("gpu"), of_gpus, **gpu),
            device_class(self.class_name("nic"), f'device.driver == "{self.nics}"'),
            device_class(self.class_name("any"), f'device.driver in ["{self.gpus}", "{self.nics}"]'),
            device_class(
                self.class_name("large"), of_gpus, f'"memory" in device.capacity["{self.gpus}"]', large
            ),
        ]

    # -- devices ---------------------------------------------------------------------------------------------

    def _gpu(self, name: str) -> Obj:
        dice = self._dice
        attributes: Obj = {"model": dice.one("a", "b"), "index": dice.random.randint(0, 3)}
        for key, value in (
            ("fast", dice.chance(0.5)),
            ("firmware", version(dice.one("1.0.0", "1.2.3", "2.0.0"))),
        ):
            if dice.chance(0.85):
                attributes[key] = value
        capacity: Obj = {"memory": dice.one(*MEMORY)} if dice.chance(0.9) else {}
        made = device(name, capacity, **attributes)
        if dice.theme("shares", 0.6):
            made["allowMultipleAllocations"] = True
            if capacity:
                made["capacity"]["memory"] = self._policed(capacity["memory"])
            if dice.chance(0.3):
                made["capacity"] = {**made.get("capacity", {}), "cores": {"value": "8"}}
        return self._dressed(made)

    def _nic(self, name: str) -> Obj:
        return self._dressed(device(name, {"speed": self._dice.one("10G", "100G")}, index=0))

    def _dressed(self, made: Obj) -> Obj:
        """With what devices of both drivers have."""
        dice, attributes = self._dice, dict(made["attributes"])
        if dice.chance(0.9):
            attributes[f"{SHARED}/link"] = {"string": dice.one("x", "y")}
        if dice.chance(0.95):
            attributes[f"{SHARED}/numa"] = {"int": dice.one(0, 1)}
        if dice.theme("lists", 0.85):
            values = dice.random.sample(("x", "y", "z"), dice.one(1, 2))
            attributes[f"{SHARED}/links"] = {"strings": values} if dice.chance(0.8) else {"string": values[0]}
        made = {**made, "attributes": attributes}
        if dice.theme("taints", 0.4):
            made["taints"] = [self.taint() for _ in range(dice.one(1, 1, 2))]
        if dice.theme("binding", 0.4):
            made |= {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
            made["bindsToNode"] = dice.chance(0.5)
        return made

    def taint(self) -> Obj:
        effect = self._dice.one("NoSchedule", "NoExecute", "NoSchedule", "None")
        return taint(self._dice.one(*TAINTS), effect, self._dice.one("", "x"))

    def _policed(self, total: str) -> Obj:
        """A capacity that is shared, with or without rules on how much of it one request takes."""
        policy = self._dice.one(
            None,
            {"default": "5Gi"},
            {"default": "5Gi", "validValues": ["5Gi", "10Gi"]},
            {"default": "4Gi", "validRange": {"min": "2Gi", "max": "8Gi", "step": "2Gi"}},
            {"default": "4Gi", "validRange": {"min": "3Gi"}},
        )
        return {"value": total} if policy is None else {"value": total, "requestPolicy": policy}

    # -- pools -----------------------------------------------------------------------------------------------

    def _slices(self) -> list[Obj]:
        made = list[Obj]()
        for node in self.nodes:
            if self._dice.chance(0.85):
                made += self._pool(f"{node}-gpu", self.gpus, self._gpu, node)
            if self._dice.chance(0.7):
                made += self._pool(f"{node}-nic", self.nics, self._nic, node)
            if self._dice.theme("partitions", 0.7):
                made += self._partitions(f"{node}-mig", node)
        if self._dice.theme("places", 0.9):
            made += self._wide()
        return made

    def _pool(self, name: str, driver: str, make: Callable[[str], Obj], node: str) -> list[Obj]:
        """The devices of a node, in one slice or two; at times incomplete, contradictory or with traces of
        another generation."""
        dice = self._dice
        devices = [make(f"d{number}") for number in range(dice.one(2, 3, 4, 4, 5))]
        parts = [devices] if dice.chance(0.7) else [devices[:1], devices[1:]]
        if "pools" not in dice.themes:
            self.known += [Known(driver, name, spec, node) for spec in devices]
        elif len(parts) == 2 and dice.chance(0.3):
            parts[1] = [*parts[1], devices[0]]
        options: Obj = {"driver": driver, "pool": name, "nodeName": node}
        generation, count = dice.one(1, 5), len(parts) + dice.theme("pools", 0.25)
        made = [
            pool_slice(f"{name}-{index}", part, generation=generation, count=count, **options)
            for index, part in enumerate(parts)
        ]
        if dice.theme("pools", 0.4):
            other = generation - 1 if dice.chance(0.7) else generation + 1
            strays = [make(f"d{number}") for number in range(2)]
            made.append(pool_slice(f"{name}-stray", strays, generation=other, **options))
        return made

    def _partitions(self, name: str, node: str) -> list[Obj]:
        """One card that can be had whole, as halves or as quarters, as far as its counters go."""
        sizes = (("whole", 1, 4, "40Gi"), ("half", 2, 2, "20Gi"), ("quarter", 4, 1, "10Gi"))
        total, devices = self._dice.one("4", "4", "3"), []
        for profile, number, slots, memory in sizes:
            for index in range(number):
                made = self._dressed(
                    device(f"{profile}-{index}", {"memory": memory}, model="a", profile=profile)
                )
                devices.append({**made, **consuming("card", slots=str(slots), memory=memory)})
        missing = self._dice.chance(0.05)
        sets = [counters("other" if missing else "card", slots=total, memory="40Gi")]
        options: Obj = {"driver": self.gpus, "pool": name, "count": 2, "nodeName": node}
        if not missing:
            self.known += [Known(self.gpus, name, spec, node) for spec in devices]
        return [
            pool_slice(f"{name}-counters", [], sharedCounters=sets, **options),
            pool_slice(f"{name}-devices", devices, **options),
        ]

    def _wide(self) -> list[Obj]:
        """Devices that are reached from several nodes."""
        name = f"{self._prefix}-wide"
        devices = [self._gpu(f"d{number}") for number in range(self._dice.one(1, 2, 3))]
        where = self._dice.one("all", "some", "each")
        if where == "each":
            devices = [{**made, **self._place()} for made in devices]
            return [pool_slice(name, devices, driver=self.gpus, perDeviceNodeSelection=True)]
        self.known += [Known(self.gpus, name, spec, "") for spec in devices]
        options: Obj = {"allNodes": True} if where == "all" else {"nodeSelector": in_rack(self._rack())}
        return [pool_slice(name, devices, driver=self.gpus, **options)]

    def _place(self) -> Obj:
        return dict(
            self._dice.one(
                {"nodeName": self._dice.one(*self.nodes)},
                {"nodeSelector": in_rack(self._rack())},
                {"allNodes": True},
            )
        )

    def _rack(self) -> str:
        return str(self._dice.one("r1", "r2"))

    def _rules(self) -> list[Obj]:
        if not self._dice.theme("taints", 0.6):
            return []
        node = self._dice.one(*self.nodes)
        whole = {"driver": self.gpus, "pool": f"{node}-gpu", "device": "d0"}
        fields = self._dice.one(("driver",), ("pool",), ("driver", "pool", "device"), ("device",))
        return [
            taint_rule(f"{self._prefix}-rule", self.taint(), **{key: whole[key] for key in fields}),
        ]
