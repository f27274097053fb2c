"""What the scheduler believes between an order and the watch that confirms it."""

import msgspec

from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.seating import ANNOTATION
from maitred.kube.wire import WatchedPod
from maitred.model.suspending import OwnerName
from tests.cluster.seen import put
from tests.controllers.watched import watched_group, watched_pod
from tests.oracle.builders import gang, node

SEATED = {ANNOTATION: "2026-01-01T00:00:05.000000+00:00 2/2"}


def mirror(*pods: WatchedPod) -> Mirror:
    found = Mirror("maitred")
    put(found.state, node("n1", cpu=2), node("n2", cpu=2))
    for pod in pods:
        found.put_pod(pod)
    return found


def used(found: Mirror) -> dict[str, int]:
    """Thousandths of a core in use, by node."""
    snapshot = found.state.snapshot()
    return {name: int(snapshot.used[0, row]) for row, name in enumerate(snapshot.nodes.names)}


def waiting(found: Mirror) -> list[str]:
    return [pod for view in found.state.snapshot().groups for pod in view.pods]


def test_a_pod_is_taken_as_seated_from_the_order_on() -> None:
    found = mirror(watched_pod("a", cpu=1))
    assert found.overlay.assume("default/a", "default-a", "n1")
    assert used(found) == {"n1": 1000, "n2": 0}
    assert waiting(found) == []
    assert found.overlay.assumed == 1


def test_a_late_event_of_before_the_bind_does_not_take_the_place_away() -> None:
    found = mirror(watched_pod("a", cpu=1))
    found.overlay.assume("default/a", "default-a", "n1")
    found.put_pod(watched_pod("a", cpu=1, labels={"touched": "yes"}))
    assert used(found) == {"n1": 1000, "n2": 0}


def test_the_watch_has_the_last_word_on_where_a_pod_is() -> None:
    found = mirror(watched_pod("a", cpu=1))
    found.overlay.assume("default/a", "default-a", "n1")
    found.put_pod(watched_pod("a", cpu=1, node="n2"))
    assert used(found) == {"n1": 0, "n2": 1000}
    assert found.overlay.assumed == 0
    assert found.waiting_by_group == {}


def test_a_pod_that_goes_while_it_is_bound_gives_its_place_back() -> None:
    found = mirror(watched_pod("a", cpu=1), watched_pod("b", cpu=1))
    for name in ("a", "b"):
        found.overlay.assume(f"default/{name}", f"default-{name}", "n1")
    found.pod_gone("default/a")
    found.put_pod(watched_pod("b", cpu=1, deleted=True))
    assert used(found) == {"n1": 0, "n2": 0}
    assert found.overlay.assumed == 0


def test_another_pod_of_the_name_does_not_inherit_the_place() -> None:
    found = mirror(watched_pod("a", cpu=1))
    found.overlay.assume("default/a", "default-a", "n1")
    another = watched_pod("a", cpu=1, namespace="default")
    meta = type(another.metadata)(name="a", namespace="default", uid="other")
    found.put_pod(type(another)(metadata=meta, spec=another.spec, status=another.status))
    assert used(found) == {"n1": 0, "n2": 0}
    assert waiting(found) == ["default/a"]


def test_nothing_is_assumed_of_a_pod_that_is_not_the_one_that_was_decided() -> None:
    found = mirror(watched_pod("a", cpu=1), watched_pod("b", cpu=1, node="n1"))
    assert not found.overlay.assume("default/a", "another", "n1")
    assert not found.overlay.assume("default/b", "default-b", "n2")
    assert not found.overlay.assume("default/c", "", "n2")
    assert found.overlay.assume("default/a", "default-a", "n1")
    assert not found.overlay.assume("default/a", "default-a", "n1"), "it is on its way already"


def test_what_was_refused_waits_again() -> None:
    found = mirror(watched_pod("a", cpu=1))
    found.overlay.assume("default/a", "default-a", "n1")
    found.overlay.retract(["default/a", "default/unknown"])
    assert waiting(found) == ["default/a"]
    assert used(found) == {"n1": 0, "n2": 0}
    assert found.changed.is_set()


