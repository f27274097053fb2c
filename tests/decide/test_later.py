"""Pods that an owner creates once others are scheduled or ready: the others are seated only where there is
room for all of them, and the room is kept until they come."""

from hashlib import sha1
from typing import Any

import pytest

from tests.decide.test_owners import LWS, SET, job, made, owner, pods
from tests.oracle import builders as b
from tests.oracle.builders import INDEX, Obj
from tests.support import decide

EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
KEY = f"{SET}job-key"
STARTED, SOON, LATE = "2026-01-31T11:50:00Z", "2026-01-31T12:10:00Z", "2026-01-31T12:20:00Z"
"""When the first pods started, a time at which room is still kept, and one at which it is not."""
TEMPLATE = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
HIGH = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "priorityClassName": "high"}}
NAMED = {**TEMPLATE, "metadata": {"labels": {b.GROUP: "own"}}}
CLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 100,
}


def nodes(*cpus: int) -> list[Obj]:
    return [b.node(f"n{number}", cpu=cpu) for number, cpu in enumerate(cpus, 1)]


def worker_set(template: Obj | None = None, within: str = "") -> Obj:
    """One group of a leader and three workers, which come when the leader is ready."""
    spec = {
        "replicas": 1,
        "startupPolicy": "LeaderReady",
        "leaderWorkerTemplate": {"size": 4, "workerTemplate": template or TEMPLATE},
    }
    exclusive = {f"{LWS}exclusive-topology": within} if within else {}
    return made("LeaderWorkerSet", "s", spec, annotations=exclusive)


def of_group(index: int, node: str = "", **more: Any) -> Obj:
    """The leader of the group, or a worker."""
    name, controller = ("s-0", "s") if index == 0 else (f"s-0-{index}", "s-0")
    labels = {"name": "s", "group-index": "0", "worker-index": str(index)}
    found = b.pod(
        name, cpu=1, node=node or None, labels={f"{LWS}{key}": said for key, said in labels.items()}, **more
    )
    found["metadata"]["ownerReferences"] = owner("StatefulSet", controller)
    return found


def started(pod: Obj, at: str = STARTED) -> Obj:
    return {**pod, "status": {"phase": "Running", "startTime": at}}


def in_order(**more: Any) -> Obj:
    roles = [
        {"name": "d", "template": {"spec": {"template": TEMPLATE}}},
        {"name": "w", "template": {"spec": {"parallelism": 3, "completions": 3, "template": TEMPLATE}}},
    ]
    spec = {"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": roles, **more}
    return made("JobSet", "s", spec)


def driver(node: str = "") -> list[Obj]:
    return [job("s-d-0", "d", 1), *pods("s-d-0", 1, by=("Job", "s-d-0"), node=node or None)]


def mpi_job() -> Obj:
    roles = {"Launcher": {"template": TEMPLATE}, "Worker": {"replicas": 3, "template": TEMPLATE}}
    return made("MPIJob", "s", {"mpiReplicaSpecs": roles, "launcherCreationPolicy": "WaitForWorkersReady"})


def binds(plan: Obj) -> set[str]:
    return {bind["pod"].partition("/")[2] for bind in plan["binds"]}


def rooms(plan: Obj) -> dict[str, int]:
    """For how many pods of each group room is kept."""
    found: dict[str, int] = {}
    for hold in plan["holds"]:
        name = hold["group"].partition("/")[2]
        found[name] = found.get(name, 0) + hold["pods"]
    return found


def verdict(plan: Obj, group: str) -> Obj:
    return next(one for one in plan["groups"] if one["group"] == f"default/{group}")


FIRST: dict[str, tuple[list[Obj], str, dict[str, int]]] = {
    "a leader whose workers come when it is ready": ([worker_set(), of_group(0)], "s-0", {"s-0-workers": 3}),
    "the first replicated job of a JobSet in order": ([in_order(), *driver()], "s-d", {"s-w": 3}),
    "workers whose launcher comes when they are ready": (
        [mpi_job(), *pods("s-worker", 3, by=("MPIJob", "s"))],
        "s",
        {"s-launcher": 1},
    ),
}


