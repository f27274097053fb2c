"""Queues as a tree with numbers, for people."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.text import Text

from maitred.explain.queues.answer import (
    BudgetState,
    LiftedGroup,
    QueueAmounts,
    QueueReservation,
    Queues,
    QueueState,
)
from maitred.explain.tables import Cell, aligned, header
from maitred.model.queues import EVERY_MODEL
from maitred.model.words import counted, grouped, rounded

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
LIFTED_TITLES = ("LIFTED PAST", "GROUP", "UNTIL", "BY", "REASON")
RESERVED_TITLES = ("RESERVED FOR", "RESERVATION", "FROM", "UNTIL", "STATE", "NODES")
NOTHING = "-"


def queue_lines(found: Queues, width: int | None = None) -> Iterator[Text]:
    if found.queues:
        depths = depths_of(found.queues)
        rows = [row for one in found.queues for row in queue_rows(one, depths[one.queue])]
        budgets = budget_table({one.queue: one.budget for one in found.queues if one.budget is not None})
        lifted = [lifted_row(one.queue, group) for one in found.queues for group in one.lifted]
        reserved = [reserved_row(one.queue, kept) for one in found.queues for kept in one.reserved]
        titled = ((TITLES, rows), budgets, (LIFTED_TITLES, lifted), (RESERVED_TITLES, reserved))
        parts: list[Iterable[Text]] = [
            aligned([header(*titles), *some], width) for titles, some in titled if some
        ]
    elif found.elsewhere:
        parts = []
    else:
        yield Text("The policy has no queues: no group is limited by them.")
        return
    said = list(map(Text, remarks(found)))
    for number, part in enumerate([*parts, *([said] if said else [])]):
        if number:
            yield Text()
        yield from part


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
        asked = "" if amounts.waiting in (None, "0") else grouped(str(amounts.waiting))
        if number:
            yield "", "", *amount_cells(amounts), asked
        else:
            yield *begun, *amount_cells(amounts), ": ".join(filter(None, (groups, asked)))


def amount_cells(amounts: QueueAmounts) -> Sequence[Cell]:
    every, lent = amounts.model == EVERY_MODEL, amounts.lent
    return (
        amounts.resource if every else f"  {amounts.model}",
        grouped(amounts.guarantee or NOTHING),
        grouped(amounts.cap or NOTHING),
        grouped(amounts.used),
        Text(grouped(amounts.borrowed), "yellow" if amounts.borrowed != "0" else ""),
        NOTHING if lent is None else Text(grouped(lent), "yellow" if lent != "0" else ""),
    )


def budget_table(
    budgets: Mapping[str, BudgetState],
) -> tuple[Sequence[str], list[Sequence[Cell]]]:
    """With what runs without paying, where anything may."""
    rows = [budget_row(queue, budget) for queue, budget in budgets.items()]
    if not any(one.on_spent == "scavenge" or one.unpaid for one in budgets.values()):
        return BUDGET_TITLES, rows
    unpaid = (
        Text(f"{one.unpaid:g} an hour", "yellow") if one.unpaid else NOTHING for one in budgets.values()
    )
    found: list[Sequence[Cell]] = [(*row, more) for row, more in zip(rows, unpaid, strict=True)]
    return (*BUDGET_TITLES, UNPAID_TITLE), found


def budget_row(queue: str, budget: BudgetState) -> Sequence[Cell]:
    return (
        queue,
        f"{rounded(budget.budget)} {budget.unit} a {budget.period}",
        rounded(budget.spent),
        rounded(budget.committed),
        Text(rounded(budget.left), "" if budget.left else "yellow"),
        budget.until,
    )


def lifted_row(queue: str, lifted: LiftedGroup) -> Sequence[Cell]:
    return queue, lifted.group, lifted.until, lifted.by, lifted.reason


def reserved_row(queue: str, kept: QueueReservation) -> Sequence[Cell]:
    amounts = [
        f"{grouped(amount)} {resource}, {grouped(kept.idle[resource])} idle"
        for resource, amount in kept.there.items()
    ]
    there = "; ".join((counted(kept.nodes, "node"), *amounts))
    return queue, kept.reservation, kept.begin, kept.until, kept.state, there


def remarks(found: Queues) -> Iterator[str]:
    for one in found.cluster:
        model = f" ({one.model})" if one.model else ""
        there, used = grouped(one.there), grouped(one.used)
        yield f"The cluster has {there} {one.resource}{model}: {used} used, by pods of all kinds."
    if found.elsewhere:
        others = counted(found.elsewhere, "other queue")
        yield f"{others}: no namespace in which you may list pods may use them."
