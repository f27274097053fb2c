"""What Jobs, groups and the kinds that go with them become, beyond what a single refusal shows."""

from typing import Any

import pytest

from maitred.sandbox.apiserver.kinds import events
from maitred.sandbox.apiserver.kinds.definitions import DEFINITIONS, accept
from maitred.sandbox.apiserver.kinds.fielderrors import OMITTED, invalid, too_long, too_many, unsupported
from maitred.sandbox.apiserver.kinds.groups import POD_GROUPS
from maitred.sandbox.apiserver.kinds.priorities import PRIORITY_CLASSES, SYSTEM_CLASSES
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import NOW, UID, Case, ask_here, merged

POD: Body = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
OPEN: Body = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def named(kind: str, version: str, name: str, **fields: Any) -> Body:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def job(labels: Body | None = None, **spec: Any) -> Body:
    metadata = {"metadata": {"labels": labels}} if labels else {}
    return named("Job", "batch/v1", "j", spec={"template": {**metadata, "spec": POD}, **spec})


def version(name: str = "v1", schema: Body = OPEN, **fields: Any) -> Body:
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **fields}


def definition(*versions: Body) -> Body:
    spec: Body = {"group": "a.b", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}}
    spec["versions"] = list(versions) or [version()]
    return named("CustomResourceDefinition", "apiextensions.k8s.io/v1", "foos.a.b", spec=spec)


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
    body = created({**job(labels={"a": "b"}), "metadata": {"name": "j", "labels": {"a": "b"}}})
    assert body["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("given", "completions", "parallelism", "limit"),
    [
        (job(), 1, 1, 6),
        (job(completions=3), 3, 1, 6),
        (job(parallelism=3), None, 3, 6),
        (job(completionMode="Indexed", completions=3, backoffLimitPerIndex=1), 3, 1, 2**31 - 1),
    ],
)
def test_numbers_of_a_job(given: Body, completions: int | None, parallelism: int, limit: int) -> None:
    spec = created(given)["spec"]
    assert (spec.get("completions"), spec["parallelism"], spec["backoffLimit"]) == (
        completions,
        parallelism,
        limit,
    )


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
    policy = {"gang": {"minCount": 2}}
    group = named("PodGroup", "scheduling.k8s.io/v1beta1", "g", spec={"schedulingPolicy": policy})
    spec = created(group)["spec"]
    assert (spec["disruptionMode"], spec["preemptionPolicy"]) == ({"single": {}}, "PreemptLowerPriority")


def test_classes_of_the_system_follow_the_rules() -> None:
    for body in SYSTEM_CLASSES:
        assert PRIORITY_CLASSES.check(body) == []
        assert PRIORITY_CLASSES.check({**body, "value": 1}) != []


# -- events ------------------------------------------------------------------------------------------------


def test_an_event_has_two_forms() -> None:
    newer = named("Event", "events.k8s.io/v1", "e", regarding={"name": "x"}, note="n", deprecatedCount=2)
    newer.update(reportingController="example.com/c", reportingInstance="i", deprecatedSource={})
    older = events.to_stored(newer)
    assert older["apiVersion"] == "v1"
    assert (older["message"], older["count"], older["involvedObject"]) == ("n", 2, {"name": "x"})
    assert older["reportingComponent"] == "example.com/c"
    assert events.from_stored(older) == newer


def test_an_old_event_in_the_newer_form_has_no_empty_names() -> None:
    older = named("Event", "v1", "e", involvedObject={"name": "x"})
    older.update(reportingComponent="", reportingInstance="", firstTimestamp=None)
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
    names = {"kind": "Bar", "plural": "bars"}
    _, errors = change(definition(), scope="Cluster", group="b.c", names=names)
    fields = ["spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"]
    assert [error.partition(":")[0] for error in errors] == fields


def test_versions_that_were_stored_stay() -> None:
    both = [version(storage=False), version("v2")]
    new, errors = change(definition(), versions=both, names={"shortNames": ["f"]})
    assert not errors
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert accept(new, NOW)
    assert new["status"]["acceptedNames"]["shortNames"] == ["f"]


def test_a_conversion_that_nobody_does_is_told() -> None:
    webhook = {"clientConfig": {"url": "https://example.com"}, "conversionReviewVersions": ["v1"]}
    body = created(
        merged(definition(), {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}})
    )
    [warning] = DEFINITIONS.warnings(body, None)
    assert warning.startswith("spec.conversion: no webhook is called here")
    assert DEFINITIONS.warnings(created(definition()), None) == []


def test_rules_that_nobody_reads_are_told() -> None:
    rules = {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}
    body = created(definition(version(schema={"type": "object", "properties": {"a": rules}})))
    [warning] = DEFINITIONS.warnings(body, None)
    assert warning.startswith("x-kubernetes-validations: CEL is not read here")


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
