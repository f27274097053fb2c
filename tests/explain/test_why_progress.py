"""How far a group has got that has its places, from what kubelets and events tell."""

from typing import Any

import pytest

from maitred.explain.why.answer import Why
from maitred.explain.why.progress import ImageSizes, full_name
from maitred.model.node import ContainerImage
from tests.explain.whys import seen_of, why_of
from tests.oracle import builders as b
from tests.support import Obj

IMAGE = "registry.example/train:1"
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T11:00:00Z"}
BOUND = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-31T11:40:00Z"}


def member(number: int, *conditions: Obj, **status: Any) -> Obj:
    made = b.pod(f"crew-{number}", gpu=8, group="crew", index=number, node=f"n{number}")
    made["status"] = {
        "phase": "Running",
        "startTime": "2026-01-31T10:59:00Z",
        "conditions": list(conditions),
        **status,
    }
    return made


def container(state: Obj, **fields: Any) -> list[Obj]:
    return [{"name": "main", "image": IMAGE, "state": state, **fields}]


def event(reason: str, message: str, at: str, pod: str = "crew-1") -> Obj:
    about = {"kind": "Pod", "namespace": "default", "name": pod}
    return {"involvedObject": about, "reason": reason, "message": message, "lastTimestamp": at}


def asked(slow: Obj, *events: Obj, images: tuple[Obj, ...] = ()) -> Why:
    nodes = [b.node(f"n{i}", gpu=8, rack="r3") for i in range(2)]
    nodes[0]["status"]["images"] = list(images)
    objects = [*nodes, b.pod_group("crew", 2, "rack"), member(0, READY), slow]
    return why_of(objects, seen=seen_of(objects, *events))


CREATING = container({"waiting": {"reason": "ContainerCreating"}})
PULLING = event("Pulling", f'Pulling image "{IMAGE}"', "2026-01-31T11:49:00Z")


def test_an_image_that_takes_long() -> None:
    large = {"names": ["registry.example/train@sha256:1", IMAGE], "sizeBytes": 38_000_000_000}
    answer = asked(member(1, BOUND, phase="Pending", containerStatuses=CREATING), PULLING, images=(large,))
    assert answer.state == "Starting"
    assert answer.summary == "default/crew is starting in rack r3: 1 of 2 Ready; n1 pulling 38 GB for 11 min"


@pytest.mark.parametrize(
    ("status", "events", "cause", "words"),
    [
        ({"containerStatuses": CREATING}, [PULLING], "Pulling", f"pulling {IMAGE}"),
        (
            {"containerStatuses": CREATING},
            [PULLING, event("Pulled", f'Successfully pulled image "{IMAGE}" in 2s', "2026-01-31T11:50:00Z")],
            "Starting",
            "creating its containers",
        ),
        (
            {"containerStatuses": CREATING},
            [event("FailedMount", 'MountVolume.SetUp failed for "data": timed out', "2026-01-31T11:50:00Z")],
            "Mount",
            'FailedMount: MountVolume.SetUp failed for "data": timed out',
        ),
        (
            {
                "containerStatuses": container(
                    {"waiting": {"reason": "ImagePullBackOff", "message": "denied"}}
                )
            },
            [],
            "Pull",
            f"cannot pull {IMAGE}: denied",
        ),
        (
            {
                "containerStatuses": container(
                    {"waiting": {"reason": "CrashLoopBackOff"}},
                    restartCount=5,
                    lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                )
            },
            [],
            "Crash",
            "crashing: container main was restarted 5 times, last with exit code 137 (OOMKilled)",
        ),
        (
            {"containerStatuses": container({"waiting": {"reason": "CreateContainerConfigError"}})},
            [],
            "CreateContainerConfigError",
            "CreateContainerConfigError: CreateContainerConfigError",
        ),
        (
            {
                "initContainerStatuses": [
                    {"name": "fetch", "state": {"running": {"startedAt": "2026-01-31T11:30:00Z"}}},
                    {"name": "check", "state": {"waiting": {"reason": "PodInitializing"}}},
                ],
                "containerStatuses": container({"waiting": {"reason": "PodInitializing"}}),
            },
            [],
            "Init",
            "running init container fetch",
        ),
        (
            {"containerStatuses": container({"running": {"startedAt": "2026-01-31T11:30:00Z"}})},
            [event("Unhealthy", "Readiness probe failed: 503", "2026-01-31T11:59:00Z")],
            "Unready",
            "running, not Ready: Readiness probe failed: 503",
        ),
        ({}, [], "Kubelet", "has not started it"),
        (
            {
                "phase": "Failed",
                "containerStatuses": container({"terminated": {"exitCode": 1, "reason": "Error"}}),
            },
            [],
            "Failed",
            "failed: container main ended with exit code 1",
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "disk"}, [], "Failed", "failed: Evicted: disk"),
    ],
)
def test_what_holds_a_member_up(status: Obj, events: list[Obj], cause: str, words: str) -> None:
    answer = asked(member(1, BOUND, **{"phase": "Pending", **status}), *events)
    assert answer.progress is not None
    (slow,) = answer.progress.slow
    assert (slow.cause, slow.words, slow.pod, slow.node) == (cause, words, "default/crew-1", "n1")


