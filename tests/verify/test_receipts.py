"""Law 4: receipts say what an eviction cost, and say it right."""

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest

from .make import (
    Raw,
    bind,
    blocker,
    budget,
    entry,
    eviction,
    judged,
    node,
    owned,
    plan,
    pod,
    pod_group,
    settled,
)
from .test_evictions import GANG, IDLE, LOW, OBJECTS, PREEMPTING, evicting

NOON = datetime.fromisoformat("2026-01-31T12:00:00Z")
WRONG: dict[str, Callable[[Raw], Any]] = {
    "no rule": lambda r: r.update(rule=""),
    "priority": lambda r: r.update(priority=2),
    "priority of the preemptor": lambda r: r.update(preemptorPriority=11),
    "budgets": lambda r: r.update(budgets=["default/b"]),
    "unit": lambda r: r.update(unit="default/low2"),
    "violations": lambda r: r["toll"].update(violations=1),
    "highest priority": lambda r: r["toll"].update(highestPriority=2),
    "units": lambda r: r["toll"].update(units=1),
    "pods": lambda r: r["toll"].update(pods=3),
    "steps": lambda r: r["toll"].update(workLostSteps=1),
    "hours": lambda r: r["toll"].update(workLostDeviceHours=0.1),
    "own hours": lambda r: r.update(workLostDeviceHours=0.1),
    "a cheaper alternative": lambda r: r["alternatives"].append(
        {"units": ["default/x"], "toll": r["toll"] | {"units": 1}, "worse": "it is not"}
    ),
    "an alternative without a name": lambda r: r["alternatives"].append(
        {"units": [], "toll": r["toll"], "worse": "somehow"}
    ),
    "an alternative without a reason": lambda r: r["alternatives"].append(
        {"units": ["default/x"], "toll": r["toll"] | {"units": 3}, "worse": ""}
    ),
    "leaves in no way": lambda r: r["departure"].update(by=""),
    "suspended without a Job": lambda r: r["departure"].update(by="suspend"),
}


@pytest.mark.parametrize("doctor", WRONG.values(), ids=WRONG.keys())
def test_wrong_receipts(doctor: Callable[[Raw], Any]) -> None:
    twin = settled(PREEMPTING)
    assert judged(OBJECTS, twin, now=NOON) == []
    doctor(twin["evictions"][0]["receipt"])
    assert judged(OBJECTS, twin, now=NOON) == [4]


def test_an_alternative_that_is_worse() -> None:
    twin = settled(PREEMPTING)
    receipt = twin["evictions"][0]["receipt"]
    worse = {"units": ["default/x"], "toll": receipt["toll"] | {"units": 3}, "worse": "one unit more"}
    receipt["alternatives"].append(worse)
    assert judged(OBJECTS, twin) == []


# ---- work lost

WORK: dict[str, tuple[Raw, float]] = {
    "since the start": ({"startTime": "2026-01-31T10:00:00Z"}, 4.0),
    "nobody knows the start": ({}, 0.0),
    "starts later": ({"startTime": "2026-01-31T13:00:00Z"}, 0.0),
    "since the last checkpoint": (
        {
            "startTime": "2026-01-31T10:00:00Z",
            "annotations": {"maitred.dev/last-checkpoint": "2026-01-31T12:30:00+01:00"},
        },
        1.0,
    ),
    "a checkpoint before the start": (
        {
            "startTime": "2026-01-31T10:00:00Z",
            "annotations": {"maitred.dev/last-checkpoint": "2026-01-31T09:00:00Z"},
        },
        4.0,
    ),
    "by intervals": (
        {"startTime": "2026-01-31T10:15:00Z", "annotations": {"maitred.dev/checkpoint-interval": "1h"}},
        1.5,
    ),
    "the last one beats the interval": (
        {
            "startTime": "2026-01-31T10:15:00Z",
            "annotations": {
                "maitred.dev/checkpoint-interval": "1h",
                "maitred.dev/last-checkpoint": "2026-01-31T11:00:00Z",
            },
        },
        2.0,
    ),
}


@pytest.mark.parametrize(("about", "hours"), WORK.values(), ids=WORK.keys())
def test_work_lost(about: Raw, hours: float) -> None:
    """Two GPUs for so long; a step is ten minutes of one."""
    nodes = [node("n1", amounts={"example.com/gpu": "2"}), node("n2")]
    low = pod(
        "low1", "4", on="n1", priority=1, amounts={"example.com/gpu": "2", "example.com/nic": "1"}, **about
    )
    objects = [*nodes, low, LOW[1], *GANG, IDLE]
    twin = evicting(eviction("low1", "g", workLostDeviceHours=hours), eviction("low2", "g"))
    assert judged(objects, settled(twin, workLostSteps=int(6 * hours)), now=NOON) == []
    assert judged(objects, settled(twin, workLostSteps=int(6 * hours) + 1), now=NOON) == [4]
    assert judged(objects, settled(twin, workLostSteps=99)) == [], "nobody knows the time"


