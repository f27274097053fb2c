"""The values of an expression as Python values, and what is equal, less or too large among them.

A CEL int is an int, a uint an `Unsigned`, a double a float, a string a str, a list a list, a map a dict;
bool, bytes, null are Python's own. Versions and quantities are types of Kubernetes, which compare as its Go
libraries do.
"""

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from typing import Any

from maitred.model.quantity import parse_nano

ADDRESSES = (IPv4Address, IPv6Address)
NETWORKS = (IPv4Interface, IPv6Interface)
LARGEST_INT = 2**63 - 1
SMALLEST_INT = -(2**63)
LARGEST_UINT = 2**64 - 1

_NUMBER = r"(0|[1-9][0-9]*)"
_PRERELEASE = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_PRERELEASE}(?:\.{_PRERELEASE})*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_SUFFIX_ALONE = re.compile(r"([+-]?)((?:[KMGTPE]i|[numkMGTPE])?)", re.ASCII)
_WRITTEN = re.compile(r"[+-]?0*(\d*)(?:\.(\d*))?([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE]?)", re.ASCII)
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


class EvaluationError(Exception):
    """A part of the expression failed for this device. `||`, `&&` and the macros may absorb it."""


def no_overload(function: str, *values: object) -> EvaluationError:
    """The function does not take values of these types."""
    return EvaluationError(f"no such overload: {function}({', '.join(type_name(v) for v in values)})")


class Unsigned(int):
    """A CEL uint: equal to an int of the same value, but never added to one."""


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version, strictly as semver.org has it. Order ignores the build."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()
    build: tuple[str, ...] = ()

    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> "Version":
        match = _VERSION.fullmatch(text)
        if not match or any(int(number) > LARGEST_UINT for number in match.group(1, 2, 3)):
            raise ValueError(f"{text!r} is not a semantic version, such as 1.2.3 or 1.2.3-rc.1")
        major, minor, patch = (int(number) for number in match.group(1, 2, 3))
        prerelease, build = (tuple(part.split(".")) if part else () for part in match.group(4, 5))
        return Version(major, minor, patch, prerelease, build)

    @property
    def order(self) -> tuple[object, ...]:
        """What versions are compared by: a release is after its prereleases, numbers are before words."""
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.prerelease)
        return (self.major, self.minor, self.patch, not self.prerelease, parts)


