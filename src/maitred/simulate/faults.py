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
    process: bool = False
    """Only what runs on the nodes breaks. Without a reaction, the nodes do."""
    silent: bool = False
    """Nothing reports the device. Without a reaction, all is known."""


@dataclass(frozen=True)
class Reaction:
    """How a cluster learns of what broke, and what is done about it. Without one, all of it is known at once,
    and whoever broke down is created anew at once.

    A node that dies takes its kubelet with it: its members are dead, and nobody knows. What a device or a bug
    ends is seen by the kubelet; the owner creates a new pod, and the scheduler says where.
    """

    detection: Time
    """From the death of a node until it is not ready."""
    eviction: Time
    """From then until its pods are deleted and created anew."""
    retry: Time
    """From the end of a process until its owner has created a new pod."""
    relapse: Time
    """How long a process works with a broken device that nothing reports."""


Breakdowns = Iterator[Breakdown]
"""Faults in the order of their times, without end or until nothing more breaks."""
