"""The floor: what it says of groups and nodes, and how it looks."""

from typing import Any

import msgspec
import pytest

from maitred.cluster.devices.hardware import DeviceKind, Tally
from maitred.explain.floorplan import (
    ClusterFloor,
    Declared,
    FloorGroup,
    FloorPod,
    FloorRow,
    FloorVerdicts,
    floor_of,
    member_of,
    natural,
    table_of,
)
from maitred.explain.floorplan_tables import MOST_ALONE, floor_lines
from maitred.model.job import Job
from maitred.model.meta import Timestamp
from maitred.model.node import Node
from maitred.model.plan import Blocker, GroupVerdict, Verdict

Json = dict[str, Any]

NOW = msgspec.convert("2026-01-31T12:00:00Z", Timestamp)
EARLIER = "2026-01-31T11:59:15Z"
GPU = "nvidia.com/gpu"


def node(name: str, rack: str = "", block: str = "", gpus: int = 8, **more: Any) -> Json:
    labels = {"example.com/rack": rack, "example.com/block": block} if rack else {}
    allocatable = {"cpu": "10", **({GPU: str(gpus)} if gpus else {})}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
        "spec": more,
    }


def pod(
    name: str, group: str = "", node: str = "", phase: str = "Pending", said: str = "", **metadata: Any
) -> Json:
    scheduled = {"type": "PodScheduled", "lastTransitionTime": EARLIER}
    scheduled |= {"status": "True"} if node else {"status": "False", "message": said}
    container = {"resources": {"requests": {"cpu": "1"}, "limits": {GPU: "4"}}}
    return {
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": EARLIER, **metadata},
        "spec": {
            "nodeName": node,
            "schedulerName": "other" if said else "maitred",
            "containers": [container],
            **({"schedulingGroup": {"podGroupName": group}} if group else {}),
        },
        "status": {"phase": phase, "conditions": [scheduled] if node or said else []},
    }


def party(name: str, quorum: int, said: str = "") -> Json:
    conditions = [{"type": "PodGroupInitiallyScheduled", "status": "False", "message": said}] if said else []
    return {
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": EARLIER},
        "spec": {"schedulingPolicy": {"gang": {"minCount": quorum}}},
        "status": {"conditions": conditions},
    }


def floor(
    nodes: list[Json] = [],  # noqa: B006
    pods: list[Json] = [],  # noqa: B006
    pod_groups: list[Json] = [],  # noqa: B006
    *verdicts: GroupVerdict,
    jobs: list[Json] = [],  # noqa: B006
) -> ClusterFloor:
    return floor_of(
        [table_of(msgspec.convert(one, Node)) for one in nodes],
        [member_of(msgspec.convert(one, FloorPod)) for one in pods],
        Declared(
            {f"ml/{one['metadata']['name']}": msgspec.convert(one, FloorGroup) for one in pod_groups},
            {Job: {f"ml/{one['metadata']['name']}": msgspec.convert(one, Job) for one in jobs}},
        ),
        FloorVerdicts("maitred", verdicts),
    )


def row(pods: list[Json], pod_groups: list[Json], *verdicts: GroupVerdict) -> FloorRow:
    nodes = [node("n1", "r1", "b1"), node("n2", "r2", "b1")]
    found = floor(nodes, pods, pod_groups, *verdicts).row("ml/a")
    assert found is not None
    return found


def decided(verdict: Verdict, *blockers: Blocker, group: str = "ml/a") -> GroupVerdict:
    return GroupVerdict(group, verdict, 2, 2, 0, {}, blockers)


CAPACITY = Blocker("Capacity", "needs 8")
FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


@pytest.mark.parametrize(
    ("pods", "verdict", "placed", "why"),
    [
        ([], "Waiting", "0/0", "Members: 0 of the 2 needed members exist"),
        ([pod("p0", "a")], "Waiting", "0/1", "Members: 1 of the 2 needed members exists"),
        ([pod("p0", "a"), pod("p1", "a")], "Waiting", "0/2", "no verdict yet"),
        ([pod("p0", "a", "n1"), pod("p1", "a", "n2")], "Scheduled", "2/2", ""),
        ([pod("p0", "a", "n1", "Succeeded"), pod("p1", "a", "n1")], "Scheduled", "2/2", ""),
        ([pod("p0", "a", "n1", "Succeeded"), pod("p1", "a", "n1", "Succeeded")], "Finished", "2/2", ""),
        (
            [pod("p0", "a", "n1", "Succeeded")],
            "Finished",
            "1/1",
            "1 of the 2 needed members succeeded; the others are gone",
        ),
        (
            [pod("p0", "a", "n1", "Failed"), pod("p1", "a", "n1", "Failed")],
            "Waiting",
            "0/0",
            "Members: 2 members failed and not replaced yet",
        ),
        (
            [pod("p0", "a", "n1", "Failed"), pod("p1", "a", "n1"), pod("p2", "a", "n1")],
            "Scheduled",
            "2/2",
            "",
        ),
        (
            [pod("p0", "a", "n1", deletionTimestamp=EARLIER), pod("p1", "a", "n1")],
            "Waiting",
            "1/1",
            "Members: 1 of the 2 needed members exists",
        ),
    ],
)
def test_how_a_group_stands(pods: list[Json], verdict: str, placed: str, why: str) -> None:
    found = row(pods, [party("a", 2)])
    assert (found.verdict, f"{found.placed}/{found.members}", found.why) == (verdict, placed, why)


