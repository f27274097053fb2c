"""What a policy saved: its figures against those of the one that all others are compared with."""

from collections.abc import Callable, Iterator, Sequence

from maitred.simulate.report.amounts import between, digits, duration, number
from maitred.simulate.report.markup import short
from maitred.simulate.report.rows import NONE, ReportRow, ReportSection, cells
from maitred.simulate.results import Against, PolicyDifference, PolicySummary

IN_VAIN = "wasted: held by incomplete groups, or lost to eviction or failure"
FACTOR = "that is"
MINUS = "\N{MINUS SIGN}"
Words = Callable[[float], str]

FIGURES: dict[str, tuple[Callable[[Against], PolicyDifference], Words]] = {
    "jobs finished": (lambda one: one.finished, number),
    "mean wait": (lambda one: one.wait, duration),
    "device-hours wasted": (lambda one: one.hours_in_vain, digits),
    "deadlocks": (lambda one: one.deadlocks, number),
}


def section(summaries: Sequence[PolicySummary]) -> Iterator[ReportSection]:
    """Nothing, where there is nobody to compare with."""
    found = [one.against for one in summaries if one.against]
    if found:
        yield ReportSection(f"Against {short(found[0].policy)}", tuple(rows(summaries)), IN_VAIN)


def rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    for label, (of, words) in FIGURES.items():
        found = [of(one.against) if one.against else None for one in summaries]
        yield ReportRow(label, cells(signed(one.amount, words) if one else NONE for one in found))
        if label == "mean wait":
            yield ReportRow(
                FACTOR, cells(times_as_long(one, summaries) or NONE for one in summaries), is_aside=True
            )
        if any(len(one.seeds) > 1 for one in summaries):
            reach = cells(over_seeds(one, words) if one else NONE for one in found)
            yield ReportRow("over seeds", reach, is_aside=True)


def in_short(summary: PolicySummary, summaries: Sequence[PolicySummary]) -> dict[str, str]:
    """The same of one policy, all seeds together."""
    if summary.against is None:
        return {}
    told = {}
    for label, (of, words) in FIGURES.items():
        told[label] = signed(of(summary.against).amount, words)
        if label == "mean wait" and (factor := times_as_long(summary, summaries)):
            told[FACTOR] = factor
    return told


def signed(amount: float, words: Words) -> str:
    """What reads like nothing has no sign."""
    shown = words(abs(amount))
    return shown if shown == words(0.0) else f"{'+' if amount > 0 else MINUS}{shown}"


def over_seeds(one: PolicyDifference, words: Words) -> str:
    return between(signed(one.least, words), "to", signed(one.most, words))


def times_as_long(summary: PolicySummary, summaries: Sequence[PolicySummary]) -> str:
    """The mean wait as a factor, where both are above zero and differ."""
    if summary.against is None:
        return ""
    own = summary.times.wait.mean
    other = next(one.times.wait.mean for one in summaries if one.policy == summary.against.policy)
    if not own or not other:
        return ""
    factor = digits(max(own, other) / min(own, other))
    return "" if factor == "1.0" else f"{factor} × {'shorter' if own < other else 'longer'}"
