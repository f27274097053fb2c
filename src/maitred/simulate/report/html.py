"""A result as one page that needs nothing else: no network, no library, no font."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence

from maitred.simulate.report import blockerbars, completions, floor, overtime, waits
from maitred.simulate.report.columns import jobs_by_policy
from maitred.simulate.report.figures import (
    BUCKET_NAMES,
    OF_COMPLETIONS,
    OF_WAITS,
    averages,
    remarks,
    sections,
    setting,
)
from maitred.simulate.report.markup import Markup, element, joined, short
from maitred.simulate.report.overview import glance
from maitred.simulate.report.plot import legend, policy_kinds
from maitred.simulate.report.rows import ReportRow, ReportSection
from maitred.simulate.report.savings import IN_VAIN
from maitred.simulate.report.script import SCRIPT
from maitred.simulate.report.style import style
from maitred.simulate.results import BUCKETS, Bucket, PolicySummary, Result, Run

MEANINGS: dict[str, str] = {
    "productive": "devices of complete groups that compute, and whose work is kept",
    "starting": "devices of complete groups that do not compute yet: images, rendezvous, checkpoints",
    "held by incomplete groups": "devices of groups that wait for the rest of their quorum",
    "held by stalled groups": "devices of groups that wait for members that died to be created anew",
    "held by leaving pods": "devices of evicted members that have not terminated yet",
    "lost to eviction": "work since the last checkpoint of groups that were evicted",
    "lost to failure": "work since the last checkpoint of groups that a broken node or device stopped",
    "held in reserve": "free devices kept for a group that will start",
    "kept as spares": "free devices of nodes that are kept free for groups that lose members to faults",
    "fragmented": "free devices while a waiting job needed no more devices than were free",
    "idle": "free devices while no waiting job needed so few",
    "broken": "devices out of order",
    "wait": f"the time in which the quorum of a job was not placed; {OF_WAITS}; impossible jobs do not count",
    "completion": f"from the arrival of a job to its end; {OF_COMPLETIONS}",
    "p50, p99": "50 % and 99 % of the jobs took this long or less (nearest rank)",
    "makespan": "from the first arrival to the last end, if every job ended",
    "over seeds": "the lowest and the highest of any run; for differences, of any two runs with the same "
    "seed",
    "lost by receipts": "what the receipts of evictions by priority say was lost",
    "gangs split": "jobs that the scheduler left with some members placed and without their quorum",
    "outside required domain": "jobs that were placed outside the one rack or block that they require",
    "deadlocks": "how often incomplete groups held so much that none of them could ever be completed",
    "device-hours wasted": IN_VAIN.removeprefix("wasted: "),
}


def html(result: Result) -> str:
    return document(f"{result.scenario}: simulation", content(result))


def document(title: str, inside: Iterable[Markup], rules: str = "") -> str:
    """The whole page. It may run this script and no other, and has its style, and these rules, in itself."""
    script = Markup(SCRIPT)
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    allowed = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'),
        element("title", title),
        element("style", Markup(style() + rules)),
    )
    body = element(
        "body",
        patterns(),
        element("main", *inside),
        element("div", id="tip", hidden="", role="presentation"),
        element("script", script),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def content(result: Result) -> Iterator[Markup]:
    summaries, kinds = result.summaries, policy_kinds(result.summaries)
    jobs, shown = jobs_by_policy(result.runs, kinds), first_runs(result.runs)
    names = [name(kind, one.policy) for kind, one in zip(kinds, summaries, strict=True)]
    yield element(
        "header",
        element("h1", result.scenario),
        element("p", f"Simulated: {setting(result)}. {averages(result)}", class_="lead"),
    )
    yield part(
        "At a glance",
        f"Waits are {OF_WAITS}. Completion times are {OF_COMPLETIONS}.",
        panels(under(names, [glance(one, summaries) for one in summaries])),
    )
    yield part(
        "Devices over time",
        f"Every device is in exactly one state at any time. {of_seed(result)}",
        legend([(bucket, BUCKET_NAMES[bucket]) for bucket in used(summaries)]),
        panels(under(names, overtime.panels(shown))),
    )
    policies = [(kind, short(one.policy)) for kind, one in zip(kinds, summaries, strict=True)]
    yield element(
        "section",
        panels(
            [
                titled("How soon jobs were done", legend(policies), completions.plot(jobs)),
                titled("What jobs waited for, in hours", blockerbars.plot(summaries, kinds)),
            ]
        ),
    )
    yield part(
        "Wait against size",
        f"Both scales are logarithmic; waits of less than a second are at the bottom. {of_all(result)}",
        panels(under(names, waits.panels(jobs))),
    )
    yield from floors(names, shown, result)
    yield part(
        "All figures",
        "The best value of a row is bold, where one value can be better.",
        card(comparison(summaries)),
    )
    for title, lines in remarks(result):
        yield element(
            "section", element("h2", title), element("ul", *(element("li", line) for line in lines))
        )
    yield element("section", element("h2", "What the words mean"), meanings())


# -- parts -------------------------------------------------------------------------------------------------


def part(title: str, lead: str, *inside: str) -> Markup:
    return element("section", element("h2", title), element("p", lead, class_="lead"), *inside)


def panels(inside: Sequence[Markup]) -> Markup:
    """Three in a row, or four where that leaves less of the last row empty."""
    leaves_less = -len(inside) % 4 < -len(inside) % 3
    cards = map(card, inside)
    return element("div", *cards, class_="panels four" if leaves_less else "panels")


def card(*inside: str) -> Markup:
    return element("div", *inside, class_="card")


def titled(title: str, *inside: str) -> Markup:
    return joined([element("h3", title), *inside])


def under(names: Sequence[Markup], inside: Sequence[Markup]) -> list[Markup]:
    return [joined(pair) for pair in zip(names, inside, strict=True)]


def name(kind: str, policy: str) -> Markup:
    return element("h3", element("i", class_=f"key {kind}"), short(policy))


def first_runs(runs: Sequence[Run]) -> list[Run]:
    """Of each policy the run with its first seed: what has a moment cannot be a mean over seeds."""
    found: dict[str, Run] = {}
    for run in runs:
        found.setdefault(run.policy, run)
    return list(found.values())


def of_seed(result: Result) -> str:
    seeds = result.summaries[0].seeds
    return f"Shown are the runs with seed {seeds[0]}, one of {len(seeds)}." if len(seeds) > 1 else ""


def of_all(result: Result) -> str:
    seeds = len(result.summaries[0].seeds)
    return f"Shown are the jobs of all {seeds} runs." if seeds > 1 else ""


def used(summaries: Sequence[PolicySummary]) -> list[Bucket]:
    return [bucket for bucket in BUCKETS if any(one.device_hours[bucket] for one in summaries)]


# -- floor plans -------------------------------------------------------------------------------------------


def floors(names: Sequence[Markup], runs: Sequence[Run], result: Result) -> Iterator[Markup]:
    drawn = [
        card(title, floor.plan(run.floor))
        for title, run in zip(names, runs, strict=True)
        if run.floor is not None
    ]
    if drawn:
        yield part(
            "Floor plan",
            f"Each line is a node, each square a device, each colour a job. {floor.MOMENT} {of_seed(result)}",
            legend(
                [
                    ("seated", "job at work"),
                    ("held", "held by an incomplete group"),
                    ("free", "free"),
                    ("out", "broken"),
                ],
                is_switch=False,
            ),
            element("div", *drawn, class_="panels wide"),
        )


def patterns() -> Markup:
    """Stripes that tell what is held in vain, or broken, also without colours."""
    return element(
        "svg", element("defs", stripes("held"), stripes("broken")), class_="defs", aria_hidden="true"
    )


def stripes(kind: str) -> Markup:
    return element(
        "pattern",
        element("rect", class_=f"ground-{kind}", width=4, height=4),
        element("rect", class_=f"stripe-{kind}", width=1.6, height=4),
        id=f"hatch-{kind}",
        patternUnits="userSpaceOnUse",
        width=4,
        height=4,
        patternTransform="rotate(45)",
    )


# -- all figures -------------------------------------------------------------------------------------------


def comparison(summaries: Sequence[PolicySummary]) -> Markup:
    head = element(
        "tr",
        element("th", element("span", "figure", class_="unseen"), scope="col"),
        *(element("th", short(one.policy), scope="colgroup", colspan="2") for one in summaries),
    )
    bodies = [body(section, len(summaries)) for section in sections(summaries)]
    made = element("table", element("thead", head), *bodies, class_="comparison")
    hint = element(
        "p", "The table is wider than the page: scroll it sideways.", class_="note hint", hidden=""
    )
    return joined([hint, element("div", made, class_="scroll", tabindex="0")])


def body(section: ReportSection, policies: int) -> Markup:
    words = [element("span", section.title)]
    if section.about:
        words.append(element("small", section.about))
    title = element(
        "tr",
        element("th", element("div", *words), scope="rowgroup", colspan=str(1 + 2 * policies)),
        class_="title",
    )
    return element("tbody", title, *(line(row) for row in section.rows))


def line(row: ReportRow) -> Markup:
    cells = [
        element("td", text, class_=kind(row, policy, place), colspan=None if len(cell) == 2 else "2")
        for policy, cell in enumerate(row.cells)
        for place, text in enumerate(cell)
    ]
    label = element("th", short(row.label), scope="row")
    return element("tr", label, *cells, class_="aside" if row.is_aside else None)


def kind(row: ReportRow, policy: int, place: int) -> str | None:
    kinds = ["first"] * (place == 0) + ["best"] * (policy in row.best)
    return " ".join(kinds) or None


def meanings() -> Markup:
    pairs = [joined([element("dt", word), element("dd", what)]) for word, what in MEANINGS.items()]
    return element("dl", *pairs, class_="meaning")
