"""Groups as the objects that they come from are seen late, change and go: a gang is never split for that."""

from typing import Any

import msgspec
import pytest

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.model.group import Group
from maitred.model.membership import Stage, owners, stages_of
from maitred.model.objects import Object
from tests.decide.test_owners import CASES, RAY, SIZE, in_worker_set, job_set, made, of_set, owner, pods
from tests.oracle.builders import Obj
from tests.support import read, state_of


def watching(*raw: Obj) -> ClusterState:
    return state_of(read(raw), waits_for_owners=True)


def groups_of(state: ClusterState) -> dict[str, Group]:
    return {view.group.key.removeprefix("default/"): view.group for view in state.snapshot().groups}


def quorums(state: ClusterState) -> dict[str, int]:
    return {key: group.quorum for key, group in groups_of(state).items()}


@pytest.mark.parametrize("case", CASES)
def test_a_watch_ends_where_a_dump_does_whatever_is_seen_first(case: str) -> None:
    raw, expected = CASES[case]
    if case == "a JobSet that is not there: all pods that there are":
        return
    for order in (raw, raw[::-1]):
        assert quorums(watching(*order)) == {name: quorum for name, (_, quorum) in expected.items()}


def test_no_pod_is_let_go_before_its_owners_are_seen() -> None:
    """Watches of pods, Jobs and JobSets do not keep pace with each other."""
    jobs_and_pods = of_set()
    only_pods = [one for one in jobs_and_pods if one["kind"] == "Pod"]
    for seen, missing in ((only_pods, "Job default/s-"), (jobs_and_pods, "JobSet default/s")):
        groups = groups_of(watching(*seen))
        assert not any(group.exists for group in groups.values())
        assert all(group.origin.startswith(missing) for group in groups.values())


def test_workers_wait_for_their_set_to_be_seen() -> None:
    (group,) = groups_of(watching(*in_worker_set(0))).values()
    assert (group.exists, group.origin) == (False, "LeaderWorkerSet default/s")


def test_elastic_changes_are_followed() -> None:
    state = watching(made("RayCluster", "s", RAY), *pods("s", 5, by=("RayCluster", "s")))
    assert quorums(state) == {"s": 5}
    state.take_news()
    more: dict[str, Any] = {"workerGroupSpecs": [{**RAY["workerGroupSpecs"][0], "replicas": 3}]}
    state.apply(Put(*read([made("RayCluster", "s", more)])))
    assert quorums(state) == {"s": 7}
    assert state.take_news().groups == {"default/s"}
    assert not state.regrouped, "the pods are in the group that they were in"


def test_a_set_that_comes_to_have_stages_is_several_gangs_from_then_on() -> None:
    state = watching(job_set(), *of_set())
    state.apply(Put(*read([job_set(dependsOn=[{"name": "w", "status": "Complete"}])])))
    assert quorums(state) == {"s-w": 4, "s-d": 1}
    assert len(state.regrouped) == 5
    (known,) = read([job_set()])
    state.apply(Delete(type(known), "default/s"))
    assert not any(group.exists for group in groups_of(state).values())


def test_jobs_that_are_complete_count_when_their_pods_are_gone() -> None:
    """One Job of two has succeeded and its pods are gone; a pod of the other was made anew."""
    status = {"replicatedJobsStatus": [{"name": "w", "succeeded": 1}]}
    left = [one for one in of_set() if "s-w-1" not in one["metadata"]["name"]]
    state = watching({**job_set(), "status": status}, *left)
    (view,) = state.snapshot().groups
    assert (view.group.quorum, view.members, view.succeeded) == (5, 5, 2)


def test_an_owner_of_that_name_that_was_made_anew_is_another() -> None:
    state = watching(made("RayCluster", "s", RAY), *pods("s", 5, by=("RayCluster", "s")))
    (again,) = read([made("RayCluster", "s", RAY)])
    about = msgspec.structs.replace(again.metadata, uid="another")
    state.apply(Put(msgspec.structs.replace(again, metadata=about)))
    assert not any(group.exists for group in groups_of(state).values())


def test_labels_of_another_namespace_make_no_worker() -> None:
    strangers = in_worker_set(0)
    for one in strangers:
        one["metadata"]["namespace"] = "other"
    state = ClusterState()
    for item in read([made("LeaderWorkerSet", "s", SIZE), *in_worker_set(0), *strangers]):
        state.apply(Put(item))
    found = {view.group.key: view.members for view in state.snapshot().groups}
    assert found == {"default/s-0": 3, "other/s-0": 3}


def test_a_chain_of_owners_that_bites_its_tail_ends() -> None:
    looped = {**job_set(), "metadata": {**job_set()["metadata"], "ownerReferences": owner("JobSet", "s")}}
    assert quorums(watching(looped, *of_set())) == {"s": 5}


def test_an_owner_of_many_roles_is_read_once_for_all_its_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them may say something else, and all of them are settled again when it changes."""
    times = list[Object]()

    def counted(owner: Object) -> tuple[Stage, ...]:
        times.append(owner)
        return stages_of(owner)

    monkeypatch.setattr(owners, "stages_of", counted)
    members = pods("c", 40, by=("RayCluster", "c"))
    for number, one in enumerate(members):
        one["metadata"]["annotations"] = {"kueue.x-k8s.io/queue-name": f"q{number}"}
    state = watching(*members, made("RayCluster", "c", RAY))
    assert len(times) == 1
    changed = made("RayCluster", "c", RAY)
    changed["metadata"]["labels"] = {"a": "b"}
    for item in read([changed]):
        state.apply(Put(item))
    assert len(times) == 2
