"""Amounts of resources as objects have them, added up and compared."""

from collections.abc import Mapping

from maitred.sandbox.apiserver.schema.quantities import canonical, nano

UNIT = 10**9
"""Quantities are counted in billionths."""
KIBI = 1024 * UNIT


def is_whole(quantity: str) -> bool:
    return nano(quantity) % UNIT == 0


def total(first: str, second: str) -> str:
    """Written in the way of the first."""
    both = nano(first) + nano(second)
    if first.endswith("i") and both % KIBI == 0:
        return canonical(f"{both // KIBI}Ki")
    return canonical(f"{both}n")


def largest(first: str, second: str) -> str:
    return second if nano(second) > nano(first) else first


def add(amounts: dict[str, str], more: Mapping[str, str]) -> None:
    for name, quantity in more.items():
        amounts[name] = total(amounts[name], quantity) if name in amounts else quantity


def raise_to(amounts: dict[str, str], more: Mapping[str, str]) -> None:
    for name, quantity in more.items():
        amounts[name] = largest(amounts[name], quantity) if name in amounts else quantity
