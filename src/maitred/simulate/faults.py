"""What breaks in a run, and when it is mended."""

from collections.abc import Iterator
from dataclasses import dataclass

from maitred.simulate.clock import Time


@dataclass(frozen=True)
class Breakdown:
    """Some nodes, or one device of one node, out of order for a while."""

    time: Time
    nodes: tuple[str, ...]
    repaired: Time
    cause: str
    device: float | None = None
    """A number in [0, 1) that says which device of the only node breaks. None: the nodes break as a whole."""


Breakdowns = Iterator[Breakdown]
"""Faults in the order of their times, without end or until nothing more breaks."""
