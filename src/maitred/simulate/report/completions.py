"""How soon jobs were done: of all that arrived, the share that had finished after so long."""

from collections.abc import Sequence

import numpy as np

from maitred.simulate.report.amounts import duration, percent
from maitred.simulate.report.axes import Axis, long_time_axis, share_axis
from maitred.simulate.report.columns import Jobs
from maitred.simulate.report.markup import Markup, data, element, short
from maitred.simulate.report.plot import across, frame, table, up
from maitred.simulate.summary import Floats

STEPS = 160
TABLE_PERCENTS = (10, 25, 50, 75, 90, 95, 99)


def plot(policies: Sequence[Jobs]) -> Markup:
    finished = np.concatenate([jobs.completion for jobs in policies])
    if not finished.size:
        return element("p", "No job finished.", class_="note")
    x = long_time_axis(float(finished.min()), float(finished.max()))
    times = np.geomspace(max(float(finished.min()), 1.0), max(float(finished.max()), 1.0), STEPS)
    shares = [share_done(jobs, times) for jobs in policies]
    drawn = frame(
        "Completion times",
        "For each policy a line that rises from no job to the share of jobs that finished.",
        [line(jobs.kind, times, own, x) for jobs, own in zip(policies, shares, strict=True)],
        x=x,
        y=share_axis(),
        unit="of all jobs that arrived, those that finished within this time of their arrival",
        kind="taller",
        series=series(policies, times, shares, x),
    )
    return element("div", drawn, figures(policies), class_="growing")


def share_done(jobs: Jobs, times: Floats) -> list[float]:
    """Jobs that never finished count, so that nobody does better by leaving them out."""
    done = np.searchsorted(jobs.completion, times, side="right")
    return [float(count) / max(len(jobs.outcomes), 1) for count in done]


def line(kind: str, times: Floats, shares: Sequence[float], x: Axis) -> Markup:
    places = [across(x.place(float(time))) for time in times]
    points = [f"{place:.0f} {up(share):.1f}" for place, share in zip(places, shares, strict=True)]
    return element("path", class_=f"line {kind}", d=f"M{'L'.join(points)}")


def series(policies: Sequence[Jobs], times: Floats, shares: Sequence[Sequence[float]], x: Axis) -> Markup:
    return data(
        {
            "x": [round(across(x.place(float(time)))) for time in times],
            "at": [f"within {duration(float(time))}" for time in times],
            "rows": [
                {
                    "name": short(jobs.policy),
                    "kind": jobs.kind,
                    "values": [percent(share) for share in own],
                }
                for jobs, own in zip(policies, shares, strict=True)
            ],
        }
    )


def figures(policies: Sequence[Jobs]) -> Markup:
    rows = [
        [f"{share} % of all jobs", *(within(jobs, share) for jobs in policies)] for share in TABLE_PERCENTS
    ]
    return table(["done", *(short(jobs.policy) for jobs in policies)], rows, "Completion times, as a table")


def within(jobs: Jobs, share: int) -> str:
    """The time after which such a share of all jobs had finished, if ever."""
    rank = -(-share * len(jobs.outcomes) // 100)
    return duration(float(jobs.completion[rank - 1])) if 0 < rank <= jobs.completion.size else "never"