def test_waiting_pods_of_ours_are_known_by_group() -> None:
    found = mirror(
        watched_pod("a", annotations=gang("g", 2)),
        watched_pod("b", annotations=gang("g", 2)),
        watched_pod("alone"),
        watched_pod("theirs", scheduler="default-scheduler"),
    )
    assert found.waiting_by_group == {
        "default/g": {"default/a", "default/b"},
        "default/alone": {"default/alone"},
    }
    found.overlay.assume("default/a", "default-a", "n1")
    assert [pod.metadata.name for pod in found.unseated("default/g")] == ["b"]
    found.put_pod(watched_pod("b", annotations=gang("h", 2)))
    assert found.waiting_by_group["default/g"] == {"default/a"}
    assert found.waiting_by_group["default/h"] == {"default/b"}


def test_mates_are_the_members_that_we_have_bound() -> None:
    marks = {**gang("g", 2), **SEATED}
    found = mirror(
        watched_pod("a", node="n1", annotations=marks, owner="Job/j"),
        watched_pod("b", node="n1", annotations=marks),
        watched_pod("c", node="n1", annotations=gang("g", 2)),
        watched_pod("d", node="n1", annotations=marks, phase="Failed"),
        watched_pod("e", node="n1", annotations=marks, deleted=True),
        watched_pod("f", node="n1", annotations=marks, scheduler="other"),
        watched_pod("g", node="n1", annotations={**gang("g", 2), ANNOTATION: "yesterday"}),
    )
    mates = found.mates["default/g"]
    assert {key: mate.owned for key, mate in mates.items()} == {"default/a": True, "default/b": False}
    found.pod_gone("default/a")
    found.put_pod(watched_pod("b", node="n1", annotations=marks, phase="Succeeded"))
    assert found.mates == {}


def test_a_group_that_is_deleted_is_forgotten() -> None:
    found = mirror()
    found.put_group(watched_group("g", 2))
    assert list(found.groups) == ["default/g"]
    found.group_gone("default/g")
    assert found.groups == {}


def nominated(name: str, node: str) -> WatchedPod:
    pod = watched_pod(name, cpu=1)
    status = msgspec.structs.replace(pod.status, nominated_node_name=node)
    return msgspec.structs.replace(pod, status=status)


def promised(found: Mirror) -> dict[str, str]:
    views = found.state.snapshot().groups
    return {view.pods[0]: view.nominated[0] for view in views if view.nominated}


def test_a_pod_has_its_promised_node_from_the_promise_on() -> None:
    found = mirror(watched_pod("a", cpu=1))
    assert found.overlay.promise("default/a", "default-a", "n1")
    found.put_pod(watched_pod("a", cpu=1, labels={"touched": "yes"}))
    assert promised(found) == {"default/a": "n1"}
    assert found.overlay.promised("default/a") == {"default/a": "n1"}
    assert used(found) == {"n1": 0, "n2": 0}


def test_the_watch_has_the_last_word_on_a_promise_that_it_has_confirmed() -> None:
    found = mirror(watched_pod("a", cpu=1))
    found.overlay.promise("default/a", "default-a", "n1")
    found.put_pod(nominated("a", "n1"))
    found.put_pod(nominated("a", "n2"))
    assert promised(found) == {"default/a": "n2"}


def test_a_promise_that_was_taken_back_does_not_return_with_late_news() -> None:
    found = mirror(nominated("a", "n1"))
    assert promised(found) == {"default/a": "n1"}
    found.overlay.promise("default/a", "default-a", "")
    found.put_pod(nominated("a", "n1"))
    assert promised(found) == {}
    assert found.overlay.promised("default/a") == {}


def test_a_promise_that_was_not_written_falls_back_to_what_the_server_has() -> None:
    found = mirror(nominated("a", "n1"))
    found.overlay.promise("default/a", "default-a", "n2")
    found.overlay.retract_promise("default/a", "n1")  # an earlier one, which does not count any more
    assert promised(found) == {"default/a": "n2"}
    found.overlay.retract_promise("default/a", "n2")
    assert promised(found) == {"default/a": "n1"}


