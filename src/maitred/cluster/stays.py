"""What is said above the pods on nodes of how long they may stay, as one number per pod."""

from maitred.cluster.interning import outnumber
from maitred.model.runtime import NO_STAY, Stay


class StayTable:
    def __init__(self) -> None:
        self._numbers: dict[Stay, int] = {NO_STAY: 0}

    def number(self, stay: Stay) -> int:
        return 0 if stay is NO_STAY else self._numbers.setdefault(stay, len(self._numbers))

    def forget(self, pods: int) -> bool:
        """Drop them once there are many more than pods, each of which has one: a user may write limits for
        ever. True if so; then all are to be numbered again."""
        stale = outnumber(len(self._numbers), pods)
        if stale:
            self._numbers = {NO_STAY: 0}
        return stale

    def view(self) -> tuple[Stay, ...]:
        """By their numbers."""
        return tuple(self._numbers)
