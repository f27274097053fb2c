"""Sets of fields are sets of paths, and bodies have the fields that their types say."""

from typing import Any

import pytest
from hypothesis import given

from maitred.sandbox.apiserver.patching.fieldsets import (
    FieldSet,
    compare,
    difference,
    fields_of,
    intersection,
    ordered,
    parsed,
    paths,
    union,
    without,
)
from maitred.sandbox.apiserver.patching.steps import FIELD
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.patching.playground import POD, TEMPLATE, container, pod_template, thing
from tests.sandbox.apiserver.patching.things import TYPE, bodies, field_set, some_paths

Paths = frozenset[tuple[str, ...]]


def told(fields: FieldSet) -> Paths:
    return frozenset(tuple(step.removeprefix(FIELD) for step in path) for path in paths(fields))


@given(some_paths, some_paths)
def test_operations_are_those_of_sets_of_paths(one: Paths, other: Paths) -> None:
    left, right = field_set(one), field_set(other)
    assert told(left) == one
    assert told(union(left, right)) == one | other
    assert told(difference(left, right)) == one - other
    assert told(intersection(left, right)) == one & other


@given(some_paths, some_paths)
def test_without_takes_all_that_is_below(one: Paths, other: Paths) -> None:
    above = {path[:length] for path in one for length in range(len(path) + 1) if path[:length] in other}
    rest = {path for path in one if not any(path[: len(begin)] == begin for begin in above)}
    assert told(without(field_set(one), field_set(other))) == rest


@given(some_paths, some_paths, some_paths)
def test_laws(one: Paths, other: Paths, third: Paths) -> None:
    a, b, c = field_set(one), field_set(other), field_set(third)
    assert union(a, b) == union(b, a)
    assert union(a, union(b, c)) == union(union(a, b), c)
    assert union(a, a) == intersection(a, a) == a
    assert difference(a, a) == {}
    assert union(difference(a, b), intersection(a, b)) == a
    assert parsed(a) == ordered(a) == a


@given(bodies, bodies)
def test_what_one_way_adds_the_other_way_removes(one: Body, other: Body) -> None:
    there, back = compare(one, other, TYPE), compare(other, one, TYPE)
    assert (there.added, there.modified, there.removed) == (back.removed, back.modified, back.added)
    same = compare(one, one, TYPE)
    assert not same.added
    assert not same.modified
    assert not same.removed


@given(bodies, bodies)
def test_all_that_is_new_is_of_the_new_body(one: Body, other: Body) -> None:
    changes = compare(one, other, TYPE)
    everything = compare({}, other, TYPE).added
    assert difference(changes.touched, everything) == {}
    assert intersection(changes.added, compare({}, one, TYPE).added) == {}


def test_fields_of_what_is_applied() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    body = thing(
        TEMPLATE,
        {"labels": {"a": "b"}, "finalizers": ["x<y"], "annotations": {}},
        template=pod_template(container("c", ports=ports), nodeSelector={"x": "y"}, tolerations=[])[
            "template"
        ],
    )
    assert fields_of(body, TEMPLATE.type) == {
        "f:apiVersion": {},
        "f:kind": {},
        "f:metadata": {
            "f:name": {},
            "f:labels": {"f:a": {}},
            "f:finalizers": {'v:"x\\u003cy"': {}},
            "f:annotations": {},
        },
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c"}': {
                        ".": {},
                        "f:name": {},
                        "f:image": {},
                        "f:imagePullPolicy": {},
                        "f:ports": {
                            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                            'k:{"containerPort":80,"protocol":"UDP"}': {
                                ".": {},
                                "f:containerPort": {},
                                "f:protocol": {},
                            },
                        },
                    }
                },
                "f:nodeSelector": {},
                "f:tolerations": {},
            }
        },
    }


def test_what_comes_and_goes_is_marked_itself() -> None:
    old = thing(POD, spec={"containers": [{"name": "a"}]})
    new = thing(POD, {"labels": {"x": "y"}}, spec={"containers": [{"name": "b", "image": "i"}]})
    changes = compare(old, new, POD.type)
    assert changes.added == {
        "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
        "f:spec": {"f:containers": {'k:{"name":"b"}': {".": {}, "f:name": {}, "f:image": {}}}},
    }
    assert changes.removed == {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}}
    assert changes.modified == {}


def test_the_order_of_the_wire() -> None:
    fields: FieldSet = {
        'k:{"p":9}': {},
        "v:true": {},
        'v:"a"': {},
        "f:b": {},
        'k:{"p":10}': {},
        ".": {},
        "f:a": {},
    }
    assert list(ordered(fields)) == [".", "f:a", "f:b", 'k:{"p":9}', 'k:{"p":10}', 'v:"a"', "v:true"]


def test_sets_from_outside() -> None:
    assert parsed({"f:a": None, "x:b": {}, 'k:{"b": 1, "a":"x"}': {".": {}}}) == {
        "f:a": {},
        'k:{"a":"x","b":1}': {},
    }


def nested(depth: int) -> FieldSet:
    return {"f:a": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize(
    "bad",
    [[], "f:a", {"f:a": 1}, {"nonsense": {}}, {"": {}}, {"k:[]": {}}, {"v:": {}}, {"i:x": {}}, nested(300)],
)
def test_what_is_no_set(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(bad)
