"""Room for pods that come later: who is bound has it, it is there, and it is kept for nobody else."""

from datetime import UTC, datetime
from typing import Any

import pytest

from maitred.verify import verify

from .make import Raw, bind, blocker, entry, judged, node, plan, pod

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
LATELY, LONG_AGO = "2026-01-01T00:45:00Z", "2026-01-01T00:15:00Z"
LWS = "leaderworkerset.sigs.k8s.io/"
OWNER, FIRST, NEXT = "LeaderWorkerSet default/o", "o-0", "o-0-workers"


def worker_set(size: int = 3, **about: Any) -> Raw:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "o", "namespace": "default", "uid": "u", **about},
        "spec": {
            "replicas": 1,
            "startupPolicy": "LeaderReady",
            "leaderWorkerTemplate": {"size": size, "workerTemplate": template},
        },
    }


def member(index: int, **more: Any) -> Raw:
    name, above = ("o-0", "o") if index == 0 else (f"o-0-{index}", "o-0")
    labels = {f"{LWS}name": "o", f"{LWS}group-index": "0", f"{LWS}worker-index": str(index)}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": above, "uid": "s", "controller": True}
    return pod(name, "1", labels=labels, ownerReferences=[owner], **more)


def hold(node: str, pods: int, group: str = NEXT, owner: str = OWNER) -> Raw:
    return {"group": f"default/{group}", "node": node, "pods": pods, "owner": owner}


SCHEDULED = entry(FIRST, "Scheduled", 1, 1, 1)


def seated(*holds: Raw) -> Raw:
    """A Plan that binds the leader."""
    return plan([bind("o-0", "n1", FIRST)], [SCHEDULED], holds=list(holds))


def keeping(*holds: Raw) -> Raw:
    """A Plan that binds nobody."""
    return plan([], [], holds=list(holds))


# -- what is bound has room for what comes after it


@pytest.mark.parametrize(
    ("holds", "broken"),
    [
        ([], [2]),
        ([hold("n1", 1)], [2]),
        ([hold("n1", 2)], []),
        ([hold("n1", 1), hold("n2", 1)], []),
        ([hold("n1", 2), hold("n2", 1)], [7]),
        ([hold("n1", 2, owner="LeaderWorkerSet default/other")], [7]),
        ([hold("n1", 2, group="o-1-workers")], [2, 7]),
        ([hold("n3", 2)], [1]),
    ],
)
def test_room_is_kept_for_all_that_comes_after_what_is_bound(holds: list[Raw], broken: list[int]) -> None:
    assert judged([node("n1"), node("n2"), worker_set(), member(0)], seated(*holds)) == broken


def test_room_that_is_kept_must_be_there() -> None:
    objects = [node("n1", "2"), node("n2", "1"), worker_set(), member(0)]
    assert judged(objects, seated(hold("n1", 1), hold("n2", 1))) == []
    assert judged(objects, seated(hold("n1", 2))) == [1]


