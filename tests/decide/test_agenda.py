"""The agenda: turns compare in the order in which they come, and the rule that decides has a name."""

from itertools import permutations

import pytest

from maitred.cluster.trial import Trial
from maitred.decide.agenda import (
    RULE_OF_FIELD,
    RULES,
    Agenda,
    QueueBranch,
    Turn,
    as_compared,
    first_turn,
    goes_before,
    rule_between,
)
from maitred.model.policy import Rule
from tests.support import snapshot_of


def in_queue(turn: Turn, *, borrows: bool = True, share: float = 0.5) -> Turn:
    """One beside BASE, and BASE itself in a queue of its own."""
    queue = 0 if turn.key == "ns/m" else 1
    return turn._replace(branches=(QueueBranch(queue, borrows, share),))


BASE = in_queue(first_turn("priority", 5, 100.0, "ns/m", place=1, measure=2.0))
AHEAD: dict[Rule, Turn] = {
    "paying": in_queue(first_turn("priority", 4, 200.0, "ns/z", place=2, measure=3.0)),
    "entitled": in_queue(first_turn("priority", 4, 200.0, "ns/z", place=2, measure=3.0), borrows=False),
    "priority": in_queue(first_turn("priority", 6, 200.0, "ns/z", place=2, measure=3.0)),
    "rotation": in_queue(first_turn("priority", 5, 200.0, "ns/z", place=0, measure=3.0)),
    "promised": in_queue(first_turn("priority", 5, 200.0, "ns/z", place=1, measure=3.0, promised=True)),
    "override": in_queue(first_turn("priority", 5, 200.0, "ns/z", place=1, lifted=True), share=0.9),
    "waited": in_queue(first_turn("priority", 5, 200.0, "ns/z", place=1, measure=3.0, waited=1.0), share=0.9),
    "fair-share": in_queue(first_turn("priority", 5, 200.0, "ns/z", place=1, measure=3.0), share=0.4),
    "deadline": in_queue(first_turn("priority", 5, 200.0, "ns/z", place=1, measure=3.0, deadline=1.0)),
    "measure": in_queue(first_turn("priority", 5, 200.0, "ns/z", place=1, measure=1.0)),
    "age": in_queue(first_turn("priority", 5, 99.0, "ns/z", place=1, measure=2.0)),
    "name": in_queue(first_turn("priority", 5, 100.0, "ns/a", place=1, measure=2.0)),
}
"""By each rule, a turn before BASE that comes after it by all later rules."""


@pytest.mark.parametrize("rule", RULES)
def test_the_first_rule_in_which_turns_differ_decides(rule: Rule) -> None:
    ahead, base = AHEAD[rule], BASE.unpaid if rule == "paying" else BASE
    assert goes_before(ahead, base)
    assert not goes_before(base, ahead)
    assert rule_between(ahead, base) == rule_between(base, ahead) == rule
    mine, theirs = as_compared(ahead, base)
    assert mine.by(rule) < theirs.by(rule)
    earlier = RULES[: RULES.index(rule)]
    assert all(mine.by(one) == theirs.by(one) for one in earlier)


def test_every_field_of_a_turn_belongs_to_a_rule() -> None:
    assert len(RULE_OF_FIELD) == len(Turn._fields)
    assert set(RULE_OF_FIELD) == set(RULES)


def test_first_come_first_served_does_not_look_at_priority() -> None:
    old, urgent = first_turn("fifo", 0, 1.0, "ns/old"), first_turn("fifo", 9, 2.0, "ns/urgent")
    assert old < urgent
    assert rule_between(old, urgent) == "age"


def test_turns_are_handed_out_in_order_and_surplus_comes_after_all_quorums_of_its_priority() -> None:
    """Whatever order they are added in, and while others are taken."""
    trial = Trial.of(snapshot_of([]))
    high, old = first_turn("priority", 9, 5.0, "ns/high"), first_turn("priority", 0, 1.0, "ns/old")
    young = first_turn("priority", 0, 2.0, "ns/young")
    promised = first_turn("priority", 0, 3.0, "ns/promised", promised=True)
    expected = [high, high.surplus, promised.held, promised, old, young, old.surplus]
    for added in permutations([high, old, young, promised, promised.held]):
        agenda, taken = Agenda(), list[Turn]()
        for turn in added:
            agenda.add(turn)
        while (turn_now := agenda.next(trial)) is not None:
            taken.append(turn_now)
            if turn_now in (high, old):
                agenda.add(turn_now.surplus)
        assert taken == expected


def test_a_group_that_was_cut_off_goes_first_among_its_equals_but_its_surplus_does_not() -> None:
    cut, other = first_turn("priority", 0, 9.0, "ns/cut", place=0), first_turn("priority", 0, 1.0, "ns/other")
    assert sorted([other, cut, cut.surplus]) == [cut, other, cut.surplus]
    assert rule_between(cut, other) == "rotation"


def test_age_gives_no_right_to_the_place_of_another() -> None:
    old, young = first_turn("priority", 0, 1.0, "ns/old"), first_turn("priority", 0, 2.0, "ns/young")
    assert old < young
    assert old.strength == young.strength
