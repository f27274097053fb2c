"""A Plan as lines for people: what became of each group, why, and where its members go.

Lines keep to the width of a terminal: the table of groups by cutting the reason, which follows in full below,
everything else by continuing the last column under itself. In a pipe nothing is cut or continued.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

import msgspec
from rich.text import Text

from maitred.model.drain import MAINTENANCE, makes_room
from maitred.model.plan import (
    NO_LESSER,
    Alternative,
    Bind,
    Blocker,
    DeadlineToSet,
    Departure,
    Eviction,
    GroupVerdict,
    KeptRoom,
    Plan,
    Verdict,
)
from maitred.model.words import counted, printable

Cell = str | Text

STYLES: dict[Verdict, str] = {
    "Scheduled": "green",
    "Preempting": "yellow",
    "Waiting": "yellow",
    "Impossible": "red",
    "Invalid": "red",
}
HEADER = ("GROUP", "VERDICT", "PLACED", "QUORUM", "WHERE", "WHY")
GAP = "  "
WIDEST_COLUMN = 50
NARROWEST_LAST = 24
LONGEST_LIST = 8
ELLIPSIS = "..."
SURVIVAL = {True: "owner survives", False: "owner fails", None: "owner may fail"}


def plan_lines(plan: Plan, width: int | None = None, scheduler: str | None = None) -> Iterator[Text]:
    """The whole Plan, of one scheduler's pods or of all; without a width nothing wraps."""
    if not plan.groups:
        yield Text(
            f"No pod {f'that names scheduler {scheduler} ' if scheduler else ''}waits to be scheduled."
        )
        if plan.evictions or plan.deadlines:
            yield from seats(plan, width)
            yield from remarks(plan)
        return
    ordered = sorted(plan.with_parts(), key=lambda one: seated_first(one[0]))
    plan = msgspec.structs.replace(
        plan, groups=tuple(each for group, parts in ordered for each in (group, *parts))
    )
    yield from group_table(plan, width)
    for section in (reasons(plan, width), seats(plan, width), remarks(plan)):
        yield from section
    yield Text()
    yield Text(totals(plan))


def seated_first(group: GroupVerdict) -> tuple[int, str]:
    """Those who need attention come last, next to the reasons."""
    return list(STYLES).index(group.verdict), group.group


def group_table(plan: Plan, width: int | None) -> Iterator[Text]:
    seated = by_group((*plan.binds, *plan.nominations))
    header = [Text(title, "bold") for title in HEADER]
    rows = [
        row
        for group, parts in plan.with_parts()
        for row in (group_row(group, seated.get(group.group, ())), *part_rows(group, parts))
    ]
    return aligned([header, *rows], width, cut=True)


def part_rows(tree: GroupVerdict, parts: Sequence[GroupVerdict]) -> Iterator[Sequence[Cell]]:
    """The parts of a tree below it, each as far in as it is deep. What keeps the tree is said of that."""
    depths = {tree.group: 0}
    for part in parts:
        depths[part.group] = depths.get(part.parent, 0) + 1
        name, verdict, *numbers, why = group_row(part, ())
        own = any("tree" not in blocker.detail for blocker in part.blockers)
        yield (f"{'  ' * depths[part.group]}{name}", verdict, *numbers, why if own else "")


def group_row(group: GroupVerdict, binds: Iterable[Bind]) -> Sequence[Cell]:
    why = next((f"{blocker.category}: {blocker.message}" for blocker in group.blockers), "")
    return (
        group.group,
        Text(group.verdict, STYLES[group.verdict]),
        f"{group.placed}/{group.members}{' parts' if group.counts == 'parts' else ''}",
        quorum_words(group.quorum, group.blockers),
        where(group, binds),
        why,
    )


def quorum_words(quorum: int, blockers: Iterable[Blocker]) -> str:
    """What does not exist says none."""
    missing = any({"podGroup", "job", "compositePodGroup"} & blocker.detail.keys() for blocker in blockers)
    return "unknown" if missing else str(quorum)


def where(group: GroupVerdict, binds: Iterable[Bind]) -> str:
    """The domains that the group is held to, or else its nodes."""
    if group.domains:
        return ", ".join(f"{level} {domain}" for level, domain in group.domains.items())
    nodes = {bind.node for bind in binds}
    return counted(len(nodes), "node") if len(nodes) > 1 else "".join(nodes)


