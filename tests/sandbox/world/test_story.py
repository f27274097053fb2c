"""Stories: those that come along are in order, and those that are not are refused in plain words."""

from pathlib import Path

import pytest

from maitred.model.manifest import InputError
from maitred.model.world import World
from maitred.sandbox.world.gangs import gang_objects
from maitred.sandbox.world.layout import machines
from maitred.sandbox.world.story import StoryGang, read_story, stories

LABELS = {key for machine in machines(World()) for key in machine.labels}


def test_the_promised_stories_come_along() -> None:
    promised = {"two-gangs", "eight-workers", "pod-by-pod", "full-cluster", "rack-fault", "queue"}
    assert promised <= set(stories())


@pytest.mark.parametrize("file", stories().values(), ids=stories().keys())
def test_a_story_can_be_read_and_fits_the_usual_world(file: Path) -> None:
    story = read_story(file.read_bytes(), file.name)
    assert story.about
    for gang in (gang for step in story.steps for gang in step.gangs):
        assert gang.within in ("", *LABELS)
        assert gang.gpus <= 8


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ("[]", "steps: has 0 steps"),
        ("[{}]", "steps[0]: must have exactly one of gangs, apply,"),
        ("[{say: a, wait: {seconds: 1}, delete: [b]}]", "steps[0]: must have exactly one of gangs, apply,"),
        ("[{gangs: [{name: A_, workers: 2}]}]", "steps[0].gangs[0].name: 'A_' is not a name"),
        ("[{gangs: [{name: a}]}]", "steps[0].gangs[0].workers: is required"),
        ("[{wait: {group: a, is: Scheduled}}]", "steps[0].wait.group: no earlier step created 'a'"),
        ("[{delete: [a]}]", "steps[0].delete: no earlier step created 'a'"),
        ("[{fail: {racksOf: a}}]", "steps[0].fail.racksOf: no earlier step created 'a'"),
        ("[{fail: {}}]", "steps[0].fail: must say which nodes"),
        ("[{wait: {}}]", "steps[0].wait: must have exactly one of seconds and group"),
        (
            "[{gangs: [{name: a, workers: 1}]}, {wait: {group: a}}]",
            "steps[1].wait: must say what to wait for",
        ),
        ("[{apply: [{kind: Pod}]}]", "steps[0].apply[0].apiVersion: is required"),
        ("[{apply: [{apiVersion: v1, kind: Pod}]}]", "steps[0].apply[0].metadata.name: is required"),
        ("[{wate: 1}]", "steps[0].wate: there is no such field"),
    ],
)
def test_what_is_wrong_is_named(steps: str, error: str) -> None:
    with pytest.raises(InputError) as refused:
        read_story(f"{{title: t, steps: {steps}}}".encode(), "s.yaml")
    assert str(refused.value).startswith(f"s.yaml: {error}")


def test_a_gang_is_a_group_and_a_job_whose_pods_are_in_it() -> None:
    group, job = gang_objects(StoryGang("a", 4, seconds=3, within="example.com/rack", quorum=2))
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert group["spec"]["schedulingConstraints"] == {"topology": [{"key": "example.com/rack"}]}
    template = job["spec"]["template"]
    assert job["spec"]["parallelism"] == job["spec"]["completions"] == 4
    assert template["spec"]["schedulingGroup"] == {"podGroupName": "a"}
    assert template["metadata"]["annotations"] == {"maitred.dev/run-seconds": "3"}


def test_pods_that_are_no_gang_have_a_basic_group() -> None:
    group, _ = gang_objects(StoryGang("a", 4, basic=True, scheduler="default-scheduler"))
    assert group["spec"]["schedulingPolicy"] == {"basic": {}}
