"""Server-side apply: what is merged, what is removed, and who is in whose way."""

import pytest
from hypothesis import assume, given

from maitred.sandbox.apiserver.patching.apply import apply
from maitred.sandbox.apiserver.patching.fieldsets import compare, intersection
from maitred.sandbox.apiserver.patching.ownership import kept_in
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.patching.playground import (
    CONFIG_MAP,
    LATER,
    NOW,
    POD,
    TEMPLATE,
    applied,
    call,
    container,
    owners,
    pod_template,
    thing,
)
from tests.sandbox.apiserver.patching.things import THING, TYPE, bodies, left_bodies, right_bodies, unordered


def config(**data: str) -> Body:
    return thing(CONFIG_MAP, data=data)


def on_thing(live: Body | None, what: Body, manager: str, now: str = NOW, *, force: bool = False) -> Body:
    return applied(live, what, manager, now, kind=THING, force=force)


@given(bodies)
def test_who_applies_first_gets_what_it_says(body: Body) -> None:
    assert on_thing(None, body, "a")["spec"] == body["spec"]


@given(bodies, bodies, bodies)
def test_to_apply_again_changes_nothing(first: Body, second: Body, body: Body) -> None:
    live = on_thing(on_thing(None, first, "a"), second, "b", force=True)
    once = on_thing(live, body, "a", force=True)
    assert on_thing(once, body, "a", LATER) == once


@given(left_bodies, right_bodies)
def test_those_who_have_nothing_in_common_can_come_in_any_order(left: Body, right: Body) -> None:
    one = on_thing(on_thing(None, left, "a"), right, "b")
    other = on_thing(on_thing(None, right, "b"), left, "a")
    assert unordered(one)["spec"] == unordered(other)["spec"]
    assert owners(one) == owners(other)


@given(left_bodies, right_bodies)
def test_who_takes_all_back_leaves_what_others_said(left: Body, right: Body) -> None:
    live = on_thing(on_thing(None, left, "a"), right, "b")
    rest = on_thing(live, thing(THING), "a")
    assert unordered(rest)["spec"] == unordered(on_thing(None, right, "b"))["spec"]
    assert set(owners(rest)) <= {"b"}


@given(bodies, bodies)
def test_force_leaves_no_other_owner_of_what_it_changes(first: Body, second: Body) -> None:
    live = on_thing(None, first, "a")
    body = on_thing(live, second, "b", force=True)
    changes = compare(live, body, TYPE)
    for manager, holding in kept_in(body).items():
        if manager.name != "b":
            assert not intersection(holding.fields, changes.touched)
            assert not intersection(holding.fields, changes.removed)


@given(bodies, bodies)
def test_there_is_a_conflict_exactly_where_force_takes_something(first: Body, second: Body) -> None:
    live = on_thing(None, first, "a")
    forced = on_thing(live, second, "b", force=True)
    if owners(forced).get("a") == owners(live).get("a"):
        assert on_thing(live, second, "b") == forced
    else:
        with pytest.raises(Refusal) as refused:
            on_thing(live, second, "b")
        assert refused.value.code == 409


@given(bodies, bodies)
def test_neither_the_live_object_nor_what_is_applied_changes(first: Body, second: Body) -> None:
    live = on_thing(None, first, "a")
    assume("managedFields" in live["metadata"])
    kept = [repr(live), repr(second)]
    result = apply(live, second, THING, call("b", force=True))
    result["spec"].clear()
    result["metadata"]["managedFields"].clear()
    assert [repr(live), repr(second)] == kept


def test_one_conflict() -> None:
    live = applied(None, config(x="1"), "a")
    with pytest.raises(Refusal) as refused:
        applied(live, config(x="2"), "b")
    error = refused.value
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == 'Apply failed with 1 conflict: conflict with "a": .data.x'
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".data.x"}
    assert error.details == {"causes": [cause]}


def test_items_in_conflicts() -> None:
    ports = [{"containerPort": 80, "name": "x"}]
    live = applied(None, pod_template(container("c", ports=ports)), "a", kind=TEMPLATE)
    ports = [{"containerPort": 80, "name": "y"}]
    with pytest.raises(Refusal) as refused:
        applied(live, pod_template(container("c", ports=ports)), "b", kind=TEMPLATE)
    path = '.template.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].name'
    assert refused.value.details["causes"][0]["field"] == path


def test_those_who_agree_share() -> None:
    live = applied(None, config(x="1"), "a")
    body = applied(live, config(x="1"), "b", LATER)
    assert owners(body) == {"a": {"f:data": {"f:x": {}}}, "b": {"f:data": {"f:x": {}}}}
    assert [entry.get("time") for entry in body["metadata"]["managedFields"]] == [None, NOW]
    rest = applied(body, thing(CONFIG_MAP), "a")
    assert rest["data"] == {"x": "1"}
    assert set(owners(rest)) == {"b"}


def test_what_has_no_owners_belonged_to_someone() -> None:
    live = {**config(x="1"), "metadata": {"name": "thing", "uid": "u"}}
    body = applied(live, config(y="2"), "a")
    assert owners(body) == {
        "a": {"f:data": {"f:y": {}}},
        "before-first-apply": {"f:data": {".": {}, "f:x": {}}},
    }


def test_defaults_stay_when_what_is_beside_them_goes() -> None:
    live = applied(None, pod_template(container("c", tty=True)), "a", kind=TEMPLATE)
    body = applied(live, pod_template({"name": "c", "image": "c:1"}), "a", kind=TEMPLATE)
    [found] = body["template"]["spec"]["containers"]
    assert "tty" not in found
    assert found["terminationMessagePolicy"] == "File"


def test_items_follow_the_order_of_who_applies() -> None:
    live = applied(None, pod_template(*map(container, "abcd")), "a", kind=TEMPLATE)
    body = applied(live, pod_template({"name": "c"}, {"name": "n"}, {"name": "a"}), "b", kind=TEMPLATE)
    assert [each["name"] for each in body["template"]["spec"]["containers"]] == ["b", "c", "d", "n", "a"]


@pytest.mark.parametrize("wrong", [{"tty": "yes"}, {"ports": [{"containerPort": "x"}]}, {"nothing": 1}])
def test_what_is_applied_must_fit_its_type(wrong: Body) -> None:
    body = thing(POD, spec={"containers": [{"name": "c", **wrong}]})
    with pytest.raises(Refusal, match=f"failed to create typed patch object: .*{next(iter(wrong))}"):
        applied(None, body, "a", kind=POD)