@pytest.mark.parametrize(
    ("pods", "verdict", "outcome"),
    [
        ([pod("p0", "a"), pod("p1", "a")], decided("Waiting", CAPACITY), ("Waiting", "Capacity: needs 8")),
        (
            [pod("p0", "a"), pod("p1", "a")],
            decided("Impossible", Blocker("Request", "x")),
            ("Impossible", "Request: x"),
        ),
        (
            [pod("p0", "a", "n1"), pod("p1", "a")],
            decided("Preempting", CAPACITY),
            ("Preempting", "Capacity: needs 8"),
        ),
        (
            [pod("p0", "a", "n1"), pod("p1", "a", "n1"), pod("p2", "a")],
            decided("Scheduled", CAPACITY),
            ("Scheduled", "Capacity: needs 8"),
        ),
        ([pod("p0", "a"), pod("p1", "a")], decided("Scheduled", CAPACITY), ("Waiting", "no verdict yet")),
    ],
    ids=["waits", "impossible", "preempting", "surplus waits", "on its way"],
)
def test_what_the_scheduler_decided(
    pods: list[Json], verdict: GroupVerdict, outcome: tuple[str, str]
) -> None:
    found = row(pods, [party("a", 2)], verdict)
    assert (found.verdict, found.why) == outcome


@pytest.mark.parametrize("said", [FULL, "Waiting: Capacity: these words are not ours"])
def test_another_scheduler_is_quoted_as_it_speaks(said: str) -> None:
    theirs = [pod("p0", "a", said=said), pod("p1", "a", said=said)]
    found = row(theirs, [party("a", 2)])
    assert (found.verdict, found.why) == ("Waiting", said)
    for one in theirs:
        one["status"]["conditions"] = []
    assert row(theirs, [party("a", 2, said)]).why == said


def test_what_our_own_scheduler_wrote_is_not_read_back() -> None:
    pods = [pod("p0", "a", said="Waiting: Capacity: of an hour ago"), pod("p1", "a")]
    pods[0]["spec"]["schedulerName"] = "maitred"
    group = party("a", 2, "Waiting: Topology: no rack")
    assert row(pods, [group]).why == "no verdict yet"
    assert row(pods, [group], decided("Waiting", CAPACITY)).why == "Capacity: needs 8"


def test_a_group_that_its_pods_name_and_that_does_not_exist_is_told_of() -> None:
    pods = [pod("p0", "a"), pod("p1", "a")]
    [found] = floor(pods=pods).groups
    assert (found.verdict, found.why) == (
        "Waiting",
        "Members: the PodGroup that its pods name does not exist",
    )
    [found] = floor([], pods, [], decided("Waiting", Blocker("Members", "as the scheduler says"))).groups
    assert found.why == "Members: as the scheduler says"


def test_a_pod_that_was_created_on_its_node_is_seated_since_then() -> None:
    loaded = pod("p0", node="n1")
    loaded["status"]["conditions"] = []
    [found] = floor(pods=[loaded]).groups
    assert found.since == msgspec.convert(EARLIER, Timestamp)


def test_groups_by_marks_and_lone_pods_are_groups_too() -> None:
    marks = {"maitred.dev/group": "a", "maitred.dev/min-count": "2"}
    found = floor(pods=[pod("p0", labels=marks), pod("lone")])
    assert [(one.group, one.quorum) for one in found.groups] == [("ml/a", 2), ("ml/lone", 1)]


def test_the_pods_of_a_job_that_is_one_gang_are_one_group() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    train = {"metadata": {"name": "train", "namespace": "ml", "uid": "u"}, "spec": spec}
    made = {**party("train-x", 1), "spec": {"schedulingPolicy": {"basic": {}}}}
    made["metadata"]["ownerReferences"] = [owner]
    pods = [pod(name, "train-x", ownerReferences=[owner]) for name in ("p0", "p1")]
    waits = decided("Waiting", CAPACITY, group="ml/train")
    [found] = floor([], pods, [made], waits, jobs=[train]).groups
    assert (found.group, found.quorum, found.lone, found.why) == ("ml/train", 2, False, "Capacity: needs 8")


