"""What becomes of manifests that were written for other schedulers, and that the table of it is true."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from maitred.cluster.state import ClusterState, Put
from maitred.explain.importing.answer import ImportCheck
from maitred.explain.importing.checking import check_import
from maitred.explain.situation import Situation
from maitred.model.kinds import KINDS
from maitred.model.manifest import Reader, documents
from maitred.model.membership import conventions
from maitred.model.membership.treatment import (
    FIELDS_OF_OTHERS,
    HONOURED,
    KEYS_OF_OTHERS,
    OBJECTS_OF_OTHERS,
    PREFIXES,
)
from maitred.model.meta import Timestamp
from maitred.model.protection import FOREIGN_EXEMPTIONS
from tests.cli.importing import import_check
from tests.support import NOON, Obj, listed, policy_of

EXAMPLES = Path(__file__).parents[2] / "examples/import"
POD = {"containers": [{"name": "main", "image": "pause"}]}


def pod(name: str = "a", scheduler: str = "maitred", **metadata: Any) -> Obj:
    spec = {**POD, "schedulerName": scheduler}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def checked(*objects: Obj) -> ImportCheck:
    given, reader, state = list(documents(listed(list(objects)), "f")), Reader(), ClusterState()
    for document in given:
        if (item := reader.take(document)) is not None:
            state.apply(Put(item))
    situation = Situation(state.snapshot(), policy_of(None), msgspec.convert(NOON, Timestamp), None)
    return check_import(given, situation, "maitred")


def told(check: ImportCheck) -> list[tuple[str, str, str, bool]]:
    return [(one.scheduler, one.key, one.treatment, one.changes) for o in check.objects for one in o.findings]


# -- the table ---------------------------------------------------------------------------------------------


def test_what_membership_reads_of_others_has_a_row_and_what_is_honoured_is_read() -> None:
    rows = {row.key: row.treated for row in KEYS_OF_OTHERS}
    assert len(rows) == len(KEYS_OF_OTHERS)
    assert set(rows) >= conventions.KEYS
    honoured = {key for key, treated in rows.items() if treated.treatment == HONOURED}
    assert honoured <= conventions.KEYS | set(FOREIGN_EXEMPTIONS)
    assert set(FOREIGN_EXEMPTIONS) <= honoured


def test_what_is_read_and_not_honoured_is_the_name_of_a_queue_or_the_size_of_segments() -> None:
    read = {row.key for row in KEYS_OF_OTHERS if row.treated.treatment != HONOURED} & conventions.KEYS
    assert read == {*conventions.QUEUES, conventions.KAI_SEGMENTS}


def test_every_kind_of_pod_group_that_is_read_has_its_quorum_in_the_table() -> None:
    counted = {(row.group, row.kind) for row in FIELDS_OF_OTHERS if row.field == "spec.minMember"}
    theirs = {(row.group, row.name) for row in KINDS if row.plural == "podgroups" and row.group != UPSTREAM}
    assert counted == theirs
    assert not counted & set(OBJECTS_OF_OTHERS)


UPSTREAM = "scheduling.k8s.io"


# -- what is found -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", KEYS_OF_OTHERS, ids=lambda row: row.key)
def test_every_key_is_found_on_pods_and_in_templates(row: Any) -> None:
    marks = {row.key: "some-value", **dict.fromkeys(row.beside[:1], "x")}
    template = {"metadata": {"annotations": marks}, "spec": POD}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    for found in (checked(pod(labels=marks)), checked(job)):
        keys = [(one.scheduler, one.key) for o in found.objects for one in o.findings]
        assert (row.scheduler, row.key) in keys


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_key_that_nobody_knows_is_told_as_ignored(prefix: str) -> None:
    found = checked(pod(annotations={f"{prefix}something-new": "1"}))
    assert told(found) == [(PREFIXES[prefix], f"{prefix}something-new", "ignored", True)]
    assert found.changes


def test_words_that_others_use_too_are_only_told_where_they_are_meant() -> None:
    assert told(checked(pod(labels={"queue": "a"}))) == []
    assert ("YuniKorn", "queue", "ignored", True) in told(
        checked(pod(labels={"queue": "a", "applicationId": "b"}))
    )


def test_a_value_that_means_what_happens_anyway_changes_nothing() -> None:
    same, other = ({"yunikorn.apache.org/allow-preemption": value} for value in ("true", "false"))
    assert not checked(pod(annotations=same)).changes
    assert checked(pod(annotations=other)).changes


@pytest.mark.parametrize(("key", "words"), FOREIGN_EXEMPTIONS.items())
def test_what_exempts_a_pod_from_preemption_is_honoured_and_what_cannot_be_read_is_told(
    key: str, words: dict[str, bool]
) -> None:
    for word in words:
        assert not checked(pod(annotations={key: word})).changes
    check = checked(pod(annotations={key: "semi"}))
    assert [treatment for _, _, treatment, _ in told(check)] == ["approximated"]
    assert check.changes


def test_of_slices_within_slices_it_is_said_that_the_last_layer_counts() -> None:
    layers = ['{"topology": "block", "size": 4}', '{"topology": "rack", "size": 2}']
    for count, treatment in ((1, "honoured"), (2, "approximated")):
        check = checked(pod(annotations={conventions.KUEUE_LAYERS: f"[{', '.join(layers[:count])}]"}))
        assert told(check) == [("Kueue", conventions.KUEUE_LAYERS, treatment, treatment == "approximated")]


def test_a_field_of_a_pod_group_that_nobody_knows_is_told_as_ignored() -> None:
    about = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}
    check = checked({**about, "spec": {"minMember": 2, "someNewField": {"a": 1}}})
    assert told(check) == [
        ("Volcano", "minMember", "honoured", False),
        ("Volcano", "someNewField", "ignored", True),
    ]


def test_pods_of_another_scheduler_are_not_ours() -> None:
    (found,) = checked(pod(scheduler="volcano")).objects
    (finding,) = found.findings
    assert (finding.scheduler, finding.changes) == ("Volcano", True)
    assert "set schedulerName: maitred" in finding.words
    assert told(checked(pod(), pod("b", "default-scheduler"))) == []


@pytest.mark.parametrize(("group", "kind"), OBJECTS_OF_OTHERS)
def test_queues_and_their_like_are_told_as_not_taken_over(group: str, kind: str) -> None:
    check = checked({"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "x"}})
    assert [(one.treatment, one.changes) for o in check.objects for one in o.findings] == [("ignored", True)]


# -- groups that are invalid -------------------------------------------------------------------------------


def test_nonsense_and_contradictions_are_invalid_in_the_words_of_a_decision() -> None:
    crew = {"pod-group.scheduling.sigs.k8s.io/name": "crew"}
    nonsense = pod("a", labels={**crew, "pod-group.scheduling.sigs.k8s.io/min-available": "many"})
    both = pod(
        "b",
        labels={"scheduling.x-k8s.io/pod-group": "one"},
        annotations={"scheduling.k8s.io/group-name": "two"},
    )
    check = checked(nonsense, both)
    reasons = {one.group: " ".join(one.reasons) for one in check.invalid}
    assert check.changes
    assert set(reasons) == {"default/crew", "default/one"}
    assert "'many' is not a whole number of at least 1" in reasons["default/crew"]
    assert "group default/one by scheduling.x-k8s.io/pod-group" in reasons["default/one"]
    assert "two by scheduling" in reasons["default/one"]


# -- the examples ------------------------------------------------------------------------------------------

EXPECTED = {
    "kueue": ({"honoured": 5, "approximated": 3, "ignored": 3}, True),
    "volcano": ({"honoured": 5, "approximated": 3, "ignored": 6}, True),
    "kai": ({"honoured": 4, "approximated": 2, "ignored": 5}, True),
    "koordinator": ({"honoured": 3, "approximated": 1, "ignored": 4}, True),
    "yunikorn": ({"honoured": 3, "approximated": 1, "ignored": 2}, True),
    "scheduler-plugins": ({"honoured": 2, "ignored": 2}, False),
}


@pytest.mark.parametrize("scheduler", EXPECTED)
def test_the_examples_of_each_scheduler(scheduler: str) -> None:
    counts, changes = EXPECTED[scheduler]
    status, found = import_check("-f", str(EXAMPLES / scheduler))
    treatments = [one["treatment"] for o in found["objects"] for one in o["findings"]]
    assert {name: treatments.count(name) for name in sorted(set(treatments))} == dict(sorted(counts.items()))
    assert (status, found["changes"], found["invalid"]) == (int(changes), changes, [])


def test_every_example_is_expected() -> None:
    assert {folder.name for folder in EXAMPLES.iterdir()} == set(EXPECTED)


def test_the_page_has_every_key_field_and_object() -> None:
    page = (EXAMPLES.parents[1] / "docs/import.md").read_text()
    for row in KEYS_OF_OTHERS:
        assert f"| {row.scheduler} | `{row.key}` | {row.treated.treatment}" in page
    for field in FIELDS_OF_OTHERS:
        start = f"| {field.scheduler} | {field.kind} of `{field.group}` | `{field.field}` |"
        assert f"{start} {field.treated.treatment}" in page
    for group, kind in OBJECTS_OF_OTHERS:
        assert f"{kind} of `{group}`" in page
