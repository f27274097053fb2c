"""How much one cycle of a scheduler may do, and who comes first in it because an earlier one had to stop."""

from maitred.model.meta import Lean


class Rotation(Lean, frozen=True):
    """An argument of a decision like any other: a record holds it, so that a replay decides the same."""

    steps: int
    """The budget of the cycle, in steps and never in seconds."""
    first: tuple[str, ...] = ()
    """Groups that earlier cycles did not get to, who has waited longest first."""