def test_the_policy_says_what_a_device_is() -> None:
    nodes = [node("n1", amounts={"example.com/card": "1"}), node("n2")]
    start = {"startTime": "2026-01-31T10:00:00Z"}
    low = pod("low1", "4", on="n1", priority=1, amounts={"example.com/card": "1"}, **start)
    objects = [*nodes, low, LOW[1], *GANG, IDLE]
    assert judged(objects, settled(PREEMPTING), now=NOON) == []
    cards = {"devices": {"resources": ["*/card"]}}
    assert judged(objects, settled(PREEMPTING), policy=cards, now=NOON) == [4]


# ---- budgets

X = {"matchLabels": {"app": "x"}}
BUDGETS: dict[str, tuple[Raw, int]] = {
    "enough": (budget("b", 2, X), 0),
    "one short": (budget("b", 1, X), 1),
    "none": (budget("b", 0, X), 2),
    "below none": (budget("b", -1, X), 2),
    "of another namespace": (budget("b", 0, X, namespace="other"), 0),
    "of nobody": (budget("b", 0, None), 0),
    "of everybody": (budget("b", 0, {}), 2),
    "of others": (budget("b", 0, {"matchLabels": {"app": "y"}}), 0),
    "one is going already": (budget("b", 0, X, gone=["low1"]), 1),
    "by spec, most": (budget("b", None, X, maxUnavailable=1), 1),
    "by spec, least": (budget("b", None, X, minAvailable=2), 1),
    "by spec, a share that may go": (budget("b", None, X, maxUnavailable="34%"), 0),
    "by spec, a share that stays": (budget("b", None, X, minAvailable="34%"), 1),
    "by spec, nothing": (budget("b", None, X), 0),
    "by spec, since its status says nothing": (budget("b", None, X, maxUnavailable=1) | {"status": {}}, 1),
}


@pytest.mark.parametrize(("pdb", "violations"), BUDGETS.values(), ids=BUDGETS.keys())
def test_budgets(pdb: Raw, violations: int) -> None:
    """Two of three pods go."""
    nodes = [node("n1"), node("n2"), node("n3")]
    low = [pod(f"low{i}", "4", on=f"n{i}", priority=1, labels={"app": "x"}) for i in (1, 2, 3)]
    low.append(pod("gone", "4", on="n9", phase="Failed", labels={"app": "x"}))
    objects = [*nodes, *low, *GANG, IDLE, pdb]
    going = list(pdb.get("status", {}).get("disruptedPods", ()))
    twin = deepcopy(PREEMPTING)
    for one in twin["evictions"]:
        counted = violations and one["pod"].removeprefix("default/") not in going
        one["receipt"]["budgets"] = ["default/b"] if counted else []
    assert judged(objects, settled(twin, violations=violations)) == []
    assert judged(objects, settled(twin, violations=violations + 1)) == [4]


# ---- owners


def of_a_job(*names: str, **more: Any) -> list[Raw]:
    return [
        pod(name, "4", on=f"n{i}", priority=1, ownerReferences=owned("Job", "j"), **more)
        for i, name in enumerate(names, 1)
    ]


def departing(name: str, by: str, survives: bool | None, preemptor: str = "g") -> Raw:
    way = {"owner": "Job j", "by": by, "survives": survives, "words": "It leaves."}
    return eviction(name, preemptor, departure=way)


@pytest.mark.parametrize("by", ["suspend", "delete"])
@pytest.mark.parametrize(
    ("jobs", "extra", "known", "rightly"),
    [
        ("suspend", False, True, "suspend"),
        ("delete", False, True, "delete"),
        ("suspend", True, True, "delete"),
        ("suspend", False, False, "delete"),
    ],
)
def test_a_job_is_suspended_if_all_of_it_leaves(
    jobs: str, extra: bool, known: bool, rightly: str, by: str
) -> None:
    names = ("low1", "low2", "low3") if extra else ("low1", "low2")
    full = [] if extra else [pod("full", "4", on="n3", priority=10)]
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "default", "name": "j"}}
    objects = [node("n1"), node("n2"), node("n3"), *full, *of_a_job(*names), *([job] if known else [])]
    twin = evicting(*(departing(name, by, True if known else None) for name in ("low1", "low2")))
    policy = {"preemption": {"jobs": jobs}}
    assert judged([*objects, *GANG, IDLE], twin, policy=policy) == ([] if by == rightly else [4])


def failing(action: str, **condition: str) -> Raw:
    """A failure policy that speaks of something else first."""
    rules = [
        {"action": "Count", "onPodConditions": [{"type": "ConfigIssue", "status": "True"}]},
        {"action": action, "onPodConditions": [{"type": "DisruptionTarget", **condition}]},
    ]
    return {"podFailurePolicy": {"rules": rules}}


