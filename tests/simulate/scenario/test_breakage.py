"""Faults: as often as was asked for, from the causes that were counted, and mended in time."""

from collections import Counter
from itertools import islice, takewhile

import pytest

from maitred.simulate.clock import DAY, HOUR, SECOND
from maitred.simulate.faults import Breakdown
from maitred.simulate.traces.causes import USUAL
from tests.simulate.scenario.writing import entry, setup

BREAKS = {cause.name: cause.breaks for cause in USUAL}
WORK = "arrivals: {at: [0s]}, runTime: 1h"


def faults(
    rest: str, count: int = 10_000, seed: int = 1, files: dict[str, bytes] | None = None
) -> list[Breakdown]:
    return list(islice(setup(entry(WORK, f"horizon: 1d\nfaults: {rest}"), seed, files).faults, count))


def test_nodes_break_as_often_as_was_asked_for() -> None:
    ready = setup(entry(WORK, "horizon: 1d\nfaults: {perThousandNodeDays: 50}"))
    found = list(takewhile(lambda fault: fault.time < 5000 * DAY, ready.faults))
    assert len(found) == pytest.approx(64 * 5 * 50, rel=0.03)
    times = [fault.time for fault in found]
    assert times == sorted(times)


def test_what_breaks_too_seldom_for_any_number_never_does() -> None:
    assert faults("{perThousandNodeDays: 1e-320}") == []


def test_the_same_seed_breaks_the_same() -> None:
    assert faults("{perThousandNodeDays: 5}", 100) == faults("{perThousandNodeDays: 5}", 100)
    assert faults("{perThousandNodeDays: 5}", 100, 2) != faults("{perThousandNodeDays: 5}", 100, 1)


def test_causes_come_as_often_as_they_were_counted() -> None:
    found = Counter(BREAKS[fault.cause] for fault in faults("{perThousandNodeDays: 5}"))
    shares = [found[kind] / 10_000 for kind in ("device", "rack", "software", "node")]
    assert shares == pytest.approx([268 / 419, 35 / 419, 63 / 419, 53 / 419], abs=0.015)


def test_what_breaks_is_a_device_a_node_or_a_rack() -> None:
    for fault in faults("{perThousandNodeDays: 5}", 500):
        breaks = BREAKS[fault.cause]
        assert (fault.device is not None) == (breaks == "device")
        if fault.device is not None:
            assert 0 <= fault.device < 1
        racks = {name.rpartition("-")[0] for name in fault.nodes}
        assert (len(fault.nodes), len(racks)) == ((8, 1) if breaks == "rack" else (1, 1))


def test_a_few_lemons_have_most_of_the_trouble() -> None:
    found = faults("{perThousandNodeDays: 5, lemons: {share: 0.03, carry: 0.5}}")
    hit = Counter(fault.nodes[0] for fault in found if len(fault.nodes) == 1)
    worst = sum(count for _, count in hit.most_common(2))
    assert worst / hit.total() == pytest.approx(0.5, abs=0.03)
    assert len(hit) == 64
    fair = Counter(f.nodes[0] for f in faults("{perThousandNodeDays: 5}") if len(f.nodes) == 1)
    assert max(fair.values()) < 2 * min(fair.values())


def test_repairs_take_as_long_as_is_said_and_do_not_move_the_faults() -> None:
    usual = faults("{perThousandNodeDays: 5}", 2000)
    resets = [f.repaired - f.time for f in usual if f.device is not None]
    assert set(resets) == {300 * SECOND, 7920 * SECOND}
    changed = faults("{perThousandNodeDays: 5, repair: {device: {exponential: {mean: 3h}}}}", 2000)
    assert [(f.time, f.nodes, f.cause) for f in usual] == [(f.time, f.nodes, f.cause) for f in changed]
    lasting = [f.repaired - f.time for f in changed if f.device is not None]
    assert sum(lasting) / len(lasting) / HOUR == pytest.approx(3, rel=0.1)


def test_causes_from_a_file() -> None:
    counts = b"component,category,count\nSwitch,Network,1\n"
    found = faults("{perThousandNodeDays: 5, causes: causes.csv}", 50, files={"causes.csv": counts})
    assert {(fault.cause, len(fault.nodes)) for fault in found} == {("Switch", 8)}


def test_devices_break_only_where_there_are_some() -> None:
    cpu, gpu = "{cpu: 8}", "{nvidia.com/gpu: 8}"
    kinds = f"[{{name: c, nodes: 4, resources: {cpu}}}, {{name: g, nodes: 4, resources: {gpu}}}]"
    rest = f"horizon: 1d\ncluster: {{kinds: {kinds}}}\nfaults: {{perThousandNodeDays: 5}}"
    found = islice(setup(entry(WORK, rest)).faults, 500)
    assert {fault.nodes[0][:2] for fault in found if fault.device is not None} == {"b2"}
