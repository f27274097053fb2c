"""Law 5: what a Plan promises to a group fits once its victims are gone, and needs every one of them."""

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from .make import (
    Raw,
    anti_affinity,
    bind,
    blocker,
    entry,
    eviction,
    judged,
    members,
    node,
    plan,
    pod,
    pod_group,
    settled,
    term,
    topology,
)
from .test_evictions import GANG, IDLE, LOW, NODES, OBJECTS, PREEMPTING, change, evicting

LEAVING = "2026-01-01T00:00:00Z"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=60)

DOCTORED: dict[str, Callable[[Raw], Any]] = {
    "too few victims": lambda p: p["evictions"].pop(),
    "no nominations": lambda p: p["nominations"].clear(),
    "one nomination short": lambda p: p["nominations"].pop(),
    "the same member twice": lambda p: p["nominations"].append(p["nominations"][0]),
    "nominated to one node": change("nominations", 1, node="n1"),
    "nominated to no node": change("nominations", 1, node="n9"),
    "no such pod nominated": change("nominations", 1, pod="default/x"),
    "a pod nominated that runs": change("nominations", 1, pod="default/low2", uid="uid-low2"),
    "nominated as a member of another group": change("nominations", 1, group="default/x"),
    "nominated by another uid": change("nominations", 1, uid="x"),
    "a group nominated that only waits": lambda p: p["nominations"].append(bind("idle", "n1")),
}


@pytest.mark.parametrize("doctor", DOCTORED.values(), ids=DOCTORED.keys())
def test_doctored(doctor: Callable[[Raw], Any]) -> None:
    twin = deepcopy(PREEMPTING)
    doctor(twin)
    assert judged(OBJECTS, settled(twin)) == [5]


# ---- the placement


def test_no_more_than_the_quorum_is_nominated() -> None:
    """A third member waits; it is above the quorum and gets nothing by force."""
    objects = [
        *OBJECTS,
        node("n3"),
        pod("low3", "4", on="n3", priority=1),
        pod("g-2", "3", group="g", priority=10),
    ]
    three = deepcopy(PREEMPTING)
    three["groups"][0]["members"] = 3
    assert judged(objects, settled(three)) == []
    three["nominations"].append(bind("g-2", "n3", "g"))
    three["evictions"].append(eviction("low3", "g"))
    assert judged(objects, settled(three)) == [5]


def test_only_managed_nodes_are_promised() -> None:
    policy = {"nodes": {"managed": {"matchLabels": {"kubernetes.io/hostname": "n1"}}}}
    assert judged(OBJECTS, settled(PREEMPTING), policy=policy) == [5]


def racked(*racks: str) -> list[Raw]:
    return [node(f"n{i}", labels={"rack": rack}) for i, rack in enumerate(racks, 1)]


def test_nominations_keep_hard_constraints() -> None:
    apart = {"labels": {"app": "g"}, "affinity": anti_affinity(term({"app": "g"}, "rack"))}
    gang = [pod_group("g", 2), *members("g", 2, "3", priority=10, **apart)]
    assert judged([*racked("a", "b"), *LOW, *gang, IDLE], settled(PREEMPTING)) == []
    assert judged([*racked("a", "a"), *LOW, *gang, IDLE], settled(PREEMPTING)) == [5]


def test_nominations_keep_the_domain_of_the_group() -> None:
    group = pod_group("g", 2, schedulingConstraints=topology("rack"))
    assert judged([*racked("a", "a"), *LOW, group, *GANG[1:], IDLE], settled(PREEMPTING)) == []
    assert judged([*racked("a", "b"), *LOW, group, *GANG[1:], IDLE], settled(PREEMPTING)) == [5]


