"""Queues that contradict themselves or each other are refused, with the field that does."""

import pytest

from maitred.model.manifest import InputError, read_policy
from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.queue_checks import check_queues
from maitred.model.policy import FairShare, Prices
from maitred.model.queues import Queue

GPU = "nvidia.com/gpu"


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_policy(text.encode(), "p.yaml")
    return str(caught.value).removeprefix("p.yaml: ")


def limited(*limits: str, more: str = "") -> str:
    """One queue with limits on devices."""
    written = ", ".join(f"{{resource: {GPU}, {limit}}}" for limit in limits)
    return f"queues: [{{name: a, limits: [{written}]{more}}}]"


def nested(parent: str, *children: str) -> str:
    """A queue and those below it, each with limits on devices."""
    rows = [("top", "", parent), *((f"team-{n}", "top", child) for n, child in enumerate(children))]
    lines = [
        f"- {{name: {name}, parent: '{above}', limits: [{said}]}}"
        for name, above, limits in rows
        for said in [", ".join(f"{{resource: {GPU}, {limit}}}" for limit in limits.split("; ") if limit)]
    ]
    return "queues:\n" + "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queues: [{name: ''}]", "queues[0].name: is required"),
        ("queues: [{name: a b}]", "queues[0].name: 'a b' is not a name"),
        (f"queues: [{{name: {'a' * 64}}}]", "queues[0].name: is 64 characters long; the API allows 63"),
        ("queues: [{name: a}, {name: a}]", "queues[1].name: 'a' is already used by queues[0]"),
        ("queues: [{name: a, parent: b}]", "queues[0].parent: there is no queue 'b'"),
        ("queues: [{name: a, parent: a}]", "queues[0].parent: goes round in a circle: a below a"),
        (
            "queues: [{name: a, parent: b}, {name: b, parent: c}, {name: c, parent: a}]",
            "queues[0].parent: goes round in a circle: a below b below c below a",
        ),
        (
            "queues: [{name: default}, {name: a, parent: default}]",
            "queues[1].parent: default is for groups that name no queue, so it has no queues below it",
        ),
        ("queues: [{name: a, weight: 0}]", "queues[0].weight: must be more than 0, not 0"),
        ("queues: [{name: a, borrow: no}]", "queues[0].borrow: expected a string, got a boolean"),
        ("queues: [{name: a, lend: rarely}]", "queues[0].lend: 'rarely' is not one of always, never"),
        ("queues: [{name: a, minRuntime: long}]", "queues[0].minRuntime: 'long' is not a duration"),
        (
            "queues: [{name: a, runtime: {default: -4h}}]",
            "queues[0].runtime.default: '-4h' is neither none nor a duration",
        ),
        (
            "queues: [{name: a, runtime: {most: 999999999999w}}]",
            "queues[0].runtime.most: '999999999999w' is neither none nor",
        ),
        ("queues: [{name: a, runtime: {most: 0s}}]", "queues[0].runtime.most: '0s' is neither none nor"),
        ("queues: [{name: a, runtime: {most: 4}}]", "queues[0].runtime.most: expected a string, got"),
        (
            "queues: [{name: a, runtime: {enforce: sometimes}}]",
            "queues[0].runtime.enforce: expected true or false, got a string",
        ),
        ("queues: [{name: a, runtime: {least: 1h}}]", "queues[0].runtime"),
        (
            "queues: [{name: a, runtime: {enforcePods: true}}]",
            "queues[0].runtime.enforcePods: needs enforce: true, of this queue or of one above",
        ),
        (
            "queues: [{name: a, runtime: {default: 5h, most: 4h}}]",
            "queues[0].runtime.default: 5h is longer than the most, 4h",
        ),
        (
            "queues: [{name: a, runtime: {most: 4h}}, {name: b, parent: a, runtime: {default: 5h}}]",
            "queues[1].runtime.default: 5h is longer than the most of a, 4h",
        ),
        (
            "queues: [{name: a, runtime: {most: 4h}}, {name: b, parent: a, runtime: {most: 5h}}]",
            "queues[1].runtime.most: 5h is longer than the most of a, 4h",
        ),
        (
            "queues: [{name: a, priorities: {least: 5, most: 4}}]",
            "queues[0].priorities.least: 5 is above the most, 4",
        ),
        (
            "queues: [{name: a, priorities: {most: 3000000000}}]",
            "queues[0].priorities.most: 3000000000 is out of range",
        ),
        (
            "queues: [{name: a, namespaces: {matchExpressions: [{key: team, operator: In}]}}]",
            "queues[0].namespaces.matchExpressions[0].values: operator In needs at least one value",
        ),
        ("queues: [{name: a, limits: [{cap: 1}]}]", "queues[0].limits[0].resource: is required"),
        ("queues: [{name: a, limits: [{resource: ''}]}]", "queues[0].limits[0].resource: is required"),
        (
            "queues: [{name: a, limits: [{resource: gpu}]}]",
            "queues[0].limits[0].resource: 'gpu' is no resource of pods, such as cpu,",
        ),
        (
            "queues: [{name: a, limits: [{resource: '*/gpu'}]}]",
            "queues[0].limits[0].resource: '*/gpu' is not the name of a resource",
        ),
        (limited("model: 'H 100'"), "queues[0].limits[0].model: 'H 100' is not a pattern for models"),
        (limited("cap: many"), "queues[0].limits[0].cap: 'many' is not a quantity"),
        (limited("guarantee: -1"), "queues[0].limits[0].guarantee: -1 is negative"),
        (limited("perUser: 4E"), "queues[0].limits[0].perUser: 4E is more than any cluster has"),
        (
            limited("cap: 1", "model: H100, cap: 1", "model: h100, cap: 1"),
            "queues[0].limits[2]: has the same resource and model as queues[0].limits[1]",
        ),
        (limited("guarantee: 9, cap: 8"), "queues[0].limits[0].guarantee: 9 is above the cap, 8"),
        (limited("cap: 8, perUser: 9"), "queues[0].limits[0].perUser: 9 is above the cap, 8"),
        (limited("cap: 8", "model: H100, cap: 9"), "queues[0].limits[1].cap: 9 is above the cap, 8"),
        (
            limited("model: H100, guarantee: 9", "guarantee: 8"),
            "queues[0].limits[0].guarantee: 9 is above the guarantee on all models, 8",
        ),
        (
            nested("cap: 8", "cap: 9"),
            "queues[1].limits[0].cap: 9 is above the cap of top, 8",
        ),
        (
            nested("model: H100, cap: 8", "model: H100, guarantee: 9"),
            "queues[1].limits[0].guarantee: 9 is above the cap of top, 8 on H100",
        ),
        (
            nested("guarantee: 8", "guarantee: 5", "guarantee: 4"),
            "queues[0].limits[0].guarantee: 8 is less than the 9 that is guaranteed below it: team-0 5, ",
        ),
        (
            nested("guarantee: 8", "model: H100, guarantee: 9"),
            "queues[0].limits[0].guarantee: 8 is less than the 9 that is guaranteed below it: team-0 9",
        ),
        (
            nested("guarantee: 8", "model: H100, guarantee: 5; model: A100, guarantee: 4"),
            "queues[0].limits[0].guarantee: 8 is less than the 9 that is guaranteed below it: team-0 9",
        ),
        (
            nested("model: H100, guarantee: 8", "model: A100, guarantee: 1"),
            "queues[1].limits[0].guarantee: is not part of what top is guaranteed, which has none on A100;",
        ),
        (
            nested("model: H100, guarantee: 8", "guarantee: 1"),
            "queues[1].limits[0].guarantee: is not part of what top is guaranteed, which has none on all",
        ),
        (
            nested("model: H100, guarantee: 8", "model: H100-NVL, guarantee: 5", "model: H100, guarantee: 4"),
            "queues[0].limits[0].guarantee: 8 is less than the 9 that is guaranteed below it: team-0 5,",
        ),
        (
            nested("cap: 8", "guarantee: 5", "guarantee: 4"),
            "queues[0].limits[0].cap: 8 is less than the 9 that is guaranteed below it",
        ),
        ("fairShare: {reclaim: true}", "fairShare.reclaim: queues share, and there are none"),
        ("fairShare: {longestWait: 1h}", "fairShare.longestWait: queues share, and there are none"),
        (
            "queues: [{name: a}]\nfairShare: {longestWait: 0s}",
            "fairShare.longestWait: '0s' is neither none nor a duration such as",
        ),
        (
            "queues: [{name: a}]\nfairShare: {longestWait: 1h}\norder: [priority, age]",
            "fairShare.longestWait: means nothing, as order leaves fair-share out;",
        ),
        (
            "queues: [{name: a}]\nfairShare: {halfLife: never}",
            "fairShare.halfLife: 'never' is neither none nor a duration such as",
        ),
        ("fairShare: {halfLife: 7d}", "fairShare.halfLife: queues share, and there are none"),
    ],
)
def test_queues_that_are_refused(text: str, message: str) -> None:
    assert refused(text).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "queues: [{name: default, weight: 2}]",
        "queues: [{name: b, parent: a}, {name: a}]\nfairShare: {reclaim: true}",
        limited("guarantee: 8, cap: 8, perUser: 8"),
        limited("guarantee: 0", "model: H100, cap: 4", "model: A100, cap: 4"),
        "queues: [{name: a, limits: [{resource: cpu, cap: 1500m}, {resource: hugepages-2Mi, cap: 1Gi}]}]",
        nested("guarantee: 9, cap: 20", "guarantee: 5; model: H100, cap: 20", "guarantee: 4"),
        nested("guarantee: 8", "model: H100, guarantee: 8; model: H100-NVL, guarantee: 4"),
        nested("model: H100, guarantee: 8", "model: H100-NVL, guarantee: 4", "model: H100, guarantee: 4"),
        nested("model: H100, cap: 8", "model: A100, guarantee: 9"),
        "queues: [{name: a, priorities: {least: 4, most: 4}, minRuntime: 30m}]",
        "queues: [{name: a, budget: {deviceHours: 0, period: day}, runtime: {default: 1h}}]",
        "queues: [{name: a, budget: {deviceHours: 5}}, {name: b, parent: a, runtime: {most: 1h}}]",
        "{prices: {devices: [{perHour: 2}]}, "
        "queues: [{name: a, budget: {money: 1e6, period: week, warnAt: [0.5, 1]}, runtime: {default: 1h}}]}",
        "queues: [{name: a, runtime: {default: 4h, most: 1d, enforce: true}}, {name: b, parent: a}]",
        "queues: [{name: a, runtime: {enforce: true}}, {name: b, parent: a, runtime: {enforcePods: true}}]",
        "queues: [{name: a, runtime: {most: 4h}}, {name: b, parent: a, runtime: {default: 4h, most: none}}]",
    ],
)
def test_queues_that_are_accepted(text: str) -> None:
    assert read_policy(text.encode(), "p.yaml")[0].queues


