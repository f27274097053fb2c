"""What becomes of the Job of a victim that is deleted, by what the Job says of failures."""

from typing import Any

import pytest

from tests.decide.preempting import band, decided, evicted, gang, job, receipt
from tests.oracle.builders import Obj, node

NODES = [node("n1", cpu=1), node("n2", cpu=1)]
DELETED = {"preemption": {"jobs": "delete"}}


def work(failed: int = 0, **spec: Any) -> list[Obj]:
    """A Job and its two pods, each on a node of its own, as one gang."""
    made = job("work", 2, **spec)
    made["status"]["failed"] = failed
    return [made, *band("work", ["n1", "n2"], 2, owner="Job/work")]


def failures(*rules: Any) -> Obj:
    return {"podFailurePolicy": {"rules": list(rules)}}


def disrupted(action: str, **more: str) -> Obj:
    return {"action": action, "onPodConditions": [{"type": "DisruptionTarget", **more}]}


EXITS = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
READY = {"action": "FailJob", "onPodConditions": [{"type": "Ready", "status": "False"}]}
FATES: dict[str, tuple[Obj, int, bool, str]] = {
    "six failures are allowed where nothing is said": ({}, 4, True, "then has 6 failures"),
    "and seven are not": ({}, 5, False, "then has 7 failures"),
    "a disruption is ignored": (failures(disrupted("Ignore")), 99, True, "does not count it"),
    "a disruption ends the Job": (
        failures(disrupted("FailJob")),
        0,
        False,
        "the podFailurePolicy of Job work fails the Job",
    ),
    "the first rule for it counts": (
        failures(disrupted("Ignore"), disrupted("FailJob")),
        99,
        True,
        "does not count it",
    ),
    "rules for other things do not": (
        failures(EXITS, READY, disrupted("Ignore")),
        99,
        True,
        "does not count it",
    ),
    "nor one for pods that were not disrupted": (
        failures(disrupted("FailJob", status="False")),
        0,
        True,
        "backoffLimit",
    ),
    "with a limit for each index, one is allowed": (
        {"backoffLimitPerIndex": 1},
        99,
        True,
        "backoffLimitPerIndex",
    ),
    "with none for each index, none is": ({"backoffLimitPerIndex": 0}, 0, False, "backoffLimitPerIndex"),
}


@pytest.mark.parametrize(("spec", "failed", "survives", "words"), FATES.values(), ids=FATES.keys())
def test_the_fate_of_a_job(spec: Obj, failed: int, survives: bool, words: str) -> None:
    plan = decided([*NODES, *work(failed, **spec), *gang(1)], policy=DELETED)
    assert evicted(plan) == ["work-0", "work-1"]
    departure = receipt(plan, "work-0")["departure"]
    assert (departure["by"], departure["survives"]) == ("delete", survives)
    assert words in departure["words"]


def test_a_suspended_job_may_end_by_its_failure_policy() -> None:
    for action, survives in (("FailJob", None), ("Ignore", True)):
        plan = decided([*NODES, *work(**failures(disrupted(action))), *gang(1)])
        departure = receipt(plan, "work-0")["departure"]
        assert (departure["by"], departure["survives"]) == ("suspend", survives)


def test_of_a_job_that_is_not_in_the_input_nothing_is_known() -> None:
    departure = receipt(decided([*NODES, *work()[1:], *gang(1)]), "work-0")["departure"]
    assert (departure["by"], departure["survives"]) == ("delete", None)
