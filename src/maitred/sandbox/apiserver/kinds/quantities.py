"""Amounts of resources as objects have them, added up and compared."""

from collections.abc import Mapping

from maitred.model.quantity import parse_nano
from maitred.sandbox.apiserver.schema.quantities import canonical

UNIT = 10**9
"""Quantities are counted in billionths."""
KIBI = 1024 * UNIT


def is_whole(quantity: str) -> bool:
    return parse_nano(quantity) % UNIT == 0


def total(first: str, second: str) -> str:
    """Written in the way of the first."""
    nano = parse_nano(first) + parse_nano(second)
    if first.endswith("i") and nano % KIBI == 0:
        return canonical(f"{nano // KIBI}Ki")
    return canonical(f"{nano}n")


def largest(first: str, second: str) -> str:
    return second if parse_nano(second) > parse_nano(first) else first


def add(amounts: dict[str, str], more: Mapping[str, str]) -> None:
    for name, quantity in more.items():
        amounts[name] = total(amounts[name], quantity) if name in amounts else quantity


def raise_to(amounts: dict[str, str], more: Mapping[str, str]) -> None:
    for name, quantity in more.items():
        amounts[name] = largest(amounts[name], quantity) if name in amounts else quantity
