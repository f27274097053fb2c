"""Who sat where at one moment: racks of nodes, and each device in the colour of its job."""

from collections.abc import Iterator, Sequence
from typing import Literal

from maitred.model.words import counted
from maitred.simulate.report.amounts import amount, moment, number
from maitred.simulate.report.markup import Markup, data, element, short
from maitred.simulate.report.plot import table
from maitred.simulate.results import FloorPlan, FloorPlanNode

COLOURS = 12
CELLS = {80: 14, 320: 10}
"""From one device to the next in pixels, for up to so many nodes. A node is as high."""
SMALLEST_CELL = 6
WIDEST_NODE = 32
TALLEST_RACK = 16
"""Nodes; a larger rack goes on beside itself."""
MOMENT = (
    "The moment shown is the one at which incomplete groups held about the most devices; for a policy "
    "without incomplete groups, the one at which about the most devices were held."
)
MOST_NODES = 3_000
MOST_JOBS = 15

What = tuple[Literal["job", "free", "broken"], str]
"""What a device is, and the name if it is a job's."""


def plan(floor: FloorPlan) -> Markup:
    tables = floor.tables[:MOST_NODES]
    jobs = list(dict.fromkeys(job for one in tables for job, _ in one.seats))
    numbers = {job: place for place, job in enumerate(jobs)}
    racks: dict[str, dict[str, list[FloorPlanNode]]] = {}
    for one in tables:
        racks.setdefault(one.block, {}).setdefault(one.rack, []).append(one)
    incomplete = frozenset(floor.incomplete)
    cell = next((cell for most, cell in CELLS.items() if len(tables) <= most), SMALLEST_CELL)
    blocks = [
        block(
            name,
            [drawn for rack, own in inside.items() for drawn in pieces(rack, own, cell, numbers, incomplete)],
        )
        for name, inside in racks.items()
    ]
    held: dict[str, float] = {}
    for one in floor.tables:
        for job, devices in one.seats:
            held[job] = held.get(job, 0.0) + devices
    tips = [told(job, held[job], job in incomplete) for job in jobs]
    return element(
        "div",
        element("p", standing(floor, held), class_="note"),
        element("div", *blocks, data(tips), class_="floor"),
        figures(held, incomplete),
    )


def standing(floor: FloorPlan, held: dict[str, float]) -> str:
    """The moment in numbers."""
    stuck = sum(held.get(job, 0.0) for job in floor.incomplete)
    all_held = amount(sum(held.values()), "device")
    parts = [f"After {moment(floor.time)}: {amount(len(held), 'job')} held {all_held}"]
    if stuck:
        parts.append(f"{counted(len(floor.incomplete), 'job')} incomplete, with {number(stuck)} of these")
    if broken := sum(one.broken for one in floor.tables):
        parts.append(f"{counted(broken, 'device')} broken")
    parts.append(f"{counted(len(floor.waiting), 'job')} waiting")
    left_out = len(floor.tables) - MOST_NODES
    shown = f" The first {MOST_NODES:,} of {len(floor.tables):,} nodes are shown." if left_out > 0 else ""
    return f"{'; '.join(parts)}.{shown}"


def block(name: str, racks: Sequence[Markup]) -> Markup:
    title = [element("h4", name)] if name else []
    return element("div", *title, element("div", *racks, class_="racks"), class_="block")


def pieces(
    rack: str, tables: Sequence[FloorPlanNode], cell: int, numbers: dict[str, int], incomplete: frozenset[str]
) -> Iterator[Markup]:
    for start in range(0, len(tables), TALLEST_RACK):
        drawn = picture(rack, tables[start : start + TALLEST_RACK], cell, numbers, incomplete)
        yield element("div", drawn, element("span", rack if start == 0 else ""), class_="rack")


def picture(
    rack: str, tables: Sequence[FloorPlanNode], cell: int, numbers: dict[str, int], incomplete: frozenset[str]
) -> Markup:
    """Lines as broad as a node is high, dashed so that each dash is a device."""
    lines: dict[What, list[str]] = {}
    for row, one in enumerate(tables):
        for what, start, length in stretches(one):
            lines.setdefault(what, []).append(f"M{cell * start:g} {cell * (row + 0.5):g}h{cell * length:g}")
    return element(
        "svg",
        *(stretch(what, "".join(found), numbers, incomplete) for what, found in lines.items()),
        width=cell * max(min(max(one.devices for one in tables), WIDEST_NODE), 1),
        height=cell * len(tables),
        style=f"--cell:{cell}px",
        role="img",
        aria_label=f"{rack or 'nodes'}: {counted(len(tables), 'node')}",
    )


def stretches(one: FloorPlanNode) -> Iterator[tuple[What, float, float]]:
    """What is next to each other on a node, where it begins and how long it is, in devices.

    Parts of devices come after whole ones, so that whole ones begin where a square does.
    """
    whole_first = sorted(one.seats, key=lambda seat: seat[1] % 1 != 0)
    taken = sum(count for _, count in one.seats)
    free = max(one.devices - taken - one.broken, 0)
    found: list[tuple[What, float]] = [(("job", job), count) for job, count in whole_first]
    found += [(("free", ""), free % 1), (("free", ""), free - free % 1), (("broken", ""), one.broken)]
    wanted = taken + free + one.broken
    scale = min(one.devices, WIDEST_NODE) / wanted if wanted else 0.0
    start = 0.0
    for what, count in found:
        if count:
            yield what, start, count * scale
            start += count * scale


def stretch(what: What, drawn: str, numbers: dict[str, int], incomplete: frozenset[str]) -> Markup:
    kind, job = what
    if kind != "job":
        return element("path", class_=kind, d=drawn)
    place = numbers[job]
    colour = "held" if job in incomplete else f"job-{place % COLOURS}"
    return element("path", class_=colour, data_job=str(place), d=drawn)


def told(job: str, devices: float, is_incomplete: bool) -> list[str]:
    return [short(job), f"{amount(devices, 'device')}{', incomplete' if is_incomplete else ''}"]


def figures(held: dict[str, float], incomplete: frozenset[str]) -> Markup:
    rows = [
        [short(job), number(devices), "incomplete" if job in incomplete else "complete"]
        for job, devices in sorted(held.items(), key=lambda item: (-item[1], item[0]))[:MOST_JOBS]
    ]
    return table(
        ["job", "devices", "state"], rows, f"The largest jobs, as a table ({len(rows)} of {len(held)})"
    )
