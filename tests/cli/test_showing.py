"""What `maitred up` tells in a pipe or a log."""

from maitred.cli.up.showing import words_of
from maitred.explain.floorplan import UNDECIDED, FloorRow, Outcome


def row(group: str, verdict: Outcome = "Scheduled", why: str = "", lone: bool = True) -> FloorRow:
    return FloorRow(group, verdict, 1, 1, int(verdict == "Scheduled"), {}, None, why, lone)


def test_lone_pods_are_told_of_in_sum() -> None:
    rows = [row("ml/gang", lone=False), row("ml/a"), row("ml/b"), row("ml/c", "Waiting", "Capacity: x")]
    assert words_of(rows) == {
        "ml/gang": "ml/gang is Scheduled, 1 of 1 placed",
        "": "3 pods of no group: 2 scheduled, 1 waiting",
    }


def test_what_nobody_has_decided_is_not_told() -> None:
    assert words_of([row("ml/a", "Waiting", UNDECIDED)]) == {}
