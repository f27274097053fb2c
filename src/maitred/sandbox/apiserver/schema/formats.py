"""Formats of texts in custom resources, such as date-time: those that definitions use.

The real server knows a few more: colours, credit cards, numbers of books. A format that is not known is taken
without a look at the value, there as here.
"""

from collections.abc import Callable
from datetime import date
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Final
from urllib.parse import urlsplit

from maitred.sandbox.apiserver.schema.patterns import matches

NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
Check = Callable[[str], object]
_HEX: Final = "[0-9A-Fa-f]"
_BASE64: Final = "[0-9A-Za-z+/]"
_NAME: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HOST: Final = "[0-9A-Za-z]([-0-9A-Za-z]{0,61}[0-9A-Za-z])?"
_CLOCK: Final = r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(z|[+-]\d\d:\d\d)$"
_DURATION: Final = r"^[-+]?(0|((\d+\.?\d*|\.\d+)([nuµμm]?s|m|h))+)$|(?i)\d\s*(d|w|day|week|hour|min|sec)"


def is_known(format: str, type: str) -> bool:
    if type in ("", "string"):
        return _plain(format) in _CHECKS
    return format in NUMBERS.get(type, ())


def has_format(text: str, format: str) -> bool:
    try:
        return bool(_CHECKS[_plain(format)](text))
    except ValueError:
        return False


def _plain(format: str) -> str:
    """Hyphens do not count: `date-time` is `datetime`."""
    return format.replace("-", "")


def _pattern(pattern: str, longest: int = 2**31) -> Check:
    return lambda text: len(text) <= longest and matches(pattern, text)


def _is_date(text: str) -> bool:
    return matches(r"^\d{4}-\d\d-\d\d$", text) and bool(date.fromisoformat(text))


def _is_date_time(text: str) -> bool:
    day, _, clock = text.lower().partition("t")
    return _is_date(day) and matches(_CLOCK, clock)


def _is_uri(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme) or text.startswith("/")


_CHECKS: Final[dict[str, Check]] = {
    "byte": _pattern(f"^({_BASE64}{{4}})*({_BASE64}{{2}}==|{_BASE64}{{3}}=|{_BASE64}{{4}})$"),
    "cidr": lambda text: "/" in text and ip_network(text, strict=False),
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _pattern(_DURATION),
    "email": _pattern(r"^[^\s@<>]+@[^\s@<>]+$"),
    "hostname": _pattern(rf"^{_HOST}(\.{_HOST})*$", 255),
    "ipv4": lambda text: bool(IPv4Address(text)),
    "ipv6": lambda text: bool(IPv6Address(text)),
    "k8slongname": _pattern(rf"^{_NAME}(\.{_NAME})*$", 253),
    "k8sshortname": _pattern(f"^{_NAME}$", 63),
    "password": lambda text: True,
    "uri": _is_uri,
    "uuid": _pattern(f"^{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}$"),
}