def test_nominations_join_the_members_that_run() -> None:
    """One member runs in rack a, so the other has no place in rack b."""
    group = pod_group("g", 2, schedulingConstraints=topology("rack"))
    runs, waits = pod("g-0", "3", on="n1", group="g", priority=10), GANG[2]
    twin = plan(
        [],
        [entry("g", "Preempting", 2, 2, 1, blocker("Affinity", holds=0, needed=1))],
        nominations=[bind("g-1", "n2", "g")],
        evictions=[eviction("low2", "g")],
    )
    assert judged([*racked("a", "a"), LOW[1], group, runs, waits], settled(twin)) == []
    assert judged([*racked("a", "b"), LOW[1], group, runs, waits], settled(twin)) == [5]


def test_slices_are_promised_whole() -> None:
    """Three are needed; slices of two make that four, or none."""
    marks = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "rack"}
    group = pod_group("g", 3, annotations=marks)
    waiting = [
        pod(
            f"g-{i}", "3", group="g", priority=10, labels={"batch.kubernetes.io/job-completion-index": str(i)}
        )
        for i in range(4)
    ]
    low = [pod(f"low{i}", "4", on=f"n{i}", priority=1) for i in range(1, 5)]

    def sliced(count: int) -> Raw:
        return settled(
            plan(
                [],
                [entry("g", "Preempting", 4, 3, 0, blocker("Affinity", holds=0, needed=3))],
                nominations=[bind(f"g-{i}", f"n{i + 1}", "g") for i in range(count)],
                evictions=[eviction(f"low{i + 1}", "g") for i in range(count)],
            )
        )

    good = [*racked("a", "a", "b", "b"), *low, group, *waiting]
    assert judged(good, sliced(4)) == []
    assert judged(good, sliced(3)) == [5], "the second slice is promised in part"
    assert judged(good, sliced(2)) == [5], "one slice is less than the quorum"
    assert judged([*racked("a", "b", "b", "a"), *low, group, *waiting], sliced(4)) == [5]


def test_gated_and_invalid_groups_are_promised_nothing() -> None:
    gated = members("g", 2, "3", priority=10, schedulingGates=[{"name": "x"}])
    assert 5 in judged([*NODES, *LOW, GANG[0], *gated, IDLE], settled(PREEMPTING))
    odd = [GANG[1], pod("g-1", "3", group="g", priority=11)]
    assert 5 in judged([*NODES, *LOW, GANG[0], *odd, IDLE], settled(PREEMPTING))


# ---- the victims


def test_an_eviction_in_vain() -> None:
    """There is a third victim that nobody needed."""
    objects = [*OBJECTS, node("n3"), pod("low3", "4", on="n3", priority=1)]
    three = [*PREEMPTING["evictions"], eviction("low3", "g")]
    assert judged(objects, evicting(*three)) == [5]
    three[2]["cause"] = "Healing"
    assert judged(objects, evicting(*three)) == []


def test_a_small_victim_that_was_not_needed() -> None:
    small, large = pod("small", "1", on="n1", priority=1), pod("large", "3", on="n1", priority=1)
    objects = [*NODES, small, large, LOW[1], *GANG, IDLE]
    both = [eviction(name, "g") for name in ("small", "large", "low2")]
    assert judged(objects, evicting(*both)) == [5]
    assert judged(objects, evicting(*both[1:])) == []


def test_a_gang_goes_whole_only_if_its_spare_members_are_not_enough() -> None:
    """Three run, two make a quorum, and the one place that is needed is anybody's."""
    pods = [pod(f"v{i}", "4", on=f"n{i}", priority=1, group="v") for i in (1, 2, 3)]
    objects = [*NODES, node("n3"), *pods, pod_group("v", 2), pod("h", "4", priority=10)]
    told = entry("h", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))

    def taking(*numbers: int) -> Raw:
        unit = {"unit": "default/v"} if len(numbers) == 3 else {}
        victims = [eviction(f"v{i}", "h", group="v", **unit) for i in numbers]
        return settled(plan([], [told], nominations=[bind("h", "n2")], evictions=victims))

    assert judged(objects, taking(2)) == []
    assert judged(objects, taking(1, 2, 3)) == [5]
    pods[:2] = [pod(f"v{i}", "2", on="n2", priority=1, group="v") for i in (1, 2)]
    objects = [node("n2"), node("n3"), *pods, pod_group("v", 2), pod("h", "4", priority=10)]
    assert judged(objects, taking(1, 2, 3)) == [], "one is not enough here"


