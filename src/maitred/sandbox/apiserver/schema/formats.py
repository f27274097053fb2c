"""Formats of texts in custom resources, such as date-time: what the API server takes for one."""

from collections.abc import Callable
from datetime import date
from ipaddress import ip_address
from typing import Final

from maitred.sandbox.apiserver.schema.patterns import matches

NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
Check = Callable[[str], bool]


def is_known(format: str, type: str) -> bool:
    """Others are taken without a look at the value, and with a warning at the definition."""
    if type in ("", "string"):
        return _plain(format) in _CHECKS
    return format in NUMBERS.get(type, ())


def has_format(text: str, format: str) -> bool:
    return _CHECKS[_plain(format)](text)


def _plain(format: str) -> str:
    """Hyphens do not count: `date-time` is `datetime`."""
    return format.replace("-", "")


def _pattern(pattern: str) -> Check:
    return lambda text: matches(pattern, text)


def _anything(text: str) -> bool:
    return True


# -- times -------------------------------------------------------------------------------------------------

_TIME: Final = r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)$"
_GO_DURATION: Final = r"^[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$"
_UNIT: Final = r"ns|us|µs|ms|s|m|hr?|d|wk?|(nano|micro|milli|sec|min|hour|day|week)[a-zµ]*"
_SPOKEN_DURATION: Final = rf"(?i)\d\s*({_UNIT})([^a-zµ]|$)"
"""Somewhere in the text: `3 weeks` is one, and so is `in 3 weeks`."""


def _is_date(text: str) -> bool:
    if not matches(r"^\d{4}-\d\d-\d\d$", text):
        return False
    year, month, day = map(int, text.split("-"))
    try:
        # The calendar repeats itself, and Python has no year 0.
        date(year % 400 + 400, month, day)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    return _is_date(day) and matches(_TIME, rest.partition("t")[0])


def _is_duration(text: str) -> bool:
    return matches(_GO_DURATION, text) or matches(_SPOKEN_DURATION, text)


# -- the network -------------------------------------------------------------------------------------------

_HEX: Final = "[0-9A-Fa-f]"
_LETTER: Final = r"[0-9A-Za-z\p{S}\p{L}]"
_ONLY_LABEL: Final = rf"{_LETTER}(-?{_LETTER}{{0,62}})?"
_LABEL: Final = rf"{_LETTER}([-0-9A-Za-z\p{{S}}\p{{L}}]{{0,61}}{_LETTER})?"
_HOSTNAME: Final = rf"^({_ONLY_LABEL}|({_LABEL}\.)+[A-Za-z\p{{L}}]{{2,63}})$"
LONGEST_HOSTNAME: Final = 255
LONGEST_LABEL: Final = 63

_ATOM: Final = r"[^\s\x00-\x20()<>@,;:\\\".\[\]]+"
_QUOTED: Final = r'"([^"\\]|\\.)*"'
_ADDRESS: Final = rf"({_ATOM}(\.{_ATOM})*|{_QUOTED})@({_ATOM}(\.{_ATOM})*|\[[0-9A-Fa-f.:]+\])"
_EMAIL: Final = rf"^\s*({_ADDRESS}|(({_ATOM}|\.|{_QUOTED})\s*)*<{_ADDRESS}>)\s*(\([^()]*\))?\s*$"

_ESCAPE: Final = rf"%{_HEX}{{2}}"
_USER: Final = rf"(([-.\w:~!$&'()*+,;=@]|{_ESCAPE})*@)?"
_HOST: Final = rf"""(\[[^\]]*\]|([-.\w~!$&'()*+,;=<>"]|[^\x00-\x7f]|%[89A-Fa-f]{_HEX})*)"""
_PATH: Final = rf"([^%?]|{_ESCAPE})*"
_ABSOLUTE: Final = rf"/([^/%?]|{_ESCAPE}){_PATH}|/"
_URI: Final = (
    rf"(?s)^(\*|/{_PATH}|[A-Za-z][-+.0-9A-Za-z]*:"
    rf"(//{_USER}{_HOST}(:\d*)?(/{_PATH})?|{_ABSOLUTE}|([^/?][^?]*)?))(\?.*)?$"
)
"""As the first line of a request has it, which a path alone will do for."""