@pytest.mark.parametrize("case", FIRST)
def test_the_first_are_seated_only_where_all_fit(case: str) -> None:
    objects, group, later = FIRST[case]
    small, large = decide([*nodes(2, 1), *objects]), decide([*nodes(2, 2), *objects])
    assert binds(small) == set()
    assert small["holds"] == []
    found = verdict(small, group)
    assert found["verdict"] == "Impossible"
    assert found["blockers"][0]["category"] == "Capacity"
    assert found["blockers"][0]["detail"]["needed"] == 4
    assert [(one["group"], one["pods"]) for one in found["blockers"][0]["detail"]["later"]] == [
        (f"default/{name}", pods) for name, pods in later.items()
    ]
    assert len(binds(large)) == 4 - sum(later.values())
    assert rooms(large) == later
    assert verdict(large, group)["verdict"] == "Scheduled"


def test_its_own_numbers_count_its_own_pods() -> None:
    found = verdict(decide([*nodes(4), worker_set(), of_group(0)]), "s-0")
    assert (found["members"], found["quorum"], found["placed"]) == (1, 1, 1)


@pytest.mark.parametrize("there", [[], [1], [1, 2, 3]], ids=["none", "some", "all"])
def test_what_is_kept_is_not_given_to_an_older_equal(there: list[int]) -> None:
    """Whether no pod of the next group is there, or some, or all."""
    rival = b.pod("older", cpu=1, created=1)
    objects = [*nodes(2, 2), worker_set(), of_group(0, "n1"), *map(of_group, there), rival]
    plan = decide(objects)
    assert binds(plan) == {f"s-0-{index}" for index in there if len(there) == 3}
    assert rooms(plan) == ({} if len(there) == 3 else {"s-0-workers": 3})
    said = verdict(plan, "older")["blockers"][0]
    assert said["category"] == "Priority"
    assert said["detail"]["ahead"] == ["default/s-0-workers"]


def test_a_group_of_higher_rank_may_have_what_is_kept() -> None:
    rival = b.pod("vip", cpu=1, priority=1)
    plan = decide([*nodes(2, 2), worker_set(), of_group(0, "n1"), rival])
    assert binds(plan) == {"vip"}
    assert plan["holds"] == []


@pytest.mark.parametrize(("now", "seated"), [(SOON, False), (LATE, True)])
def test_room_is_kept_for_so_long_only(now: str, seated: bool) -> None:
    rival, leader = b.pod("other", cpu=1), started(of_group(0, "n1"))
    plan = decide([*nodes(2, 2), worker_set(), leader, rival], now=now)
    assert ("other" in binds(plan)) == seated
    assert plan["wakeAt"] == (None if seated else LATE)


def test_the_policy_says_for_how_long() -> None:
    policy = {"workloads": {"keepRoom": "1m"}}
    objects = [*nodes(2, 2), worker_set(), started(of_group(0, "n1")), b.pod("other", cpu=1)]
    assert binds(decide(objects, policy)) == {"other"}


def test_without_a_start_room_is_kept_from_the_creation_on() -> None:
    """Who puts a pod onto a node that nobody looks after keeps nothing for ever."""
    leader = of_group(0, "n1", created="2026-01-31T09:00:00Z")
    assert binds(decide([*nodes(2, 2), worker_set(), leader, b.pod("other", cpu=1)])) == {"other"}


NOTHING_COMES: dict[str, list[Obj]] = {
    "it is suspended": [in_order(suspend=True), *driver("n1")],
    "another controller manages it": [in_order(managedBy="acme.dev/other"), *driver("n1")],
    "it is being deleted": [
        {**in_order(), "metadata": {**in_order()["metadata"], "deletionTimestamp": SOON}},
        *driver("n1"),
    ],
    "it has ended": [
        {**in_order(), "status": {"conditions": [{"type": "Completed", "status": "True"}]}},
        *driver("n1"),
    ],
    "its pods name their group": [
        worker_set(template={**TEMPLATE, "metadata": {"labels": {b.GROUP: "own"}}}),
        of_group(0, "n1"),
    ],
}


@pytest.mark.parametrize("case", NOTHING_COMES)
def test_no_room_is_kept_where_nothing_comes(case: str) -> None:
    plan = decide([*nodes(2, 2), *NOTHING_COMES[case]])
    assert plan["holds"] == []