def test_guarantees_count_through_queues_that_say_nothing_of_a_resource() -> None:
    rows = [f"{{name: top, limits: [{{resource: {GPU}, guarantee: 8}}]}}", "{name: middle, parent: top}"]
    rows += [
        f"{{name: {name}, parent: middle, limits: [{{resource: {GPU}, guarantee: 5}}]}}" for name in "ab"
    ]
    message = refused(f"queues: [{', '.join(rows)}]")
    assert message.endswith("guarantee: 8 is less than the 10 that is guaranteed below it: middle 10")
    rows[2] = rows[2].replace("guarantee", "model: H100, guarantee")
    assert refused(f"queues: [{', '.join(rows)}]") == message


def test_a_tree_has_eight_levels_at_most() -> None:
    rows = [f"{{name: q{level}, parent: '{f'q{level - 1}' if level else ''}'}}" for level in range(9)]
    assert read_policy(f"queues: [{', '.join(rows[:8])}]".encode(), "p.yaml")
    assert refused(f"queues: [{', '.join(rows)}]") == "queues[8].parent: 'q8' is more than 8 levels deep"


def test_there_are_ten_thousand_queues_at_most() -> None:
    rows = [Queue(name=f"q{number}") for number in range(10_001)]
    check_queues(rows[:-1], FairShare(), "priority", Prices())
    with pytest.raises(FieldError) as caught:
        check_queues(rows, FairShare(), "priority", Prices())
    assert (caught.value.field, caught.value.what) == ("queues", "has 10001 queues; 10000 are allowed")


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("{}", "queues[0].budget: needs either deviceHours or money, and has neither"),
        ("{deviceHours: 1, money: 1}", "queues[0].budget: needs either deviceHours or money, and has both"),
        ("{deviceHours: -1}", "queues[0].budget.deviceHours: -1 is not between 0 and 1e+12"),
        ("{deviceHours: 1e13}", "queues[0].budget.deviceHours: 1e+13 is not between 0 and 1e+12"),
        ("{deviceHours: .nan}", "queues[0].budget.deviceHours: nan is not between 0 and 1e+12"),
        ("{deviceHours: many}", "queues[0].budget.deviceHours: expected a number, got a string"),
        ("{gpuHours: 1}", "queues[0].budget.gpuHours: there is no such field"),
        ("{deviceHours: 1, period: year}", "queues[0].budget.period: 'year' is not one of day, month, week"),
        (
            "{money: 1}",
            "queues[0].budget.money: nothing has a price; write prices.devices, or use deviceHours",
        ),
        (
            "{deviceHours: 1, warnAt: [0.5, 2]}",
            "queues[0].budget.warnAt[1]: 2 is no share: above 0, and 1 at most",
        ),
        (
            "{deviceHours: 1, warnAt: [0]}",
            "queues[0].budget.warnAt[0]: 0 is no share: above 0, and 1 at most",
        ),
        ("{deviceHours: 1}", "queues[0].runtime.default: is required, such as 24h: the budget of a pays for"),
    ],
)
def test_budgets_that_are_refused(budget: str, message: str) -> None:
    assert message in refused(f"queues: [{{name: a, budget: {budget}}}]")


def test_every_queue_below_a_budget_needs_a_run_time_limit() -> None:
    rows = ["{name: a, budget: {deviceHours: 5}}", "{name: b, parent: a, runtime: {default: 1h}}"]
    rows += ["{name: c, parent: a}"]
    assert refused(f"queues: [{', '.join(rows)}]").startswith("queues[2].runtime.default: is required")
