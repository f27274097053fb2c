"""The gauges of queues say the same numbers as `maitred queues`, and there is an end to them."""

from maitred.controllers.scheduling.queue_gauges import MOST_QUEUES, queue_families
from maitred.explain.queues.answer import BudgetState, QueueAmounts, Queues, QueueState

Samples = dict[tuple[str, ...], float]


def samples(found: Queues, name: str) -> Samples:
    """Of one gauge, by the values of its labels."""
    (family,) = (family for family in queue_families(found) if family.name == f"maitred_{name}")
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


def state(name: str, *amounts: QueueAmounts) -> QueueState:
    return QueueState(name, "", 1.0, 0.25, 3, amounts)


def test_amounts_are_numbers_and_what_is_not_said_has_no_series() -> None:
    cores = QueueAmounts("cpu", "*", None, "4", None, "1500m", "500m", None, "2")
    cards = QueueAmounts("gpu", "H100", "8", None, None, "3", "0", "5", None)
    found = Queues(queues=(state("vision", cores, cards),))
    first, second = ("vision", "cpu", "*"), ("vision", "gpu", "H100")
    assert samples(found, "queue_guarantee") == {second: 8}
    assert samples(found, "queue_cap") == {first: 4}
    assert samples(found, "queue_used") == {first: 1.5, second: 3}
    assert samples(found, "queue_borrowed") == {first: 0.5, second: 0}
    assert samples(found, "queue_lent") == {second: 5}
    assert samples(found, "queue_waiting") == {first: 2}
    assert samples(found, "queue_share") == {("vision",): 0.25}
    assert samples(found, "queue_waiting_groups") == {("vision",): 3}


def test_budgets_are_metrics_of_the_queues_that_have_one() -> None:
    budget = BudgetState("EUR", 100.0, "month", 32.5, 16.0, 51.5, "2026-02-01T00:00:00Z")
    found = Queues(queues=(QueueState("vision", "", 1.0, 0.25, 3, (), budget), state("speech")))
    names = ("queue_budget", "queue_spent", "queue_committed")
    assert [samples(found, name) for name in names] == [{("vision", "EUR"): n} for n in (100.0, 32.5, 16.0)]


def test_there_is_an_end_to_the_queues_that_are_shown() -> None:
    found = Queues(queues=tuple(state(f"q{number}") for number in range(MOST_QUEUES + 7)))
    assert len(samples(found, "queue_share")) == MOST_QUEUES
    assert samples(found, "queues_not_shown") == {(): 7}
    assert samples(Queues(), "queues_not_shown") == {(): 0}