def reasons(plan: Plan, width: int | None) -> Iterator[Text]:
    """Every blocker and remedy of the groups that did not get all their members placed."""
    for group in plan.decisions:
        rows: list[Sequence[Cell]] = [("", blocker.category, blocker.message) for blocker in group.blockers]
        rows += [("", "Preemption", why) for why in refusals(group)]
        rows += [("", Text("Remedy", "green"), remedy.change) for remedy in group.remedies]
        if rows:
            yield Text()
            yield Text.assemble((printable(group.group), "bold"), f": {standing(group)}")
            yield from aligned(rows, width)


def refusals(group: GroupVerdict) -> Iterator[str]:
    """Why nobody makes room for it. That nobody ranks lower goes without saying."""
    for blocker in group.blockers:
        refusal = blocker.detail.get("preemption", NO_LESSER)
        if refusal != NO_LESSER:
            yield refusal


def standing(group: GroupVerdict) -> str:
    return f"{group.verdict}, {group.placed_words}, quorum {quorum_words(group.quorum, group.blockers)}"


def seats(plan: Plan, width: int | None) -> Iterator[Text]:
    """Where members go, and who makes room for them at what cost, group by group."""
    sections = (
        ("Binds", seat_rows(plan.binds)),
        ("Without paying", unpaid_rows(plan)),
        ("Nominations", seat_rows(plan.nominations)),
        ("Evictions", evicted(plan.evictions)),
        ("Deadlines of Jobs", deadline_rows(one for one in plan.deadlines if one.job)),
        ("Deadlines of pods", deadline_rows(one for one in plan.deadlines if one.pod)),
        ("Too late for their deadlines", late_rows(plan)),
        ("Healing", healing_rows(plan)),
        ("Room kept for pods that come later", kept_rows(plan.holds)),
        ("Kept free for repairs", spare_rows(plan.holds)),
        ("Reservations", reservation_rows(plan)),
        ("Nodes to ask for", asking_rows(plan)),
    )
    for title, found in sections:
        if rows := list(found):
            yield Text()
            yield Text(title, "bold")
            yield from aligned(rows, width)


def unpaid_rows(plan: Plan) -> Iterator[Sequence[Cell]]:
    """Groups that begin to run for nothing, or get more members that do."""
    free = () if plan.budgets is None else plan.budgets.scavengers
    bound = {bind.group for bind in plan.binds}
    for one in free:
        if one.group in bound:
            yield "", one.group, "no budget pays for it: any group that pays may evict it at any time"


def deadline_rows(deadlines: Iterable[DeadlineToSet]) -> Iterator[Sequence[Cell]]:
    for one in deadlines:
        whose = one.said if "/" in one.said else f"queue {one.said}"
        words = f"ends at {one.ends}, by the run-time limit of {one.group} ({whose})"
        yield (
            "",
            one.job or one.pod,
            words if one.seconds is not None else "has none any more: it waits for places again",
        )


def late_rows(plan: Plan) -> Iterator[Sequence[Cell]]:
    for one in plan.due:
        if one.at_risk:
            start = "" if one.latest_start is None else f", so it had to start by {one.latest_start}"
            yield "", one.group, f"must be done by {one.deadline}{start}"


def seat_rows(binds: Iterable[Bind]) -> Iterator[Sequence[Cell]]:
    for group, theirs in by_group(binds).items():
        yield "", group, on_nodes(theirs)


def kept_rows(holds: Iterable[KeptRoom]) -> Iterator[Sequence[Cell]]:
    rooms: dict[tuple[str, str, str], Counter[str]] = {}
    for hold in holds:
        if hold.cause not in ("Later", MAINTENANCE):
            continue  # told with what failed, and with what is kept for repairs
        until = hold.until or "" if hold.cause == MAINTENANCE else ""
        rooms.setdefault((hold.group, hold.owner, until), Counter())[hold.node] += hold.pods
    for (group, owner, until), nodes in rooms.items():
        pods = f"{counted(nodes.total(), 'pod')} on {shares(nodes, 'node')}"
        why = f"kept until {until} while it moves" if until else f"{owner} creates "
        why += "" if until else "it" if nodes.total() == 1 else "them"
        yield "", group, f"{pods}; {why}"


