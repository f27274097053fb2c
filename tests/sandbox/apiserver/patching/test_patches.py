"""The patches that are no apply, where no real server is at hand."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.sandbox.apiserver.patching.jsonpatch import json_patch, merge_patch, without_nulls
from maitred.sandbox.apiserver.patching.strategic import strategic_merge_patch
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.patching.playground import BUDGET, NODE, TEMPLATE, container, pod_template, thing
from tests.sandbox.apiserver.patching.things import TYPE, bodies, unordered

scalars = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["x", "y"])
values = st.recursive(
    scalars,
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b/c", "d~"]), inside, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["a", "b/c", "d~"]), values, max_size=3)


def fresh(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def pointers(value: Any, begin: str = "") -> list[tuple[str, Any]]:
    """All places in it, with what is there."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [(begin, value)]
    for step, each in inside:
        found += pointers(each, f"{begin}/{str(step).replace('~', '~0').replace('/', '~1')}")
    return found


@given(objects)
def test_every_place_can_be_tested(body: Body) -> None:
    operations = [{"op": "test", "path": path, "value": value} for path, value in pointers(body)]
    assert json_patch(fresh(body), operations) == body


@given(objects, values, st.data())
def test_what_is_added_can_be_moved_and_removed(body: Body, value: Any, data: st.DataObject) -> None:
    places = [path for path, found in pointers(body) if isinstance(found, dict)]
    place = data.draw(st.sampled_from(places)) + "/new"
    operations = [
        {"op": "add", "path": place, "value": value},
        {"op": "copy", "from": place, "path": "/other"},
        {"op": "test", "path": "/other", "value": value},
        {"op": "move", "from": place, "path": "/third"},
        {"op": "remove", "path": "/other"},
        {"op": "test", "path": "/third", "value": value},
        {"op": "remove", "path": "/third"},
    ]
    assert json_patch(fresh(body), operations) == body


@pytest.mark.parametrize(("true", "false"), [(1, True), (0, False), (1, 1.0), ("1", 1), ({}, []), (None, 0)])
def test_values_of_different_types_are_different(true: Any, false: Any) -> None:
    assert json_patch({"a": true}, [{"op": "test", "path": "/a", "value": true}])
    with pytest.raises(Refusal):
        json_patch({"a": true}, [{"op": "test", "path": "/a", "value": false}])


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/l/1", "value": 9}, [1, 9, 2, 3]),
        ({"op": "add", "path": "/l/3", "value": 9}, [1, 2, 3, 9]),
        ({"op": "add", "path": "/l/-", "value": 9}, [1, 2, 3, 9]),
        ({"op": "add", "path": "/l/-1", "value": 9}, [1, 2, 3, 9]),
        ({"op": "add", "path": "/l/-4", "value": 9}, [9, 1, 2, 3]),
        ({"op": "replace", "path": "/l/-1", "value": 9}, [1, 2, 9]),
        ({"op": "remove", "path": "/l/0"}, [2, 3]),
        ({"op": "move", "from": "/l/0", "path": "/l/2"}, [2, 3, 1]),
        ({"op": "add", "path": "/l/4", "value": 9}, None),
        ({"op": "add", "path": "/l/-5", "value": 9}, None),
        ({"op": "add", "path": "/l/1_0", "value": 9}, None),
        ({"op": "add", "path": f"/l/{'9' * 5000}", "value": 9}, None),
        ({"op": "replace", "path": "/l/3", "value": 9}, None),
        ({"op": "replace", "path": "/l/-", "value": 9}, None),
        ({"op": "remove", "path": "/l/3"}, None),
        ({"op": "remove", "path": "/l/0/x"}, None),
        ({"op": "copy", "from": "", "path": "/l/0"}, None),
    ],
)
def test_indices(operation: Body, result: list[int] | None) -> None:
    if result is None:
        with pytest.raises(Refusal):
            json_patch({"l": [1, 2, 3]}, [operation])
    else:
        assert json_patch({"l": [1, 2, 3]}, [operation]) == {"l": result}


