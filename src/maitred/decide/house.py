"""The rules of the house: what holds for every group of a cycle, and what an attempt may waive."""

from dataclasses import dataclass

from maitred.decide.compile import Lift
from maitred.decide.levels import key_of_level, name_of_level
from maitred.decide.seats import Steps
from maitred.model.policy import Level, Policy


@dataclass(frozen=True, slots=True)
class House:
    policy: Policy
    levels: tuple[Level, ...]

    def key(self, level: str) -> str:
        return key_of_level(level, self.levels)

    def name(self, key: str) -> str:
        return name_of_level(key, self.levels)

    def steps(self) -> Steps:
        """For one search."""
        return Steps(self.policy.search.steps)


@dataclass(frozen=True, slots=True)
class Leave:
    """What is waived in an attempt, to find out what stands in the way."""

    lift: Lift = frozenset()
    others_may_help: bool = False


FULL_RULES = Leave()
