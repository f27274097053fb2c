"""The pods that a suspended Job would make, against what its controller does make of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.tables import Tables
from maitred.controllers.owners.members import MOST_ALONE, awaited_pods, stand_ins
from maitred.kube.wire import WatchedPod
from maitred.model.job import JOB_NAMES, index_ranges
from maitred.model.membership import group_key
from maitred.model.meta import ObjectMeta
from maitred.model.objects import Object
from maitred.model.operators.pods.remaining import open_indexes
from maitred.model.operators.ray import RayClusterSpec, RayJob, RayJobSpec, WorkerGroup
from maitred.model.pod import SchedulingGroup
from maitred.model.suspension import Suspension
from maitred.sandbox.housekeeping.jobs.indexes import written
from tests.controllers.owners.made import RECORD, job, record
from tests.oracle.builders import INDEX, gang, moment


def standing(one: Object, kept: Suspension) -> list[WatchedPod]:
    return stand_ins(one, kept, awaited_pods(one, kept, Tables()), "maitred").pods


def made(*args: object, **fields: object) -> list[WatchedPod]:
    return standing(job(*args, **fields), RECORD)  # type: ignore[arg-type]


def made_of(size: int, **fields: object) -> list[WatchedPod]:
    return standing(job(size=size, **fields), record(members=size))  # type: ignore[arg-type]


def indexes(pods: list[WatchedPod]) -> list[str]:
    return [pod.metadata.annotations[INDEX] for pod in pods]


def test_a_member_is_what_the_job_would_make() -> None:
    suspended = job(size=2, marks=gang("train", 2), pod={"priorityClassName": "low"})
    first, second = standing(suspended, RECORD)
    assert first.metadata.labels == {**dict.fromkeys(JOB_NAMES, "train"), INDEX: "0"}
    assert first.metadata.annotations == {**gang("train", 2), INDEX: "0"}
    assert second.metadata.annotations[INDEX] == "1"
    assert first.metadata.uid != second.metadata.uid
    owner = first.metadata.owner_references[0]
    assert (owner.kind, owner.name, owner.uid) == ("Job", "train", suspended.metadata.uid)
    assert owner.controller
    assert first.spec.containers == suspended.spec.template.spec.containers
    assert (first.spec.priority_class_name, first.spec.priority) == ("low", None)
    assert group_key(first) == "default/train"


def test_a_group_keeps_its_age() -> None:
    (pod, *_) = made()
    assert pod.metadata.creation_timestamp is not None
    assert pod.metadata.creation_timestamp.strftime("%Y-%m-%dT%H:%M:%SZ") == moment(5)


def test_no_pod_of_the_api_can_have_its_name() -> None:
    assert all(":" in pod.metadata.name for pod in made())


def test_the_pod_group_that_the_job_controller_adds_is_in_the_record() -> None:
    (pod, *_) = standing(job(), record(pod_group="train-pg"))
    assert pod.spec.scheduling_group == SchedulingGroup("train-pg")


def test_the_pod_group_that_the_template_names_is_kept() -> None:
    (pod, *_) = made(pod={"schedulingGroup": {"podGroupName": "own"}})
    assert pod.spec.scheduling_group == SchedulingGroup("own")


def test_whoever_seats_its_pods_we_decide_when_it_comes_back() -> None:
    (pod, *_) = made(pod={"schedulerName": "default-scheduler"})
    assert pod.spec.scheduler_name == "maitred"


def test_gates_are_not_waited_for() -> None:
    (pod, *_) = made(pod={"schedulingGates": [{"name": "example.com/quota"}]})
    assert pod.spec.scheduling_gates == ()


def test_pods_that_ask_no_scheduler_are_waited_for_on_their_node() -> None:
    (pod, *_) = made(pod={"nodeName": "n7", "nodeSelector": {"pool": "a"}})
    assert pod.spec.node_name == ""
    assert pod.spec.node_selector == {"pool": "a", "kubernetes.io/hostname": "n7"}


def test_indexes_that_are_done_are_not_made_again() -> None:
    status = {"succeeded": 3, "completedIndexes": "0,2-3", "failedIndexes": "5"}
    assert indexes(made_of(8, status=status)) == ["1", "4", "6", "7"]


def test_no_more_at_a_time_than_the_job_allows() -> None:
    spec = {"completions": 8, "parallelism": 3}
    assert indexes(made(spec=spec, status={"succeeded": 2, "completedIndexes": "0,3"})) == ["1", "2", "4"]
    assert len(made(spec=spec, status={"succeeded": 6, "completedIndexes": "0-5"})) == 2


@pytest.mark.parametrize(
    ("completions", "parallelism", "succeeded", "count"),
    [
        (8, 3, 0, 3),
        (8, 3, 6, 2),
        (8, 3, 8, 0),
        (None, 3, 0, 3),
        (None, 3, 1, 0),
        (None, None, 0, 1),
        (8, 0, 0, 0),
    ],
)
def test_how_many_where_there_are_no_indexes(
    completions: int | None, parallelism: int | None, succeeded: int, count: int
) -> None:
    spec = {"completionMode": "NonIndexed", "completions": completions, "parallelism": parallelism}
    pods = made(spec=spec, status={"succeeded": succeeded})
    assert len(pods) == count
    assert all(INDEX not in pod.metadata.annotations for pod in pods)


@pytest.mark.parametrize("mode", ["Indexed", "NonIndexed"])
@pytest.mark.parametrize("marks", [None, gang("train", 4)])
def test_there_are_no_more_than_pods_left_whatever_the_job_asks_for_by_now(
    mode: str, marks: dict[str, str] | None
) -> None:
    most = 2**31 - 1
    spec = {"completionMode": mode, "completions": most, "parallelism": most}
    assert len(made(spec=spec, marks=marks)) == RECORD.members


def test_of_pods_that_are_in_no_group_some_stand_for_all() -> None:
    left = record(members=10_000)
    apart = {"completionMode": "NonIndexed"}
    assert len(standing(job(size=10_000, spec=apart), left)) == MOST_ALONE
    assert len(standing(job(size=10_000), left)) == 10_000
    assert len(standing(job(size=10_000, marks=gang("train", 8)), left)) == 10_000
    assert len(standing(job(size=200), record(members=200, pod_group="train"))) == 200


def test_a_priority_comes_from_its_class_and_not_from_a_number_in_a_template() -> None:
    own = {"priority": 2_000_000_000, "preemptionPolicy": "Never", "priorityClassName": "low"}
    (pod, *_) = made(pod=own)
    assert (pod.spec.priority, pod.spec.preemption_policy) == (None, "")
    assert pod.spec.priority_class_name == "low"


@pytest.mark.parametrize("text", ["", "x", "3-", "-3", "1.5", "9" * 5000, "5-2"])
def test_indexes_that_make_no_sense_are_left_out(text: str) -> None:
    assert indexes(made_of(8, status={"completedIndexes": text})) == list("01234567")


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.integers(0, 30))
def test_open_indexes_are_all_others(completed: set[int], failed: set[int], completions: int) -> None:
    status = {"completedIndexes": written(completed), "failedIndexes": written(failed)}
    found = list(open_indexes(job(spec={"completions": completions}, status=status)))
    assert found == [index for index in range(completions) if index not in completed | failed]


@given(st.sets(st.integers(0, 100)))
def test_indexes_are_read_as_a_job_writes_them(chosen: set[int]) -> None:
    assert {
        index for first, last in index_ranges(written(chosen), 101) for index in range(first, last + 1)
    } == chosen


def test_a_pod_that_comes_when_others_run_does_not_stand_in() -> None:
    """The one that submits the job of a RayJob would find a place long before the cluster does."""
    ray_job = RayJob(
        metadata=ObjectMeta(name="tune", namespace="default", uid="u"),
        spec=RayJobSpec(
            ray_cluster_spec=RayClusterSpec(worker_group_specs=(WorkerGroup(group_name="w", replicas=4),))
        ),
    )
    assert len(standing(ray_job, record(members=6))) == 5