def test_all_of_an_object_can_be_replaced_by_an_object() -> None:
    assert json_patch({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}]) == {"b": 2}
    with pytest.raises(Refusal):
        json_patch({"a": 1}, [{"op": "replace", "path": "", "value": []}])


def test_copies_cannot_make_an_object_huge() -> None:
    double = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40
    with pytest.raises(Refusal) as refused:
        json_patch({"a": ["x" * 100]}, double)
    assert refused.value.code == 422


@given(objects, objects)
def test_merge_patches_do_what_the_rfc_says(body: Body, patch: Body) -> None:
    def expected(old: Any, new: Any) -> Any:
        if not isinstance(new, dict):
            return without_nulls(new)
        result = dict(old) if isinstance(old, dict) else {}
        for name, value in new.items():
            result.pop(name, None)
            if value is not None:
                was = old.get(name) if isinstance(old, dict) else None
                result[name] = expected(was, value)
        return result

    assert merge_patch(fresh(body), fresh(patch)) == expected(body, patch)


@given(bodies, bodies)
def test_a_strategic_merge_keeps_the_rest(body: Body, patch: Body) -> None:
    merged = strategic_merge_patch(fresh(body), fresh(patch), TYPE)
    again = strategic_merge_patch(fresh(merged), fresh(patch), TYPE)
    assert again == merged
    named = {part["name"] for each in (body, patch) for part in each["spec"].get("parts", [])}
    assert {part["name"] for part in merged["spec"].get("parts", [])} == named
    assert merged["spec"].get("wishes", {}) == body["spec"].get("wishes", {}) | patch["spec"].get(
        "wishes", {}
    )
    assert unordered(strategic_merge_patch({}, fresh(body), TYPE)) == unordered(body)


def test_a_field_that_is_replaced() -> None:
    body = thing(BUDGET, spec={"selector": {"matchLabels": {"a": "b"}}})
    patch = {"spec": {"selector": {"matchLabels": {"c": "d"}}}}
    merged = strategic_merge_patch(body, patch, BUDGET.type)
    assert merged["spec"]["selector"] == {"matchLabels": {"c": "d"}}


def test_conditions_are_merged_though_they_are_owned_as_one() -> None:
    body = thing(NODE, status={"conditions": [{"type": "Ready", "status": "True"}, {"type": "X"}]})
    patch = {"status": {"conditions": [{"type": "Ready", "reason": "R"}]}}
    merged = strategic_merge_patch(body, patch, NODE.type)
    assert merged["status"]["conditions"] == [
        {"type": "Ready", "status": "True", "reason": "R"},
        {"type": "X"},
    ]


def test_owner_references_are_merged_by_uid() -> None:
    body = thing(NODE, {"ownerReferences": [{"uid": "u", "name": "a"}, {"uid": "v", "name": "b"}]})
    patch = {"metadata": {"ownerReferences": [{"uid": "v", "$patch": "delete"}, {"uid": "u", "kind": "K"}]}}
    merged = strategic_merge_patch(body, patch, NODE.type)
    assert merged["metadata"]["ownerReferences"] == [{"uid": "u", "name": "a", "kind": "K"}]


def test_items_stay_where_they_are_and_new_ones_come_last() -> None:
    order = [{"name": name} for name in "dcb"]
    patch: Body = {
        "template": {"spec": {"$setElementOrder/containers": order, "containers": [{"name": "d"}]}}
    }
    body = pod_template(*map(container, "abcx"))
    merged = strategic_merge_patch(body, patch, TEMPLATE.type)
    assert [each["name"] for each in merged["template"]["spec"]["containers"]] == ["a", "b", "c", "x", "d"]


@pytest.mark.parametrize("key", [{}, [], {"a": "b"}])
def test_keys_that_can_be_no_keys(key: Any) -> None:
    patch = {"template": {"spec": {"containers": [{"name": key}]}}}
    with pytest.raises(Refusal) as refused:
        strategic_merge_patch(pod_template(container("a")), patch, TEMPLATE.type)
    assert refused.value.code == 500
