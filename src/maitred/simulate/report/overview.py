"""Each policy in a few numbers, and what it saved."""

from collections.abc import Sequence

from maitred.simulate.report import savings
from maitred.simulate.report.amounts import duration, hours, number, percent
from maitred.simulate.report.figures import BUCKET_NAMES, is_done
from maitred.simulate.report.markup import Markup, element, joined, short, tip
from maitred.simulate.results import BUCKETS, PolicySummary


def glance(summary: PolicySummary, summaries: Sequence[PolicySummary]) -> Markup:
    return joined(
        [
            element(
                "p",
                percent(summary.utilisation["productive"]),
                element("small", "of device time productive"),
                class_="big",
            ),
            split(summary),
            pairs(figures(summary)),
            saved(summary, summaries),
        ]
    )


def figures(summary: PolicySummary) -> dict[str, str]:
    return {
        "jobs finished": number(summary.jobs["finished"]),
        "mean wait": duration(summary.times.wait.mean),
        "p99 wait": duration(summary.times.wait.p99),
        "mean completion": duration(summary.times.completion.mean),
        **({"makespan": duration(summary.makespan)} if is_done(summary) else {}),
        "held by incomplete groups": hours(summary.device_hours["incomplete"]),
        "deadlocks": number(summary.deadlocks),
    }


def saved(summary: PolicySummary, summaries: Sequence[PolicySummary]) -> Markup:
    if summary.against:
        title = f"Against {short(summary.against.policy)}"
        return joined([element("h4", title), pairs(savings.in_short(summary, summaries))])
    is_baseline = any(one.against for one in summaries)
    return element("p", "The others are compared with this one.", class_="note") if is_baseline else Markup()


def pairs(told: dict[str, str]) -> Markup:
    lines = [element("div", element("dt", label), element("dd", value)) for label, value in told.items()]
    return element("dl", *lines, class_="glance")


def split(summary: PolicySummary) -> Markup:
    """Where the device-hours went, as one bar."""
    parts = [
        element(
            "i",
            class_=bucket,
            style=f"flex:{summary.utilisation[bucket]:.5f}",
            data_tip=tip(
                f"{BUCKET_NAMES[bucket]}: {percent(summary.utilisation[bucket])}",
                f"{hours(summary.device_hours[bucket])} of devices",
            ),
        )
        for bucket in BUCKETS
        if summary.device_hours[bucket]
    ]
    return element("div", *parts, class_="split")