JOBS: dict[str, tuple[Raw, Raw, str, bool | None]] = {
    "of the same name": ({"uid": "uid-j"}, {}, "suspend", True),
    "another one of that name": ({"uid": "uid-later"}, {}, "delete", None),
    "of another manager": ({}, {"managedBy": "example.com/another"}, "delete", True),
    "of the manager by name": ({}, {"managedBy": "kubernetes.io/job-controller"}, "suspend", True),
    "suspended already": ({}, {"suspend": True, "backoffLimit": 0}, "delete", True),
    "that a disruption ends": ({}, failing("FailJob", status="True"), "suspend", None),
    "that ignores disruptions": ({}, failing("Ignore"), "suspend", True),
}


@pytest.mark.parametrize(("about", "spec", "by", "survives"), JOBS.values(), ids=JOBS.keys())
def test_what_becomes_of_a_job(about: Raw, spec: Raw, by: str, survives: bool | None) -> None:
    meta = {"namespace": "default", "name": "j"} | about
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
    objects = [node("n1"), node("n2"), *of_a_job("low1", "low2"), job, *GANG, IDLE]
    for way in ("suspend", "delete"):
        for fate in (True, False, None):
            twin = evicting(*(departing(name, way, fate) for name in ("low1", "low2")))
            assert judged(objects, twin) == ([] if (way, fate) == (by, survives) else [4])


DELETED: dict[str, tuple[Raw, int, bool]] = {
    "by default six may fail": ({}, 0, True),
    "too many have failed": ({}, 5, False),
    "as many as may": ({"backoffLimit": 2}, 0, True),
    "one too many": ({"backoffLimit": 1}, 0, False),
    "by index": ({"backoffLimit": 0, "backoffLimitPerIndex": 1}, 9, True),
    "no index may fail": ({"backoffLimit": 9, "backoffLimitPerIndex": 0}, 0, False),
    "does not count": ({"backoffLimit": 0, **failing("Ignore", status="True")}, 0, True),
    "counts other states": ({"backoffLimit": 0, **failing("Ignore", status="False")}, 0, False),
    "ends at once": (failing("FailJob"), 0, False),
}


@pytest.mark.parametrize(("spec", "failed", "survives"), DELETED.values(), ids=DELETED.keys())
@pytest.mark.parametrize("for_one", [True, False])
def test_whether_a_job_survives(spec: Raw, failed: int, survives: bool, for_one: bool) -> None:
    """Two of its pods are deleted, for one group or for two: all of them count."""
    meta = {"namespace": "default", "name": "j"}
    status = {"failed": failed}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec, "status": status}
    objects = [node("n1"), node("n2"), *of_a_job("low1", "low2"), job]
    if for_one:
        objects += [*GANG, IDLE]
        twins = [evicting(*(departing(name, "delete", fate) for name in ("low1", "low2"))) for fate in BOTH]
    else:
        objects += [pod("h1", "4", priority=10), pod("h2", "4", priority=10)]
        twins = [
            each_its_own([departing(f"low{i}", "delete", fate, f"h{i}") for i in (1, 2)]) for fate in BOTH
        ]
    policy = {"preemption": {"jobs": "delete"}}
    right, wrong = twins if survives else reversed(twins)
    assert judged(objects, right, policy=policy) == []
    assert judged(objects, wrong, policy=policy) == [4]


BOTH = (True, False)


def each_its_own(evictions: list[Raw]) -> Raw:
    told = [
        entry(name, "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1)) for name in ("h1", "h2")
    ]
    nominations = [bind("h1", "n1"), bind("h2", "n2")]
    return settled(plan([], told, nominations=nominations, evictions=evictions))


def test_budgets_are_those_of_the_unit() -> None:
    """Only one of its two pods is in the budget, but they leave together."""
    pods = [pod(f"v{i}", "4", on=f"n{i}", priority=1, group="v", labels={"app": f"{i}"}) for i in (1, 2)]
    pdb = budget("b", 0, {"matchLabels": {"app": "2"}})
    objects = [node("n1"), node("n2"), *pods, pod_group("v", 2), *GANG, IDLE, pdb]

    def twin(*budgets: list[str]) -> Raw:
        said = zip((1, 2), budgets, strict=True)
        mine = {"group": "v", "unit": "default/v"}
        made = evicting(*(eviction(f"v{i}", "g", **mine, budgets=names) for i, names in said))
        return settled(made, violations=1)

    assert judged(objects, twin(["default/b"], ["default/b"])) == []
    assert judged(objects, twin([], ["default/b"])) == [4]


def test_receipts_of_one_unit_name_one_unit() -> None:
    pods = [pod(f"v{i}", "4", on=f"n{i}", priority=1, group="v") for i in (1, 2)]
    objects = [node("n1"), node("n2"), *pods, pod_group("v", 2), *GANG, IDLE]
    one = evicting(*(eviction(f"v{i}", "g", group="v", unit="default/v") for i in (1, 2)))
    assert judged(objects, one) == []
    two = evicting(*(eviction(f"v{i}", "g", group="v") for i in (1, 2)))
    assert judged(objects, two) == [4]