def spare_rows(holds: Iterable[KeptRoom]) -> Iterator[Sequence[Cell]]:
    spare = Counter(hold.node for hold in holds if hold.cause == "Spare")
    if spare:
        yield "", counted(len(spare), "node"), shares(spare, "node")


def reservation_rows(plan: Plan) -> Iterator[Sequence[Cell]]:
    for one in plan.reservations:
        words = f"for {one.beneficiary}, {one.begin} to {one.until}, on {counted(len(one.nodes), 'node')}"
        if one.state != "coming":
            words += f"; {one.state}"
        if one.others:
            words += f"; {counted(one.others, 'pod')} of others there"
        yield "", one.name, words


def asking_rows(plan: Plan) -> Iterator[Sequence[Cell]]:
    for one in plan.provisioning:
        pods = counted(sum(some.count for some in one.pods), "pod")
        yield "", one.group, f"for {pods}, by ProvisioningRequest {one.name}"


def healing_rows(plan: Plan) -> Iterator[Sequence[Cell]]:
    """For each group under which something failed: what, what is done, and where room is kept."""
    rooms = dict[str, Counter[str]]()
    for hold in plan.holds:
        if hold.cause == "Healing":
            rooms.setdefault(hold.group, Counter())[hold.node] += hold.pods
    for one in plan.healing:
        yield "", one.group, one.words
        kept = rooms.get(one.group)
        yield "", "", f"{one.does}; on {shares(kept, 'node')}" if kept else one.does


def by_group(binds: Iterable[Bind]) -> dict[str, list[Bind]]:
    found: dict[str, list[Bind]] = {}
    for bind in binds:
        found.setdefault(bind.group, []).append(bind)
    return found


def on_nodes(binds: Sequence[Bind]) -> str:
    """`8 pods on n1 (4), n2 (4)`."""
    return f"{counted(len(binds), 'pod')} on {shares(Counter(bind.node for bind in binds), 'node')}"


def evicted(evictions: Iterable[Eviction]) -> Iterator[Sequence[Cell]]:
    """For each group that needs the room: whose pods leave, what that costs, and who would have left else."""
    victims: dict[str, list[Eviction]] = {}
    for eviction in evictions:
        victims.setdefault(eviction.preemptor, []).append(eviction)
    for preemptor, theirs in victims.items():
        count = Counter(eviction.group or eviction.pod for eviction in theirs)
        yield "", preemptor, f"{counted(len(theirs), 'pod')} of {shares(count, 'group')}"
        yield "", "", "; ".join((ranks(theirs), *costs(theirs), *departures(theirs)))
        for other in theirs[0].receipt.alternatives[:1]:
            yield "", "", next_best(other)


def ranks(evictions: Sequence[Eviction]) -> str:
    if evictions[0].cause == MAINTENANCE:
        room = makes_room(evictions[0].preemptor)
        return "to make room for a group that waits" if room else "for maintenance"
    if evictions[0].cause == "Reservation":
        return "places that are reserved for others"
    if any(eviction.cause == "Reclaim" for eviction in evictions):
        return "places that were lent to its queue" if len(evictions) == 1 else "places that were lent"
    if any(eviction.cause == "Budget" for eviction in evictions):
        return "places for which nobody paid"
    lower = sorted({eviction.receipt.priority for eviction in evictions})
    higher = evictions[0].receipt.preemptor_priority
    if len(lower) == 1:
        return f"priority {lower[0]} yields to {higher}"
    return f"priorities {lower[0]} to {lower[-1]} yield to {higher}"


def costs(evictions: Sequence[Eviction]) -> Iterator[str]:
    toll = evictions[0].receipt.toll
    yield f"{toll.work_lost_device_hours:g} device-hours lost"
    if toll.violations:
        budgets = sorted({budget for eviction in evictions for budget in eviction.receipt.budgets})
        yield f"{counted(toll.violations, 'disruption')} beyond budget {listed(budgets, 'budget')}"


def departures(evictions: Sequence[Eviction]) -> Iterator[str]:
    """`4 suspended: Job train`, `2 deleted, owner survives: ReplicaSet chat`, `1 deleted for good`."""
    ways: dict[str, list[str]] = {}
    for eviction in evictions:
        departure = eviction.receipt.departure
        ways.setdefault(way(departure), []).append(departure.owner)
    for how, owners in sorted(ways.items(), reverse=True):
        named = sorted({owner for owner in owners if owner})
        yield f"{len(owners)} {how}" + (f": {listed(named, 'owner')}" if named else "")


