"""Nodes: what they have, which taints they bear, and who tolerates them."""

import msgspec
import pytest

from maitred.model.node import (
    HEALTH_TAINTS,
    Node,
    Taint,
    allocatable,
    effective_taints,
    tolerates,
    tolerates_all,
)
from maitred.model.pod import Toleration
from tests.oracle.builders import Obj, node, taint, toleration

KUBE = "node.kubernetes.io/"


def bears(toleration_of: str | Obj, taint_of: str) -> bool:
    return tolerates(
        msgspec.convert(toleration(toleration_of), Toleration), msgspec.convert(taint(taint_of), Taint)
    )


TOLERATED: list[tuple[str | Obj, str, bool]] = [
    ("team=ml:NoSchedule", "team=ml:NoSchedule", True),
    ("team=ml:NoSchedule", "team=web:NoSchedule", False),
    ("team=ml:NoSchedule", "team=ml:NoExecute", False),
    ("team=ml", "team=ml:NoExecute", True),
    ("team=ml", "team:NoExecute", False),
    ("team", "team=ml:NoSchedule", True),
    ("team", "crew=ml:NoSchedule", False),
    ("team:NoExecute", "team=ml:NoSchedule", False),
    ("*", "team=ml:NoSchedule", True),
    ({"operator": "Exists", "effect": "NoExecute"}, "team=ml:NoSchedule", False),
    ({"operator": "Exists", "effect": "NoSchedule"}, "team=ml:NoSchedule", True),
    ({"key": "team", "value": "ml"}, "team=ml:NoSchedule", True),
    ({"key": "team"}, "team:NoSchedule", True),
    ({"key": "team"}, "team=ml:NoSchedule", False),
    ({"key": "sla", "operator": "Gt", "value": "90"}, "sla=91:NoSchedule", True),
    ({"key": "sla", "operator": "Gt", "value": "90"}, "sla=90:NoSchedule", False),
    ({"key": "sla", "operator": "Lt", "value": "90"}, "sla=89:NoSchedule", True),
    ({"key": "sla", "operator": "Lt", "value": "90"}, "sla=90:NoSchedule", False),
    ({"key": "sla", "operator": "Lt", "value": "90"}, "sla=low:NoSchedule", False),
    ({"key": "sla", "operator": "Gt", "value": "-5"}, "sla=-4:NoSchedule", True),
    ({"key": "sla", "operator": "Gt", "value": "90", "effect": "NoExecute"}, "sla=91:NoSchedule", False),
]


@pytest.mark.parametrize(("bearer", "borne", "right"), TOLERATED)
def test_tolerates(bearer: str | Obj, borne: str, right: bool) -> None:
    assert bears(bearer, borne) is right


def test_all_taints_of_the_effects_that_matter_must_be_tolerated() -> None:
    taints = tuple(msgspec.convert(taint(t), Taint) for t in ("a:NoSchedule", "b:PreferNoSchedule"))
    a, b = (msgspec.convert(toleration(t), Toleration) for t in ("a", "b"))
    assert tolerates_all((a,), taints, ("NoSchedule", "NoExecute"))
    assert not tolerates_all((b,), taints, ("NoSchedule", "NoExecute"))
    assert not tolerates_all((a,), taints, ("PreferNoSchedule",))
    assert tolerates_all((), (), ("NoSchedule",))


def borne_by(raw: Obj) -> list[str]:
    return [f"{t.key}:{t.effect}" for t in effective_taints(msgspec.convert(raw, Node))]


IMPLIED: dict[str, tuple[Obj, list[str]]] = {
    "a node that is well": (node("n"), []),
    "cordoned": (node("n", cordoned=True), [f"{KUBE}unschedulable:NoSchedule"]),
    "not ready": (node("n", ready=False), [f"{KUBE}not-ready:NoSchedule"]),
    "silent": (node("n", ready=None), [f"{KUBE}unreachable:NoSchedule"]),
    "cordoned and not ready": (
        node("n", cordoned=True, ready=False),
        [f"{KUBE}unschedulable:NoSchedule", f"{KUBE}not-ready:NoSchedule"],
    ),
    "its own first": (
        node("n", cordoned=True, taints=["x:NoExecute"]),
        ["x:NoExecute", f"{KUBE}unschedulable:NoSchedule"],
    ),
    "none twice": (
        node("n", cordoned=True, taints=[f"{KUBE}unschedulable:NoSchedule"]),
        [f"{KUBE}unschedulable:NoSchedule"],
    ),
    "one that evicts does not stand in for one that keeps out": (
        node("n", ready=False, taints=[f"{KUBE}not-ready:NoExecute"]),
        [f"{KUBE}not-ready:NoExecute", f"{KUBE}not-ready:NoSchedule"],
    ),
}


@pytest.mark.parametrize(("raw", "right"), IMPLIED.values(), ids=IMPLIED.keys())
def test_taints_that_the_state_of_a_node_implies(raw: Obj, right: list[str]) -> None:
    assert borne_by(raw) == right


def test_a_node_without_conditions_is_well() -> None:
    assert borne_by({"metadata": {"name": "n"}}) == []


def test_every_implied_taint_speaks_of_health() -> None:
    implied = {t.rpartition(":")[0] for raw, _ in IMPLIED.values() for t in borne_by(raw)} - {"x"}
    assert implied <= HEALTH_TAINTS
    assert len(HEALTH_TAINTS) == 11


def has(status: Obj) -> dict[str, int]:
    return allocatable(msgspec.convert({"metadata": {"name": "n"}, "status": status}, Node))


def test_allocatable_is_what_pods_may_take() -> None:
    both = {"allocatable": {"cpu": "3", "pods": "5"}, "capacity": {"cpu": "4", "pods": "9"}}
    assert has(both) == {"cpu": 3000, "pods": 5}


def test_capacity_stands_in_where_nothing_is_allocatable() -> None:
    assert has({"capacity": {"cpu": "4", "memory": "1Ki"}}) == {"cpu": 4000, "memory": 1024, "pods": 110}
    assert has({"allocatable": {}, "capacity": {"cpu": "4"}}) == {"cpu": 4000, "pods": 110}


def test_a_node_that_does_not_say_takes_110_pods() -> None:
    assert has({}) == {"pods": 110}
    assert has({"allocatable": {"cpu": "1"}}) == {"cpu": 1000, "pods": 110}
    assert has({"allocatable": {"pods": "0"}}) == {"pods": 0}
