"""The record of a Job that we have suspended, and the line on it."""

import msgspec
import pytest

from maitred.model.suspension import LONGEST_RECORD, parse_suspension
from tests.controllers.owners.made import RECORD, record


def test_what_was_written_is_read() -> None:
    written = record(pod_group="train-pg")
    assert parse_suspension(str(written)) == written


def test_it_reads_well_for_people() -> None:
    assert msgspec.json.decode(str(RECORD)) == {
        "job": "default/train",
        "uid": "job-train",
        "by": "maitred",
        "group": "default/train",
        "for": "default/urgent",
        "at": "2026-01-01T12:00:00Z",
        "priority": 10,
        "preemptorPriority": 100,
        "members": 4,
        "kind": "Job",
        "workload": "",
        "workloadUid": "",
        "podGroup": "",
        "schedulerName": "maitred",
        "cause": "Preemption",
    }


def test_the_record_of_an_earlier_version_is_about_a_job() -> None:
    written = msgspec.json.decode(str(RECORD))
    for name in ("kind", "workload", "workloadUid", "cause"):
        del written[name]
    assert parse_suspension(msgspec.json.encode(written).decode()) == RECORD


def test_a_later_version_may_say_more() -> None:
    more = {**msgspec.json.decode(str(RECORD)), "since": "1.2"}
    assert parse_suspension(msgspec.json.encode(more).decode()) == RECORD


def test_the_line_says_for_whom_within_the_namespace_and_never_across() -> None:
    assert RECORD.line == (
        "suspended by maitred at 2026-01-01T12:00:00Z: 4 pods of priority 10 made room for default/urgent of "
        "priority 100; the Job is resumed when it fits again"
    )
    assert "made room for a group in another namespace of" in record(preemptor="team-b/secret").line
    assert "secret" not in record(preemptor="team-b/secret").line
    assert record(kind="JobSet").line.endswith("; the JobSet is resumed when it fits again")
    assert record(kind="JobSet", workload="kueue-1").line.endswith(
        "; it is active again as soon as the pods of JobSet train are gone"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "true",
        "[]",
        "{}",
        '{"group": "default/train"}',
        str(RECORD)[:-1],
        str(RECORD).replace('"members":4', '"members":"many"'),
        str(RECORD).replace("2026-01-01T12:00:00Z", "yesterday"),
        str(RECORD).replace("2026-01-01T12:00:00Z", "2026-01-01T12:00:00"),
        str(RECORD).replace("urgent", "u" * 1000),
        str(RECORD) + " " * LONGEST_RECORD,
        "[" * 10_000,
        "\ud800",
    ],
)
def test_what_we_have_not_written_is_no_evidence(text: str) -> None:
    assert parse_suspension(text) is None