def _is_hostname(text: str) -> bool:
    sizes = [len(label.encode()) for label in text.split(".")]
    is_short = len(text.encode()) <= LONGEST_HOSTNAME and max(sizes) <= LONGEST_LABEL
    return is_short and matches(_HOSTNAME, text)


def _is_uri(text: str) -> bool:
    return matches(_URI, text) and not matches(r"[\x00-\x1f\x7f]", text)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_ipv4(text: str) -> bool:
    """With leading zeros, or as the end of an IPv6 address."""
    return "." in text and _is_address(_without_zeros(text))


def _is_ipv6(text: str) -> bool:
    return ":" in text and _is_address(text)


def _is_cidr(text: str) -> bool:
    address, _, size = text.partition("/")
    if not _is_address(_without_zeros(address)) or not matches(r"^0*\d{1,3}$", size):
        return False
    return int(size) <= (128 if ":" in address else 32)


def _without_zeros(address: str) -> str:
    head, colon, tail = address.rpartition(":")
    if "." in tail:
        tail = ".".join(part.lstrip("0") or part[:1] for part in tail.split("."))
    return head + colon + tail


def _hardware_address() -> Check:
    pair, four = f"{_HEX}{{2}}", f"{_HEX}{{4}}"
    joined = [f"{pair}({mark}{pair}){{{size - 1}}}" for mark in ":-" for size in (6, 8, 20)]
    dotted = [f"{four}(\\.{four}){{{size // 2 - 1}}}" for size in (6, 8, 20)]
    return _pattern(f"^({'|'.join(joined + dotted)})$")


# -- the rest ----------------------------------------------------------------------------------------------

_BASE64: Final = "[0-9A-Za-z+/]"
_SHORT_NAME: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _unique_id(third: str = "", fourth: str = "") -> Check:
    """With or without hyphens; some versions of it say so where its third and fourth parts begin."""
    parts = [f"{third}{_HEX}{{{4 - len(third)}}}", f"{fourth}{_HEX}{{{3 if fourth else 4}}}"]
    return _pattern(f"^{_HEX}{{8}}-?{_HEX}{{4}}-?{parts[0]}-?{parts[1]}-?{_HEX}{{12}}$")


def _name(pattern: str, longest: int) -> Check:
    return lambda text: len(text) <= longest and matches(f"^{pattern}$", text)


_CHECKS: Final[dict[str, Check]] = {
    "bsonobjectid": _pattern(f"^{_HEX}{{24}}$"),
    "byte": _pattern(f"^({_BASE64}{{4}})*({_BASE64}{{2}}==|{_BASE64}{{3}}=|{_BASE64}{{4}})$"),
    "cidr": _is_cidr,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _pattern(_EMAIL),
    "hexcolor": _pattern(f"^#?({_HEX}{{3}}|{_HEX}{{6}})$"),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "k8slongname": _name(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*", 253),
    "k8sshortname": _name(_SHORT_NAME, 63),
    "mac": _hardware_address(),
    "ssn": _pattern(r"^\d{3}[- ]\d{2}[- ]\d{4}$"),
    "uri": _is_uri,
    "uuid": _unique_id(),
    "uuid3": _unique_id("3"),
    "uuid4": _unique_id("4", "[89ABab]"),
    "uuid5": _unique_id("5", "[89ABab]"),
    "password": _anything,
    # The server looks at these; no kind of a cluster is known to have them.
    "creditcard": _anything,
    "isbn": _anything,
    "isbn10": _anything,
    "isbn13": _anything,
    "rgbcolor": _anything,
}
