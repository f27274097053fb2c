"""What a trial remembers: who was seated and who is gone, so that it can be undone."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints
from maitred.model.needs import PodTerm

Rows = NDArray[np.intp]


class Selection(NamedTuple):
    """Which pods a count is about: those that all of the terms match."""

    terms: tuple[PodTerm, ...]
    leaving_too: bool
    """Whether terminating pods count: for affinity they do, for spreading they do not."""
    promised_too: bool = False
    """Whether those count that will come to places held for them: whoever must not be near them asks so."""


@dataclass(slots=True, eq=False)
class Seated:
    """One entry of the journal: so many pods of a shape on each of these rows."""

    shape: int
    rows: Rows
    copies: Ints
    held: bool = False
    """The places are kept for pods that come when others have left."""
    account: int = NO_ACCOUNT
    """On which they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """One entry of the journal: pods, by their places among those that are bound, that are gone, or back."""

    pods: Rows
    gone: bool
    rows: Rows
    """Their nodes, each once."""
