"""Small pieces of messages."""

import pytest

from maitred.model.words import grouped, rounded


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0.0, "0"),
        (100.0, "100"),
        (0.25, "0.25"),
        (1234567.0, "1,234,567"),
        (1 / 3, "0.333"),
        (1e12, "1,000,000,000,000"),
    ],
)
def test_amounts_are_told_in_full(amount: float, told: str) -> None:
    assert rounded(amount) == told


@pytest.mark.parametrize(
    ("quantity", "told"), [("0", "0"), ("1024", "1,024"), ("32Gi", "32Gi"), ("1500m", "1500m"), ("-", "-")]
)
def test_quantities_with_a_unit_stay_as_they_are(quantity: str, told: str) -> None:
    assert grouped(quantity) == told
