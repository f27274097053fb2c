"""What Jobs, groups and the kinds that go with them become, beyond what a single refusal shows."""

from typing import Any

import pytest

from maitred.sandbox.apiserver.kinds import events
from maitred.sandbox.apiserver.kinds.definitions import DEFINITIONS, accept
from maitred.sandbox.apiserver.kinds.fielderrors import OMITTED, invalid, too_long, too_many, unsupported
from maitred.sandbox.apiserver.kinds.groups import POD_GROUPS
from maitred.sandbox.apiserver.kinds.indexes import BadIndexes, count_indexes, overlap
from maitred.sandbox.apiserver.kinds.jobs import JOBS
from maitred.sandbox.apiserver.kinds.priorities import PRIORITY_CLASSES, SYSTEM_CLASSES
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import UID, Case, ask_here, merged
from tests.sandbox.apiserver.kinds.group_cases import group
from tests.sandbox.apiserver.kinds.job_cases import LABELLED, indexed, job
from tests.sandbox.apiserver.kinds.other_cases import definition, fields, new_event, old_event, version

NOW = "2026-01-01T00:00:00Z"


def created(body: Body) -> Body:
    found, errors = ask_here(Case("", body))
    assert not errors
    return found


# -- Jobs --------------------------------------------------------------------------------------------------


