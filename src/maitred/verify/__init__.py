"""The independent checker: does a Plan, or do the bindings of a cluster, keep the laws?

It is the oracle that the engine is tested against and the command `maitred verify`. So it shares no code with
the engine, works on raw objects as JSON or YAML parsing gives them, and prefers the obvious to the fast.

What it claims it has worked out itself: a breach is reported where an object or a number is provably wrong,
or where no order of the binds was found that passes kube-scheduler's filters. What it cannot decide (the best
that a search could have found, say) it leaves alone.
"""

from .case import Breach
from .filters import why_not
from .laws import verify
from .world import World

__all__ = ["Breach", "World", "verify", "why_not"]