def way(departure: Departure) -> str:
    if not departure.owner:
        return "deleted for good"
    if departure.by == "delete":
        return f"deleted, {SURVIVAL[departure.survives]}"
    how = "suspended" if departure.by == "suspend" else "stopped by Kueue"
    return how if departure.survives else f"{how}, {SURVIVAL[departure.survives]}"


def next_best(other: Alternative) -> str:
    return f"the next best choice, {listed(other.units, 'unit', other.toll.units)}, {other.worse}"


def shares(count: Counter[str], noun: str) -> str:
    names = sorted(count)
    if len(names) == 1:
        return names[0]
    alike = set(count.values()) == {1}
    return listed([name if alike else f"{name} ({count[name]})" for name in names], noun)


def listed(names: Sequence[str], noun: str, total: int = 0) -> str:
    """The first of these, and how many more there are, of `total` if these are not all."""
    shown = names[:LONGEST_LIST]
    rest = max(total, len(names)) - len(shown)
    return ", ".join(shown) + (f" and {counted(rest, f'more {noun}')}" if rest else "")


def remarks(plan: Plan) -> Iterator[Text]:
    if plan.search_exhausted:
        yield Text()
        yield Text(
            "The search stopped at its limit, policy.search.steps; a higher limit may place more.", "yellow"
        )
    if plan.wake_at:
        yield Text()
        yield Text(f"This may change at {plan.wake_at}, even if nothing else does.")


def totals(plan: Plan) -> str:
    verdicts = Counter(group.verdict for group in plan.decisions)
    parts = [f"{verdicts[verdict]} {verdict.lower()}" for verdict in STYLES if verdicts[verdict]]
    moves = [f"{counted(len(plan.binds), 'pod')} to bind"]
    if plan.binds:
        moves = [f"{moves[0]}, on {counted(len({bind.node for bind in plan.binds}), 'node')}"]
    if plan.evictions:
        moves.append(f"{counted(len(plan.evictions), 'pod')} to evict")
    return f"{counted(len(plan.decisions), 'group')}: {', '.join(parts)}; {', '.join(moves)}."


def header(*titles: str) -> list[Cell]:
    return [Text(title, "bold") for title in titles]


def aligned(rows: Sequence[Sequence[Cell]], width: int | None, cut: bool = False) -> Iterator[Text]:
    """Rows as lines. Columns are as wide as their cells, up to a point; a longer cell pushes its row only.

    Rows may have fewer cells than others: the last one then has all the room from its column on.
    """
    cells = [[shown(cell) for cell in row] for row in rows]
    columns = list(zip_longest(*(row[:-1] for row in cells), fillvalue=Text()))
    widths = [min(max(len(cell) for cell in column), WIDEST_COLUMN) for column in columns]
    for row in cells:
        line, before = Text(), widths[: len(row) - 1]
        for cell, column in zip(row[:-1], before, strict=True):
            line.append_text(cell)
            line.append(" " * max(column - len(cell), 0) + GAP)
        yield from ended(line, row[-1], sum(before) + len(GAP) * len(before), width, cut)


def shown(cell: Cell) -> Text:
    """Names in it may come from anywhere: what would move the cursor is written out."""
    if isinstance(cell, str):
        return Text(printable(cell))
    return cell if cell.plain.isprintable() else Text(printable(cell.plain), cell.style)


def ended(line: Text, last: Text, indent: int, width: int | None, cut: bool) -> Iterator[Text]:
    """The line with its last cell, which is cut, or continued under itself, where it is too long."""
    room = len(last) if width is None else max(width - indent, NARROWEST_LAST)
    pieces = [last]
    if len(last) > room and cut:
        pieces = [Text(last.plain[: room - len(ELLIPSIS)].rstrip() + ELLIPSIS)]
    elif len(last) > room:
        wrapped = textwrap.wrap(last.plain, room, break_on_hyphens=False)
        pieces = [Text(piece) for piece in wrapped or ("",)]
    for number, piece in enumerate(pieces):
        start = line if number == 0 else Text(" " * indent)
        start.append_text(piece)
        start.rstrip()
        yield start
