"""Kubernetes quantities, exactly: fractions, and one rounding at the end, upwards."""

import re
from fractions import Fraction
from math import ceil
from typing import Any

from .fields import Doc

SUFFIXES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,3})|([numkMGTPE]|[KMGTPE]i))?")
_MILLI = Fraction(1, 1000)
MOST = 2**60

Amounts = dict[str, Fraction]


def parse(value: Any) -> Fraction:
    """The value of a quantity. JSON numbers are quantities too."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is not a quantity")
    match = _NUMBER.fullmatch(value if isinstance(value, str) else str(value))
    if match is None:
        raise ValueError(f"{value!r} is not a quantity")
    number, exponent, suffix = match.groups()
    scale = Fraction(10) ** int(exponent[1:]) if exponent else SUFFIXES[suffix or ""]
    return Fraction(number) * scale


def amounts(doc: Doc) -> Amounts:
    """A resource list. The API server rounds every entry up to a thousandth, so that is done here first."""
    result: Amounts = {}
    for resource, value in doc.raw.items():
        try:
            amount = parse(value)
        except ValueError as error:
            raise doc.error(str(resource), str(error)) from None
        if amount < 0:
            raise doc.error(str(resource), f"{value!r} is negative")
        result[str(resource)] = ceil(amount / _MILLI) * _MILLI
    return result


def units(resource: str, amount: Fraction) -> int:
    """The whole number that schedulers count in: thousandths of a CPU, one of anything else, rounded up.

    docs/compatibility.md: a node has MOST of anything at most, and whoever asks for more fits nowhere.
    """
    return min(ceil(amount * 1000) if resource == "cpu" else ceil(amount), MOST + 1)


def whole(raw: Amounts) -> dict[str, int]:
    return {resource: units(resource, amount) for resource, amount in raw.items()}
