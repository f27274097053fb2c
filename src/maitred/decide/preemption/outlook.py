"""What the cluster will be like: once those have left who are leaving, and if all had left who could.

Both are copies of the cycle's trial that follow it from then on, so that all that was counted on them serves
every group that has to preempt, and not the first alone.
"""

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Mask
from maitred.cluster.trial import Trial


class Outlook:
    def __init__(self, trial: Trial, leaving: Mask) -> None:
        self.trial = trial
        trial.no_followers()
        self.ahead = trial.ahead(leaving)
        """The cluster once these pods have left."""
        self.ahead.follow(trial)
        self._emptied: tuple[Mask, Trial] | None = None

    def expect(self, pods: Rows) -> None:
        """These will leave too."""
        self.trial.expect(pods)
        self.ahead.evict(pods)

    def without(self, candidates: Mask) -> Trial:
        """The cluster once these have left as well. Whoever was among them before may have left meanwhile."""
        if self._emptied is not None:
            gone, emptied = self._emptied
            if not (candidates & ~gone).any() and not (self.ahead.here & gone & ~candidates).any():
                return emptied
        self.trial.no_followers()
        self.ahead.follow(self.trial)
        emptied = self.ahead.on(self.ahead.nodes)
        emptied.evict(np.flatnonzero(candidates))
        emptied.follow(self.trial)
        self._emptied = (candidates.copy(), emptied)
        return emptied
