"""Short scenarios for tests."""

from collections.abc import Mapping

from maitred.simulate.scenario import prepare, read_scenario
from maitred.simulate.setup import Setup

HEAD = "name: a test\n"


def setup(text: str, seed: int = 1, files: Mapping[str, bytes] | None = None) -> Setup:
    scenario = read_scenario((HEAD + text).encode(), "s.yaml")
    return prepare(scenario, "s.yaml", files or {}, seed)


def entry(fields: str, rest: str = "horizon: 10d") -> str:
    return f"workload: [{{name: a, {fields}}}]\n{rest}\n"
