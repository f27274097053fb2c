"""On whose account pods are, as the objects that say so are seen late and change."""

import pytest

from maitred.cluster import interning
from maitred.cluster.state import ClusterState
from maitred.model.categories import Effect
from maitred.model.queues import DEVICE_MODELS, QUEUE, USER, Payer
from tests.cluster.seen import delete, put
from tests.decide.test_trees import part
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import read, state_of

NODE = b.node("n", cpu=8)


def job(**said: str) -> Obj:
    """One whose pods are no gang."""
    keys = {"queue": QUEUE, "user": USER}
    annotations = {keys[key]: value for key, value in said.items()}
    return b.owner_object("batch/v1", "Job", "j", "default", {}, annotations=annotations)


def owned(name: str, node: str | None = None, annotations: dict[str, str] | None = None) -> Obj:
    return b.pod(name, cpu=1, node=node, owner="Job/j", annotations=annotations)


def bound(state: ClusterState) -> dict[str, Payer]:
    found = state.snapshot()
    return {
        one.key.partition("/")[2]: found.payers[number]
        for one, number in zip(found.bound.occupants, found.bound.payer, strict=True)
    }


def waiting(state: ClusterState) -> dict[str, Payer]:
    return {view.group.key.partition("/")[2]: view.payer for view in state.snapshot().groups}


def test_pods_that_say_nothing_are_on_the_account_of_their_namespace() -> None:
    here, there = b.pod("a", cpu=1, node="n"), b.pod("b", cpu=1, node="n", namespace="other")
    state = state_of(read([NODE, here, there, b.pod("w", cpu=1)]))
    assert bound(state) == {"a": Payer("default"), "b": Payer("other")}
    assert waiting(state) == {"w": Payer("default")}


@pytest.mark.parametrize("marks", [{}, {"maitred.dev/group": "g"}], ids=["lone pods", "a group"])
def test_what_an_owner_says_late_reaches_pods_that_run_and_that_wait(marks: dict[str, str]) -> None:
    pods = [owned(f"r{i}", "n", annotations=marks) for i in (0, 1)] + [owned("w", annotations=marks)]
    state, name = state_of(read([NODE, *pods])), marks.get("maitred.dev/group", "w")
    assert set(bound(state).values()) == {Payer("default")}
    for said in ({"queue": "a", "user": "u"}, {"queue": "b", "user": "u"}, {"user": "v"}):
        state.take_news()
        put(state, job(**said))
        payer = Payer("default", said.get("queue", ""), said["user"])
        news = state.take_news()
        assert f"default/{name}" in news.groups
        assert Effect.COMPANY in news.effects, "others may use of their quota what these do not any more"
        assert bound(state) == {"r0": payer, "r1": payer}
        assert waiting(state) == {name: payer}
    delete_job(state)
    assert bound(state) == {"r0": Payer("default"), "r1": Payer("default")}
    assert waiting(state) == {name: Payer("default")}


def delete_job(state: ClusterState) -> None:
    delete(state, job())


def test_a_pod_that_names_another_queue_is_charged_there() -> None:
    state = state_of(read([NODE, b.pod("a", cpu=1, node="n", annotations={QUEUE: "x"})]))
    assert bound(state) == {"a": Payer("default", "x")}
    put(state, b.pod("a", cpu=1, node="n", annotations={QUEUE: "y"}))
    assert bound(state) == {"a": Payer("default", "y")}


def test_queues_that_an_owner_once_named_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """And those who are left have other numbers."""
    monkeypatch.setattr(interning, "FEWEST_TO_FORGET", 3)
    state = state_of(read([NODE, b.pod("a", cpu=1, node="n", annotations={QUEUE: "x"}), owned("r", "n")]))
    for number in range(40):
        put(state, job(queue=f"q{number}"))
        assert bound(state) == {"a": Payer("default", "x"), "r": Payer("default", f"q{number}")}
        assert len(state.snapshot().payers) <= 2 * 2 + 3


def member(name: str, **said: str) -> Obj:
    keys = {"queue": QUEUE, "user": USER, "models": DEVICE_MODELS}
    marks = {"maitred.dev/group": "g", **{keys[key]: value for key, value in said.items()}}
    return b.pod(name, cpu=1, annotations=marks)


def test_members_that_differ_are_a_problem() -> None:
    [view] = state_of(read([member("a", queue="x"), member("b")])).snapshot().groups
    differing = "pod default/a names queue x and pod default/b names no queue"
    assert view.payer == Payer("default", "x", "", f"{differing}; all members of a group must name one queue")
    [view] = state_of(read([member("a"), member("b", user="u")])).snapshot().groups
    differing = "pod default/a is of no known user and pod default/b of user u"
    assert view.payer == Payer("default", "", "", f"{differing}; all members of a group must be of one user")
    assert not view.group.problems, "without queues it does not matter"


def test_a_group_says_that_its_models_may_differ() -> None:
    def view(*said: str) -> tuple[bool, tuple[str, ...]]:
        pods = [member(f"m{i}", **({"models": one} if one else {})) for i, one in enumerate(said)]
        [found] = state_of(read(pods)).snapshot().groups
        return found.any_model, found.group.problems

    assert view("", "") == view("same", "") == (False, ())
    assert view("", "any") == (True, ())
    assert view("any", "same")[1] == (f"its members have different values of {DEVICE_MODELS}: any, same",)
    assert view("both")[1] == (f"{DEVICE_MODELS} is 'both', and must be any or same",)


def test_a_tree_has_the_account_of_its_first_part() -> None:
    parts = [*part("a", 1, 1), *part("b", 1, 1)]
    for one, queue in zip((one for one in parts if one["kind"] == "PodGroup"), "xy", strict=True):
        one["metadata"]["annotations"] = {QUEUE: queue}
    [view] = state_of(read([NODE, b.composite("root"), *parts])).snapshot().groups
    differing = "group default/a names queue x and group default/b names queue y"
    assert view.payer == Payer("default", "x", "", f"{differing}; all members of a group must name one queue")