def test_what_comes_once_others_are_complete_needs_no_room_beside_them() -> None:
    several = in_order()
    several["spec"].pop("startupPolicy")
    several["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "d", "status": "Complete"}]
    plan = decide([*nodes(2, 1), several, *driver()])
    assert len(plan["binds"]) == 1
    assert plan["holds"] == []


def test_the_others_leave_for_all_of_them() -> None:
    """And while they leave, the room is kept against equals."""
    running = [b.pod(f"low-{number}", cpu=1, node=node) for number, node in enumerate(("n1", "n2", "n2"))]
    leader = of_group(0, priority=100)
    plan = decide([CLASS, *nodes(2, 2), worker_set(template=HIGH), leader, *running])
    assert len(plan["evictions"]) == 3
    assert len(plan["nominations"]) == 1
    assert verdict(plan, "s-0")["verdict"] == "Preempting"
    going = [{**one, "metadata": {**one["metadata"], "deletionTimestamp": b.LEFT_BY}} for one in running]
    leader["status"] = {"phase": "Pending", "nominatedNodeName": "n1"}
    rival = b.pod("equal", cpu=1, priority=100, created=1)
    after = decide([CLASS, *nodes(2, 2), worker_set(template=HIGH), leader, rival, *going])
    assert binds(after) == set()
    assert after["evictions"] == []


# -- a domain for each -------------------------------------------------------------------------------------


def exclusive(jobs: int, pods_each: int) -> Obj:
    spec = {
        "parallelism": pods_each,
        "completions": pods_each,
        "completionMode": "Indexed",
        "template": TEMPLATE,
    }
    several = [{"name": "w", "replicas": jobs, "template": {"spec": spec}}]
    return made("JobSet", "s", {"replicatedJobs": several}, annotations={EXCLUSIVE: "rack"})


def leader_of(number: int, node: str = "") -> list[Obj]:
    """The first pod of a Job, as the webhook of JobSet makes it: alone in its rack."""
    name = f"s-w-{number}"
    key = sha1(f"default/{name}".encode(), usedforsecurity=False).hexdigest()
    apart = [b.expr(KEY, "Exists"), b.expr(KEY, "NotIn", key)]
    found = b.pod(
        f"{name}-0",
        cpu=1,
        node=node or None,
        labels={KEY: key, INDEX: "0"},
        annotations={EXCLUSIVE: "rack", INDEX: "0"},
        anti_affinity=[b.near("rack", b.selector(None, *apart))],
    )
    found["metadata"]["ownerReferences"] = owner("Job", name)
    return [job(name, "w", 4), found]


def racks(**cpus: int) -> list[Obj]:
    return [b.node(f"n-{rack}", cpu=cpu, rack=rack) for rack, cpu in cpus.items()]


def test_each_leader_goes_where_its_own_followers_fit() -> None:
    """A rack with room for a leader alone is none."""
    plan = decide([*racks(a=2, b=4, c=4), exclusive(2, 4), *leader_of(0), *leader_of(1)])
    assert {bind["node"] for bind in plan["binds"]} == {"n-b", "n-c"}
    assert rooms(plan) == {"s-followers": 6}
    assert {(hold["node"], hold["pods"]) for hold in plan["holds"]} == {("n-b", 3), ("n-c", 3)}


def test_leaders_wait_if_one_rack_is_too_small_for_its_job() -> None:
    plan = decide([*racks(a=3, b=3, c=4), exclusive(2, 4), *leader_of(0), *leader_of(1)])
    assert binds(plan) == set()
    assert verdict(plan, "s")["verdict"] == "Impossible"


def test_room_is_kept_in_the_rack_of_the_leader() -> None:
    rival = b.pod("other", cpu=3)
    plan = decide([*racks(a=4, b=4), exclusive(1, 4), *leader_of(0, "n-a"), rival])
    assert [bind["node"] for bind in plan["binds"]] == ["n-b"]
    assert [(hold["node"], hold["pods"]) for hold in plan["holds"]] == [("n-a", 3)]


def test_a_leader_and_its_workers_share_the_domain_of_their_group() -> None:
    only = worker_set(within="rack")
    assert decide([*racks(a=3, b=3), only, of_group(0)])["binds"] == []
    assert [bind["node"] for bind in decide([*racks(a=3, b=4), only, of_group(0)])["binds"]] == ["n-b"]
