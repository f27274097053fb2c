"""Quantities: every suffix, exact, rounded up, and within bounds."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.quantity import (
    CPU,
    EPHEMERAL_STORAGE,
    LARGEST_AMOUNT,
    LARGEST_STORAGE,
    MEMORY,
    PODS,
    STORAGE,
    TOO_MUCH,
    QuantityError,
    amount,
    parse_nano,
    text,
)
from maitred.verify.quantity import parse, units

SUFFIXES = {
    "": Fraction(1),
    **{s: Fraction(1000) ** p for s, p in zip("numkMGTPE", (-3, -2, -1, 1, 2, 3, 4, 5, 6), strict=True)},
    **{f"{s}i": Fraction(1024) ** p for p, s in enumerate("KMGTPE", 1)},
}

WHOLE: dict[str | int | float, int] = {
    "0": 0,
    "1": 1,
    "+1": 1,
    "007": 7,
    7: 7,
    1.0: 1,
    2.5: 3,
    "1k": 1000,
    "1M": 10**6,
    "1G": 10**9,
    "1T": 10**12,
    "1P": 10**15,
    "1Ki": 1024,
    "1Mi": 2**20,
    "1Gi": 2**30,
    "1Ti": 2**40,
    "1Pi": 2**50,
    "1.5Gi": 3 * 2**29,
    ".5Ki": 512,
    "5.": 5,
    "1e3": 1000,
    "1E3": 1000,
    "1e+3": 1000,
    "1.5e1": 15,
    "1500e-3": 2,
    "1e0": 1,
    "0e9": 0,
    "100m": 1,
    "1001m": 2,
    "1000m": 1,
    "1u": 1,
    "1n": 1,
    "0n": 0,
    "0.0000000001": 1,
    "1e-30": 1,
    "-0": 0,
    128974848: 128974848,
    "129e6": 129_000_000,
    "128974848000m": 128974848,
    "123Mi": 123 * 2**20,
    1e3: 1000,
    1e15: 10**15,
}


@pytest.mark.parametrize(("written", "right"), WHOLE.items(), ids=map(repr, WHOLE))
def test_whole_units_are_rounded_up(written: str | float, right: int) -> None:
    assert amount(MEMORY, written) == units(MEMORY, parse(written)) == right
    assert amount("nvidia.com/gpu", written) == units("nvidia.com/gpu", parse(written)) == right


THOUSANDTHS: dict[str | int | float, int] = {
    "1": 1000,
    2: 2000,
    "100m": 100,
    "0.1": 100,
    0.1: 100,
    "1.5": 1500,
    "1e-3": 1,
    "100u": 1,
    "1n": 1,
    "1001u": 2,
    "2k": 2_000_000,
    "0.0001": 1,
    "0": 0,
    "250.0m": 250,
    "1Ki": 1_024_000,
}


@pytest.mark.parametrize(("written", "right"), THOUSANDTHS.items(), ids=map(repr, THOUSANDTHS))
def test_cpu_is_counted_in_thousandths_rounded_up(written: str | float, right: int) -> None:
    assert amount(CPU, written) == units(CPU, parse(written)) == right


TOO_LONG = "1" * 65
"""To be read, and so no concern of the checker's."""
NOT_QUANTITIES = [
    "",
    " ",
    "1 ",
    " 1",
    "one",
    ".",
    "+",
    "-",
    "m",
    "Ki",
    "e3",
    "1K",
    "1ki",
    "1KI",
    "1i",
    "1mi",
    "1e",
    "1e+",
    "1e3Ki",
    "1Ki1",
    "1..5",
    "1.5.5",
    "1,5",
    "1_000",
    "0x10",
    "1ee3",
    "1e3.5",
    "--1",
    "1e9999",
    "inf",
    "nan",
    "٣",
    TOO_LONG,
    "1\n",
    float("inf"),
    float("nan"),
]


@pytest.mark.parametrize("written", NOT_QUANTITIES, ids=map(repr, NOT_QUANTITIES))
def test_what_is_not_a_quantity_is_refused(written: str | float) -> None:
    with pytest.raises(QuantityError):
        amount(MEMORY, written)
    if written != TOO_LONG:
        with pytest.raises(ValueError, match="not a quantity"):
            parse(written)


@pytest.mark.parametrize("written", [None, True, [], {}])
def test_what_is_not_even_a_scalar_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse(written)


