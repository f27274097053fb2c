"""An audit as one page that needs nothing else, made of the same pieces as the page of a simulation."""

from collections.abc import Iterator

from maitred.explain.audit.answer import Audit, DeviceCounts
from maitred.explain.audit.sections import Section, money, scope, sections
from maitred.simulate.report.amounts import amount, digits, number, percent
from maitred.simulate.report.html import document, panels, part, titled
from maitred.simulate.report.markup import Markup, element, joined, tip
from maitred.simulate.report.overview import pairs
from maitred.simulate.report.plot import legend

TITLE = "Audit of a cluster"
RULES = """
.plain td, .plain th { text-align: left; }
.plain td { white-space: normal; overflow-wrap: anywhere; min-width: 4.5rem; }
.plain td:last-child { min-width: 9rem; }
.alarm { border-left: 3px solid var(--lostToFailure); }
"""
PARTS = {
    "productive": "taken",
    "incomplete": "held by half-started gangs",
    "idle": "free, on whole nodes",
    "fragmented": "free, on partly used nodes",
    "lostToEviction": "free, stranded by pods without devices",
    "broken": "free, on cordoned or unhealthy nodes",
    "lostToFailure": "unwell, not offered by the device plugin",
}
"""What devices are, by the colours that mean the same in a simulation."""


def page(audit: Audit) -> str:
    return document(TITLE, content(audit), RULES)


def content(audit: Audit) -> Iterator[Markup]:
    yield element("header", element("h1", TITLE), element("p", f"{scope(audit)}.", class_="lead"))
    yield at_a_glance(audit)
    for section in sections(audit):
        yield element("section", element("h2", section.title), *told(section))
    if audit.warnings:
        lines = (element("li", warning) for warning in audit.warnings)
        yield element("section", element("h2", "Warnings"), element("ul", *lines))


def told(section: Section) -> Iterator[Markup]:
    for sentence in section.about:
        yield element("p", sentence, class_="lead")
    if section.rows:
        hint = element(
            "p", "The table is wider than the page: scroll it sideways.", class_="note hint", hidden=""
        )
        inside = element("div", table(section), class_="scroll", tabindex="0")
        yield element("div", hint, inside, class_="card alarm" if section.alarming else "card")


def table(section: Section) -> Markup:
    head = element("tr", *(element("th", title, scope="col") for title in map(str.capitalize, section.head)))
    body = [
        element("tr", element("th", name, scope="row"), *(element("td", cell) for cell in cells))
        for name, *cells in section.rows
    ]
    return element("table", element("thead", head), element("tbody", *body), class_="plain")


# -- at a glance -------------------------------------------------------------------------------------------


def at_a_glance(audit: Audit) -> Markup:
    cards = [titled(one.resource, bar(one), pairs(amounts_of(one))) for one in audit.devices]
    held = sum(gang.devices for gang in audit.half_started)
    figures = {
        "gangs": number(sum(kind.gangs for kind in audit.groups)),
        "half-started": number(len(audit.half_started)),
        **held_figures(audit),
        "requests that can never fit": number(len(audit.never)),
    }
    if held and audit.costs:
        figures["cost per day"] = money(audit.costs[0].money_per_day, audit)
    big = element("p", number(held), element("small", "devices held by half-started gangs now"), class_="big")
    legends = legend(list(PARTS.items()), is_switch=False) if audit.devices else Markup()
    return part("At a glance", "", legends, panels([joined([big, pairs(figures)]), *cards]))


def held_figures(audit: Audit) -> dict[str, str]:
    if audit.held is None:
        return {}
    return {
        "device-hours while incomplete": digits(audit.held.incomplete_device_hours),
        "device-hours until ready": digits(audit.held.starting_device_hours),
    }


def shares(one: DeviceCounts) -> dict[str, int]:
    """They add up to all devices of this kind."""
    return {
        "productive": one.taken - one.half_started,
        "incomplete": one.half_started,
        "idle": one.in_whole_nodes,
        "fragmented": one.in_part - one.stranded,
        "lostToEviction": one.stranded,
        "broken": one.unwell - one.not_offered,
        "lostToFailure": one.not_offered,
    }


def amounts_of(one: DeviceCounts) -> dict[str, str]:
    return {PARTS[kind]: number(count) for kind, count in shares(one).items() if count}


def bar(one: DeviceCounts) -> Markup:
    parts = [
        element(
            "i",
            class_=kind,
            style=f"flex:{count}",
            data_tip=tip(PARTS[kind], f"{amount(count, 'device')}, {percent(count / one.total)}"),
        )
        for kind, count in shares(one).items()
        if count > 0
    ]
    return element("div", *parts, class_="split")
