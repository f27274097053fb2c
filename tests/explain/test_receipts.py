"""What is said of an eviction, to whom."""

import msgspec

from maitred.decide.queues.budget_words import unpaid_words
from maitred.explain.receipts import group_words, preemptor_words, victim_words
from maitred.model.plan import Eviction
from tests.controllers.owners.made import RECORD
from tests.controllers.victims import eviction

V = "default/v"


def over_budget(found: Eviction, *budgets: str) -> Eviction:
    return msgspec.structs.replace(found, receipt=msgspec.structs.replace(found.receipt, budgets=budgets))


def test_a_victim_is_told_for_whom_at_what_loss_and_what_becomes_of_its_owner() -> None:
    assert victim_words(eviction("a", group=V, job="train", hours=0.4)) == (
        "evicted for default/g (priority 100 > 10): 0.4 device-hours of work since 2026-01-01T00:00:00Z are"
        " lost; Job train is suspended, and maitred resumes it when it fits again"
    )


def test_where_nothing_is_lost_nothing_is_said_of_it() -> None:
    assert victim_words(eviction("a")) == (
        "evicted for default/g (priority 100 > 10): it has no controller, so it is not created again"
    )


def test_a_group_is_told_how_many_of_it_leave_and_what_all_of_them_lose() -> None:
    evictions = [eviction(name, group=V, job="train", hours=0.4) for name in "abcdefgh"]
    assert group_words(evictions) == (
        "evicted for default/g (priority 100 > 10): 8 pods of default/v leave, 3.2 device-hours of work are"
        " lost; Job train is suspended, and maitred resumes it when it fits again"
    )


def test_who_did_not_pay_is_told_that_and_no_priorities() -> None:
    found = eviction("a", group=V, job="train", hours=0.4)
    receipt = msgspec.structs.replace(found.receipt, rule=unpaid_words("team"))
    assert group_words([msgspec.structs.replace(found, cause="Budget", receipt=receipt)]) == (
        "evicted for default/g: it runs without paying, because the budget of queue team was spent when it"
        " started, and leaves for any group that pays; 1 pod of default/v leaves, 0.4 device-hours of work"
        " are lost; Job train is suspended, and maitred resumes it when it fits again"
    )
    line = msgspec.structs.replace(RECORD, cause="Budget").line
    assert "ran without paying, because the budget of their queue was spent, and made room for" in line


def test_pods_without_a_group_are_their_owners() -> None:
    assert "1 pod of Job train leaves;" in group_words([eviction("a", job="train")])


def test_budgets_that_are_overdrawn_are_named() -> None:
    many = [f"default/b{number}" for number in range(6)]
    assert victim_words(over_budget(eviction("a"), "default/web")).endswith(
        "; this is beyond what PodDisruptionBudget default/web allows"
    )
    assert group_words([over_budget(eviction("a"), *many)]).endswith(
        "PodDisruptionBudget default/b0, default/b1, default/b2, default/b3 and 2 more allows"
    )


def test_who_comes_instead_is_told_for_how_many_it_waits() -> None:
    group = [eviction(f"a{number}", group=V, hours=1.5) for number in range(2)]
    assert preemptor_words([*group, eviction("lone")]) == (
        "Preempting: waits for 3 pods to leave: 2 of default/v, default/lone;"
        " 3.0 device-hours of work are lost"
    )


def test_sentences_stay_short_whoever_leaves() -> None:
    evictions = [
        eviction(f"a{number}", group=f"default/v{number}", job=f"j{number}") for number in range(500)
    ]
    assert preemptor_words(evictions).endswith("1 of default/v3, 496 more")
    assert len(group_words(evictions)) < 500
