"""On whose account the pods on nodes are, as one number per pod."""

from maitred.cluster.interning import outnumber
from maitred.cluster.members import Member
from maitred.model.queues import Payer


class PayerTable:
    def __init__(self) -> None:
        self._numbers: dict[Payer, int] = {}
        self._silent: dict[str, int] = {}
        """Of pods that say nothing, as most do, by their namespaces."""

    def number(self, member: Member, namespace: str) -> int:
        payer = member.crew.settled.payer
        if payer is not None:
            return self._numbers.setdefault(payer, len(self._numbers))
        number = self._silent.get(namespace)
        if number is None:
            number = self._numbers.setdefault(Payer(namespace), len(self._numbers))
            self._silent[namespace] = number
        return number

    def forget(self, pods: int) -> bool:
        """Drop them once there are many more than pods, each of which has one: a user may name queues for
        ever. True if so; then all are to be numbered again."""
        stale = outnumber(len(self._numbers), pods)
        if stale:
            self._numbers, self._silent = {}, {}
        return stale

    def view(self) -> tuple[Payer, ...]:
        """By their numbers."""
        return tuple(self._numbers)