@pytest.mark.parametrize("written", ["-1", "-1m", "-1Ki", -1, -0.5, "-1e-30"])
def test_negative_amounts_are_refused(written: str | float) -> None:
    with pytest.raises(QuantityError, match="negative"):
        amount(CPU, written)


LIMITS: list[tuple[str, str | int, int]] = [
    (MEMORY, "4Pi", 2**52),
    (MEMORY, "1Ei", LARGEST_AMOUNT),
    (MEMORY, LARGEST_AMOUNT + 1, TOO_MUCH),
    (MEMORY, "2Ei", TOO_MUCH),
    (MEMORY, "1e300", TOO_MUCH),
    (CPU, LARGEST_AMOUNT // 1000, LARGEST_AMOUNT // 1000 * 1000),
    (CPU, LARGEST_AMOUNT // 1000 + 1, TOO_MUCH),
    (STORAGE, "7Ei", 7 * 2**60),
    (STORAGE, LARGEST_STORAGE, LARGEST_STORAGE),
    (STORAGE, "8Ei", LARGEST_STORAGE),
]


@pytest.mark.parametrize(("resource", "written", "counted"), LIMITS)
def test_more_than_is_counted_is_cut_and_not_refused(resource: str, written: str | int, counted: int) -> None:
    assert amount(resource, written) == counted


@st.composite
def written(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A quantity as text, and what it means."""
    whole = draw(st.integers(0, 10**12).map(str) | st.just(""))
    fraction = draw(st.none() | st.text("0123456789", min_size=0 if whole else 1, max_size=12))
    number = whole + ("" if fraction is None else f".{fraction}")
    value = Fraction(int(whole + (fraction or "") or "0"), 10 ** len(fraction or ""))
    if not whole and fraction is None:
        number, value = "0", Fraction(0)
    if draw(st.booleans()):
        exponent = draw(st.integers(-40, 40))
        sign = draw(st.sampled_from(["", "+"])) if exponent >= 0 else ""
        return f"{number}{draw(st.sampled_from('eE'))}{sign}{exponent}", value * Fraction(10) ** exponent
    suffix = draw(st.sampled_from(sorted(SUFFIXES)))
    return number + suffix, value * SUFFIXES[suffix]


@given(written(), st.sampled_from([CPU, MEMORY]))
def test_every_quantity_is_exact_and_rounded_up(given: tuple[str, Fraction], resource: str) -> None:
    quantity, value = given
    right = math.ceil(value * (1000 if resource == CPU else 1))
    assert parse(quantity) == value
    assert amount(resource, quantity) == units(resource, parse(quantity)) == min(right, TOO_MUCH)


@given(written(), st.sampled_from(["", "+", "-"]))
def test_billionths_are_exact_and_rounded_away_from_zero(given: tuple[str, Fraction], sign: str) -> None:
    quantity, value = given
    assert parse_nano(sign + quantity) == (-1 if sign == "-" else 1) * math.ceil(value * 10**9)


@given(
    st.integers(0, LARGEST_AMOUNT),
    st.sampled_from([CPU, MEMORY, EPHEMERAL_STORAGE, PODS, "hugepages-2Mi", "x/y"]),
)
def test_an_amount_survives_being_written_and_read(number: int, resource: str) -> None:
    assert amount(resource, text(resource, number)) == number


WORDS = [
    (CPU, 0, "0"),
    (CPU, 1, "1m"),
    (CPU, 1500, "1500m"),
    (CPU, 4000, "4"),
    (MEMORY, 0, "0"),
    (MEMORY, 1023, "1023"),
    (MEMORY, 1024, "1Ki"),
    (MEMORY, 1536 * 2**20, "1536Mi"),
    (MEMORY, 64 * 2**30, "64Gi"),
    (MEMORY, 10**9, "1000000000"),
    (EPHEMERAL_STORAGE, 2**40, "1Ti"),
    ("hugepages-1Gi", 2**31, "2Gi"),
    (PODS, 1024, "1024"),
    ("nvidia.com/gpu", 8, "8"),
]


@pytest.mark.parametrize(("resource", "number", "right"), WORDS)
def test_amounts_are_written_as_kubernetes_writes_them(resource: str, number: int, right: str) -> None:
    assert text(resource, number) == right