def test_nobody_is_evicted_where_somebody_is_leaving_anyway() -> None:
    """n3 will be empty: no need for another place, promised before or not."""
    going = pod("old", "4", on="n3", priority=1, deletionTimestamp=LEAVING)
    objects = [node("n1"), node("n3"), LOW[0], going, pod("h", "4", priority=10)]
    told = entry("h", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    twin = plan([], [told], nominations=[bind("h", "n1")], evictions=[eviction("low1", "h")])
    twin, filled = settled(twin), [node("n1"), node("n3"), LOW[0], objects[4]]
    assert judged(objects, twin, now=NOW) == [5]
    assert judged([*filled, pod("new", "4", on="n3", priority=10)], twin, now=NOW) == []
    kept = plan([], [told], nominations=[bind("h", "n3")])
    assert judged(objects, kept, now=NOW) == []


def test_nobody_waits_for_a_pod_that_should_be_gone() -> None:
    """A minute late, or on a lost node, it stays where it is. Without the hour nobody can say which it is."""
    going = pod("old", "4", on="n3", priority=1, deletionTimestamp=LEAVING)
    objects = [node("n1"), node("n3"), LOW[0], going, pod("h", "4", priority=10)]
    lost = [node("n1"), node("n3", ready="Unknown"), *objects[2:4]]
    lost.append(pod("h", "4", priority=10, tolerations=[{"operator": "Exists"}]))
    told = entry("h", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    evicts = settled(plan([], [told], nominations=[bind("h", "n1")], evictions=[eviction("low1", "h")]))
    waits = plan([], [told], nominations=[bind("h", "n3")])
    hurries = settled(plan([], [told], nominations=[bind("h", "n3")], evictions=[eviction("old", "h")]))
    assert (judged(objects, evicts, now=LATER), judged(objects, waits, now=LATER)) == ([], [5])
    assert (judged(lost, evicts, now=NOW), judged(lost, waits, now=NOW)) == ([], [5])
    assert (judged(objects, evicts), judged(objects, waits)) == ([], [])
    assert 4 in judged(objects, hurries, now=LATER), "it was deleted before"


def test_victims_that_are_already_leaving() -> None:
    """While they terminate the group stays Preempting, with nominations and no new evictions."""
    gone = [pod(f"low{i}", "4", on=f"n{i}", deletionTimestamp=LEAVING) for i in (1, 2)]
    assert judged([*NODES, *gone, *GANG, IDLE], PREEMPTING | {"evictions": []}) == []


def test_a_promise_is_kept() -> None:
    """Two nodes are being emptied and each member was promised one; there is no reason to swap them."""
    gone = [pod(f"low{i}", "4", on=f"n{i}", deletionTimestamp=LEAVING) for i in (1, 2)]

    def promised(first: str, second: str) -> list[Raw]:
        nodes = (first, second)
        return [pod(f"g-{i}", "3", group="g", priority=10, nominatedNodeName=nodes[i]) for i in (0, 1)]

    kept = PREEMPTING | {"evictions": []}
    assert judged([*NODES, *gone, GANG[0], *promised("n1", "n2"), IDLE], kept, now=NOW) == []
    assert judged([*NODES, *gone, GANG[0], *promised("n2", "n1"), IDLE], kept, now=NOW) == [5]
    assert judged([*NODES, *gone, GANG[0], *promised("n9", "n1"), IDLE], kept, now=NOW) == [], (
        "that node is gone"
    )
    taken = pod("taker", "4", on="n3", priority=1)
    nodes = [*NODES, node("n3"), taken]
    assert judged([*nodes, *gone, GANG[0], *promised("n3", "n2"), IDLE], kept, now=NOW) == [], (
        "somebody else sits there"
    )


def test_what_a_lesser_group_gets_later_excuses_no_victim() -> None:
    """The member needs two CPUs and two were free, until a pod of lower rank was bound there."""
    objects = [
        node("n1"),
        pod("low", "2", on="n1", priority=1),
        pod("h", "2", priority=10),
        pod("l", "2", priority=5),
    ]
    told = [
        entry("h", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1)),
        entry("l", "Scheduled", 1, 1, 1),
    ]
    twin = plan([bind("l", "n1")], told, nominations=[bind("h", "n1")], evictions=[eviction("low", "h")])
    assert judged(objects, settled(twin)) == [5, 7]
    objects[3]["spec"]["priority"] = 20
    assert judged(objects, settled(twin)) == [], "who ranks higher comes first"


def test_victims_of_several_groups() -> None:
    """Each has its own; what the second needs does not excuse what the first did not."""
    objects = [*NODES, *LOW, pod("h1", "4", priority=10), pod("h2", "4", priority=9)]
    told = [entry(f"h{i}", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1)) for i in (1, 2)]
    twin = plan(
        [],
        told,
        nominations=[bind("h1", "n1"), bind("h2", "n2")],
        evictions=[eviction("low1", "h1"), eviction("low2", "h2", preemptorPriority=9)],
    )
    assert judged(objects, settled(twin)) == []
    greedy = deepcopy(twin)
    greedy["evictions"][1] = eviction("low2", "h1")
    assert judged(objects, settled(greedy)) == [5]