def test_a_job_knows_its_pods_by_labels_that_it_generates() -> None:
    body = created(job())
    labels = {
        "batch.kubernetes.io/controller-uid": UID,
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": UID,
        "job-name": "j",
    }
    assert body["spec"]["template"]["metadata"]["labels"] == labels
    assert body["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    assert body["metadata"]["labels"] == labels
    assert body["metadata"]["labels"] is not body["spec"]["template"]["metadata"]["labels"]


def test_a_job_keeps_labels_of_its_own() -> None:
    body = created({**job(labels={"a": "b"}), "metadata": LABELLED})
    assert body["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("given", "completions", "parallelism", "limit"),
    [
        (job(), 1, 1, 6),
        (job(completions=3), 3, 1, 6),
        (job(parallelism=3), None, 3, 6),
        (indexed(backoffLimitPerIndex=1), 3, 1, 2**31 - 1),
    ],
)
def test_numbers_of_a_job(given: Body, completions: int | None, parallelism: int, limit: int) -> None:
    spec = created(given)["spec"]
    assert (spec.get("completions"), spec["parallelism"], spec["backoffLimit"]) == (
        completions,
        parallelism,
        limit,
    )


def test_warnings_of_jobs() -> None:
    body = created({**job(), "metadata": {"name": "a.b"}})
    [warning] = JOBS.warnings(body, None)
    assert warning == (
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    )
    assert JOBS.warnings(body, body) == []
    [warning] = JOBS.warnings(created(indexed(completions=100_001, parallelism=10_001)), None)
    assert "Kubernetes might not be able to track completedIndexes" in warning


@pytest.mark.parametrize(("text", "count"), [("", 0), ("0", 1), ("0,2-5,7", 6), ("1-2", 2)])
def test_indexes_are_counted(text: str, count: int) -> None:
    assert count_indexes(text, 10) == count


@pytest.mark.parametrize("text", ["-1", "0,", ",0", "1-", "0,0", "0-2,1", "10", "0-10", "²"])
def test_bad_indexes(text: str) -> None:
    with pytest.raises(BadIndexes):
        count_indexes(text, 10)


@pytest.mark.parametrize(
    ("left", "right", "index"),
    [("0-3", "2", 2), ("0,4-6", "1-3,6", 6), ("0,2", "1,3", None), ("", "1", None), ("x,3", "3,y", 3)],
)
def test_indexes_that_two_lists_have(left: str, right: str, index: int | None) -> None:
    assert overlap(left, right, 10) == index
    assert overlap(right, left, 10) == index


# -- groups and classes ------------------------------------------------------------------------------------


def test_the_shorthand_for_a_gang_is_understood() -> None:
    body: Body = {"spec": {"minMember": 8}}
    [warning] = POD_GROUPS.understand(body)
    assert warning == "spec.minMember is a shorthand, read as spec.schedulingPolicy.gang.minCount: 8"
    assert body == {"spec": {"schedulingPolicy": {"gang": {"minCount": 8}}}}


@pytest.mark.parametrize(
    "body", [{}, {"spec": None}, {"spec": {"minMember": 8, "schedulingPolicy": {"basic": {}}}}]
)
def test_what_is_no_shorthand_stays(body: Body) -> None:
    before = dict(body)
    assert POD_GROUPS.understand(body) == []
    assert body == before


def test_a_group_gets_its_defaults() -> None:
    spec = created(group())["spec"]
    assert (spec["disruptionMode"], spec["preemptionPolicy"]) == ({"single": {}}, "PreemptLowerPriority")


def test_classes_of_the_system_follow_the_rules() -> None:
    for body in SYSTEM_CLASSES:
        assert PRIORITY_CLASSES.check(body) == []
        [error] = PRIORITY_CLASSES.check({**body, "globalDefault": True})
        assert str(error).endswith(f"globalDefault of {body['metadata']['name']} PriorityClass must be false")


# -- events ------------------------------------------------------------------------------------------------


def test_an_event_has_two_forms() -> None:
    newer: Body = {**new_event(), "regarding": {"name": "x"}, "deprecatedCount": 2, "deprecatedSource": {}}
    older = events.to_stored(newer)
    assert older["apiVersion"] == "v1"
    assert (older["message"], older["count"], older["involvedObject"]) == ("n", 2, {"name": "x"})
    assert older["reportingComponent"] == "example.com/c"
    assert events.from_stored(older) == newer


def test_an_old_event_in_the_newer_form_has_no_empty_names() -> None:
    older = {**old_event(), "reportingComponent": "", "reportingInstance": "", "firstTimestamp": None}
    newer = events.from_stored(older)
    assert "reportingController" not in newer
    assert "reportingInstance" not in newer
    assert newer["deprecatedFirstTimestamp"] is None
    assert events.to_stored(newer) == older


# -- definitions -------------------------------------------------------------------------------------------


def accepted(definition: Body) -> Body:
    body = created(definition)
    assert accept(body, NOW)
    return body


def test_a_definition_is_established_when_its_names_are_accepted() -> None:
    body = accepted(definition())
    status = body["status"]
    assert [(found["type"], found["status"], found["reason"]) for found in status["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert status["acceptedNames"] == {
        "plural": "foos",
        "singular": "foo",
        "kind": "Foo",
        "listKind": "FooList",
    }
    assert status["storedVersions"] == ["v1"]
    assert not accept(body, NOW)


def change(definition: Body, **spec: Any) -> tuple[Body, list[str]]:
    status = accepted(definition)["status"]
    new, errors = ask_here(Case("", definition, change={"spec": spec}, status=status))
    return new, [str(error) for error in errors]


def test_a_definition_does_not_become_another_one() -> None:
    _, errors = change(definition(), scope="Cluster", group="b.c", names={"kind": "Bar", "plural": "bars"})
    assert errors == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Bar": field is immutable',
        'spec.group: Invalid value: "b.c": field is immutable',
        'spec.names.plural: Invalid value: "bars": field is immutable',
    ]


def test_versions_that_were_stored_stay() -> None:
    both = [version(storage=False), version("v2")]
    new, errors = change(definition(), versions=both, names={"shortNames": ["f"]})
    assert not errors
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert accept(new, NOW)
    assert new["status"]["acceptedNames"]["shortNames"] == ["f"]
    _, [error] = change(definition(), versions=[version("v2")])
    assert error.startswith(
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was'
    )


def test_a_conversion_that_nobody_does_is_told() -> None:
    webhook = {"clientConfig": {"url": "https://example.com"}, "conversionReviewVersions": ["v1"]}
    body = created(
        merged(definition(), {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}})
    )
    [warning] = DEFINITIONS.warnings(body, None)
    assert warning.startswith("spec.conversion: no webhook is called here")
    assert DEFINITIONS.warnings(created(definition()), None) == []


def test_what_a_schema_says_in_vain_is_told() -> None:
    pairs = {"type": "array", "x-kubernetes-list-type": "set", "items": fields()}
    rules = {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}
    odd = {"type": "string", "format": "odd"}
    body = created(definition(version(schema=fields(a=odd, b=pairs, c={**odd, "format": "date"}, d=rules))))
    unread = "x-kubernetes-validations: CEL is not read here, so these rules are neither checked nor enforced"
    assert DEFINITIONS.warnings(body, None) == [
        'unrecognized format "odd"',
        'x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL '
        "validation rules",
        unread,
    ]
    assert DEFINITIONS.warnings(body, body) == [unread]


# -- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (too_many("a", 3, 1), "a: Too many: 3: must have at most 1 item"),
        (too_many("a", 3, 2), "a: Too many: 3: must have at most 2 items"),
        (too_long("a", 5), "a: Too long: may not be more than 5 bytes"),
        (invalid("a", OMITTED, "why"), "a: Invalid value: why"),
        (unsupported("a", "x", ("c", "b")), 'a: Unsupported value: "x": supported values: "c", "b"'),
    ],
)
def test_how_errors_read(error: object, text: str) -> None:
    assert str(error) == text
