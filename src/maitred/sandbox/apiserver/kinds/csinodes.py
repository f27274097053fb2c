"""CSINode: which storage drivers a node has, and how many volumes each of them can attach there."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import (
    NOT_NEGATIVE,
    FieldError,
    duplicate,
    invalid,
    required,
)
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.metadata import IMMUTABLE
from maitred.sandbox.apiserver.kinds.names import check_name, label_key
from maitred.sandbox.apiserver.kinds.podvolumes import check_driver
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

LONGEST_ID = 256
SHOWN = {"name": "", "nodeID": "", "topologyKeys": None, "allocatable": None}


class CsiNodes(Strategy):
    def check(self, body: Body) -> list[FieldError]:
        return list(_check_drivers(_drivers(body), "spec.drivers"))

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*self.check(new), *_check_change(new, old)]


CSI_NODES = CsiNodes()


def _drivers(body: Body) -> list[Body]:
    drivers: list[Body] | None = body.get("spec", {}).get("drivers")
    return drivers or []


def _check_drivers(drivers: list[Body], path: str) -> Iterator[FieldError]:
    names = set[str]()
    for index, driver in enumerate(drivers):
        here, name = f"{path}[{index}]", driver.get("name", "")
        yield from check_driver(name, f"{here}.name")
        yield from _check_place(driver, here)
        if name in names:
            yield duplicate(f"{here}.name", name)
        names.add(name)
        yield from _check_keys(driver.get("topologyKeys") or [], here)


def _check_place(driver: Body, path: str) -> Iterator[FieldError]:
    node, count = driver.get("nodeID", ""), driver.get("allocatable", {}).get("count", 0)
    if not node:
        yield required(f"{path}.nodeID")
    if len(node.encode()) > LONGEST_ID:
        yield invalid(f"{path}.nodeID", node, f"must be {LONGEST_ID} characters or less")
    if count < 0:
        yield invalid(f"{path}.allocatable.count", count, NOT_NEGATIVE)


def _check_keys(keys: list[str], path: str) -> Iterator[FieldError]:
    for index, key in enumerate(keys):
        if not key:
            yield required(path)
        if key in keys[:index]:
            yield duplicate(path, key)
        yield from check_name(path, key, label_key)


def _check_change(new: Body, old: Body) -> Iterator[FieldError]:
    """A driver stays as it is, but for the number of its volumes."""
    had = {driver["name"]: fixed(driver) for driver in _drivers(old)}
    for driver in _drivers(new):
        if had.get(driver.get("name", ""), fixed(driver)) != fixed(driver):
            yield invalid("spec.drivers", inner(fixed(driver), SHOWN), IMMUTABLE)


def fixed(driver: Body) -> Body:
    return {key: value for key, value in driver.items() if key != "allocatable"}
