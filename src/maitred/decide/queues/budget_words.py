"""A budget that cannot pay for a group, in numbers and words."""

import msgspec

from maitred.cluster.queues.use import QueueUse
from maitred.cluster.snapshot import Snapshot
from maitred.decide.queues.affording import Overspend, longest_span
from maitred.decide.queues.budgets import unit_words
from maitred.model.duration import written
from maitred.model.plan import Blocker, Detail
from maitred.model.policy import Policy
from maitred.model.runtime import MAX_RUNTIME
from maitred.model.words import moment, rounded

DIGITS = 3
MINUTE = 60_000
"""In milliseconds. To run for less is offered to nobody."""
SCAVENGES = "scavenges"
"""In the detail of the first blocker of a group that waits to run without paying."""
AT_ANY_TIME = "any group that pays may evict it at any time"
NO_ONE_LEAVES = "it would run without paying, so no pod leaves for it"


def with_scavenging(
    blockers: tuple[Blocker, ...], snapshot: Snapshot, policy: Policy, excess: Overspend | None
) -> tuple[Blocker, ...]:
    """The first also says that the group gets only what nobody who pays asks for, and which budget is too
    small for it; None if its other members run so already."""
    if not blockers:
        return ()
    first, *others = blockers
    words = f"{_why_unpaid(snapshot, policy, excess)}, so it runs only where nobody who pays wants to"
    return (
        msgspec.structs.replace(
            first, message=f"{first.message}; {words}", detail={**first.detail, SCAVENGES: True}
        ),
        *others,
    )


def _why_unpaid(snapshot: Snapshot, policy: Policy, excess: Overspend | None) -> str:
    if excess is None or snapshot.book is None:
        return "its other members run without paying"
    queue = snapshot.book.tree.queues[excess.queue]
    assert queue.budget is not None, "only budgets are overspent"
    left = round(max(0.0, queue.budget.amount - excess.used), DIGITS)
    budget = f"{queue.budget.amount:g} {unit_words(queue.budget, policy)}"
    needs = f"{round(excess.asked, DIGITS):g}"
    return f"queue {queue.name} has {left:g} of {budget} left, and the group needs {needs}"


def unpaid_words(budget_of: str) -> str:
    """Why a pod leaves that runs without paying. It may name a queue by now that has no budget."""
    budget = f"the budget of queue {budget_of}" if budget_of else "a budget"
    return (
        f"it runs without paying, because {budget} was spent when it started, and leaves for any group that "
        "pays"
    )


def unpaid(
    use: QueueUse, excess: Overspend, policy: Policy, alone: bool, elsewhere: str, numbers: Detail
) -> Blocker:
    """Which budget is short, by how much, and when it begins anew."""
    balances, queue = use.balances, use.book.tree.queues[excess.queue]
    budget = queue.budget
    assert balances is not None, "only where there are budgets"
    assert budget is not None, "only budgets are overspent"
    begins, until = (
        moment(int(one) // 1000) for one in balances.bounds[excess.row][excess.period : excess.period + 2]
    )
    span = longest_span(use, excess) // MINUTE * MINUTE
    detail: Detail = {
        **numbers,
        "queue": queue.name,
        "unit": unit_words(budget, policy),
        "period": budget.period,
        "budget": budget.amount,
        "spent": round(excess.spent, DIGITS),
        "committed": round(excess.committed, DIGITS),
        "asked": round(excess.asked, DIGITS),
        "begins": begins,
        "until": until,
        "affordable": written(span) if span else None,
    }
    by_the_hour = budget.money is not None and bool(policy.prices.hours)
    message = f"{_sentence(detail, excess, by_the_hour)}{elsewhere}; {_advice(detail, excess, budget.amount)}"
    return Blocker("Budget", f"{'it would fit, but ' if alone else ''}{message}", detail)


def _sentence(detail: Detail, excess: Overspend, by_the_hour: bool) -> str:
    budget, spent, committed, needs, rate = map(
        rounded, (detail["budget"], excess.spent, excess.committed, excess.asked, excess.rate)
    )
    may = f"queue {detail['queue']} may spend {budget} {detail['unit']} a {detail['period']}"
    plain = " at plain prices," if by_the_hour else ""
    asked = f"the group needs {needs} ({rate} an hour{plain} until its end)"
    if excess.period:
        return (
            f"{may}, and of those from {detail['begins']} on {committed} are committed to groups "
            f"that run; {asked} of them"
        )
    return f"{may}: {spent} are spent and {committed} committed, and {asked}"


def _advice(detail: Detail, excess: Overspend, amount: float) -> str:
    """What its owner can do, and when it comes right by itself."""
    shorter = f"set {MAX_RUNTIME} to {detail['affordable']} or less" if detail["affordable"] else ""
    if excess.asked > amount:
        least = "ask for fewer devices or for a larger budget"
        return f"no {detail['period']} pays for so much: {', or '.join(filter(None, (shorter, least)))}"
    wait = f"wait for {detail['until']}, when the next {detail['period']} begins"
    return ", or ".join(filter(None, (shorter, wait)))