def test_a_lone_pod_that_leaves_waits_for_nothing() -> None:
    [found] = floor(pods=[pod("p", node="n1", deletionTimestamp=EARLIER)]).groups
    assert found.verdict == "Finished"


def test_where_a_group_is_seated() -> None:
    found = row([pod("p0", "a", "n1"), pod("p1", "a", "n2"), pod("p2", "a", "n2")], [party("a", 2)])
    assert found.where == {"r1": 1, "r2": 2}
    assert str(found.since) == "2026-01-31 11:59:15+00:00"


def test_who_leaves_still_holds_his_place_and_who_is_finished_does_not() -> None:
    pods = [pod("a", node="n1", deletionTimestamp=EARLIER), pod("b", node="n1", phase="Succeeded")]
    [rack] = floor([node("n1", "r1", "b1")], pods).racks
    assert (rack.free, rack.total) == (4, 8)


def test_devices_that_are_unwell_are_there_and_not_free() -> None:
    def ailing(name: str, offered: int, **labels: str) -> Json:
        made = node(name, gpus=offered)
        made["status"]["capacity"] = {"cpu": "10", **({GPU: "8"} if not labels else {})}
        made["metadata"]["labels"] = labels
        return made

    nodes = [ailing("n1", 5), ailing("n2", 0), ailing("n3", 0, **{"nvidia.com/gpu.count": "4"})]
    nodes.append(ailing("n4", 0, **{"nvidia.com/gpu.present": "true"}))
    found = floor([*nodes, node("n5")], [pod("a", node="n1")])
    [rack] = found.racks
    assert [(one.free, one.unwell, one.total, one.cause) for one in rack.nodes] == [
        (1, 3, 8, "Unhealthy"),
        (0, 8, 8, "NotAnswering"),
        (0, 4, 4, "NotRegistered"),
        (0, 0, 0, "NotRegistered"),
        (8, 0, 8, None),
    ]
    shown = [line.plain for line in floor_lines(found, NOW)]
    assert shown[0] == "10008 9/28"
    assert shown[1].startswith(
        "Unwell: 3 of 8 nvidia.com/gpu on n1; 8 of 8 nvidia.com/gpu on n2 (the plugin is not"
    )
    assert shown[1].endswith("4 of 4 nvidia.com/gpu on n3 (the plugin is not registered); 1 more node.")
    assert shown[2] == "5 nodes; 9 of 28 nvidia.com/gpu free, 15 unwell."


def test_what_cannot_be_had_is_not_free() -> None:
    lost = node("n1", "r1", "b1", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}])
    closed = node("n2", "r1", "b1", unschedulable=True)
    [rack] = floor([lost, closed, node("n3", "r1", "b1")]).racks
    assert [spot.openness for spot in rack.nodes] == ["lost", "closed", "open"]
    assert (rack.free, rack.total) == (8, 24)


def test_names_are_in_the_order_in_which_people_count() -> None:
    assert sorted(["r10", "r2", "b1-r3-n05", "r1", ""], key=natural) == ["", "b1-r3-n05", "r1", "r2", "r10"]


# -- how it looks ------------------------------------------------------------------------------------------

NODES = [
    *(node(f"b1-r1-n{n}", "r1", "b1") for n in range(3)),
    node("b1-r2-n0", "r2", "b1", gpus=16),
    node("b2-r10-n0", "r10", "b2", unschedulable=True),
    node("b2-r10-n1", "r10", "b2", gpus=0),
    node("b2-r9-n0", "r9", "b2", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]),
]
PODS = [
    pod("x0", "x", "b1-r1-n0"),
    pod("x1", "x", "b1-r1-n0"),
    pod("x2", "x", "b1-r1-n1"),
    pod("y0", "y"),
    pod("z0", "z", "b1-r1-n0", "Succeeded"),
    pod("web", node="b2-r10-n1"),
]
NO_ROOM = decided("Waiting", Blocker("Capacity", "needs 16 nvidia.com/gpu, 4 free"), group="ml/y")
BUSY = floor(NODES, PODS, [party("x", 3), party("y", 1), party("z", 1)], NO_ROOM)


def text(width: int | None = None, height: int | None = None, shown: ClusterFloor = BUSY) -> str:
    return "\n".join(line.plain for line in floor_lines(shown, NOW, width, height)) + "\n"


