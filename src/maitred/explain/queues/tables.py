"""Queues as a tree with numbers, for people."""

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from maitred.explain.queues.answer import BudgetState, QueueAmounts, Queues, QueueState
from maitred.explain.tables import Cell, aligned, header
from maitred.model.queues import EVERY_MODEL
from maitred.model.words import counted

TITLES = (
    "QUEUE",
    "SHARE",
    "RESOURCE",
    "GUARANTEE",
    "CAP",
    "USED",
    "BORROWED",
    "LENT",
    "WAITING",
)
BUDGET_TITLES = ("BUDGET OF", "A PERIOD", "SPENT", "COMMITTED", "LEFT", "UNTIL")
UNPAID_TITLE = "UNPAID"
NOTHING = "-"


def queue_lines(found: Queues, width: int | None = None) -> Iterator[Text]:
    if found.queues:
        depths = depths_of(found.queues)
        rows = [row for one in found.queues for row in queue_rows(one, depths[one.queue])]
        yield from aligned([header(*TITLES), *rows], width)
        yield Text()
        budgets = {one.queue: one.budget for one in found.queues if one.budget is not None}
        if budgets:
            yield from aligned(budget_table(budgets), width)
            yield Text()
    elif not found.elsewhere:
        yield Text("The policy has no queues: no group is limited by them.")
        return
    yield from map(Text, remarks(found))


def depths_of(queues: Sequence[QueueState]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for one in queues:
        found[one.queue] = found.get(one.parent, -1) + 1
    return found


def queue_rows(one: QueueState, depth: int) -> Iterator[Sequence[Cell]]:
    """The first row has what is said of the queue, and the first of its amounts."""
    begun: Sequence[Cell] = (f"{'  ' * depth}{one.queue}", f"{one.share:.3f}")
    groups = counted(one.waiting_groups, "group") if one.waiting_groups else ""
    if not one.amounts:
        yield *begun, *(NOTHING,) * (len(TITLES) - 3), groups
    for number, amounts in enumerate(one.amounts):
        asked = "" if amounts.waiting in (None, "0") else str(amounts.waiting)
        if number:
            yield "", "", *amount_cells(amounts), asked
        else:
            yield *begun, *amount_cells(amounts), ": ".join(filter(None, (groups, asked)))


def amount_cells(amounts: QueueAmounts) -> Sequence[Cell]:
    every, lent = amounts.model == EVERY_MODEL, amounts.lent
    return (
        amounts.resource if every else f"  {amounts.model}",
        amounts.guarantee or NOTHING,
        amounts.cap or NOTHING,
        amounts.used,
        Text(amounts.borrowed, "yellow" if amounts.borrowed != "0" else ""),
        NOTHING if lent is None else Text(lent, "yellow" if lent != "0" else ""),
    )


def budget_table(budgets: Mapping[str, BudgetState]) -> list[Sequence[Cell]]:
    """With what runs without paying, where anything may."""
    rows = [[*budget_row(queue, budget)] for queue, budget in budgets.items()]
    if not any(one.on_spent == "scavenge" or one.unpaid for one in budgets.values()):
        return [header(*BUDGET_TITLES), *rows]
    for row, one in zip(rows, budgets.values(), strict=True):
        row.append(Text(f"{one.unpaid:g} an hour", "yellow") if one.unpaid else NOTHING)
    return [header(*BUDGET_TITLES, UNPAID_TITLE), *rows]


def budget_row(queue: str, budget: BudgetState) -> Sequence[Cell]:
    return (
        queue,
        f"{budget.budget:g} {budget.unit} a {budget.period}",
        f"{budget.spent:g}",
        f"{budget.committed:g}",
        Text(f"{budget.left:g}", "" if budget.left else "yellow"),
        budget.until,
    )


def remarks(found: Queues) -> Iterator[str]:
    for one in found.cluster:
        model = f" ({one.model})" if one.model else ""
        yield f"The cluster has {one.there} {one.resource}{model}: {one.used} used, by pods of all kinds."
    if found.elsewhere:
        others = counted(found.elsewhere, "other queue")
        yield f"{others}: no namespace in which you may list pods may use them."
