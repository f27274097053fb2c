"""What pods and groups say about how long they run."""

from typing import Any

import pytest

from maitred.model.meta import ObjectMeta
from maitred.model.runtime import DEFAULT_GRACE, EXPECTED_RUNTIME, NOT_SAID, Runtime, runtime_of, together
from tests.oracle import builders as b
from tests.support import decide, snapshot_of

HOUR = 3_600_000


def test_the_mark_is_read_from_labels_and_annotations() -> None:
    assert runtime_of(ObjectMeta(annotations={EXPECTED_RUNTIME: "4h"})).expected == 4 * HOUR
    assert runtime_of(ObjectMeta(labels={EXPECTED_RUNTIME: "90m"})).expected == 1.5 * HOUR
    assert runtime_of(ObjectMeta()) is NOT_SAID


@pytest.mark.parametrize("said", ["", "soon", "0s", "-1h", "4"])
def test_what_cannot_be_read_is_not_known(said: str) -> None:
    found = runtime_of(ObjectMeta(annotations={EXPECTED_RUNTIME: said}))
    assert found.expected is None
    assert repr(said) in found.problems[0]


def test_deadlines_and_grace_periods_are_in_seconds() -> None:
    found = runtime_of(ObjectMeta(), deadline_seconds=60, grace_seconds=5)
    assert (found.limit, found.grace) == (60_000, 5_000)
    assert runtime_of(ObjectMeta(), grace_seconds=DEFAULT_GRACE // 1000) is NOT_SAID


@pytest.mark.parametrize(
    ("group", "members", "expected", "limit"),
    [
        (Runtime(expected=1), [Runtime(expected=5)], 1, None),
        (NOT_SAID, [Runtime(expected=5), Runtime(expected=7), NOT_SAID], 7, None),
        (NOT_SAID, [Runtime(limit=5), Runtime(limit=7)], None, 7),
        (NOT_SAID, [Runtime(limit=5), NOT_SAID], None, None),
        (NOT_SAID, [], None, None),
    ],
)
def test_a_group_has_the_last_word(
    group: Runtime, members: list[Runtime], expected: int | None, limit: int | None
) -> None:
    found = together(group, members)
    assert (found.expected, found.limit) == (expected, limit)


def test_snapshots_have_it_of_groups_that_run_and_of_groups_that_wait() -> None:
    def gang(name: str, **more: Any) -> list[b.Obj]:
        return [
            b.pod_group(name, 1, annotations={EXPECTED_RUNTIME: "2h"}),
            b.pod(f"{name}-0", cpu=1, group=name, spec={"activeDeadlineSeconds": 60}, **more),
        ]

    snapshot = snapshot_of([b.node("n1"), *gang("run", node="n1"), *gang("wait")])
    (view,) = snapshot.groups
    (seated,) = (seated for seated in snapshot.seated if seated)
    assert view.runtime == seated.runtime == Runtime(expected=2 * HOUR, limit=60_000)


def test_a_mark_that_cannot_be_read_is_warned_of_and_changes_nothing() -> None:
    pods = [b.node("n1"), b.pod("lone", cpu=1, annotations={EXPECTED_RUNTIME: "soon"})]
    plan = decide(pods)
    assert [bind["pod"] for bind in plan["binds"]] == ["default/lone"]
    (warning,) = plan["warnings"]
    assert "'soon' is not a duration" in warning
    assert "it is not known when it ends" in warning
