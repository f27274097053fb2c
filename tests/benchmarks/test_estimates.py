"""Start estimates keep what is promised of them, on simulated weeks of which the end is known."""

import pytest

from benchmarks.estimates import SCENARIOS, Question, asked, judged

CHOSEN = ("gangs of 12 to 20 nodes among small ones", "two priorities, nobody is evicted")


@pytest.mark.slow
def test_estimates_hold_nine_times_in_ten_and_are_of_use() -> None:
    questions: list[Question] = [question for name in CHOSEN for question in asked(name, seed=5)]
    found = judged(questions)
    assert set(CHOSEN) <= SCENARIOS.keys()
    assert found.questions > 100
    assert found.inside >= 0.9, found
    assert found.width <= 0.5, found
    assert found.error < min(found.usual_error, found.usual_error_of_size), found
