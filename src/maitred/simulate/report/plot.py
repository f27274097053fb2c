"""The frame around a plot.

Only what is drawn is stretched to the width of the page; marks on the axes are text of the page, so that they
are as large on a telephone as on a wall.
"""

from collections.abc import Sequence
from itertools import count

from maitred.simulate.report.axes import Axis
from maitred.simulate.report.markup import Markup, element, joined
from maitred.simulate.results import PolicySummary

SIDE = 1000
"""Of the square that everything is drawn in, before it is stretched."""
POLICIES = tuple(f"policy-{number}" for number in range(7))
"""Classes, and colours, of policies; with more policies they come again."""
BASELINE = "policy-baseline"
"""Of pod by pod, wherever it stands: grey, so that the others stand out from it."""


def policy_kinds(summaries: Sequence[PolicySummary]) -> list[str]:
    baseline = next((one.policy for one in summaries if one.placement == "pod-by-pod"), None)
    numbers = count()
    return [
        BASELINE if one.policy == baseline else POLICIES[next(numbers) % len(POLICIES)] for one in summaries
    ]


def across(place: float) -> float:
    return SIDE * place


def up(place: float) -> float:
    return SIDE * (1 - place)


def frame(
    title: str,
    description: str,
    drawn: Sequence[str],
    *,
    x: Axis,
    y: Axis,
    unit: str,
    kind: str = "",
    series: Markup | None = None,
) -> Markup:
    """One plot. `series` are the amounts that a reader is told of wherever the pointer is."""
    grid = [
        element("path", class_="grid", d=f"M0 {up(place):.1f}H{SIDE}") for place, _ in y.marks if place > 0
    ]
    picture = element(
        "svg",
        element("desc", description),
        *grid,
        *drawn,
        element("path", class_="axis", d=f"M0 {SIDE}H{SIDE}"),
        *([element("path", class_="cursor", d="")] if series else []),
        viewBox=f"0 0 {SIDE} {SIDE}",
        preserveAspectRatio="none",
        role="img",
        aria_label=title,
    )
    return element(
        "div",
        element("div", unit, class_="unit"),
        element(
            "div",
            element("div", *(mark(place, text, "bottom") for place, text in y.marks), class_="marks up"),
            element("div", picture, *([series] if series else []), class_="canvas"),
            element("div", *(mark(place, text, "left") for place, text in x.marks), class_="marks along"),
            class_="axes",
        ),
        class_=f"plot {kind}".strip(),
    )


def mark(place: float, text: str, side: str) -> Markup:
    return element("span", text, style=f"{side}:{100 * place:.2f}%")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], summary: str) -> Markup:
    """The figures of a plot for those who cannot see it, or want to copy them."""
    header = element("tr", *(element("th", cell, scope="col") for cell in head))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:]))
        for row in rows
    ]
    made = element("table", element("thead", header), element("tbody", *body))
    return element("details", element("summary", summary), element("div", made, class_="scroll"))


def legend(entries: Sequence[tuple[str, str]], is_switch: bool = True) -> Markup:
    """Classes and names. A switch fades what carries its class."""

    def entry(kind: str, name: str) -> Markup:
        key = element("i", class_=f"key {kind}")
        if is_switch:
            return element("button", key, name, type="button", data_fades=kind, aria_pressed="true")
        return element("span", key, name)

    return element("div", joined([entry(kind, name) for kind, name in entries]), class_="legend")
