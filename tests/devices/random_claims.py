"""Random claims on random devices: requests, selectors, constraints; and claims that others hold."""

from typing import Any
from uuid import UUID

from tests.devices.made import (
    SHARED,
    allocated,
    alternatives,
    claim,
    distinct,
    matching,
    pod,
    request,
    result,
)
from tests.devices.random_hardware import TAINTS, Dice, Hardware, Known

Obj = dict[str, Any]


class Claims:
    def __init__(self, dice: Dice, prefix: str, hardware: Hardware) -> None:
        self._dice, self._prefix, self._hardware = dice, prefix, hardware

    @property
    def any_known(self) -> bool:
        return bool(self._hardware.known)

    def claim(self, name: str) -> Obj:
        dice = self._dice
        requests = [self._request(f"r{number}") for number in range(dice.one(1, 1, 2))]
        devices: Obj = {}
        if constraints := self._constraints([asked["name"] for asked in requests]):
            devices["constraints"] = constraints
        if dice.chance(0.2):
            config: Obj = {"opaque": {"driver": self._hardware.gpus, "parameters": {"level": 1}}}
            devices["config"] = [{**config, "requests": ["r0"]} if dice.chance(0.5) else config]
        return claim(name, *requests, **devices)

    # -- requests --------------------------------------------------------------------------------------------

    def _request(self, name: str) -> Obj:
        if self._dice.theme("alternatives", 0.7):
            number = self._dice.one(2, 2, 3)
            return alternatives(name, *(self._exactly(f"s{index}", sub=True) for index in range(number)))
        return self._exactly(name)

    def _exactly(self, name: str, sub: bool = False) -> Obj:
        dice = self._dice
        short = dice.one("gpu", "gpu", "gpu", "nic", "any", "large")
        expressions = [self._expression(short) for _ in range(dice.one(0, 0, 0, 1, 1, 2))]
        exactly: Obj = {}
        if dice.theme("all", 0.6):
            exactly["allocationMode"] = "All"
        elif dice.chance(0.3):
            exactly["count"] = dice.one(2, 2, 3)
        if dice.theme("taints", 0.5):
            exactly["tolerations"] = [self._toleration() for _ in range(dice.one(1, 1, 2))]
        if dice.theme("shares", 0.6) and short != "nic":
            exactly["capacity"] = {"requests": self._amounts()}
        if dice.theme("admin", 0.5) and not sub:
            exactly["adminAccess"] = True
        return request(name, self._hardware.class_name(short), *expressions, **exactly)

    def _amounts(self) -> Obj:
        amounts: Obj = {"memory": self._dice.one("1Gi", "3Gi", "5Gi", "7Gi", "10Gi", "20Gi")}
        return amounts if self._dice.chance(0.85) else {**amounts, "cores": "2"}

    def _toleration(self) -> Obj:
        dice = self._dice
        made: Obj = {"operator": dice.one("Exists", "Equal")}
        if made["operator"] == "Equal" or dice.chance(0.8):
            made["key"] = dice.one(*TAINTS)
        if made["operator"] == "Equal":
            made["value"] = dice.one("", "x")
        if dice.chance(0.5):
            made["effect"] = dice.one("NoSchedule", "NoExecute")
        return made

    def _expression(self, short: str) -> str:
        gpus = self._hardware.gpus
        own, shared, capacity = (
            f'device.attributes["{gpus}"]',
            f'device.attributes["{SHARED}"]',
            f'device.capacity["{gpus}"]',
        )
        anywhere = [
            f'"link" in {shared} && {shared}.link == "{self._dice.one("x", "y")}"',
            f"{shared}.?numa.orValue(7) == {self._dice.one(0, 1)}",
            f'device.driver == "{gpus}"',
            "device.allowMultipleAllocations == false",
        ]
        if self._dice.chance(0.5):
            anywhere.append(f"{shared}.numa == {self._dice.one(0, 1)}")  # an error on devices without
        if "lists" in self._dice.themes:
            anywhere += [
                f'"links" in {shared} && {shared}.links.includes("{self._dice.one("x", "z")}")',
                f'"links" in {shared} && {shared}.links.includes("{self._dice.one("x", "z")}")',
            ]
        if short not in ("gpu", "large"):
            return str(self._dice.one(*anywhere))
        return str(
            self._dice.one(
                *anywhere,
                f'{own}.model == "{self._dice.one("a", "b")}"',
                f'{own}.model == "a"',
                f'cel.bind(d, {own}, d.model == "b" || ("index" in d && d.index > 1))',
                f'"memory" in {capacity} && {capacity}.memory.compareTo(quantity("20Gi")) >= 0',
                f'"firmware" in {own} && {own}.firmware.isGreaterThan(semver("1.0.0"))',
                f'"fast" in {own} && {own}.fast',
                f'{own}.?profile.orValue("none") != "whole"',
            )
        )

    # -- constraints -----------------------------------------------------------------------------------------

    def _constraints(self, names: list[str]) -> list[Obj]:
        dice, made = self._dice, list[Obj]()
        for _ in range(dice.one(1, 1, 2) if "constraints" in dice.themes else 0):
            keys = [f"{SHARED}/link", f"{SHARED}/numa", f"{self._hardware.gpus}/model"]
            keys += [f"{SHARED}/links"] * 2 if "lists" in dice.themes else []
            of = names if dice.chance(0.6) else []
            if dice.chance(0.65):
                made.append(matching(dice.one(*keys), *of))
            else:
                made.append(distinct(dice.one(*keys, f"{self._hardware.gpus}/index"), *of))
        return made

    # -- what others hold ------------------------------------------------------------------------------------

    def held(self) -> list[Obj]:
        """Claims of running pods, and the pods."""
        made, taken = list[Obj](), set[tuple[str, str]]()
        for number in range(self._dice.one(1, 2, 3) if "held" in self._dice.themes else 0):
            free = [k for k in self._hardware.known if (k.pool, k.spec["name"]) not in taken]
            if not free:
                break
            known = self._dice.one(*free)
            if not known.spec.get("allowMultipleAllocations"):
                taken.add((known.pool, known.spec["name"]))
            name = f"{self._prefix}-held{number}"
            made += self._holding(name, known, number)
        return made

    def _holding(self, name: str, known: Known, number: int) -> list[Obj]:
        admin = self._dice.theme("admin", 0.4)
        asked: Obj = {"adminAccess": True} if admin else {}
        spec = claim(name, request("r", self._hardware.class_name("any"), **asked))
        got = result(known.spec["name"], known.pool, driver=known.driver, **asked)
        if known.spec.get("allowMultipleAllocations"):
            got["shareID"] = str(UUID(int=number + 1, version=4))
            if capacity := known.spec.get("capacity"):
                got["consumedCapacity"] = {key: taken_of(key, amount) for key, amount in capacity.items()}
        node = known.node or self._dice.one(*self._hardware.nodes)
        if self._dice.chance(0.2):  # nobody's, and still allocated
            return [allocated(spec, got, node_name=known.node)]
        return [allocated(spec, got, to=name, node_name=known.node), pod(name, name, nodeName=node)]

    def left_behind(self, claimed: Obj) -> Obj:
        """The claim as an earlier pod may have left it: allocated, on one node or from anywhere."""
        [asked] = claimed["spec"]["devices"]["requests"]
        known = self._dice.one(*self._hardware.known)
        of = f"{asked['name']}/s0" if "firstAvailable" in asked else asked["name"]
        got = result(known.spec["name"], known.pool, of, driver=known.driver)
        return allocated(claimed, got, node_name=known.node)


def taken_of(key: str, amount: Obj) -> str:
    """What one share takes that asked for nothing."""
    policy: Obj = amount.get("requestPolicy") or {}
    return str(policy.get("default", amount["value"]))
