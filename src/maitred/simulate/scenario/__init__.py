"""Scenarios: what happens in a run, from one short file."""

from maitred.simulate.scenario.document import Scenario
from maitred.simulate.scenario.preparation import prepare, read_scenario

__all__ = ["Scenario", "prepare", "read_scenario"]
