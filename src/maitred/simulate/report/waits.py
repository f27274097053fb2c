"""How long jobs of each size waited: a dot for each job, or marks for each size where there are many."""

from collections.abc import Sequence

import numpy as np

from maitred.simulate.report.amounts import amount, duration, number
from maitred.simulate.report.axes import Axis, long_time_axis, size_axis
from maitred.simulate.report.columns import Jobs
from maitred.simulate.report.markup import Markup, element, short, tip
from maitred.simulate.report.plot import across, frame, table, up
from maitred.simulate.summary import percentile

MOST_DOTS = 2_000
JITTER = 0.18
"""How far jobs of one size are scattered to either side, as a part of the way to twice the size."""
GOLDEN = 0.618034
PERCENTS = (5, 25, 50, 75, 95)
BOX = 0.28
SHORTEST_S = 1.0
MARKS_MEAN = "For each size: the median, the middle half, and the range without 5 % at either end."


def panels(policies: Sequence[Jobs]) -> list[Markup]:
    """One panel for each policy, all on the same scales."""
    devices = np.concatenate([jobs.devices for jobs in policies])
    waited = np.concatenate([jobs.waited for jobs in policies])
    if not devices.size:
        return [element("p", "No job arrived.", class_="note") for _ in policies]
    x = size_axis(int(devices.min()), int(devices.max()))
    y = long_time_axis(SHORTEST_S, float(waited.max()))
    return [panel(jobs, x, y) for jobs in policies]


def panel(jobs: Jobs, x: Axis, y: Axis) -> Markup:
    are_few = len(jobs.outcomes) <= MOST_DOTS
    found = by_size(jobs)
    plot = frame(
        f"Wait against size, {jobs.policy}",
        "A dot for each job." if are_few else MARKS_MEAN,
        dots(jobs, x, y) if are_few else [box(size, own, jobs.kind, x, y) for size, own in found.items()],
        x=x,
        y=y,
        unit="wait, by devices of the job",
        kind="tall",
    )
    return element("div", plot, element("p", note(jobs, are_few), class_="note"), figures(found))


def note(jobs: Jobs, are_few: bool) -> str:
    return " ".join([*([] if are_few else [MARKS_MEAN]), never_seated(jobs, are_few)])


def never_seated(jobs: Jobs, are_few: bool) -> str:
    never = len(jobs.outcomes) - int(jobs.seated.sum())
    if not never:
        return "Every job was placed."
    total = f"{number(never / jobs.runs)} of {amount(len(jobs.outcomes) / jobs.runs, 'job')}"
    each = " of a run, on average" if jobs.runs > 1 else ""
    return f"Never placed: {total}{each}{' (red)' if are_few else ''}."


# -- dots --------------------------------------------------------------------------------------------------


def dots(jobs: Jobs, x: Axis, y: Axis) -> list[Markup]:
    apart = x.place(2) - x.place(1)
    return [
        element(
            "path",
            class_=f"dot {jobs.kind}{'' if jobs.seated[number] else ' never'}",
            d=f"M{across(x.place(one.devices) + shift(number) * apart):.0f} {up(y.place(one.waited)):.0f}h1",
            data_tip=tip(short(one.job), amount(one.devices, "device"), f"waited {duration(one.waited)}"),
        )
        for number, one in enumerate(jobs.outcomes)
    ]


def shift(number: int) -> float:
    """Evenly over both sides, and the same each time."""
    return JITTER * (2 * (number * GOLDEN % 1) - 1)


# -- marks for each size -----------------------------------------------------------------------------------


Quantiles = tuple[int, list[float]]
"""How many jobs, and their waits at each of the percents."""


def by_size(jobs: Jobs) -> dict[int, Quantiles]:
    """Sizes between two powers of two count as the larger one."""
    sizes = np.where(jobs.devices > 0, 2 ** np.ceil(np.log2(np.maximum(jobs.devices, 1))), 0).astype(np.int64)
    found = {}
    for size in np.unique(sizes).tolist():
        waits = np.sort(jobs.waited[sizes == size])
        found[size] = (waits.size, [percentile(waits, percent) for percent in PERCENTS])
    return found


def box(size: int, found: Quantiles, kind: str, x: Axis, y: Axis) -> Markup:
    count, times = found
    middle, half = across(x.place(size)), across(BOX * (x.place(2) - x.place(1)))
    low, lower, median, upper, high = (round(up(y.place(time))) for time in times)
    left, width = middle - half, 2 * half
    return element(
        "g",
        element("path", class_="whisker", d=f"M{middle:.0f} {low}V{lower}M{middle:.0f} {upper}V{high}"),
        element("rect", class_="box", x=left, y=upper, width=width, height=max(lower - upper, 4)),
        element("path", class_="median", d=f"M{left:.0f} {median}h{width:.0f}"),
        class_=f"boxed {kind}",
        data_tip=tip(
            f"{sizes_named(size)}: {amount(count, 'job')}",
            f"half waited at most {duration(times[2])}",
            f"95 % waited at most {duration(times[4])}",
        ),
    )


def sizes_named(size: int) -> str:
    if size <= 2:
        return amount(size, "device")
    return f"{size // 2 + 1:,}-{size:,} devices"


def figures(found: dict[int, Quantiles]) -> Markup:
    rows = [
        [sizes_named(size), f"{count:,}", *(duration(time) for time in times)]
        for size, (count, times) in found.items()
    ]
    return table(
        ["size", "jobs", *(f"p{percent}" for percent in PERCENTS)], rows, "Waits by size, as a table"
    )
