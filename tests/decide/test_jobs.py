"""Jobs as groups: a Job whose indexes all run at once is one gang, and needs no more YAML for that."""

from typing import Any

import pytest

from maitred.verify import verify
from tests.oracle import builders as b
from tests.oracle.builders import GROUP, INDEX, MIN_COUNT, Obj
from tests.support import decide

AS_WRITTEN: Obj = {"workloads": {"jobs": "as-written"}}
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j", "controller": True}


def job(workers: int, annotations: Obj | None = None, status: Obj | None = None, **spec: Any) -> Obj:
    said = {"parallelism": workers, "completions": workers, "completionMode": "Indexed", **spec}
    about = {"name": "train", "namespace": "default", "uid": "j", "annotations": annotations or {}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": said, "status": status or {}}


def pods(count: int, **fields: Any) -> list[Obj]:
    made = []
    for number in range(count):
        one = b.pod(f"train-{number}", cpu=1, **fields)
        one["metadata"].setdefault("labels", {})[INDEX] = str(number)
        one["metadata"]["ownerReferences"] = [OWNER]
        made.append(one)
    return made


def made_group(gang: int | None) -> Obj:
    """As a Job controller makes one by default: 1.36 a gang, 1.37 a basic one."""
    group = b.pod_group("train-x", gang)
    group["metadata"]["ownerReferences"] = [OWNER]
    return group


def decided(objects: list[Obj], policy: Obj | None = None) -> Obj:
    """The Plan, which the checker finds right by its own reading of Jobs."""
    plan = decide(objects, policy)
    assert verify(objects, plan, policy) == []
    return plan


def groups(plan: Obj) -> dict[str, tuple[str, int, int]]:
    return {one["group"]: (one["verdict"], one["members"], one["quorum"]) for one in plan["groups"]}


SMALL = [b.node("n1", cpu=3)]
LARGE = [b.node("n1", cpu=8)]


def test_a_job_that_runs_all_indexes_at_once_is_seated_whole_or_not_at_all() -> None:
    plan = decided([*SMALL, job(4), *pods(4)])
    assert groups(plan) == {"default/train": ("Impossible", 4, 4)}
    assert plan["binds"] == []
    assert len(decided([*LARGE, job(4), *pods(4)])["binds"]) == 4


def test_a_gang_waits_for_the_pods_that_are_not_created_yet() -> None:
    plan = decided([*LARGE, job(4), *pods(3)])
    assert groups(plan) == {"default/train": ("Waiting", 3, 4)}
    assert plan["groups"][0]["blockers"][0]["category"] == "Members"


MISSES: dict[str, Obj] = {
    "one pod at a time": {"parallelism": 1},
    "not indexed": {"completionMode": "NonIndexed"},
    "more completions than pods at a time": {"completions": 9},
    "without completions": {"completions": None},
}


@pytest.mark.parametrize("missed", MISSES)
def test_a_job_that_misses_a_condition_is_so_many_pods(missed: str) -> None:
    assert len(decided([*SMALL, job(4, **MISSES[missed]), *pods(4)])["binds"]) == 3


def test_the_policy_may_take_jobs_as_they_are_written() -> None:
    assert len(decided([*SMALL, job(4), *pods(4)], AS_WRITTEN)["binds"]) == 3


@pytest.mark.parametrize("policy", [None, AS_WRITTEN])
def test_a_mark_on_the_job_says_the_quorum_whatever_its_form(policy: Obj | None) -> None:
    marked = job(4, {MIN_COUNT: "3"}, completionMode="NonIndexed")
    plan = decided([*SMALL, marked, *pods(4)], policy)
    assert groups(plan) == {"default/train": ("Scheduled", 4, 3)}
    assert decided([b.node("n1", cpu=2), marked, *pods(4)], policy)["binds"] == []


def test_a_mark_in_the_template_says_the_quorum_too() -> None:
    template = {"metadata": {"annotations": {MIN_COUNT: "3"}}}
    marked = job(4, template=template)
    assert groups(decided([*SMALL, marked, *pods(4, annotations={MIN_COUNT: "3"})])) == {
        "default/train": ("Scheduled", 4, 3)
    }


def test_a_job_may_put_its_pods_into_a_group_with_others() -> None:
    others = [b.pod(f"other-{n}", cpu=1, annotations=b.gang("crew", 5)) for n in range(2)]
    marked = job(4, {GROUP: "crew", MIN_COUNT: "5"})
    assert decided([*SMALL, marked, *pods(4), *others])["binds"] == []
    assert groups(decided([*LARGE, marked, *pods(4), *others])) == {"default/crew": ("Scheduled", 6, 5)}


@pytest.mark.parametrize(
    ("annotations", "fields", "said"),
    [
        ({MIN_COUNT: "3"}, {"annotations": b.gang("crew", 4)}, "is 4 on the pod and 3 on its Job"),
        ({GROUP: "a"}, {"annotations": {GROUP: "b"}}, "name group default/b by maitred.dev/group and a by"),
        ({MIN_COUNT: "none"}, {}, "is not a whole number of at least 1"),
    ],
)
def test_what_contradicts_itself_is_invalid(annotations: Obj, fields: Obj, said: str) -> None:
    plan = decided([*LARGE, job(4, annotations), *pods(4, **fields)])
    assert {verdict for verdict, _, _ in groups(plan).values()} == {"Invalid"}
    assert said in plan["groups"][0]["blockers"][0]["message"]


# -- PodGroups that a Job controller makes -----------------------------------------------------------------


def test_a_basic_group_that_was_made_by_default_does_not_split_the_job() -> None:
    plan = decided([*SMALL, job(4), made_group(None), *pods(4, group="train-x")])
    assert groups(plan) == {"default/train": ("Impossible", 4, 4)}


def test_a_basic_group_that_the_job_asks_for_stands() -> None:
    asked = job(4, scheduling={"schedulingPolicy": {"basic": {}}})
    plan = decided([*SMALL, asked, made_group(None), *pods(4, group="train-x")])
    assert groups(plan) == {"default/train-x": ("Scheduled", 4, 1)}


def test_a_gang_that_was_made_by_default_stands_unless_the_job_says_more() -> None:
    plan = decided([*SMALL, job(4), made_group(4), *pods(4, group="train-x")])
    assert groups(plan) == {"default/train-x": ("Impossible", 4, 4)}
    plan = decided([*SMALL, job(4, {MIN_COUNT: "2"}), made_group(4), *pods(4, group="train-x")])
    assert groups(plan) == {"default/train": ("Scheduled", 4, 2)}


def test_a_group_that_a_person_made_stands() -> None:
    plan = decided([*SMALL, job(4), b.pod_group("train-x", None), *pods(4, group="train-x")])
    assert groups(plan) == {"default/train-x": ("Scheduled", 4, 1)}


# -- indexes -----------------------------------------------------------------------------------------------


def test_indexes_that_succeeded_count_although_their_pods_are_gone() -> None:
    done = job(6, status={"completedIndexes": "4-5", "succeeded": 2})
    plan = decided([*LARGE, done, *pods(4)])
    assert groups(plan) == {"default/train": ("Scheduled", 6, 6)}
    assert len(plan["binds"]) == 4
    assert decided([*SMALL, done, *pods(4)])["binds"] == []


def test_a_pod_that_succeeded_and_is_still_there_counts_once() -> None:
    done = job(6, status={"completedIndexes": "3-5", "succeeded": 3})
    kept = pods(4)
    kept[3]["status"]["phase"] = "Succeeded"
    assert groups(decided([*LARGE, done, *kept])) == {"default/train": ("Scheduled", 6, 6)}


def test_indexes_that_failed_for_good_lower_the_quorum() -> None:
    failed = job(6, status={"failedIndexes": "4,5", "failed": 2}, backoffLimitPerIndex=0)
    assert groups(decided([*LARGE, failed, *pods(4)])) == {"default/train": ("Scheduled", 4, 4)}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *(("0-2147483646", 4), ("0-9999999999", 4), ("1-2,7-9", 2), ("4-9", 0)),
        *(("0-1,1-2", 0), ("3-1", 0), ("-1", 0), ("1-", 0), ("x", 0), (",".join(map(str, range(9999))), 0)),
    ],
)
def test_only_indexes_that_the_job_has_count_whatever_its_status_says(text: str, count: int) -> None:
    """Whoever may write the status may write anything there. What nobody could mean says nothing."""
    [group] = decided([*LARGE, job(4, status={"completedIndexes": text}), *pods(1)])["groups"]
    assert (group["members"], group["quorum"]) == (1 + count, 4)
    [group] = decided([*LARGE, job(4, status={"failedIndexes": text}), *pods(1)])["groups"]
    assert group["quorum"] == max(1, 4 - count)


@pytest.mark.parametrize("count", [-5, 0, 10**9])
def test_a_quorum_that_spec_scheduling_cannot_mean_is_that_of_all_pods(count: int) -> None:
    """No API server has such a Job, but a file may."""
    odd = job(3, scheduling={"schedulingPolicy": {"gang": {"minCount": count}}})
    assert groups(decided([*LARGE, odd, *pods(3)])) == {"default/train": ("Scheduled", 3, 3)}


def test_a_job_is_followed_when_it_grows() -> None:
    running = pods(4, node="n1")
    late = pods(6)[4:]
    plan = decided([*LARGE, job(6), *running, *late])
    assert groups(plan) == {"default/train": ("Scheduled", 6, 6)}
