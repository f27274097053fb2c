"""Without a Plan: what the bindings in a cluster break, whoever made them."""

import pytest

from maitred.verify import verify

from .make import (
    Raw,
    affinity,
    claim,
    csi_node,
    judged,
    members,
    node,
    pod,
    pod_group,
    storage_class,
    taint,
    term,
    uses,
    volume,
)

NODES = [node("n1"), node("n2")]
PORT: Raw = {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}
GONE = "2026-01-01T00:00:00Z"
SOLE = [claim("c", "v", ("ReadWriteOncePod",)), volume("v")]
CSI = [claim(c, storage_class="s") for c in "cde"] + [storage_class("s"), csi_node("n1", 2)]

CASES: dict[str, tuple[list[Raw], list[int]]] = {
    "an empty cluster": ([], []),
    "pending pods break nothing": ([pod("p", "9")], []),
    "exactly full": ([pod("p", "4", on="n1")], []),
    "over": ([pod("p", "3", on="n1"), pod("q", "2", on="n1")], [1]),
    "over by one that is terminating": (
        [pod("p", "3", on="n1"), pod("q", "2", on="n1", deletionTimestamp=GONE)],
        [1],
    ),
    "over by one that is finished": ([pod("p", "3", on="n1"), pod("q", "2", on="n1", phase="Failed")], []),
    "a resource that the node lacks": ([pod("p", on="n1", amounts={"nvidia.com/gpu": "1"})], [1]),
    "a node that nobody described": ([pod("p", "99", on="n9")], []),
    "host ports": ([pod("p", on="n1", **PORT), pod("q", on="n1", **PORT)], [1]),
    "host ports apart": ([pod("p", on="n1", **PORT), pod("q", on="n2", **PORT)], []),
    "sole use": ([*SOLE, pod("p", on="n1", volumes=uses("c"))], []),
    "sole use by two": (
        [*SOLE, pod("p", on="n1", volumes=uses("c")), pod("q", on="n2", volumes=uses("c"))],
        [3],
    ),
    "a claim that does not exist": ([pod("p", on="n1", volumes=uses("x"))], []),
    "attached": ([*CSI, pod("p", on="n1", volumes=uses("c", "d"))], []),
    "attached, too many": ([*CSI, pod("p", on="n1", volumes=uses("c", "d", "e"))], [1]),
    "a whole gang": ([pod_group("g", 2), *members("g", 2, on="n1")], []),
    "a split gang": ([pod_group("g", 3), *members("g", 2, on="n1")], [2]),
    "a split gang with the rest pending": (
        [pod_group("g", 3), *members("g", 2, on="n1"), pod("x", group="g")],
        [2],
    ),
    "a gang that waits": ([pod_group("g", 3), *members("g", 2)], []),
    "a gang whose other member succeeded": (
        [pod_group("g", 2), pod("a", group="g", on="n1"), pod("b", group="g", on="n1", phase="Succeeded")],
        [],
    ),
    "a gang whose other member failed": (
        [pod_group("g", 2), pod("a", group="g", on="n1"), pod("b", group="g", on="n1", phase="Failed")],
        [2],
    ),
    "a gang whose other member is terminating": (
        [
            pod_group("g", 2),
            pod("a", group="g", on="n1"),
            pod("b", group="g", on="n1", deletionTimestamp=GONE),
        ],
        [2],
    ),
    "a gang that is over": ([pod_group("g", 2), *members("g", 2, on="n1", phase="Failed")], []),
    "a group that does not exist": (members("g", 2, on="n1"), []),
    "a group by label": (
        [pod("a", on="n1", labels={"maitred.dev/group": "g", "maitred.dev/min-count": "2"})],
        [2],
    ),
    "what is ignored during execution": (
        [
            node("n3", taints=[taint("x")]),
            pod("p", on="n3", nodeSelector={"a": "b"}, affinity=affinity(term({"app": "db"}))),
        ],
        [],
    ),
}


@pytest.mark.parametrize(("objects", "broken"), CASES.values(), ids=CASES.keys())
def test_bindings(objects: list[Raw], broken: list[int]) -> None:
    assert judged([*NODES, *objects], None) == broken


def test_groups_of_one_scheduler() -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", 2, on="n1", schedulerName="maitred")]
    assert judged(objects, None, scheduler="maitred") == [2]
    assert judged(objects, None, scheduler="other") == []


def test_what_a_breach_says() -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", 2, on="n1")]
    [breach] = verify(objects, None)
    assert breach.name == "No split gang"
    assert breach.subject == "default/g"
    assert breach.message == "2 members run or succeeded, its quorum is 3"