def is_version(text: str) -> bool:
    try:
        Version.parse(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount, with what Kubernetes' own quantities let show of how they are kept."""

    nano: int
    scale: int | None = 0
    """It is kept as an int64 times this power of ten, or as a decimal if None. Only what is kept without a
    fraction counts as an integer: `1` does, `1000m` and `1Ei` do not."""
    computed: bool = False
    """It is a sum or difference. To the right of `==`, Kubernetes fails on these."""

    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> "Quantity":
        """Raises QuantityError, which is a ValueError."""
        # Kubernetes takes a suffix alone for nothing of it.
        alone = _SUFFIX_ALONE.fullmatch(text) if text else None
        nano = parse_nano(f"{alone[1]}0{alone[2]}" if alone else text)
        return Quantity(nano, _scale(text))

    @property
    def whole(self) -> bool:
        return self.scale is not None and self.scale >= 0 and _fits(self.nano // 10**9)

    def plus(self, other: "Quantity") -> "Quantity":
        total = self.nano + other.nano
        if self.scale is None or other.scale is None:
            scale = None
        elif not self.nano or not other.nano:
            scale = self.scale if not other.nano else other.scale
        else:
            scale = min(self.scale, other.scale)
            if not _fits(total // 10 ** (9 + scale)):
                scale = None
        return Quantity(total, scale, computed=True)


def _fits(value: int) -> bool:
    return SMALLEST_INT <= value <= LARGEST_INT


def _scale(text: str) -> int | None:
    """How Kubernetes keeps a quantity that is written like this."""
    match = _WRITTEN.fullmatch(text)
    if not match:
        return None
    whole, fraction, suffix = match[1] or "0", match[2] or "", match[3]
    if suffix in _BINARY:
        power = 10 * (1 + _BINARY.index(suffix))
        return 0 if not fraction and 14 - len(whole) - power * 3 // 10 >= 0 else None
    exponent = int(suffix[1:]) if len(suffix) > 1 else _DECIMAL[suffix]
    scale = exponent - len(fraction)
    return scale if len(whole) + len(fraction) <= 18 and scale >= -9 else None


@dataclass(frozen=True, slots=True)
class Maybe:
    """An optional value."""

    value: Any = None
    present: bool = True


ABSENT = Maybe(present=False)


class Domains(dict[str, dict[str, Any]]):
    """`device.attributes` or `device.capacity`: a domain that the device has nothing of is an empty map,
    though `in` says that it is not there."""


EMPTY: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class CelType:
    """What `type(x)` gives."""

    name: str


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Unsigned: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    Domains: "map",
    type(None): "null_type",
    Version: "kubernetes.Semver",
    Quantity: "kubernetes.Quantity",
    Maybe: "optional_type",
    CelType: "type",
    datetime: "google.protobuf.Timestamp",
    timedelta: "google.protobuf.Duration",
    IPv4Address: "net.IP",
    IPv6Address: "net.IP",
    IPv4Interface: "net.CIDR",
    IPv6Interface: "net.CIDR",
}
_KUBERNETES = frozenset((Version, Quantity, *ADDRESSES, *NETWORKS))
_NUMERIC = (int, Unsigned, float)


def type_name(value: object) -> str:
    return _NAMES.get(type(value), type(value).__name__)


def is_number(value: object) -> bool:
    return type(value) in _NUMERIC


def equal(left: Any, right: Any) -> bool:
    """CEL's `==`: numbers of different types compare by value, other types are unequal. A version or a
    quantity on the left fails against anything else, as in Kubernetes."""
    if left is None or right is None:
        return left is right
    kind = type(left)
    if kind in _KUBERNETES:
        return _equal_of_kubernetes(left, right)
    if is_number(left):
        return is_number(right) and _compare_numbers(left, right) == 0
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(_not_unequal, left, right))
    if isinstance(left, dict):
        return isinstance(right, dict) and _equal_maps(left, right)
    if kind is Maybe:
        return (
            type(right) is Maybe
            and left.present == right.present
            and (not left.present or equal(left.value, right.value))
        )
    return kind is type(right) and bool(left == right)


def _equal_of_kubernetes(left: Any, right: Any) -> bool:
    if type_name(left) != type_name(right) or (type(right) is Quantity and right.computed):
        raise no_overload("_==_", left, right)
    if type(left) is Version:
        return bool(left.order == right.order)
    return bool(left.nano == right.nano) if type(left) is Quantity else bool(left == right)


def surely_equal(left: Any, right: Any) -> bool:
    """Equal, where a comparison that fails counts as unequal: how lists are searched."""
    try:
        return equal(left, right)
    except EvaluationError:
        return False


def _not_unequal(left: Any, right: Any) -> bool:
    """Equal, where a comparison that fails counts as equal: how Kubernetes compares two lists or maps."""
    try:
        return equal(left, right)
    except EvaluationError:
        return True


def _compare_numbers(left: Any, right: Any) -> int | None:
    """None if one is not a number. Beside a double, an int is taken for the nearest double."""
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        if math.isnan(left) or math.isnan(right):
            return None
    return int(left > right) - int(left < right)


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    return len(left) == len(right) and all(
        key in right and _not_unequal(value, right[key]) for key, value in left.items()
    )


def compare(function: str, left: Any, right: Any) -> int:
    """-1, 0 or 1 for values that CEL orders. With a NaN nothing is ordered: an error here."""
    if is_number(left) and is_number(right):
        order = _compare_numbers(left, right)
        if order is None:
            raise EvaluationError("NaN values cannot be ordered")
        return order
    if type(left) is not type(right) or type(left) not in (bool, str, bytes, datetime, timedelta):
        raise no_overload(function, left, right)
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return int(left > right) - int(left < right)


@dataclass(frozen=True, slots=True)
class BoolKey:
    """A bool as the key of a map: Python takes True and 1 for the same key, CEL does not."""

    value: bool


def map_key(value: Any) -> Any:
    """The value as a key of a dict."""
    if type(value) is bool:
        return BoolKey(value)
    if isinstance(value, str | int | float):
        return value
    raise EvaluationError(f"unsupported key type: {type_name(value)}")


def from_key(key: Any) -> Any:
    return key.value if type(key) is BoolKey else key


HEAVIEST = 100_000
TOO_HEAVY = 10**9


def weight(value: Any) -> int:
    """How many values there are in a list or map, at any depth: what going through all of it takes.

    Lists that hold the same list twice are small to write and endless to compare: from HEAVIEST on, they
    weigh more than any expression may cost.
    """
    count, waiting = 0, [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            current = list(current.values())
        if isinstance(current, list):
            count += len(current)
            if count > HEAVIEST:
                return TOO_HEAVY
            waiting += [entry for entry in current if isinstance(entry, list | dict)]
    return count