WHOLE = """\
b1  r1 048 12/24  r2 + 16/16
b2  r9 x 0/8      r10 -9 0/8
7 nodes (1 lost, 1 closed); 28 of 56 nvidia.com/gpu free.
A digit is a node: its free devices (else tenths of free cpu), + more than 9, x lost, - cordoned.

GROUP   VERDICT    PLACED  QUORUM  WHERE  SINCE  WHY
ml/web  Scheduled  1/1     1       r10    45s
ml/x    Scheduled  3/3     3       r1     45s
ml/y    Waiting    0/1     1              45s    Capacity: needs 16 nvidia.com/gpu, 4 free
ml/z    Finished   1/1     1
"""
SMALL = """\
b1  r1 048 12/24  r2 + 16/16
b2  r9 x 0/8      r10 -9 0/8
7 nodes (1 lost, 1 closed); 28 of 56 nvidia.com/gpu free.

GROUP   VERDICT    PLACED  QUORUM  WHERE  SINCE  WHY
ml/web  Scheduled  1/1     1       r10    45s
ml/y    Waiting    0/1     1              45s    Capacity: needs 16 nvidia.co...
and 2 more groups: 1 scheduled, 1 finished
"""


def test_the_whole_floor() -> None:
    assert text() == WHOLE


def test_the_reason_is_told_in_full_where_there_is_room() -> None:
    *_, waiting, why, finished = text(width=80).splitlines()
    assert waiting == "ml/y    Waiting    0/1     1              45s"
    assert why == "  Capacity: needs 16 nvidia.com/gpu, 4 free"
    assert finished == "ml/z    Finished   1/1     1"


def test_a_small_terminal_shows_who_waits() -> None:
    assert text(width=80, height=8) == SMALL


def test_many_lone_pods_are_told_of_in_sum() -> None:
    seated = [pod(f"s{number}", node="n1") for number in range(MOST_ALONE)]
    few = text(shown=floor(pods=[pod("w"), *seated]))
    assert len(few.splitlines()) == 1 + 1 + MOST_ALONE
    ended = pod("e", node="n1", phase="Succeeded")
    many = text(shown=floor(pods=[pod("w"), ended, *seated])).splitlines()
    assert [line.partition(" ")[0] for line in many] == ["GROUP", "ml/w", "and"]
    assert many[-1] == "and 21 pods of no group: 20 scheduled, 1 finished"


def test_an_empty_cluster() -> None:
    assert text(shown=floor()) == "No groups.\n"


@pytest.mark.parametrize("height", range(3, 14))
def test_it_is_never_higher_than_there_is_room(height: int) -> None:
    assert len(text(width=80, height=height).splitlines()) <= height
    crowd = [pod(f"s{number}", node="n1") for number in range(2 * MOST_ALONE)]
    crowded = floor([node("n1", "r1")], [pod("w"), pod("x", "a"), *crowd])
    assert len(text(width=80, height=height, shown=crowded).splitlines()) <= height


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_map_is_never_wider_than_there_is_room(width: int) -> None:
    racks = [node(f"r{rack}-n{n}", f"r{rack}", "b1") for rack in range(20) for n in range(8)]
    lines = text(width=width, shown=floor(racks)).splitlines()
    assert max(map(len, lines)) <= width


def test_devices_that_claims_are_for_count_where_a_plugin_offers_none() -> None:
    """Of the driver that has most of them; a node with a device plugin shows that."""
    gpu, nic = DeviceKind("gpu.example.com", "h100"), DeviceKind("nic.example.com", "")
    other = DeviceKind("gpu.example.com", "a100")
    nodes = [node("n1", "r1", "b1", gpus=0), node("n2", "r1", "b1", gpus=8), node("n3", "r1", "b1", gpus=0)]
    claimable = {
        "n1": {gpu: Tally(4, used=1), other: Tally(4, used=1, unwell=1, tainted=1), nic: Tally(4)},
        "n2": {gpu: Tally(4)},
    }
    tables = [table_of(msgspec.convert(one, Node)) for one in nodes]
    found = floor_of(tables, [], Declared(), FloorVerdicts("maitred"), claimable)
    spots = {spot.node: (spot.resource, spot.free, spot.total, spot.unwell) for spot in found.racks[0].nodes}
    assert spots == {
        "n1": ("gpu.example.com", 5, 8, 1),
        "n2": (GPU, 8, 8, 0),
        "n3": ("cpu", 10_000, 10_000, 0),
    }
    drawn = [line.plain for line in floor_lines(found, NOW)]
    assert "Unwell: 1 of 8 gpu.example.com on n1." in drawn
    assert "3 nodes; 5 of 8 gpu.example.com free, 1 unwell; 8 of 8 nvidia.com/gpu free." in drawn
