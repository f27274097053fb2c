"""IP addresses and networks, types that Kubernetes adds to CEL."""

import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface
from typing import Any

from maitred.model.cel.values import ADDRESSES, NETWORKS, EvaluationError

Address = IPv4Address | IPv6Address
Network = IPv4Interface | IPv6Interface
Overloads = dict[tuple[type, ...], Callable[..., Any]]

_PREFIX = re.compile(r"[^%/]+/(0|[1-9][0-9]{0,2})", re.ASCII)
_BROADCAST = IPv4Address("255.255.255.255")
_LOCAL_MULTICAST = ip_interface("224.0.0.0/24").network


@lru_cache(maxsize=1024)
def _address(text: str) -> Address:
    try:
        address = ip_address(text)
    except ValueError:
        raise EvaluationError(f"{text!r} is not an IP address") from None
    if "%" in text or getattr(address, "ipv4_mapped", None):
        raise EvaluationError(f"{text!r} has a zone or is an IPv4 address within IPv6, which is not allowed")
    return address


@lru_cache(maxsize=1024)
def _network(text: str) -> Network:
    try:
        network = ip_interface(text) if _PREFIX.fullmatch(text) else None
    except ValueError:
        network = None
    if network is None or getattr(network.ip, "ipv4_mapped", None):
        raise EvaluationError(f"{text!r} is not a network, such as 10.0.0.0/8")
    return network


def _succeeds(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def on(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return on


def _contains(network: Network, address: Address) -> bool:
    return address in network.network


def _covers(network: Network, other: Network) -> bool:
    if network.version != other.version:
        return False
    return other.network.prefixlen >= network.network.prefixlen and other.ip in network.network


def _is_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in _LOCAL_MULTICAST
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _is_global_unicast(address: Address) -> bool:
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address != _BROADCAST


def _of(kinds: tuple[type, ...], on: Callable[..., Any], *others: type) -> Overloads:
    return {(kind, *others): on for kind in kinds}


def _pairs(on: Callable[..., Any], kinds: tuple[type, ...]) -> Overloads:
    return {(network, kind): on for network in NETWORKS for kind in kinds}


PARSERS: dict[str, Overloads] = {
    "ip": {(str,): _address} | _of(NETWORKS, lambda network: network.ip),
    "isIP": {(str,): _succeeds(_address)},
    "ip.isCanonical": {(str,): lambda text: str(_address(text)) == text},
    "cidr": {(str,): _network},
    "isCIDR": {(str,): _succeeds(_network)},
}
METHODS: dict[str, Overloads] = {
    "family": _of(ADDRESSES, lambda address: address.version),
    "isUnspecified": _of(ADDRESSES, lambda address: address.is_unspecified),
    "isLoopback": _of(ADDRESSES, lambda address: address.is_loopback),
    "isLinkLocalMulticast": _of(ADDRESSES, _is_local_multicast),
    "isLinkLocalUnicast": _of(ADDRESSES, lambda address: address.is_link_local),
    "isGlobalUnicast": _of(ADDRESSES, _is_global_unicast),
    "containsIP": _pairs(_contains, ADDRESSES)
    | _pairs(lambda network, text: _contains(network, _address(text)), (str,)),
    "containsCIDR": _pairs(_covers, NETWORKS)
    | _pairs(lambda network, text: _covers(network, _network(text)), (str,)),
    "prefixLength": _of(NETWORKS, lambda network: network.network.prefixlen),
    "masked": _of(NETWORKS, lambda network: ip_interface(str(network.network))),
}
TEXTS = _of((*ADDRESSES, *NETWORKS), str)
