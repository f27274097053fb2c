"""The floor as lines for people: a map of the racks with one character for each node, and the groups."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from rich.text import Text

from maitred.explain.floorplan import ClusterFloor, FloorRow, Rack, Spot, natural
from maitred.explain.tables import GAP, STYLES, Cell, aligned
from maitred.model.quantity import CPU
from maitred.model.unwell import Cause
from maitred.model.words import counted, printable

HEADER = ("GROUP", "VERDICT", "PLACED", "QUORUM", "WHERE", "SINCE", "WHY")
STYLE_OF: dict[str, str] = {**{str(verdict): style for verdict, style in STYLES.items()}, "Finished": "dim"}
LEGEND = "A digit is a node: its free devices (else tenths of free cpu)"
LOST, CLOSED, MANY = "x", "-", "+"
MOST_PLACES = 3
MOST_ALONE = 20
"""Lone pods that are seated or finished; of more, only their number is told."""
MOST_UNWELL = 3
CAUSES: dict[Cause, str] = {
    "Unhealthy": "",
    "NotAnswering": " (the plugin is not answering, or all are unwell)",
    "NotRegistered": " (the plugin is not registered)",
}
USUAL_WIDTH = 100
SMALLEST_TABLE = 4
"""Lines: the header, two groups, and how many more there are."""


def floor_lines(
    floor: ClusterFloor, now: datetime, width: int | None = None, height: int | None = None
) -> Iterator[Text]:
    """Within a width nothing is longer; within a height what matters least is left out, and said."""
    above = list(map_lines(floor.racks, width or USUAL_WIDTH))
    if width is not None:
        for line in above:
            line.truncate(width, overflow="ellipsis")
    if height is not None:
        above = cut(above, height - SMALLEST_TABLE - 1)
    yield from above
    if above:
        yield Text()
        height = None if height is None else height - len(above) - 1
    yield from group_lines(floor.groups, now, width, height)


def cut(lines: list[Text], room: int) -> list[Text]:
    """The map in so many lines: the legend goes first, then racks; how things stand in all stays longest."""
    if len(lines) <= room:
        return lines
    racks, totals = lines[:-2], lines[-2:-1]
    if len(racks) < room:
        return racks + totals
    if room < 3:
        return totals if room > 0 else []
    left_out = counted(len(racks) - room + 2, "more line")
    return [*racks[: room - 2], Text(f"and {left_out} of racks", "dim"), *totals]


# -- the map -----------------------------------------------------------------------------------------------


def map_lines(racks: Sequence[Rack], width: int) -> Iterator[Text]:
    if not racks:
        return
    cells = [(rack.block, rack_cell(rack)) for rack in racks]
    widest = max(len(cell) for _, cell in cells)
    for block, inside in groupby(cells, key=lambda cell: cell[0]):
        yield from block_lines(block, [cell for _, cell in inside], widest, width)
    yield from unwell_line(racks)
    yield Text(totals(racks))
    yield Text(f"{LEGEND}, {MANY} more than 9, {LOST} lost, {CLOSED} cordoned.", "dim")


def block_lines(block: str, cells: Sequence[Text], widest: int, width: int) -> Iterator[Text]:
    """The racks of one block, as many side by side as the width has room for."""
    lead = Text(f"{printable(block)}{GAP}" if block else "", "bold")
    across = max((width - len(lead) + len(GAP)) // (widest + len(GAP)), 1)
    for start in range(0, len(cells), across):
        line = lead.copy() if start == 0 else Text(" " * len(lead))
        for cell in cells[start : start + across]:
            line.append_text(cell)
            line.append(" " * (widest - len(cell)) + GAP)
        line.rstrip()
        yield line


def rack_cell(rack: Rack) -> Text:
    cell = Text(f"{printable(rack.rack)} " if rack.rack else "")
    for spot in rack.nodes:
        cell.append_text(character(spot))
    if rack.total:
        cell.append(f" {rack.free}/{rack.total}", "dim")
    return cell


def character(spot: Spot) -> Text:
    if spot.openness != "open":
        return Text(LOST, "red") if spot.openness == "lost" else Text(CLOSED, "yellow")
    free = spot.free * 10 // max(spot.total, 1) if spot.resource == CPU else spot.free
    free = min(free, 9) if spot.resource == CPU else free
    colour = "red" if spot.cause else "green" if spot.free == spot.total else "" if free else "dim"
    return Text(str(free) if free <= 9 else MANY, colour)


def unwell_line(racks: Sequence[Rack]) -> Iterator[Text]:
    """The nodes with devices that are unwell, and how many; the first few of many."""
    ill = [spot for rack in racks for spot in rack.nodes if spot.cause]
    if ill:
        shown = [unwell_words(spot) for spot in ill[:MOST_UNWELL]]
        rest = len(ill) - MOST_UNWELL
        more = [counted(rest, "more node")] if rest > 0 else []
        yield Text(f"Unwell: {'; '.join([*shown, *more])}.", "red")


def unwell_words(spot: Spot) -> str:
    amount = f"{spot.unwell} of {spot.total} {spot.resource}" if spot.unwell else spot.resource
    return f"{amount} on {printable(spot.node)}{CAUSES[spot.cause or 'Unhealthy']}"


def totals(racks: Sequence[Rack]) -> str:
    spots = [spot for rack in racks for spot in rack.nodes]
    total, free, ill = Counter[str](), Counter[str](), Counter[str]()
    for spot in spots:
        if spot.resource != CPU:
            total[spot.resource] += spot.total
            ill[spot.resource] += spot.unwell
            free[spot.resource] += spot.free if spot.openness == "open" else 0
    states = Counter(spot.openness for spot in spots)
    parts = [
        f"{free[one]} of {total[one]} {one} free" + (f", {ill[one]} unwell" if ill[one] else "")
        for one in sorted(total)
    ]
    unwell = [f"{states[state]} {state}" for state in ("lost", "closed") if states[state]]
    nodes = counted(len(spots), "node") + (f" ({', '.join(unwell)})" if unwell else "")
    return f"{'; '.join([nodes, *parts])}."


# -- the groups --------------------------------------------------------------------------------------------


def group_lines(
    groups: Sequence[FloorRow], now: datetime, width: int | None, height: int | None
) -> Iterator[Text]:
    if not groups:
        yield Text("No groups.")
        return
    alone: Sequence[FloorRow] = ()
    if height is None or height >= SMALLEST_TABLE:
        groups, alone = apart(groups)
    if alone:
        height = None if height is None else height - 1
    if groups:
        yield from table_lines(groups, now, width, height)
    if alone:
        begin = "and " if groups else ""
        yield Text(f"{begin}{counted(len(alone), 'pod')} of no group: {by_verdict(alone)}", "dim")


def apart(groups: Sequence[FloorRow]) -> tuple[Sequence[FloorRow], Sequence[FloorRow]]:
    """What to show in rows, and lone pods that want for nothing, if they are many."""
    rows, alone = list[FloorRow](), list[FloorRow]()
    for row in groups:
        (alone if row.lone and row.verdict in ("Scheduled", "Finished") else rows).append(row)
    return (rows, alone) if len(alone) > MOST_ALONE else (groups, ())


def by_verdict(rows: Iterable[FloorRow]) -> str:
    verdicts = Counter[str](row.verdict for row in rows)
    return ", ".join(f"{verdicts[word]} {word.lower()}" for word in STYLE_OF if verdicts[word])


def table_lines(
    groups: Sequence[FloorRow], now: datetime, width: int | None, height: int | None
) -> Iterator[Text]:
    shown = sorted(groups, key=in_order)
    if height is not None and len(groups) + 1 > height:
        shown = sorted(sorted(groups, key=weightiest_first)[: max(height - 2, 1)], key=in_order)
    header: list[Cell] = [Text(title, "bold") for title in HEADER]
    table = [header, *(group_row(row, now) for row in shown)]
    room = None if height is None else height - (len(shown) < len(groups))
    lines = next(
        (
            lines
            for lines in (list(aligned(table, None)), told_below(table, width))
            if fits(lines, width, room)
        ),
        list(aligned(table, width, cut=True)),
    )
    for line in lines:
        line.truncate(width or len(line), overflow="ellipsis")
        yield line
    if len(shown) < len(groups):
        kept = {row.group for row in shown}
        rest = by_verdict(row for row in groups if row.group not in kept)
        yield Text(f"and {counted(len(groups) - len(shown), 'more group')}: {rest}", "dim")


def fits(lines: Sequence[Text], width: int | None, height: int | None) -> bool:
    is_wide_enough = width is None or all(len(line) <= width for line in lines)
    return is_wide_enough and (height is None or len(lines) <= height)


def told_below(table: Sequence[Sequence[Cell]], width: int | None) -> list[Text]:
    """The reason of a group under its row, where the last column has no room for it."""
    found = list[Text]()
    for row, line in zip(table, aligned([row[:-1] for row in table], None), strict=True):
        found.append(line)
        if row is not table[0]:
            why = printable(str(row[-1]))
            found += map(
                Text, textwrap.wrap(why, width or USUAL_WIDTH, initial_indent=GAP, subsequent_indent=GAP)
            )
    return found


def in_order(row: FloorRow) -> tuple[object, ...]:
    """As they came; those who are finished come last."""
    return row.verdict == "Finished", row.verdict != "Scheduled", str(row.since), natural(row.group)


def weightiest_first(row: FloorRow) -> tuple[object, ...]:
    """Who waits matters most when there is no room for all, then who came last."""
    rank = {"Finished": 2, "Scheduled": 1}.get(row.verdict, 0)
    return rank, -row.since.timestamp() if row.since and rank else 0.0, natural(row.group)


def group_row(row: FloorRow, now: datetime) -> Sequence[Cell]:
    return (
        row.group,
        Text(row.verdict, STYLE_OF[row.verdict]),
        f"{row.placed}/{row.members}",
        str(row.quorum),
        where(row),
        "" if row.since is None else age(now - row.since),
        row.why,
    )


def where(row: FloorRow) -> str:
    """`r1 (8), r2 (4)`; the numbers only where they differ and all places are named."""
    places, more = list(row.where)[:MOST_PLACES], len(row.where) - MOST_PLACES
    if more > 0:
        return f"{', '.join(places)} and {more} more"
    is_alike = len(set(row.where.values())) == 1
    return ", ".join(place if is_alike else f"{place} ({row.where[place]})" for place in places)


def age(passed: timedelta) -> str:
    """In the largest unit that says enough: 45s, 3m, 2h, 5d."""
    seconds = max(int(passed.total_seconds()), 0)
    for unit, size, enough in (("d", 86400, 2), ("h", 3600, 2), ("m", 60, 2)):
        if seconds >= size * enough:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
