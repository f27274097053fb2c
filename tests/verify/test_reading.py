"""Objects that cannot be read are errors that name the object and the field."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from maitred.verify import verify

from .make import Raw, affinity, node, node_affinity, pod, pod_group, seating, term

BAD_QUORUM = pod_group("g", 0)
NO_POLICY = pod_group("g", 1)
NO_POLICY["spec"] = {}
TWO_POLICIES = pod_group("g", 1)
TWO_POLICIES["spec"]["schedulingPolicy"]["basic"] = {}

ERRORS: dict[str, tuple[Any, str]] = {
    "not an object": ("x", "object 0: object: must be an object"),
    "no name": ({"kind": "Pod"}, "Pod : metadata.name: is missing"),
    "labels": (pod("p", labels={"a": 1}), "Pod default/p: metadata.labels: 'a' must be a string"),
    "quantity": (
        pod("p", "much"),
        "Pod default/p: spec.containers[0].resources.requests.cpu: 'much' is not a quantity",
    ),
    "negative": (
        pod("p", "-1"),
        "Pod default/p: spec.containers[0].resources.requests.cpu: '-1' is negative",
    ),
    "node quantity": (node("n", "x"), "Node n: status.allocatable.cpu: 'x' is not a quantity"),
    "containers": (pod("p", containers={}), "Pod default/p: spec.containers: must be a list"),
    "priority": (pod("p", priority="high"), "Pod default/p: spec.priority: must be a whole number"),
    "true is no number": (pod("p", priority=True), "Pod default/p: spec.priority: must be a whole number"),
    "node name": (pod("p", on=7), "Pod default/p: spec.nodeName: must be a string"),
    "time": (
        pod("p", creationTimestamp="yesterday"),
        "Pod default/p: metadata.creationTimestamp: must be a timestamp",
    ),
    "flag": (
        pod("p", hostNetwork="yes", containers=[{"ports": [{}]}]),
        "spec.hostNetwork: must be true or false",
    ),
    "node operator": (
        pod("p", affinity=node_affinity({"matchExpressions": [{"key": "a", "operator": "Like"}]})),
        "nodeSelectorTerms[0].matchExpressions[0].operator: 'Like' is not one of",
    ),
    "label operator": (
        pod(
            "p",
            affinity=affinity(
                term(
                    None,
                    labelSelector={"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
                )
            ),
        ),
        "matchExpressions[0].operator: 'Gt' is not one of",
    ),
    "values": (
        pod("p", affinity=node_affinity({"matchExpressions": [{"key": "a", "operator": "In"}]})),
        "values: In needs at least one",
    ),
    "values of Exists": (
        pod(
            "p",
            affinity=node_affinity(
                {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}
            ),
        ),
        "values: Exists takes none",
    ),
    "values of Gt": (
        pod(
            "p", affinity=node_affinity({"matchExpressions": [{"key": "a", "operator": "Gt", "values": []}]})
        ),
        "values: Gt takes exactly one",
    ),
}


@pytest.mark.parametrize(("raw", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_errors(raw: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is what is tested
        verify([raw], None)
    assert message in str(caught.value)


@pytest.mark.parametrize("group", [BAD_QUORUM, NO_POLICY, TWO_POLICIES])
def test_group_errors(group: Raw) -> None:
    with pytest.raises(ValueError, match=r"PodGroup default/g: spec.schedulingPolicy"):
        verify([group, pod("p", group="g")], None)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"binds": {}}, "Plan: binds: must be a list"),
        ({"binds": [{"pod": 1}]}, r"Plan: binds\[0\].pod: must be a string"),
        ({"groups": ["g"]}, r"Plan: groups\[0\]: must be an object"),
    ],
)
def test_plan_errors(plan: Raw, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        verify([node("n"), pod("p")], plan)


def test_the_same_object_twice() -> None:
    objects = [node("n1"), pod("p"), pod("p")]
    assert verify(objects, seating({"p": "n1"})) == []
    with pytest.raises(ValueError, match=r"Pod default/p: metadata.name: given twice"):
        verify([*objects, pod("p", "2")], seating({"p": "n1"}))


def test_other_kinds_are_left_alone() -> None:
    assert verify([{"kind": "ConfigMap", "data": 7}, {"kind": "Deployment", "spec": "x"}], None) == []


def test_times_as_yaml_gives_them() -> None:
    times = [
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1),
        date(2026, 1, 1),
        "2026-01-01T00:00:00.5Z",
        None,
    ]
    for number, time in enumerate(times):
        objects = [node("n1"), pod(f"p{number}", creationTimestamp=time)]
        assert verify(objects, seating({f"p{number}": "n1"})) == []


def test_null_is_absent() -> None:
    bare = pod("p")
    bare["spec"] |= {
        "affinity": None,
        "tolerations": None,
        "nodeSelector": None,
        "volumes": None,
        "nodeName": None,
    }
    bare["metadata"] |= {"labels": None, "deletionTimestamp": None}
    assert verify([node("n1"), bare], seating({"p": "n1"})) == []
