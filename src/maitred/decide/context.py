"""The context of a cycle: what holds for every group in it, and what an attempt may waive."""

from dataclasses import dataclass, field

from maitred.cluster.meter import Meter
from maitred.cluster.supply.interface import Lift
from maitred.decide.levels import key_of_level, name_of_level
from maitred.decide.seats import Steps
from maitred.model.policy import Level, Policy


@dataclass(frozen=True, slots=True)
class Context:
    """The policy, the levels of the topology as this cluster has them, and the work that was done so far."""

    policy: Policy
    levels: tuple[Level, ...]
    meter: Meter = field(default_factory=Meter, compare=False)
    """Counts that work."""

    def key(self, level: str) -> str:
        return key_of_level(level, self.levels)

    def name(self, key: str) -> str:
        return name_of_level(key, self.levels)

    def steps(self, most: int | None = None) -> Steps:
        """For one search; of `most` steps, where many questions are asked."""
        steps = self.policy.search.steps
        return Steps(steps if most is None else min(steps, most), meter=self.meter)


@dataclass(frozen=True, slots=True)
class Waiver:
    """What is waived in an attempt, to find out what stands in the way."""

    lift: Lift = frozenset()
    others_may_help: bool = False


FULL_RULES = Waiver()
