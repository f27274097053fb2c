"""Quantities as the API server writes them: the same amount, in one spelling, with the least digits."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

NOT_A_QUANTITY: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
NO_SUFFIX: Final = "unable to parse quantity's suffix"
_LONGEST_TEXT: Final = 1024
_LARGEST_EXPONENT: Final = 1024
_NANO: Final = 10**9
_LARGEST_BINARY: Final = 2**63 - 1

_PATTERN: Final = re.compile(
    r"(?P<sign>[+-]?)0*(?P<whole>\d*)(?:\.(?P<fraction>\d*))?(?P<suffix>[eEinumkKMGTP]*[-+]?\d*)", re.ASCII
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SCIENTIFIC: Final = re.compile(r"[eE]([+-]?\d+)", re.ASCII)


class QuantityError(ValueError):
    """In the words of the API server."""


@dataclass(frozen=True, slots=True)
class _Parsed:
    digits: str
    """Of the whole and of the fraction."""
    decimals: int
    amount: Fraction
    exponent: int
    """Of ten, or of two if it is binary."""
    notation: str
    """As in Kubernetes: BinarySI, DecimalSI or DecimalExponent."""


@lru_cache(maxsize=65536)
def canonical(text: str) -> str:
    """As the server shows what was given as `text`."""
    parsed = _parse(text)
    return text if _stays(parsed) else _written(parsed)


@lru_cache(maxsize=65536)
def rounded(text: str) -> str:
    """Canonical, and rounded up to thousandths, as the server does with all amounts of resources."""
    parsed = _parse(text)
    milli = parsed.amount * 1000
    if milli.denominator == 1:
        return canonical(text)
    up = -(-milli.numerator // milli.denominator) if milli > 0 else milli.numerator // milli.denominator
    return _text(Fraction(up, 1000), parsed.notation)


@lru_cache(maxsize=65536)
def nano(text: str) -> int:
    """In billionths, rounded away from zero."""
    amount = _parse(text).amount * _NANO
    up = -(-abs(amount.numerator) // amount.denominator)
    return -up if amount < 0 else up


def _parse(text: str) -> _Parsed:
    match = _PATTERN.fullmatch(text) if 0 < len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise QuantityError(NOT_A_QUANTITY)
    whole, fraction, suffix = match["whole"] or "0", match["fraction"] or "", match["suffix"]
    exponent, notation = _suffix(suffix)
    base = 2 if notation == "BinarySI" else 10
    amount = Fraction(int(whole + fraction), 10 ** len(fraction)) * Fraction(base) ** exponent
    return _Parsed(
        whole + fraction, len(fraction), -amount if match["sign"] == "-" else amount, exponent, notation
    )


def _suffix(suffix: str) -> tuple[int, str]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "DecimalSI"
    if suffix in _BINARY:
        return _BINARY.index(suffix) * 10, "BinarySI"
    match = _SCIENTIFIC.fullmatch(suffix)
    if match is None or len(match[1]) > 5 or abs(int(match[1])) > _LARGEST_EXPONENT:
        raise QuantityError(NO_SUFFIX)
    return int(match[1]), "DecimalExponent"


def _stays(parsed: _Parsed) -> bool:
    """The server keeps the text of a small number that it takes for canonical at a glance."""
    if parsed.notation == "BinarySI":
        digits_left = 14 - len(parsed.digits) - parsed.exponent * 3 // 10
        return digits_left >= 0 and not parsed.decimals and bool(int(parsed.digits) & 7)
    scale = parsed.exponent - parsed.decimals
    is_small = len(parsed.digits) <= 18 and scale >= -9
    return is_small and scale % 3 == 0 and not parsed.digits.endswith("000") and parsed.digits[0] != "0"


def _written(parsed: _Parsed) -> str:
    nano = parsed.amount * _NANO
    amount = Fraction(-(-abs(nano.numerator) // nano.denominator), _NANO)
    if parsed.notation == "BinarySI":
        amount = min(amount, Fraction(_LARGEST_BINARY))
    return _text(-amount if parsed.amount < 0 else amount, parsed.notation)


def _text(amount: Fraction, notation: str) -> str:
    if not amount:
        return "0"
    if notation == "BinarySI" and amount.denominator == 1 and abs(amount) >= 1024:
        number, power = _without_factors(amount.numerator, 1024, len(_BINARY) - 1)
        return f"{number}{_BINARY[power]}"
    number, power = _without_factors((amount * _NANO).numerator, 1000, 9)
    exponent = power * 3 - 9
    if notation == "DecimalExponent":
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_DECIMAL_SUFFIX[exponent]}"


def _without_factors(number: int, factor: int, most: int) -> tuple[int, int]:
    times = 0
    while times < most and number % factor == 0:
        number //= factor
        times += 1
    return number, times
