"""Devices by bucket over time, and what waiting jobs asked for meanwhile."""

import math
from collections.abc import Sequence

from maitred.simulate.report.amounts import moment, number
from maitred.simulate.report.axes import Axis, amount_axis, time_axis
from maitred.simulate.report.figures import BUCKET_NAMES
from maitred.simulate.report.markup import Markup, data, element
from maitred.simulate.report.plot import SIDE, across, frame, table, up
from maitred.simulate.results import BUCKETS, Bucket, Run, Sample

MOST_STEPS = 240
"""A plot is no wider than this in pixels on a telephone, and a file has to be sent by mail."""
TABLE_ROWS = 12
FEW_MARKS = 2


def panels(runs: Sequence[Run]) -> list[Markup]:
    """One panel for each run, all on the same scales."""
    longest = max(run.duration for run in runs)
    samples = [condensed(run.samples, MOST_STEPS) for run in runs]
    x, y = time_axis(longest), amount_axis(max(run.devices for run in runs))
    asked = amount_axis(
        math.ceil(max((one.waiting for own in samples for one in own), default=0.0)), FEW_MARKS
    )
    return [panel(run, own, x, y, asked) for run, own in zip(runs, samples, strict=True)]


def panel(run: Run, samples: Sequence[Sample], x: Axis, y: Axis, asked: Axis) -> Markup:
    total = sum(run.device_seconds.values()) or 1.0
    productive = run.device_seconds.get("productive", 0.0) / total
    held = frame(
        f"Devices over time, {run.policy}",
        f"Stacked areas of {run.devices:,} devices; {100 * productive:.1f} % of them productive on average.",
        [area(bucket, samples, x, y) for bucket in present(samples)],
        x=x,
        y=y,
        unit="devices",
        kind="tall",
        series=series(samples, x),
    )
    waiting = frame(
        f"Devices asked for by waiting jobs over time, {run.policy}",
        f"At most {number(max((one.waiting for one in samples), default=0.0))} devices at a time.",
        [asked_for(samples, x, asked)],
        x=x,
        y=asked,
        unit="devices asked for by waiting jobs",
        kind="low",
    )
    return element("div", held, waiting, figures(samples))


def condensed(samples: Sequence[Sample], most: int) -> list[Sample]:
    """At most so many, each the mean of those that it stands for."""
    each = -(-len(samples) // most) or 1
    return [merged(samples[start : start + each]) for start in range(0, len(samples), each)]


def merged(samples: Sequence[Sample]) -> Sample:
    start, end = samples[0].start, samples[-1].end
    span = (end - start) or 1.0
    weights = [(one, (one.end - one.start) / span) for one in samples]
    return Sample(
        start=start,
        end=end,
        devices={
            bucket: sum(one.devices.get(bucket, 0.0) * part for one, part in weights) for bucket in BUCKETS
        },
        waiting=sum(one.waiting * part for one, part in weights),
    )


def present(samples: Sequence[Sample]) -> list[Bucket]:
    return [bucket for bucket in BUCKETS if any(one.devices.get(bucket) for one in samples)]


# -- drawing -----------------------------------------------------------------------------------------------


def area(bucket: Bucket, samples: Sequence[Sample], x: Axis, y: Axis) -> Markup:
    """Between all buckets below it, and those with itself."""
    place = BUCKETS.index(bucket)
    below = [sum(one.devices.get(other, 0.0) for other in BUCKETS[:place]) for one in samples]
    above = [start + one.devices.get(bucket, 0.0) for start, one in zip(below, samples, strict=True)]
    there = "".join(
        f"H{across(x.place(one.start)):.0f}V{up(y.place(amount)):.0f}H{across(x.place(one.end)):.0f}"
        for one, amount in zip(samples, above, strict=True)
    )
    back = "".join(
        f"H{across(x.place(one.end)):.0f}V{up(y.place(amount)):.0f}H{across(x.place(one.start)):.0f}"
        for one, amount in zip(reversed(samples), reversed(below), strict=True)
    )
    first = f"M{across(x.place(samples[0].start)):.0f} {up(y.place(below[0])):.0f}"
    return element("path", class_=f"area {bucket}", d=f"{first}{there}{back}Z")


def asked_for(samples: Sequence[Sample], x: Axis, y: Axis) -> Markup:
    drawn = "".join(f"V{up(y.place(one.waiting)):.0f}H{across(x.place(one.end)):.0f}" for one in samples)
    return element("path", class_="area waiting", d=f"M0 {SIDE}{drawn}V{SIDE}Z")


# -- figures -----------------------------------------------------------------------------------------------


def series(samples: Sequence[Sample], x: Axis) -> Markup:
    """What the pointer tells: the devices of each bucket at that time."""
    return data(
        {
            "x": [round(across(x.place((one.start + one.end) / 2))) for one in samples],
            "at": [f"{moment(one.start)} – {moment(one.end)}" for one in samples],
            "rows": [
                {
                    "name": BUCKET_NAMES[bucket],
                    "kind": bucket,
                    "values": [number(one.devices.get(bucket, 0.0)) for one in samples],
                }
                for bucket in present(samples)
            ],
        }
    )


def figures(samples: Sequence[Sample]) -> Markup:
    buckets = present(samples)
    rows = [
        [
            f"{moment(one.start)} – {moment(one.end)}",
            *(number(one.devices.get(bucket, 0.0)) for bucket in buckets),
            number(one.waiting),
        ]
        for one in condensed(samples, TABLE_ROWS)
    ]
    head = ["time", *(BUCKET_NAMES[bucket] for bucket in buckets), "asked for"]
    return table(head, rows, "Mean devices, as a table")
