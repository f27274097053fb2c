"""Who owns what after a write that is no apply."""

from typing import Any

import msgspec
import pytest

from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.patching.ownership import MOST_UPDATERS, keep_times, record
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.patching.playground import (
    CONFIG_MAP,
    LATER,
    NOW,
    POD,
    POD_GROUP,
    applied,
    call,
    container,
    owners,
    received,
    thing,
)


def written(
    live: Body | None, body: Body, manager: str, now: str = NOW, *, kind: Kind = CONFIG_MAP, part: str = ""
) -> Body:
    body = received(msgspec.json.decode(msgspec.json.encode(body)), kind)
    record(live, body, kind, call(manager, now), part)
    return body


def config(**data: str) -> Body:
    return thing(CONFIG_MAP, {"uid": "u"}, data=data)


def times(body: Body) -> dict[str, Any]:
    return {entry["manager"]: entry.get("time") for entry in body["metadata"]["managedFields"]}


def test_a_creator_owns_what_it_says_and_its_defaults() -> None:
    sent = thing(POD, spec={"containers": [container("c")]}, status={"phase": "Running"})
    body = written(None, sent, "a", kind=POD)
    [entry] = body["metadata"]["managedFields"]
    fields = entry.pop("fieldsV1")
    assert entry == {
        "manager": "a",
        "operation": "Update",
        "apiVersion": "v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
    }
    assert list(fields) == ["f:spec"]
    assert "." not in fields["f:spec"]
    assert "." not in fields["f:spec"]["f:containers"]
    assert fields["f:spec"]["f:containers"]['k:{"name":"c"}']["f:terminationMessagePolicy"] == {}


def test_who_changes_a_field_takes_it() -> None:
    live = written(None, config(x="1", y="1"), "a")
    body = written(live, config(x="1", y="2", z="3"), "b", LATER)
    assert owners(body) == {
        "a": {"f:data": {".": {}, "f:x": {}}},
        "b": {"f:data": {"f:y": {}, "f:z": {}}},
    }
    assert times(body) == {"a": NOW, "b": LATER}


def test_what_is_removed_is_nobody_s_and_takes_no_time() -> None:
    live = written(None, config(x="1", y="1"), "a")
    body = written(live, config(x="1"), "a", LATER)
    assert owners(body) == {"a": {"f:data": {".": {}, "f:x": {}}}}
    assert times(body) == {"a": NOW}


def test_who_is_left_with_nothing_is_gone() -> None:
    live = written(written(None, config(x="1"), "a"), config(x="2"), "b")
    body = written(live, {**config(), "data": {}}, "c")
    assert "managedFields" not in body["metadata"]


def test_a_write_that_says_nothing_of_owners_keeps_them() -> None:
    live = written(None, config(x="1"), "a")
    body = written(live, config(x="1"), "b", LATER)
    assert body["metadata"]["managedFields"] == live["metadata"]["managedFields"]


@pytest.mark.parametrize("said", [[], [{}]])
def test_owners_are_reset(said: list[Any]) -> None:
    live = written(None, config(x="1"), "a")
    new = config(x="2")
    new["metadata"]["managedFields"] = said
    body = written(live, new, "b")
    assert "managedFields" not in body["metadata"]
    # From then on nobody keeps accounts.
    assert "managedFields" not in written(body, config(x="3"), "b")["metadata"]


def test_owners_cannot_be_reset_by_way_of_a_part() -> None:
    live = written(None, thing(POD, spec={"containers": [container("c")]}), "a", kind=POD)
    new = {**live, "metadata": {**live["metadata"], "managedFields": [{}]}, "status": {"phase": "Running"}}
    body = written(live, new, "b", kind=POD, part="status")
    assert set(owners(body)) == {"a", "b"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"operation": "Dance"},
        {"apiVersion": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsV1": {"nonsense": {}}},
        {"fieldsV1": {"f:data": "x"}},
    ],
)
def test_owners_that_make_no_sense_do_not_count(wrong: Body) -> None:
    live = written(None, config(x="1"), "a")
    entry = live["metadata"]["managedFields"][0]
    new = config(x="1")
    new["metadata"]["managedFields"] = [{**entry, "manager": "b", **wrong}]
    assert owners(written(live, new, "c")) == {"a": {"f:data": {".": {}, "f:x": {}}}}


def test_parts_own_only_what_they_can_write() -> None:
    live = written(None, thing(POD, spec={"containers": [container("c")]}), "a", kind=POD)
    both = {
        **live,
        "metadata": {**live["metadata"], "labels": {"x": "y"}, "ownerReferences": [{"uid": "u"}]},
        "spec": {**live["spec"], "nodeName": "n"},
        "status": {"phase": "Running"},
    }
    of_object = written(live, both, "b", kind=POD)
    assert owners(of_object)["b"].keys() == {"f:metadata", "f:spec"}
    of_status = written(live, both, "b", kind=POD, part="status")
    assert owners(of_status)["b"] == {
        "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
        "f:status": {"f:phase": {}},
    }
    assert of_status["metadata"]["managedFields"][1]["subresource"] == "status"


def test_the_status_of_some_kinds_has_no_metadata() -> None:
    live = written(None, thing(POD_GROUP, spec={"schedulingPolicy": {"basic": {}}}), "a", kind=POD_GROUP)
    new = {**live, "metadata": {**live["metadata"], "labels": {"x": "y"}}, "status": {"conditions": []}}
    condition = {"type": "T", "status": "True", "reason": "R", "message": "", "lastTransitionTime": NOW}
    new["status"] = {"conditions": [condition]}
    assert owners(written(live, new, "b", kind=POD_GROUP, part="status"))["b"].keys() == {"f:status"}


def test_owners_in_versions_that_are_not_served_are_forgotten() -> None:
    live = written(None, config(x="1"), "a")
    live["metadata"]["managedFields"][0]["apiVersion"] = "example.com/v1"
    assert owners(written(live, config(x="1", y="2"), "b")) == {"b": {"f:data": {"f:y": {}}}}


def test_the_oldest_updaters_are_forgotten() -> None:
    body = applied(None, config(z="1"), "who-applies")
    body["metadata"]["uid"] = "u"
    for number in range(MOST_UPDATERS + 2):
        data = {**body["data"], f"k{number:02}": "1"}
        body = written(body, {**body, "data": data}, f"m{number:02}", f"2026-03-01T13:{number:02}:00Z")
    names = ["who-applies", *(f"m{number:02}" for number in range(2, MOST_UPDATERS + 2))]
    assert [entry["manager"] for entry in body["metadata"]["managedFields"]] == names


def test_entries_are_in_order() -> None:
    body = written(None, config(x="1"), "z", "2026-01-01T00:00:00Z")
    body = written(body, {**body, "data": {"x": "1", "b": "1"}}, "b", "2026-01-02T00:00:00Z")
    body = written(body, {**body, "data": {**body["data"], "a": "1"}}, "a", "2026-01-02T00:00:00Z")
    body = applied(body, config(c="1"), "x", "2026-01-03T00:00:00Z")
    assert [entry["manager"] for entry in body["metadata"]["managedFields"]] == ["x", "z", "a", "b"]


def test_a_write_that_changes_only_times_changes_nothing() -> None:
    live = written(None, config(x="1"), "a")
    later = [{**entry, "time": LATER} for entry in live["metadata"]["managedFields"]]
    body = {**live, "metadata": {**live["metadata"], "managedFields": later}}
    keep_times(body, live)
    assert body == live
    other = {**body, "data": {"x": "2"}, "metadata": {**live["metadata"], "managedFields": later}}
    keep_times(other, live)
    assert times(other) == {"a": LATER}
