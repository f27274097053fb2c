"""How nodes come to be and change."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden
from maitred.sandbox.apiserver.kinds.placement import check_taints
from maitred.sandbox.apiserver.kinds.resources import check_quantity
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

FIXED = ("podCIDRs", "providerID", "externalID")
"""Once they are set."""


class NodeStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        spec, status = body.get("spec", {}), body.get("status", {})
        if "capacity" in status:
            status.setdefault("allocatable", dict(status["capacity"]))
        _pair_ranges(spec)

    def check(self, body: Body) -> list[FieldError]:
        return list(_check_node(body))

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*_check_node(new), *_check_change(new, old)]

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return list(_check_amounts(new))


NODES = NodeStrategy()


def _pair_ranges(spec: Body) -> None:
    """The first of the ranges has a field of its own, from before there could be more."""
    if spec.get("podCIDR") and spec.get("podCIDRs", [""])[0] != spec["podCIDR"]:
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]


def _check_node(body: Body) -> Iterator[FieldError]:
    yield from check_taints(body.get("spec", {}).get("taints", ()), "spec.taints")
    yield from _check_amounts(body)


def _check_amounts(body: Body) -> Iterator[FieldError]:
    for which in ("capacity", "allocatable"):
        for name, quantity in body.get("status", {}).get(which, {}).items():
            yield from check_quantity(name, quantity, f"status.{which}.{name}")


def _check_change(new: Body, old: Body) -> Iterator[FieldError]:
    spec, before = new.get("spec", {}), old.get("spec", {})
    for name in FIXED:
        if before.get(name) and spec.get(name) != before[name]:
            yield forbidden(f"spec.{name}", "may not be changed once it is set")