def test_events_of_the_newer_form_are_read_too() -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "crew-1"}
    newer = {
        "regarding": about,
        "reason": "Pulling",
        "note": f'Pulling image "{IMAGE}"',
        "eventTime": "2026-01-31T11:40:00.000000Z",
        "series": {"count": 2, "lastObservedTime": "2026-01-31T11:58:00.000000Z"},
    }
    answer = asked(member(1, BOUND, phase="Pending", containerStatuses=CREATING), newer)
    assert answer.progress is not None
    assert answer.progress.slow[0].seconds == 120.0


def test_members_that_are_held_up_alike_are_told_once() -> None:
    nodes = [b.node(f"n{i}", gpu=8) for i in range(3)]
    slow = [member(i, BOUND, phase="Pending", containerStatuses=CREATING) for i in (1, 2)]
    objects = [*nodes, b.pod_group("crew", 3), member(0, READY), *slow]
    later = event("Pulling", f'Pulling image "{IMAGE}"', "2026-01-31T11:55:00Z", "crew-2")
    answer = why_of(objects, seen=seen_of(objects, PULLING, later))
    assert answer.progress is not None
    (found,) = answer.progress.slow
    assert (found.members, found.pod, found.since) == (2, "default/crew-1", "2026-01-31T11:49:00Z")
    assert answer.summary.endswith("n1 pulling registry.example/train:1 for 11 min (1 more like it)")


def test_all_ready() -> None:
    answer = asked(member(1, READY))
    assert (answer.state, answer.verdict) == ("Running", "Scheduled")
    assert answer.summary == "default/crew runs in rack r3: 2 of 2 Ready"
    assert answer.placement is not None
    assert answer.placement.since == "2026-01-31T10:59:00Z"


def test_where_nothing_is_told_of_pods() -> None:
    objects = [b.node("n0"), b.pod("alone", cpu=1, node="n0")]
    answer = why_of(objects, "default/alone", seen=seen_of(objects))
    assert answer.progress is None
    assert answer.summary == "default/alone runs on n0: 1 of 1 placed"
    assert any("is not known: the status of its pods was not read" in note for note in answer.notes)


def ended(number: int, phase: str, code: int = 0) -> Obj:
    over = {"exitCode": code, "finishedAt": f"2026-01-31T11:0{number}:00Z"}
    return member(number, phase=phase, containerStatuses=container({"terminated": over}))


def test_a_group_that_has_finished() -> None:
    objects = [b.node("n0"), b.pod_group("crew", 2), ended(0, "Succeeded"), ended(1, "Succeeded")]
    answer = why_of(objects, seen=seen_of(objects))
    assert (answer.state, answer.verdict) == ("Finished", None)
    assert answer.summary == (
        "default/crew has finished: 2 of 2 members succeeded, the last at 2026-01-31T11:01:00Z"
    )


