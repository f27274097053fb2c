"""What jobs waited for: a bar for each policy under each blocker."""

from collections.abc import Sequence

from maitred.simulate.report.amounts import hours
from maitred.simulate.report.figures import blockers
from maitred.simulate.report.markup import Markup, element, short, tip
from maitred.simulate.report.plot import policy_kind
from maitred.simulate.results import Summary


def plot(summaries: Sequence[Summary]) -> Markup:
    """Bars are boxes of the page, with their amounts beside them: they need no table."""
    found = blockers(summaries)
    if not found:
        return element("p", "No job waited.", class_="note")
    most = max(one.wait_by_blocker.get(blocker, 0.0) for one in summaries for blocker in found)
    return element("dl", *(bars(blocker, summaries, most) for blocker in found), class_="bars")


def bars(blocker: str, summaries: Sequence[Summary], most: float) -> Markup:
    amounts = [one.wait_by_blocker.get(blocker, 0.0) for one in summaries]
    return element(
        "div",
        element("dt", blocker),
        *(
            element(
                "dd",
                element("i", class_=f"bar {policy_kind(index)}", style=f"width:{70 * amount / most:.2f}%"),
                element("span", hours(amount)),
                data_tip=tip(short(summary.policy), f"{short(blocker)}: {hours(amount)}"),
            )
            for index, (summary, amount) in enumerate(zip(summaries, amounts, strict=True))
        ),
    )
