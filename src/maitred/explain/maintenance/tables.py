"""The plan of a drain, and the requests that there are, as lines for people."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from maitred.explain.maintenance.answer import (
    DefragPlan,
    DrainList,
    DrainPlan,
    Leaving,
    MadeRoom,
    PlannedMove,
)
from maitred.explain.tables import Cell, aligned, header, listed
from maitred.model.words import counted, printable

Rows = list[Sequence[Cell]]
STYLES: dict[Leaving, str] = {"now": "green", "later": "green", "deadline": "red", "stays": "red"}
MOST_ROWS, MOST_NODES = 40, 4


def plan_lines(plan: DrainPlan, width: int | None = None) -> Iterator[Text]:
    nodes = counted(len(plan.nodes), "node")
    yield Text.assemble(("Drain ", "bold"), f"{plan.where}: {nodes} empty by {plan.by}, request {plan.name}")
    yield Text()
    if plan.moves:
        yield from aligned(move_rows(plan), width)
        yield from reason_lines(plan, width)
    else:
        yield Text("No pod has to leave.")
    yield from cost_lines(plan)


def move_rows(plan: DrainPlan) -> Rows:
    rows: Rows = [header("WHO", "PODS", "LEAVES", "LOSES", "TO", "WHY")]
    for one in plan.moves[:MOST_ROWS]:
        when = "stays" if one.at is None else "now" if one.leaves == "now" else one.at
        pods = str(one.pods) if one.pods == one.there else f"{one.pods} ({one.there} there)"
        lost = "-" if one.leaves == "stays" else f"{one.work_lost_device_hours:g} device-hours"
        rows.append((one.unit, pods, Text(when, STYLES[one.leaves]), lost, to_words(one), one.why))
    if len(plan.moves) > MOST_ROWS:
        rows.append((f"and {len(plan.moves) - MOST_ROWS} more; -o json has all of them",))
    return rows


def to_words(one: PlannedMove) -> Cell:
    if one.leaves == "stays":
        return "-"
    if not one.fits:
        return Text("no place", "red")
    named = [f"{node} ({count})" if count > 1 else node for node, count in one.to.items()]
    more = [f"{len(named) - MOST_NODES} more"] if len(named) > MOST_NODES else []
    short = f"; {one.members} of {one.pods}" if one.whole and one.members < one.pods else ""
    return ", ".join([*named[:MOST_NODES], *more]) + short


def reason_lines(plan: DrainPlan, width: int | None) -> Iterator[Text]:
    """What is in the way, what helps, and what else there is to know of each."""
    for one in plan.moves[:MOST_ROWS]:
        rows: Rows = [("", blocker.category, blocker.message) for blocker in one.blockers]
        rows += [("", Text("Helps", "green"), words) for words in one.help]
        if one.budgets:
            rows.append(("", "Budget", f"breaks PodDisruptionBudget {', '.join(one.budgets)}"))
        if one.protection:
            words = f"it {one.protection}; maintenance is no preemption, so it leaves all the same"
            rows.append(("", "Protected", words))
        if one.unowned and one.leaves != "stays":
            words = f"no controller would recreate {listed(one.unowned, 'pod')}"
            rows.append(("", "Unowned", words))
        if rows:
            yield Text()
            yield Text(printable(one.unit), "bold")
            yield from aligned([*rows, ("", "Leaves", one.departure)], width)


def cost_lines(plan: DrainPlan) -> Iterator[Text]:
    yield Text()
    stay = [one for one in plan.moves if one.leaves == "stays"]
    homeless = [one for one in plan.moves if not one.fits and one.leaves != "stays"]
    gangs = sum(one.whole for one in plan.moves if one.leaves != "stays")
    yield Text(
        f"{counted(plan.pods, 'pod')} would leave, {counted(gangs, 'group')} of them whole: "
        f"{plan.work_lost_device_hours:g} device-hours of work lost."
    )
    if homeless:
        it = "it leaves" if len(homeless) == 1 else "they leave"
        yield Text(f"There is no place for {listed([one.unit for one in homeless], 'group')}: {it} last.")
    if stay:
        pods = sum(one.there for one in stay)
        yield Text(f"{counted(pods, 'pod')} would stay, and the nodes would not become empty.")
    if plan.fixed:
        yield Text(f"{counted(plan.fixed, 'pod')} of DaemonSets and static pods stay.")
    for warning in plan.warnings:
        yield Text(f"Note: {warning}.")


def list_lines(found: DrainList, width: int | None = None) -> Iterator[Text]:
    if not found.requests:
        yield Text("No node is being drained by request.")
        return
    rows: Rows = [header("NAME", "WHERE", "BY", "STATE", "LEFT", "LOST", "WHAT")]
    for one in found.requests:
        lost = f"{one.work_lost_device_hours:g} device-hours"
        rows.append((one.name, one.where, one.by, one.state, str(one.left), lost, one.words))
    yield from aligned(rows, width)
    for one in found.requests:
        yield from (Text(f"{one.name}: {words}") for words in one.staying)


# -- room for groups that wait -------------------------------------------------------------------------


def defrag_lines(plan: DefragPlan, width: int | None = None) -> Iterator[Text]:
    if not plan.rooms:
        yield Text("No group waits because of fragmentation.")
        return
    rows: Rows = [header("STARTS", "WITH", "MOVES", "WHEN", "LOSES", "TO", "WHY")]
    rows += [room_row(one) for one in plan.rooms]
    yield from aligned(rows, width)
    yield Text()
    made = [one for one in plan.rooms if one.at is not None]
    if not made:
        yield Text("No group would start by moving others.")
        return
    lost = round(sum(one.work_lost_device_hours for one in made), 4)
    started = sum(one.devices for one in made)
    starts = f"{counted(len(made), 'group')} {'starts' if len(made) == 1 else 'start'}"
    devices = f" with {counted(started, 'device')}" if started else ""
    yield Text(
        f"{counted(sum(one.pods for one in made), 'pod')} would move, so that {starts}{devices}: "
        f"{lost:g} device-hours of work lost."
    )


def room_row(one: MadeRoom) -> Sequence[Cell]:
    gain = counted(one.members, "member") + (f", {counted(one.devices, 'device')}" if one.devices else "")
    alike = f" (and {one.alike} like it)" if one.alike else ""
    when = "-" if one.at is None else "now" if one.leaves == "now" else one.at
    lost = "-" if one.at is None else f"{one.work_lost_device_hours:g} device-hours"
    named = [f"{node} ({count})" if count > 1 else node for node, count in one.to.items()]
    more = [f"{len(named) - MOST_NODES} more"] if len(named) > MOST_NODES else []
    where = ", ".join([*named[:MOST_NODES], *more]) or "-"
    return (
        f"{one.group}{alike}",
        gain,
        ", ".join(one.units) or "-",
        Text(when, STYLES[one.leaves]),
        lost,
        where,
        one.why,
    )