@pytest.mark.parametrize(("rank", "broken"), [(10, []), (9, [5]), (8, [5, 7])])
def test_only_a_higher_rank_takes_what_was_promised(rank: int, broken: list[int]) -> None:
    """The first was promised another place, which is free, but may take that of a lesser one."""
    here = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}
    first = pod("h1", "2", priority=rank, nominatedNodeName="n2")
    second = pod("h2", "4", priority=9, nominatedNodeName="n1", **here)
    told = [
        entry("h1", "Scheduled", 1, 1, 1),
        entry("h2", "Waiting", 1, 1, 0, blocker("Affinity", holds=0, needed=1)),
    ]
    assert judged([node("n1"), node("n2", "2"), first, second], plan([bind("h1", "n1")], told)) == broken


@pytest.mark.parametrize(("rank", "broken"), [(8, [5]), (9, [5]), (10, [])])
def test_a_promise_to_an_equal_is_a_promise(rank: int, broken: list[int]) -> None:
    """The first could sit down at once where the second was promised to, but must wait for its own place."""
    going = pod("old", "4", on="n1", priority=1, deletionTimestamp=LEAVING)
    first = pod("h1", "4", priority=rank, nominatedNodeName="n1")
    second = pod("h2", "4", priority=9, nominatedNodeName="n2")
    told = [
        entry("h1", "Scheduled", 1, 1, 1),
        entry("h2", "Waiting", 1, 1, 0, blocker("Quota", holds=0, needed=1)),
    ]
    assert judged([*NODES, going, first, second], plan([bind("h1", "n2")], told), now=NOW) == broken


@pytest.mark.parametrize(
    ("about", "broken"),
    [
        ({"priority": 11}, [5]),
        ({"priority": 10}, []),
        ({"priority": 11, "nodeSelector": {"kubernetes.io/hostname": "n9"}}, []),
        ({"priority": 11, "schedulerName": "other"}, []),
    ],
)
def test_nobody_leaves_for_room_that_another_would_take(about: Raw, broken: list[int]) -> None:
    """Who waits may not preempt, but would sit down as soon as there is room."""
    waits = pod("w", "4", preemptionPolicy="Never", **about)
    objects = [node("n1"), pod("low1", "4", on="n1", priority=1), pod("h1", "4", priority=10), waits]
    told = entry("h1", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    wait = entry("w", "Waiting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    ours = "schedulerName" not in about
    twin = plan([], [told, *([wait] if ours else [])], nominations=[bind("h1", "n1")])
    evicts = settled(twin | {"evictions": [eviction("low1", "h1")]})
    assert judged(objects, evicts, scheduler=None if ours else "default-scheduler") == broken
