"""Which proxy to go through, by the rules that kubectl follows."""

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from maitred.kube.errors import ConfigError

SCHEMES = ("http", "https")


def proxy_of(setting: str) -> str:
    """The URL of a proxy. Raises ValueError if it is none that we can use; it may contain a password."""
    url = setting if "://" in setting else f"http://{setting}"
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError(f"a proxy of type {parts.scheme} is not supported; use one of type http or https")
    if not parts.hostname:
        raise ValueError("not the URL of a proxy, such as http://proxy.example.com:3128")
    return url


def proxy_from_environment(server: str) -> tuple[str | None, str]:
    """The proxy that the environment asks us to take, and the variable that says so."""
    name = variable(server, os.environ)
    if not name:
        return None, ""
    try:
        return proxy_of(os.environ[name]), f"${name}"
    except ValueError as error:
        raise ConfigError(f"${name}: {error}") from None


def variable(server: str, environment: Mapping[str, str]) -> str:
    """The variable that names a proxy for this server, if any does."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    excluded = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    if is_here(host) or any(matches(entry.strip(), host, port) for entry in excluded.lower().split(",")):
        return ""
    name = f"{parts.scheme}_proxy"
    return next((key for key in (name.upper(), name) if environment.get(key)), "")


def is_here(host: str) -> bool:
    ip = address(host)
    return host == "localhost" if ip is None else ip.is_loopback


def matches(entry: str, host: str, port: int) -> bool:
    """One entry of NO_PROXY: `*`, a network, an address or a domain, the last two perhaps with a port."""
    if not entry or entry == "*":
        return entry == "*"
    ip = address(host)
    if "/" in entry:
        return ip is not None and within(ip, entry)
    name, wanted = split_port(entry)
    if wanted not in (None, port):
        return False
    if ip is not None:
        return address(name) == ip
    domain = name.removeprefix("*")
    return host.endswith(domain) if domain.startswith(".") else f".{host}".endswith(f".{domain}")


def within(ip: ipaddress.IPv4Address | ipaddress.IPv6Address, network: str) -> bool:
    try:
        return ip in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def split_port(entry: str) -> tuple[str, int | None]:
    if address(entry) is not None:
        return entry, None
    try:
        parts = urlsplit(f"//{entry}")
        return parts.hostname or "", parts.port
    except ValueError:
        return entry, None
