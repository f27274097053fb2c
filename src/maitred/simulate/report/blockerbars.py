"""What jobs waited for: under each blocker a bar for each policy that knows it."""

from collections.abc import Sequence

from maitred.simulate.report.amounts import hours
from maitred.simulate.report.figures import about_blockers, blockers
from maitred.simulate.report.markup import Markup, element, joined, short, tip
from maitred.simulate.results import PolicySummary
from maitred.simulate.summary import HOUR_S

LONGEST = 50
"""Percent of the width that the longest bar takes: its amount and policy stand beside it."""


def plot(summaries: Sequence[PolicySummary], kinds: Sequence[str]) -> Markup:
    """Bars are boxes of the page, with their amounts beside them: they need no table."""
    found = blockers(summaries)
    if not found:
        return element("p", "No job waited.", class_="note")
    most = max(one.wait_by_blocker.get(blocker, 0.0) for one in summaries for blocker in found)
    drawn = element("dl", *(bars(blocker, summaries, kinds, most) for blocker in found), class_="bars")
    about = about_blockers(summaries)
    return joined([drawn, *([element("p", f"{about}.", class_="note")] if about else [])])


def bars(blocker: str, summaries: Sequence[PolicySummary], kinds: Sequence[str], most: float) -> Markup:
    return element(
        "div",
        element("dt", blocker),
        *(
            bar(blocker, summary, kind, most)
            for summary, kind in zip(summaries, kinds, strict=True)
            if summary.wait_by_blocker.get(blocker)
        ),
    )


def bar(blocker: str, summary: PolicySummary, kind: str, most: float) -> Markup:
    seconds = summary.wait_by_blocker[blocker]
    shown = hours(seconds / HOUR_S)
    return element(
        "dd",
        element("i", class_=f"bar {kind}", style=f"width:{LONGEST * seconds / most:.2f}%"),
        element("span", shown),
        element("span", short(summary.policy)),
        data_tip=tip(short(summary.policy), f"{short(blocker)}: {shown}"),
    )