def test_a_group_that_has_finished_without_members_that_are_gone() -> None:
    objects = [b.node("n0"), b.pod_group("crew", 2), ended(0, "Succeeded")]
    answer = why_of(objects, seen=seen_of(objects))
    assert answer.summary == (
        "default/crew has finished: 1 of the 2 members that it needs succeeded, the last at "
        "2026-01-31T11:00:00Z; the others are gone"
    )


def test_a_group_that_has_failed() -> None:
    objects = [b.node("n0"), b.pod_group("crew", 2), ended(0, "Succeeded"), ended(1, "Failed", 3)]
    answer = why_of(objects, seen=seen_of(objects))
    assert answer.state == "Failed"
    assert answer.summary == (
        "default/crew has failed: 1 of 2 members failed, the last at 2026-01-31T11:01:00Z; "
        "default/crew-1 on n1 failed: container main ended with exit code 3"
    )


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("team/train:2", "docker.io/team/train:2"),
        ("registry.example:5000/train", "registry.example:5000/train:latest"),
        ("localhost/a@sha256:1", "localhost/a@sha256:1"),
    ],
)
def test_names_of_images(short: str, full: str) -> None:
    assert full_name(short) == full


def test_sizes_of_images() -> None:
    sizes = ImageSizes([(ContainerImage(("docker.io/library/busybox:latest",), 4_300_000),), ()])
    assert sizes.words("busybox") == "4 MB"
    assert sizes.words("unknown") == ""


def test_a_member_on_a_lost_node_is_not_starting() -> None:
    nodes = [b.node("n0", gpu=8), b.node("n1", gpu=8, ready=None)]
    for ready in (READY, {**READY, "status": "False"}):
        objects = [*nodes, b.pod_group("crew", 2), member(0, READY), member(1, ready)]
        answer = why_of(objects, seen=seen_of(objects))
        assert (answer.state, answer.placed, answer.progress and answer.progress.ready) == ("Running", 1, 1)
        assert answer.summary == (
            "default/crew is broken: 1 of its quorum of 2 runs, 1 is lost with its node"
        )
        assert answer.notes == ("1 member is on nodes that are lost: n1 does not answer",)


def test_a_member_whose_node_is_gone_is_lost() -> None:
    objects = [b.node("n0", gpu=8), b.pod_group("crew", 2), member(0, READY), member(1, READY)]
    answer = why_of(objects, seen=seen_of(objects))
    assert answer.notes == ("1 member is on nodes that are lost: n1 is gone",)


@pytest.mark.parametrize(
    ("due", "words", "note"),
    [
        ("11:46:00", "not known: it has no room until other groups end, and they declare no run time", True),
        ("12:01:00", "about 12:00 to 12:01 UTC", False),
    ],
)
def test_an_end_that_passed_unkept_is_no_end(due: str, words: str, note: bool) -> None:
    old = b.pod("old", gpu=8, node="n0", priority=1000)
    old["metadata"]["deletionTimestamp"] = f"2026-01-31T{due}Z"
    answer = why_of([b.node("n0", gpu=8), old, *b.pods("crew", 1, gpu=8)], "default/crew-0")
    assert answer.estimate is not None
    assert answer.estimate.words.startswith(words)
    stuck = "default/old on n0 should be gone and has not left: check the node and the pod's finalizers"
    assert (stuck in answer.notes) == note


def test_a_member_that_leaves_says_since_when_only_once_it_is_late() -> None:
    def slow(due: str) -> tuple[str, float | None, str]:
        leaving = member(1, READY)
        leaving["metadata"]["deletionTimestamp"] = f"2026-01-31T{due}Z"
        answer = asked(leaving)
        assert answer.progress is not None
        return answer.progress.slow[0].cause, answer.progress.slow[0].seconds, answer.progress.slow[0].words

    assert slow("12:00:30") == ("Leaving", None, "leaving")
    assert slow("11:46:00") == ("Stuck", 840.0, "is past its grace period and still there")
