"""The table of what holds do on a trace, from runs that are made up, and that its scenarios can be read."""

from benchmarks.anchors.holds import (
    LIMITS,
    SCENARIOS,
    Case,
    Outcome,
    percentile,
    scenario,
    table,
    with_limits,
)


def test_the_table_has_a_row_for_each_run() -> None:
    by_size = {"1": (0.5, 1.0), "2-8": (1.0, 2.0), "9+": (5.0, 25.44)}
    header, _, row = table([Outcome(Case("itp-in-racks", "long", "holds"), 1.04, 3.1, by_size, 417.6, 1.0)])
    assert header.startswith("| Scenario | Policy | Limits | Mean wait |")
    assert (
        row
        == "| itp-in-racks | holds | long | 1.04 h | 3.10 h | 0.50 h | 1.00 h | 5.00 h | 25.4 h | 17.4 d |"
    )


def test_a_percentile_is_the_wait_of_a_job() -> None:
    assert percentile([float(number) for number in range(1, 201)]) == 198
    assert percentile([3.0]) == 3


def test_every_scenario_can_have_limits() -> None:
    for name in SCENARIOS:
        for limits in LIMITS.values():
            assert {entry.max_runtime for entry in with_limits(scenario(name), limits).workload} == {limits}
