"""The table of what failures cost, from runs that are made up; and that healing pays, in a small run."""

from pathlib import Path

import pytest

from benchmarks.anchors.failures import Case, Outcome, scenario, table
from maitred.simulate.run import simulate
from maitred.simulate.scenario import prepare, read_scenario
from maitred.simulate.summary import summarise
from tests.simulate.test_summary import job, run

EXAMPLE = Path("examples/scenarios/failures.yaml")


def outcome(policy: str, seed: int, stalled: float) -> Outcome:
    gang = job("running", job="pretrain-00001", arrival=0.0, devices=2, useful_device_seconds=3600.0)
    made = run(
        [gang], policy, seed, duration=3600.0, device_seconds={"productive": 7200.0, "stalled": stalled}
    )
    return Outcome(Case(policy, seed, 54), made, 1.0)


def test_the_table_has_what_each_policy_saved_by_seed() -> None:
    runs = [
        [outcome("none", 1, 7200.0), outcome("none", 2, 14400.0)],
        [outcome("healing", 1, 3600.0), outcome("healing", 2, 3600.0)],
    ]
    lines = list(table(summarise([one.run for own in runs for one in own]), runs))
    assert lines[0] == "| device-hours, mean of 2 seeds | none | healing |"
    assert "| **cost** | **3** | **1** |" in lines
    assert "| saved, seed by seed | 0.0% to 0.0% | 50.0% to 75.0% |" in lines
    assert "| goodput of the large gang | 50.00% | 50.00% |" in lines


def test_every_policy_of_the_benchmark_can_be_read() -> None:
    assert next(iter(scenario().policies)) == "none"


@pytest.mark.slow
def test_healing_pays() -> None:
    written = read_scenario(EXAMPLE.read_bytes(), str(EXAMPLE))
    runs = [
        simulate(prepare(written, str(EXAMPLE), {}, seed), name, written.policies[name], seed)
        for name in ("no-healing", "healing")
        for seed in (1, 2, 3)
    ]
    none, healed = summarise(runs)
    assert healed.failure_cost.total < 0.75 * none.failure_cost.total
    assert healed.utilisation["productive"] > none.utilisation["productive"]