def test_room_that_is_kept_must_suit_those_who_come() -> None:
    tainted = node("n2", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    assert judged([node("n1", "1"), tainted, worker_set(), member(0)], seated(hold("n2", 2))) == [3]


def test_workers_are_in_the_domain_of_their_leader() -> None:
    owner = worker_set(annotations={f"{LWS}exclusive-topology": "rack"})
    nodes = [node(name, "2", labels={"rack": rack}) for name, rack in (("n1", "a"), ("n2", "b"), ("n3", "a"))]
    objects = [*nodes, owner, member(0)]
    assert judged(objects, seated(hold("n1", 1), hold("n3", 1))) == []
    assert judged(objects, seated(hold("n1", 1), hold("n2", 1))) == [3]


def test_a_set_without_a_startup_policy_needs_no_room_kept() -> None:
    owner = worker_set(1)
    assert judged([node("n1"), owner, member(0)], seated()) == []
    assert judged([node("n1"), owner, member(0)], seated(hold("n1", 1))) == [7]


# -- room is kept for what comes next


def running(**about: Any) -> list[Raw]:
    return [node("n1", "3"), worker_set(**about), member(0, on="n1", startTime=LATELY)]


def test_room_is_kept_for_what_comes_next() -> None:
    assert judged(running(), keeping(hold("n1", 2)), now=NOW) == []
    assert judged(running(), keeping(), now=NOW) == [2]
    assert judged(running(), keeping(hold("n1", 1)), now=NOW) == [7]


def test_not_for_longer_than_the_policy_says() -> None:
    old = [node("n1", "3"), worker_set(), member(0, on="n1", startTime=LONG_AGO)]
    assert judged(old, keeping(hold("n1", 2)), now=NOW) == [7]
    assert judged(old, keeping(), now=NOW) == []
    longer = {"workloads": {"keepRoom": "1h"}}
    assert judged(old, keeping(hold("n1", 2)), now=NOW, policy=longer) == []
    assert judged(old, keeping(hold("n1", 2))) == judged(old, keeping()) == [], "nobody says what time it is"


def test_without_a_start_time_it_has_no_end() -> None:
    objects = [node("n1", "3"), worker_set(), member(0, on="n1")]
    assert judged(objects, keeping(hold("n1", 2)), now=NOW) == []
    assert judged(objects, keeping(), now=NOW) == [2]


def test_not_for_an_owner_that_is_deleted() -> None:
    gone = running(deletionTimestamp="2026-01-01T00:50:00Z")
    assert judged(gone, keeping(hold("n1", 2)), now=NOW) == [7]
    assert judged(gone, keeping(), now=NOW) == []


def test_not_for_pods_that_are_there_already_and_run() -> None:
    objects = [*running(), member(1, on="n1")]
    assert judged(objects, keeping(hold("n1", 1)), now=NOW) == []
    assert judged(objects, keeping(hold("n1", 2)), now=NOW) == [7]


# -- and who else wants it


RIVAL = pod("r", "1", priority=0, creationTimestamp="2025-01-01T00:00:00Z")
GOES_FIRST = blocker("Priority", ahead=[f"default/{NEXT}"])


def test_nobody_of_equal_rank_gets_the_room() -> None:
    objects = [*running(), RIVAL]
    told = [entry("r", "Waiting", 1, 1, 0, GOES_FIRST)]
    assert judged(objects, plan([], told, holds=[hold("n1", 2)]), now=NOW) == []
    given = [entry("r", "Scheduled", 1, 1, 1)]
    assert judged(objects, plan([bind("r", "n1")], given, holds=[hold("n1", 2)]), now=NOW) == [1]
    assert judged(objects, plan([bind("r", "n1")], given), now=NOW) == [2]


def test_whoever_ranks_higher_gets_it() -> None:
    objects = [*running(), pod("r", "1", priority=5)]
    given = plan([bind("r", "n1")], [entry("r", "Scheduled", 1, 1, 1)])
    assert judged(objects, given, now=NOW) == []


def test_a_group_may_not_be_told_that_room_is_kept_which_is_not() -> None:
    objects = [node("n1", "3"), worker_set(), member(0, on="n1", startTime=LONG_AGO), RIVAL]
    told = [entry("r", "Waiting", 1, 1, 0, GOES_FIRST)]
    found = {breach.message for breach in verify(objects, plan([], told), now=NOW)}
    assert any("no member of that is bound" in one for one in found)
    assert any("its quorum fits" in one for one in found)


# -- what a group is told counts what comes later


def waiting(category: str, **detail: Any) -> Raw:
    return plan([], [entry(FIRST, "Waiting", 1, 1, 0, blocker(category, **detail))])


def test_blockers_count_what_comes_later() -> None:
    full = [node("n1", "3"), worker_set(), member(0), pod("old", "1", on="n1")]
    room = {"resource": "cpu", "free": "2", "eligibleNodes": 1, "holds": 2}
    assert judged(full, waiting("Capacity", requested="3", needed=3, **room)) == []
    assert judged(full, waiting("Capacity", requested="1", needed=1, **room)) == [7]


def test_who_fits_with_all_that_comes_after_it_need_not_wait() -> None:
    objects = [node("n1", "3"), worker_set(), member(0)]
    room = {"resource": "cpu", "requested": "3", "free": "2", "eligibleNodes": 1, "holds": 2, "needed": 3}
    assert judged(objects, waiting("Capacity", **room)) == [7]


@pytest.mark.parametrize(("cpu", "broken"), [("2", []), ("3", [8])])
def test_impossible_is_meant_of_all_of_it(cpu: str, broken: list[int]) -> None:
    objects = [node("n1", cpu), worker_set(), member(0)]
    told = plan([], [entry(FIRST, "Impossible", 1, 1, 0, blocker("Topology"))])
    assert judged(objects, told) == broken
