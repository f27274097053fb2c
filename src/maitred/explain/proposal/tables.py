"""Proposals as lines: the answer in one sentence, where and at whose cost, and what else is to be had."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from maitred.explain.proposal.answer import CostToOthers, Outcome, Proposal, Proposals
from maitred.explain.tables import Cell, aligned, listed, shares
from maitred.model.plan import NO_LESSER
from maitred.model.words import counted, printable

STYLES: dict[Outcome, str] = {"fits": "green", "preempts": "yellow", "waits": "yellow", "never": "red"}


def proposal_lines(answer: Proposals, width: int | None = None) -> Iterator[Text]:
    for number, proposal in enumerate(answer.proposals):
        if number:
            yield Text()
        yield from aligned([[Text(f"{printable(proposal.words)}.", STYLES[proposal.outcome])]], width)
        yield from aligned(list(rows(proposal)), width)


def rows(proposal: Proposal) -> Iterator[Sequence[Cell]]:
    if proposal.where.nodes:
        yield "", "Where", shares(Counter(proposal.where.nodes), "node")
    yield from cost_rows(proposal.cost)
    if proposal.delayed:
        yield "", "Delays", f"{listed(proposal.delayed, 'group')}, which would start now without it"
    told = 1 if proposal.outcome in ("waits", "never") else 0  # the answer itself names the first
    for blocker in proposal.blockers[told:]:
        yield "", blocker.category, blocker.message
    for blocker in proposal.blockers:
        if (refusal := blocker.detail.get("preemption", NO_LESSER)) != NO_LESSER:
            yield "", "Preemption", refusal
    if proposal.estimate is not None and proposal.estimate.words:
        yield "", "Start", proposal.estimate.words
    if proposal.due:
        yield "", "Deadline", proposal.due
    for offer in proposal.offers:
        yield "", Text("Offer", "green"), offer.words
        if offer.change:
            yield "", "", offer.change
    for remedy in proposal.remedies:
        yield "", Text("Remedy", "green"), remedy.change
    for note in proposal.notes:
        yield "", "Note", note


def cost_rows(cost: CostToOthers) -> Iterator[Sequence[Cell]]:
    for victim in cost.victims:
        whose = f"{counted(victim.pods, 'pod')} of {victim.unit}"
        yield "", "Leaves", f"{whose}, priority {victim.priority}: {victim.leaves}"
    if cost.alternative:
        yield "", "", cost.alternative
