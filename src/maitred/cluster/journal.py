"""What a trial remembers: who was seated and who is gone, so that it can be undone, and what it counted."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.attachments import Mount
from maitred.cluster.nodes import Ints, Mask
from maitred.model.needs import PodTerm

Places = NDArray[np.intp]


class Selection(NamedTuple):
    """Which pods a count is about: those that all of the terms match."""

    terms: tuple[PodTerm, ...]
    leaving_too: bool
    """Whether terminating pods count: for affinity they do, for spreading they do not."""
    promised_too: bool = False
    """Whether those count that will come to places held for them: whoever must not be near them asks so."""


@dataclass(slots=True)
class Seated:
    """One entry of the journal."""

    shape: int
    rows: Places
    copies: Ints
    held: bool = False
    """The places are kept for pods that come when others have left."""
    mounts: list[Mount] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Moved:
    """One entry of the journal: pods, by their places among those that are bound, that are gone, or back."""

    pods: Places
    gone: bool
    rows: Places
    """Their nodes, each once,"""
    freed: Ints
    """and what there is more of every resource there; less, where they are back."""


@dataclass(slots=True)
class Counted:
    per_node: Ints
    classes: Mask
    promised_too: bool


@dataclass(slots=True)
class Foes:
    """By class of labels, the terms that are against it."""

    by_class: dict[int, list[PodTerm]] = field(default_factory=dict)
    terms: int = 0
    """How many of all that are held have been looked at."""
