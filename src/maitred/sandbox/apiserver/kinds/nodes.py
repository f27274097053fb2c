"""How nodes come to be and change."""

import re
from collections.abc import Iterator, Sequence

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, duplicate, forbidden, invalid
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.names import LONGEST_SUBDOMAIN, address_range, check_name, family
from maitred.sandbox.apiserver.kinds.placement import check_taints
from maitred.sandbox.apiserver.kinds.resources import check_quantity
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

FEATURE = "[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*"


class Nodes(Strategy):
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
        return [*_check_amounts(new), *_check_features(new), *_check_change(new, old)]


NODES = Nodes()


def _pair_ranges(spec: Body) -> None:
    """The first of the ranges has a field of its own, from before there could be more."""
    if spec.get("podCIDR") and spec.get("podCIDRs", [""])[0] != spec["podCIDR"]:
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]


def _check_node(body: Body) -> Iterator[FieldError]:
    # The server says `metadata` here.
    yield from check_taints(body.get("spec", {}).get("taints", ()), "metadata.taints")
    yield from _check_amounts(body)
    yield from _check_features(body)
    yield from _check_ranges(body.get("spec", {}).get("podCIDRs", []), "spec.podCIDRs")


def _check_amounts(body: Body) -> Iterator[FieldError]:
    for which in ("capacity", "allocatable"):
        for name, quantity in body.get("status", {}).get(which, {}).items():
            yield from check_quantity(name, quantity, f"status.{which}.{name}")


def _check_features(body: Body) -> Iterator[FieldError]:
    features: Sequence[str] = body.get("status", {}).get("declaredFeatures", ())
    for index, feature in enumerate(features):
        path = f"status.declaredFeatures[{index}]"
        if index and feature == features[index - 1]:
            yield duplicate(path, feature)
        elif index and feature < features[index - 1]:
            yield invalid(path, feature, "list must be sorted alphabetically")
        if len(feature) > LONGEST_SUBDOMAIN:
            why = f"must be no more than {LONGEST_SUBDOMAIN} characters"
            yield invalid(path, feature, f'invalid feature name "{feature}": {why}')
        elif not re.fullmatch(FEATURE, feature):
            why = (
                "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
                "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters "
                "and slashes"
            )
            yield invalid(path, feature, f'invalid feature name "{feature}": {why}')


def _check_ranges(ranges: list[str], path: str) -> Iterator[FieldError]:
    for index, value in enumerate(ranges):
        yield from check_name(f"{path}[{index}]", value, address_range)
    if len({family(value) for value in ranges}) != len(ranges):
        yield invalid(path, ranges, "may specify no more than one CIDR for each IP family")


def _check_change(new: Body, old: Body) -> Iterator[FieldError]:
    yield from _check_addresses(new.get("status", {}).get("addresses", ()))
    spec, before = new.get("spec", {}), old.get("spec", {})
    if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
        why = 'node updates may not change podCIDR except from "" to valid'
        yield forbidden("spec.podCIDRs", why)
    provider, was = spec.get("providerID", ""), before.get("providerID", "")
    if was and provider != was:
        done = "modified" if provider else "cleared"
        yield invalid("spec.providerID", None, f"field cannot be {done} once set")
    if spec.get("externalID", "") != before.get("externalID", ""):
        yield forbidden("spec.externalID", "may not be updated")


def _check_addresses(addresses: Sequence[Body]) -> Iterator[FieldError]:
    for index, each in enumerate(addresses):
        if each in addresses[:index]:
            yield duplicate(f"status.addresses[{index}]", inner(each, {"type": "", "address": ""}))
