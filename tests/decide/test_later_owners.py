"""Which pods an owner creates later, and for which of them room is kept: where kinds of owners differ."""

import pytest

from maitred.cluster.state import ClusterState
from tests.cluster.seen import delete, put
from tests.oracle.builders import Obj, node, pod
from tests.oracle.staged import LATELY, Sizes, Staged, mpi_job, ordered_set, ray_job, template
from tests.support import decide

ONE = Sizes(first=1, later=1, rank=None)


def running(one: Staged) -> list[Obj]:
    """The pods that come first, on a node."""
    for each in one.firsts:
        each["spec"]["nodeName"], each["status"] = "n1", {"phase": "Running", "startTime": LATELY}
    return [*one.objects, *one.firsts]


def holds(plan: Obj) -> list[tuple[str, int]]:
    return [(hold["group"], hold["pods"]) for hold in plan["holds"]]


def bound(plan: Obj) -> list[str]:
    return [bind["pod"] for bind in plan["binds"]]


# -- RayJobs: the pod that submits the job


def test_room_is_kept_for_the_pod_that_submits_a_ray_job() -> None:
    plan = decide([node("n1", 2), *running(ray_job(ONE, 0)), pod("rival", 1, created=0)])
    assert (bound(plan), holds(plan)) == ([], [("default/o-submitter", 1)])


def test_the_pod_that_submits_a_ray_job_gets_the_room_that_was_kept_for_it() -> None:
    one = ray_job(ONE, 0)
    plan = decide([node("n1", 2), *running(one), *one.made_later, *one.laters, pod("rival", 1, created=0)])
    assert (bound(plan), holds(plan)) == (["default/o-y"], [])


def test_no_room_is_kept_once_the_pod_that_submits_a_ray_job_runs() -> None:
    one = ray_job(ONE, 0)
    one.firsts += one.laters
    plan = decide([node("n1", 3), *running(one), *one.made_later, pod("rival", 1, created=0)])
    assert (bound(plan), holds(plan)) == (["default/rival"], [])


def test_the_state_learns_that_the_pod_that_submits_a_ray_job_has_come_and_gone() -> None:
    one, state = ray_job(ONE, 0), ClusterState()
    put(state, node("n1", 3), *running(one))
    assert [view.group.key for view in state.snapshot().awaited] == ["default/o-submitter"]
    (submitter,) = one.laters
    submitter["spec"]["nodeName"] = "n1"
    put(state, *one.made_later, submitter)
    assert state.snapshot().awaited == ()
    delete(state, submitter)
    assert [view.group.key for view in state.snapshot().awaited] == ["default/o-submitter"]


# -- MPIJobs: who manages them


@pytest.mark.parametrize(
    ("manager", "kept"),
    [
        ("kubeflow.org/mpi-operator", [("default/o-launcher", 1)]),
        ("kubeflow.org/training-operator", [("default/o-launcher", 1)]),
        ("kueue.x-k8s.io/multikueue", []),
    ],
)
def test_the_launcher_comes_later_where_one_of_its_own_operators_manages_an_mpi_job(
    manager: str, kept: list[tuple[str, int]]
) -> None:
    one = mpi_job(ONE, 1)
    one.objects[0]["spec"]["runPolicy"] = {"managedBy": manager}
    plan = decide([node("n1", 2), *one.objects, *one.firsts])
    assert (bound(plan), holds(plan)) == (["default/o-worker-0"], kept)


# -- what others are told of room that is kept


def test_others_are_told_of_which_groups_the_pods_are_that_room_is_kept_for() -> None:
    one = ordered_set(ONE, 1, 2, depends=False)
    third = {"name": "c", "template": one.objects[0]["spec"]["replicatedJobs"][1]["template"]}
    one.objects[0]["spec"]["replicatedJobs"].append(third)
    plan = decide([node("n1", 5), *running(one), pod("rival", 1, created=0)])
    (entry,) = plan["groups"]
    words = (
        "room for 2 pods of default/o-b and 2 pods of default/o-c is kept, because JobSet default/o creates"
    )
    assert words in entry["blockers"][0]["message"]


# -- JobSets: Jobs that are under way, and roles that wait for several


def under_way(one: Staged, done: int) -> list[Obj]:
    """The Job that comes later has begun, and so many of its indexes have succeeded."""
    (job,) = one.made_later
    job["status"] = {"succeeded": done, "completedIndexes": f"0-{done - 1}"}
    for each in one.laters[:done]:
        each["spec"]["nodeName"], each["status"] = "n1", {"phase": "Succeeded"}
    return [*running(one), job]


@pytest.mark.parametrize("kept", [True, False])
def test_room_is_kept_for_all_that_a_job_still_makes_whether_or_not_done_pods_are_kept(kept: bool) -> None:
    one = ordered_set(ONE, 1, 4, depends=True)
    objects = under_way(one, 1)
    plan = decide([node("n1", 8), *objects, *(one.laters[:1] if kept else [])])
    assert holds(plan) == [("default/o-b", 3)]


def test_a_pod_that_failed_is_no_second_one_of_its_index() -> None:
    one = ordered_set(ONE, 1, 3, depends=True)
    failed, again = (
        one.laters[0],
        {**one.laters[0], "metadata": {**one.laters[0]["metadata"], "name": "again"}},
    )
    failed["status"] = {"phase": "Failed"}
    plan = decide([node("n1", 8), *running(one), *one.made_later, failed, again])
    assert holds(plan) == [("default/o-b", 3)]


def test_the_state_learns_of_what_a_job_has_done_without_a_pod_that_says_so() -> None:
    one, state = ordered_set(ONE, 1, 4, depends=True), ClusterState()
    put(state, node("n1", 8), *running(one), *one.made_later)

    def coming() -> int:
        (view,) = state.snapshot().awaited
        assert view.later is not None
        return len(view.later.shapes)

    assert coming() == 4
    put(state, *under_way(one, 2)[-1:])
    assert coming() == 2


def test_what_waits_for_two_roles_needs_its_room_once() -> None:
    """Each role is a gang by itself, and so both may start without the other."""
    one = ordered_set(ONE, 1, 1, depends=False)
    roles = one.objects[0]["spec"]["replicatedJobs"]
    one.objects[0]["spec"].pop("startupPolicy")
    one.objects[0]["metadata"]["annotations"] = {"maitred.dev/gang": "replicated-job"}
    needs = [{"name": name, "status": "Ready"} for name in "ab"]
    roles.append({"name": "c", "dependsOn": needs, "template": {"spec": {"template": template(1, ONE)}}})
    plan = decide([node("n1", 3), *one.objects, *one.made_later, *one.firsts, *one.laters])
    assert (bound(plan), holds(plan)) == (["default/o-a-0-0", "default/o-b-0-0"], [("default/o-c", 1)])
