"""Quantities: every suffix, exactly, rounded up once."""

from fractions import Fraction
from typing import Any

import pytest

from maitred.verify.quantity import parse, units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("1", 1),
        ("+3", 3),
        ("-3", -3),
        ("007", 7),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("1.5", Fraction(3, 2)),
        ("100n", Fraction(1, 10**7)),
        ("100u", Fraction(1, 10**4)),
        ("250m", Fraction(1, 4)),
        ("3k", 3000),
        ("3M", 3 * 10**6),
        ("3G", 3 * 10**9),
        ("3T", 3 * 10**12),
        ("3P", 3 * 10**15),
        ("3E", 3 * 10**18),
        ("3Ki", 3 * 2**10),
        ("1.5Mi", 3 * 2**19),
        ("3Gi", 3 * 2**30),
        ("3Ti", 3 * 2**40),
        ("3Pi", 3 * 2**50),
        ("3Ei", 3 * 2**60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1.5e2", 150),
        ("5e-1", Fraction(1, 2)),
        ("5E+1", 50),
        (2, 2),
        (0.5, Fraction(1, 2)),
        (1e-05, Fraction(1, 10**5)),
    ],
)
def test_parse(text: Any, value: Fraction | int) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        " 1",
        "m",
        "1mm",
        "1K",
        "1ki",
        "1i",
        "1.2.3",
        "one",
        "1e",
        "1e1.5",
        "0x10",
        "\u0661",
        "--1",
    ],
)
def test_not_a_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse(text)


@pytest.mark.parametrize("value", [None, True, [], {}])
def test_not_even_a_scalar(value: Any) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse(value)


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        ("cpu", "1", 1000),
        ("cpu", "100m", 100),
        ("cpu", "1n", 1),
        ("cpu", "1.0001", 1001),
        ("memory", "1Ki", 1024),
        ("memory", "1500m", 2),
        ("nvidia.com/gpu", "8", 8),
    ],
)
def test_units_round_up(resource: str, text: str, expected: int) -> None:
    assert units(resource, parse(text)) == expected
