"""Where members would sit if some pods left: by sums, as if the pods were evicted and seats looked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import event, given

from maitred.cluster.nodes import Ints
from maitred.decide.ask import Assignment
from maitred.decide.preemption.feasibility import Feasibility
from maitred.decide.seats import Steps
from tests.decide.preempting import decided, party, running
from tests.decide.reading import verdict
from tests.oracle.builders import Obj, near, node, spread
from tests.oracle.effort import examples
from tests.oracle.strategies import CONSTRAINTS
from tests.preemption.worlds import squatted
from tests.support import decide

by_sums, tried = Feasibility._seats_by_sums, Feasibility._seats_tried


@contextmanager
def compared() -> Iterator[list[tuple[str, bool]]]:
    """How seats were found as long as the block runs, and whether nothing but room was asked for. Where sums
    tell, an attempt with the pods evicted says the same."""
    ways = list[tuple[str, bool]]()

    def both(self: Feasibility, entries: Ints, steps: Steps) -> Assignment | None:
        found = by_sums(self, entries, steps)
        assert found == tried(self, entries, self.context.steps())
        ways.append(("by sums", self.plain))
        return found

    def noted(self: Feasibility, entries: Ints, steps: Steps) -> Assignment | None:
        ways.append(("tried", self.plain))
        return tried(self, entries, steps)

    with patch.object(Feasibility, "_seats_by_sums", both), patch.object(Feasibility, "_seats_tried", noted):
        yield ways


@given(squatted(features=CONSTRAINTS))
@examples(100)
def test_sums_say_what_an_attempt_says(objects: list[Obj]) -> None:
    with compared() as ways:
        decide(objects)
    for way, plain in set(ways):
        event(f"{way}, {'room only' if plain else 'more than room'}")


WORKERS, WEB = {"app": "workers"}, {"app": "web"}
MINDFUL: dict[str, Obj] = {
    "away from": {"anti_affinity": [near("hostname", WORKERS)]},
    "evenly": {"spread": [spread("hostname", WORKERS)]},
    "with": {"affinity": [near("hostname", WORKERS)]},
}


@pytest.mark.parametrize("wish", MINDFUL)
@pytest.mark.parametrize("victims", [WEB, WORKERS], ids=["strangers", "of their kind"])
def test_who_leaves_matters_only_if_members_mind_them(wish: str, victims: dict[str, str]) -> None:
    """Members that keep away from, or close to, pods of their own kind do not mind strangers."""
    nodes = [node(f"n{number}", cpu=2) for number in range(4)]
    old = [running(f"old-{number}", f"n{number}", 2, labels=victims) for number in range(4)]
    with compared() as ways:
        plan = decided([*nodes, *old, *party(2, 2, 1, labels=WORKERS, **MINDFUL[wish])])
    assert verdict(plan) == "Preempting"
    assert {way for way, _ in ways} == {"by sums" if victims is WEB else "tried"}


def test_who_is_kept_away_by_victims_minds_them() -> None:
    guards = running("guard", "n0", 1, labels=WEB, anti_affinity=[near("hostname", WORKERS)])
    with compared() as ways:
        plan = decided([node("n0", cpu=2), guards, *party(1, 1, 1, labels=WORKERS)])
    assert verdict(plan) == "Preempting"
    assert {way for way, _ in ways} == {"tried"}
