"""The health of a cluster, or of one node or group, as lines for people."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.text import Text

from maitred.explain.health.answer import FleetHealth, GroupHealth, NodeHealth, NodeState
from maitred.explain.tables import Cell, aligned, header, listed
from maitred.model.health.signals import Family, Signal
from maitred.model.meta import Timestamp
from maitred.model.words import counted
from maitred.simulate.report.amounts import duration

Rows = list[Sequence[Cell]]
STATES: dict[NodeState, str] = {"Lost": "red", "Unwell": "red", "Suspected": "yellow", "Leaving": "yellow"}
FAMILIES: dict[Family, str] = {
    "Infrastructure": "infrastructure",
    "Device": "device",
    "OwnCode": "own code",
    "Degradation": "degradation",
    "Notice": "notice",
    "Unknown": "unknown",
}
MOST_ROWS = 20


def health_lines(health: FleetHealth, width: int | None = None) -> Iterator[Text]:
    if health.about:
        yield from one_lines(health, width)
    else:
        yield from fleet_lines(health, width)
    if health.notes:
        yield Text()
        yield from (Text(f"Note: {note}.") for note in health.notes)


def age(health: FleetHealth, since: Timestamp | None) -> str:
    if since is None:
        return "-"
    return duration(max((datetime.fromisoformat(health.at) - since).total_seconds(), 0.0))


def sure(one: NodeHealth | GroupHealth) -> str:
    return f"{FAMILIES[one.family]}, {one.certainty}"


# -- all of it -----------------------------------------------------------------------------------------


def fleet_lines(health: FleetHealth, width: int | None) -> Iterator[Text]:
    if health.unwell:
        yield Text("Unwell nodes", "bold")
        yield from aligned(node_rows(health), width)
        yield Text()
    if health.hurt:
        yield Text("Hurt groups", "bold")
        yield from aligned(group_rows(health), width)
        yield Text()
    if health.lemons:
        yield Text("Lemons", "bold")
        yield from aligned(lemon_rows(health), width)
        yield Text()
    if health.unknown or health.ignored:
        yield Text("Counts for nothing", "bold")
        yield from aligned(ignored_rows(health), width)
        yield Text()
    yield Text(totals(health))


def node_rows(health: FleetHealth) -> Rows:
    rows: Rows = [["", *header("NODE", "STATE", "FAMILY", "SINCE", "GROUPS", "WHAT")]]
    for one in health.unwell[:MOST_ROWS]:
        more = len({signal.words for signal in one.signals}) - 1
        words = one.words + (f" (and {counted(more, 'other signal')})" if more else "")
        groups = str(len(one.groups) + one.elsewhere)
        state = Text(one.state, STATES[one.state])
        rows.append(("", one.node, state, sure(one), age(health, one.since), groups, words))
    return [*rows, *rest(len(health.unwell), "node")]


def group_rows(health: FleetHealth) -> Rows:
    rows: Rows = [["", *header("GROUP", "WORKING", "QUORUM", "FAMILY", "SINCE", "WHY")]]
    for one in health.hurt[:MOST_ROWS]:
        working = Text(f"{one.working}/{one.members}", "red" if one.below else "")
        rows.append(("", one.group, working, str(one.quorum), sure(one), age(health, one.since), one.words))
        if one.healing:
            rows.append(("", "", "", "", "", "", one.healing))
    return [*rows, *rest(len(health.hurt), "group")]


def lemon_rows(health: FleetHealth) -> Rows:
    rows: Rows = [["", *header("NODE", "SINCE", "TAINTED", "LAST FAILURE")]]
    for one in health.lemons[:MOST_ROWS]:
        last = one.evidence[0] if one.evidence else "-"
        rows.append(("", one.node, age(health, one.since), "yes" if one.tainted else "no", last))
    return [*rows, *rest(len(health.lemons), "lemon")]


def rest(total: int, noun: str) -> Iterator[Sequence[Cell]]:
    if total > MOST_ROWS:
        yield "", f"and {counted(total - MOST_ROWS, f'more {noun}')}; -o json has all of them"


def ignored_rows(health: FleetHealth) -> Rows:
    rows: Rows = []
    for one in health.unknown:
        where = one.node if one.nodes == 1 else f"{counted(one.nodes, 'node')}, such as {one.node}"
        words = f"maitred does not know the condition {one.condition} ({one.status})"
        rows.append(("", where, words))
    rows += [("", one.name, one.words) for one in health.ignored]
    return rows


def totals(health: FleetHealth) -> str:
    nodes, groups = len(health.unwell), len(health.hurt) + health.elsewhere
    below = sum(one.below for one in health.hurt)
    hurt = f"{counted(groups, 'group')} {'is' if groups == 1 else 'are'} hurt"
    if below:
        quorum = "its quorum" if below == 1 else "their quorums"
        hurt += f" and below {quorum}" if below == groups else f", {below} of them below {quorum}"
    if health.elsewhere:
        hurt += f", {health.elsewhere} in namespaces that you may not see"
    unwell = f"{nodes} of {counted(health.nodes, 'node')} {'is' if nodes == 1 else 'are'} unwell or leaving"
    return f"{unwell}; {hurt if groups else 'no group is hurt'}."


# -- one -----------------------------------------------------------------------------------------------


def one_lines(health: FleetHealth, width: int | None) -> Iterator[Text]:
    kind, _, name = health.about.partition(" ")
    if kind == "node":
        yield from node_lines(health, name, width)
    else:
        yield from group_lines(health, name, width)


def node_lines(health: FleetHealth, name: str, width: int | None) -> Iterator[Text]:
    if not health.unwell:
        yield Text(f"Node {name} is well: no condition, taint, device or group speaks against it.", "green")
        return
    one = health.unwell[0]
    there = listed(one.groups, "group", len(one.groups) + one.elsewhere) if one.groups else ""
    there = there or (f"{counted(one.elsewhere, 'group')} of others" if one.elsewhere else "none")
    facts: Rows = [
        ("Node", one.node),
        ("State", Text(one.state, STATES[one.state])),
        ("Family", sure(one)),
        ("Since", since_words(health, one.since)),
        ("What", one.words),
        ("Do", one.more),
        ("Groups on it", there),
    ]
    yield from aligned(facts, width)
    yield from signal_lines(health, one.signals, width)


def group_lines(health: FleetHealth, name: str, width: int | None) -> Iterator[Text]:
    if not health.hurt:
        yield Text(f"Group {name} is well: no signal speaks of its members.", "green")
        nodes = [f"{one.node} ({one.words})" for one in health.unwell]
        if nodes:
            yield Text(f"It has members on nodes that are unwell: {listed(nodes, 'node')}.")
        return
    one = health.hurt[0]
    facts: Rows = [
        ("Group", one.group),
        ("Working", f"{one.working} of {counted(one.members, 'member')}, quorum {one.quorum}"),
        ("Family", sure(one)),
        ("Since", since_words(health, one.since)),
        ("Why", one.words),
        ("Do", one.more),
    ]
    facts += [("Healing", one.healing)] if one.healing else []
    yield from aligned(facts, width)
    yield from signal_lines(health, one.signals, width, one.all_signals)


def since_words(health: FleetHealth, since: Timestamp | None) -> str:
    return "not known" if since is None else f"{since:%Y-%m-%dT%H:%M:%SZ}, {age(health, since)} ago"


def signal_lines(
    health: FleetHealth, signals: Sequence[Signal], width: int | None, total: int = 0
) -> Iterator[Text]:
    yield Text()
    yield Text("Signals", "bold")
    rows: Rows = [["", *header("SIGNAL", "ABOUT", "FAMILY", "SINCE", "WHAT")]]
    for one in signals:
        about = one.pod or one.device or one.node
        family = f"{FAMILIES[one.family]}, {one.certainty}"
        rows.append(("", one.kind, about, family, age(health, one.since), what(one)))
    if total > len(signals):
        rows.append(("", f"and {counted(total - len(signals), 'more signal')}"))
    yield from aligned(rows, width)


def what(signal: Signal) -> str:
    said = signal.evidence.get("message")
    return f"{signal.words}: {said}" if said else signal.words
