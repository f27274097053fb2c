"""EndpointSlices: where the pods behind a Service are."""

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

from maitred.sandbox.apiserver.kinds.containers import PROTOCOLS
from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    duplicate,
    invalid,
    required,
    too_many,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.metadata import IMMUTABLE
from maitred.sandbox.apiserver.kinds.names import address, check_name, family, label, subdomain
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
FAMILIES = {"IPv4": 4, "IPv6": 6}
MOST_ENDPOINTS = 1000
MOST_ADDRESSES = 100
LOCAL_MULTICAST = IPv4Network("224.0.0.0/24")
SPECIAL: tuple[tuple[Callable[[IPv4Address | IPv6Address], bool], str], ...] = (
    (lambda found: found.is_unspecified, "may not be unspecified ({})"),
    (lambda found: found.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    (
        lambda found: found.is_link_local,
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
    ),
    (
        lambda found: found in LOCAL_MULTICAST or str(found).startswith("ff02:"),
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
    ),
)
"""Addresses that mean something else to everyone who reads them."""


class Slices(Strategy):
    def before_create(self, body: Body) -> None:
        """Of an older version, and no longer heard."""
        for endpoint in body.get("endpoints") or ():
            endpoint.pop("deprecatedTopology", None)

    def before_update(self, new: Body, old: Body) -> None:
        self.before_create(new)

    def check(self, body: Body) -> list[FieldError]:
        return [*check_type(body), *check_ports(body), *check_endpoints(body)]

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        errors = [*check_type(new), *check_ports(new)]
        if new.get("endpoints") != old.get("endpoints"):
            errors += check_endpoints(new)
        if new.get("addressType") != old.get("addressType"):
            errors.append(invalid("addressType", None, IMMUTABLE))
        return errors


SLICES = Slices()


def check_type(body: Body) -> Iterator[FieldError]:
    kind = body.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in ADDRESS_TYPES:
        yield unsupported("addressType", kind, ADDRESS_TYPES)


def check_ports(body: Body) -> Iterator[FieldError]:
    names = set[str]()
    for index, port in enumerate(body.get("ports") or ()):
        path, name = f"ports[{index}]", port.get("name", "")
        if name:
            yield from check_name(f"{path}.name", name, label)
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
        if port.get("protocol") not in PROTOCOLS:
            yield unsupported(f"{path}.protocol", port.get("protocol", ""), PROTOCOLS)


def check_endpoints(body: Body) -> Iterator[FieldError]:
    endpoints = body.get("endpoints") or ()
    if len(endpoints) > MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        path, addresses = f"endpoints[{index}]", endpoint.get("addresses", ())
        if not addresses:
            yield required(f"{path}.addresses", "must contain at least 1 address")
        elif len(addresses) > MOST_ADDRESSES:
            yield too_many(f"{path}.addresses", len(addresses), MOST_ADDRESSES)
        for place, found in enumerate(addresses):
            yield from check_address(f"{path}.addresses", place, found, body.get("addressType", ""))
        if "nodeName" in endpoint:
            yield from check_name(f"{path}.nodeName", endpoint["nodeName"], subdomain)
        if "hostname" in endpoint:
            yield from check_name(f"{path}.hostname", endpoint["hostname"], label)


def check_address(path: str, place: int, found: str, kind: str) -> Iterator[FieldError]:
    here = f"{path}[{place}]"
    if kind not in FAMILIES:
        return
    if errors := list(check_name(here, found, address)):
        yield from errors
        return
    if family(found) != FAMILIES[kind]:
        yield invalid(path, found, f"must be an {kind} address")
    parsed = ip_address(found)
    for is_so, what in SPECIAL:
        if is_so(parsed):
            yield invalid(here, found, what.format(found))
