"""What kubelets, controllers and agents report of pods and nodes in their conditions."""

from maitred.model.meta import Lean, Timestamp


class SaidCondition(Lean, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Timestamp | None = None
