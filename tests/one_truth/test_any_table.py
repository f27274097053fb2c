"""Whatever an answer holds, its table can be shown, at any width, and says all names that are in it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from maitred.explain.audit.answer import Audit
from maitred.explain.audit.tables import audit_lines
from maitred.explain.billing.document import Bill
from maitred.explain.billing.tables import bill_lines
from maitred.explain.capacity.document import Capacity
from maitred.explain.capacity.tables import capacity_lines
from maitred.explain.proposal.answer import Proposals
from maitred.explain.proposal.tables import proposal_lines
from maitred.explain.replay import Replay
from maitred.explain.replay_tables import replay_lines
from maitred.explain.tables import aligned, plan_lines
from maitred.explain.topology import TopologyReport
from maitred.explain.topology_tables import topology_lines
from maitred.explain.why.answer import Comparison, EvictionAnswer, Why
from maitred.explain.why.tables import comparison_lines, eviction_lines, why_lines
from maitred.model.plan import Plan
from tests.one_truth.documents import any_of
from tests.oracle.effort import examples

Lines = Callable[[Any, int | None], Iterator[Text]]
TABLES: dict[type, Lines] = {
    Plan: plan_lines,
    Why: why_lines,
    Comparison: comparison_lines,
    EvictionAnswer: eviction_lines,
    Proposals: proposal_lines,
    Capacity: capacity_lines,
    Audit: audit_lines,
    Bill: bill_lines,
    TopologyReport: topology_lines,
    Replay: lambda answer, width: replay_lines(answer, other_policy=False, width=width),
}
WIDTHS = st.sampled_from((None, 1, 40, 80, 200))
CELLS = st.sampled_from(("", "one", "two words", " " * 70, "long " * 30, "x" * 90))


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_every_answer_can_be_shown(kind: type) -> None:
    @examples(30)
    @given(any_of(kind), WIDTHS)
    def shown(answer: Any, width: int | None) -> None:
        assert all(isinstance(line, Text) for line in TABLES[kind](answer, width))

    shown()


@examples(100)
@given(st.lists(st.lists(CELLS, min_size=1, max_size=5), max_size=6), WIDTHS, st.booleans())
def test_every_row_is_a_line_or_more_whatever_its_cells(
    rows: list[list[str]], width: int | None, cut: bool
) -> None:
    lines = [line.plain for line in aligned(rows, width, cut)]
    assert len(lines) == len(rows) if width is None or cut else len(lines) >= len(rows)
    if width is None:
        for row, line in zip(rows, lines, strict=True):
            assert line.split() == " ".join(row).split()