def test_a_pod_that_is_sent_to_a_node_needs_no_promise() -> None:
    found = mirror(nominated("a", "n1"))
    found.overlay.assume("default/a", "default-a", "n2")
    assert found.overlay.promised("default/a") == {}
    assert not found.overlay.promise("default/a", "default-a", "n1")
    found.overlay.retract(["default/a"])
    assert found.overlay.promised("default/a") == {"default/a": "n1"}
    found.pod_gone("default/a")
    assert found.overlay.promised("default/a") == {}


def test_a_pod_that_was_told_to_go_is_leaving_until_it_is_gone() -> None:
    found = mirror(watched_pod("a", cpu=1, node="n1"))
    assert not found.overlay.dismiss("default/a", "another")
    assert found.overlay.dismiss("default/a", "default-a")
    assert not found.overlay.dismiss("default/a", "default-a")
    found.put_pod(watched_pod("a", cpu=1, node="n1", labels={"touched": "yes"}))
    assert list(found.state.snapshot().bound.terminating) == [True]
    assert used(found) == {"n1": 1000, "n2": 0}
    found.overlay.retract_dismissal("default/a", "default-a")
    assert list(found.state.snapshot().bound.terminating) == [False]


def test_another_pod_of_the_name_was_not_told_to_go() -> None:
    found = mirror(watched_pod("a", cpu=1, node="n1"))
    found.overlay.dismiss("default/a", "default-a")
    another = watched_pod("a", cpu=1, node="n2")
    found.put_pod(
        msgspec.structs.replace(another, metadata=msgspec.structs.replace(another.metadata, uid="b"))
    )
    assert list(found.state.snapshot().bound.terminating) == [False]


JOB = OwnerName("Job", "default/job")


def test_a_hold_says_who_where_and_why_and_ends_with_its_last_place() -> None:
    found = mirror(watched_pod("a", cpu=1, annotations=gang("g", 2)))
    found.stand_in(JOB, [watched_pod("job:0", cpu=1), watched_pod("job:1", cpu=1)])
    overlay = found.overlay
    assert overlay.hold("Nomination", "default/g") is overlay.hold("Return", "Job default/job") is None
    for key in ("a", "job:0", "job:1"):
        assert overlay.promise(f"default/{key}", f"default-{key}", "n1")
    nomination, returning = overlay.hold("Nomination", "default/g"), overlay.hold("Return", "Job default/job")
    assert nomination is not None
    assert returning is not None
    assert (nomination.who, nomination.places) == ("default/g", {"default/a": "n1"})
    assert (returning.who, returning.places) == (
        "Job default/job",
        {"default/job:0": "n1", "default/job:1": "n1"},
    )
    assert overlay.promised("default/job:0") == {}, "it is nothing that could be written of a pod"
    assert not found.stand_down(JOB, 2)
    overlay.retract_promise("default/a", "n1")
    assert overlay.hold("Nomination", "default/g") is overlay.hold("Return", "Job default/job") is None


def test_stand_ins_of_a_job_that_returns_name_the_scheduler_that_its_pods_will_name() -> None:
    found = mirror()
    found.stand_in(JOB, [watched_pod("job:0", cpu=1)])

    def schedulers() -> tuple[str, ...]:
        (view,) = found.state.snapshot().groups
        return view.pending_schedulers

    found.overlay.resume(JOB, "default-scheduler")
    assert schedulers() == ("default-scheduler",)
    found.overlay.stays_away(JOB)
    assert schedulers() == ("maitred",)


def test_there_is_room_for_what_is_held_until_others_have_it() -> None:
    found = mirror(watched_pod("a", cpu=1), watched_pod("b", cpu=1), watched_pod("c", cpu=2))
    held = {"default/a": "n1", "default/b": "n1"}
    assert found.state.has_room_for(held)
    assert not found.state.has_room_for({"default/a": "gone"})
    assert found.overlay.assume("default/c", "default-c", "n1")
    assert not found.state.has_room_for(held)
    assert found.state.has_room_for(dict.fromkeys(held, "n2"))
