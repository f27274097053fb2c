"""What a rule for the placement of pods that share devices has to say."""

from typing import NamedTuple, Protocol

import numpy as np

from maitred.decide.shares.prices import Floats
from maitred.simulate.seating.columns import Rows
from maitred.simulate.seating.shares.asks import ShareRequest

NO_ROOM = -np.inf
"""The score of a node that a pod cannot go to."""


class Opinion(NamedTuple):
    """Of nodes, in the order in which they were asked about."""

    scores: Floats
    """More is better."""
    devices: Rows
    """For a share: the best device of each."""


class PlacementRule(Protocol):
    def judge(self, ask: ShareRequest, rows: Rows) -> Opinion:
        """What to think of these nodes, all of which have room. It may only depend on the nodes themselves:
        until one of them changes, the opinion of it stands."""
