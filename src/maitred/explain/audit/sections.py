"""An audit in words: the same sections for a terminal and for a page."""

from collections.abc import Iterator
from dataclasses import dataclass

from maitred.explain.audit.answer import Audit, GroupKind, HeldGang, ReplayedJobs, UnwellCause
from maitred.explain.tables import listed
from maitred.model.words import counted
from maitred.simulate.report.amounts import amount, digits, duration, hours, number

MOST_ROWS = 20
NO_PRICES = "Some of these devices have no price: set it in the policy, in prices.devices."
GONE_WITHOUT_TRACE = "This is a lower bound: deleted pods leave no trace. Watch with --for to see them all"


@dataclass(frozen=True)
class Section:
    """Sentences, and a table where there is something to list."""

    title: str
    about: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """The first cell is the name of the row."""
    alarming: bool = False


def scope(audit: Audit) -> str:
    """What was looked at."""
    devices = [f"{number(one.total)} {one.resource}" for one in audit.devices] or ["no devices"]
    parts = [counted(audit.nodes, "node"), counted(audit.pods, "pod"), *devices]
    if audit.watched_seconds is None:
        return f"{', '.join(parts)}, as of {audit.at}"
    return f"{', '.join(parts)}, watched for {duration(audit.watched_seconds)} until {audit.at}"


def sections(audit: Audit) -> Iterator[Section]:
    yield half_started(audit)
    if audit.starting:
        yield Section("Starting", about=(starting(audit),))
    if audit.held is not None:
        yield held(audit)
    yield devices(audit)
    if audit.unwell:
        yield unwell(audit)
    if audit.stranded:
        yield stranded(audit)
    if audit.never:
        yield never(audit)
    if audit.costs:
        yield costs(audit)
    if audit.replay is not None:
        yield replayed(audit.replay)
    if audit.groups:
        yield groups(audit)


def half_started(audit: Audit) -> Section:
    found = audit.half_started
    if not found:
        gangs = sum(kind.gangs for kind in audit.groups)
        none = f"None of {counted(gangs, 'gang')} is." if gangs else "There are no gangs."
        return Section("Half-started gangs", about=(none,))
    total = sum(gang.devices for gang in found)
    hold, they_need = ("holds", "it needs") if len(found) == 1 else ("hold", "they need")
    about = (
        f"{counted(len(found), 'gang')} {hold} {amount(total, 'device')} and cannot work: members that "
        f"{they_need} are not placed.",
    )
    return Section(
        "Half-started gangs",
        about,
        ("GROUP", "KIND", "PLACED", "QUORUM", "DEVICES", "FOR", "DEVICE-HOURS"),
        cut(
            (
                gang.group,
                gang.by,
                f"{gang.seated}/{gang.members}",
                str(gang.quorum),
                number(gang.devices),
                duration(gang.seconds),
                digits(gang.incomplete_device_hours),
            )
            for gang in found
        ),
        alarming=True,
    )


def starting(audit: Audit) -> str:
    found = audit.starting
    names = [f"{gang.group} ({gang.seated} of {gang.quorum} for {duration(gang.seconds)})" for gang in found]
    are = "gang is" if len(found) == 1 else "gangs are"
    return f"{len(found)} {are} still incomplete, but for less than 5 min: {listed(names, 'gang')}."


def held(audit: Audit) -> Section:
    found = audit.held
    assert found is not None
    whole = found.incomplete_device_hours + found.starting_device_hours
    parts = (
        f"{digits(found.incomplete_device_hours)} of these while members were not placed: gangs that "
        f"start as a whole would have held nothing then; {digits(found.starting_device_hours)} while all "
        f"were placed and some were not ready yet."
    )
    about = (
        f"Since {found.since} gangs held {digits(whole)} device-hours before all of their quorum was ready.",
        *((parts,) if whole else ()),
        *(() if found.watched else (f"{GONE_WITHOUT_TRACE}.",)),
    )
    rows = cut((gang.group, *held_row(gang)) for gang in found.worst)
    head = ("GROUP", "KIND", "NOT PLACED", "INCOMPLETE FOR", "NOW") if rows else ()
    return Section("Held before the whole gang was ready", about, head, rows)


def held_row(gang: HeldGang) -> tuple[str, ...]:
    if gang.since is not None:
        now = f"{gang.seated} of {gang.quorum} placed"
    else:
        now = "complete" if gang.seated >= gang.quorum else "gone"
    return gang.by, hours(gang.incomplete_device_hours), duration(gang.seconds), now


def devices(audit: Audit) -> Section:
    if not audit.devices:
        return Section("Devices", about=("There are no devices: no node has a resource that counts as one.",))
    rows = tuple(
        (
            one.resource,
            *map(number, (one.total, one.taken, one.in_whole_nodes, one.in_part, one.unwell)),
        )
        for one in audit.devices
    )
    about = tuple(f"{word}." for one in audit.devices for word in room_words(one.resource, audit))
    head = ("RESOURCE", "TOTAL", "TAKEN", "FREE ON WHOLE NODES", "FREE ON USED NODES", "UNHEALTHY")
    return Section("Devices", about, head, rows)


def room_words(resource: str, audit: Audit) -> Iterator[str]:
    one = next(one for one in audit.devices if one.resource == resource)
    if one.in_part:
        nodes = counted(one.part_nodes, "node")
        yield (
            f"{number(one.in_part)} of {number(one.free)} free {resource} are on partly used "
            f"{'or partly unwell ' if one.not_offered else ''}nodes ({nodes}): a request for whole nodes "
            f"cannot get them"
        )
    for room in one.levels:
        has = f"{counted(room.nodes, 'node')} with {number(room.devices)} {resource}"
        where = f"{room.level} {room.domain}, {has}"
        none = f"No {room.level} has a whole node with {resource} free"
        yield f"Most whole nodes free within one {room.level}: {where}" if room.nodes else none


WHY_UNWELL: dict[UnwellCause, str] = {
    "Unhealthy": "the device plugin reports that they are unhealthy",
    "NotAnswering": "the device plugin is not answering, or all are unwell",
    "NotRegistered": "the device plugin is not registered; the label {label} tells of them",
    "Tainted": "the devices are tainted",
}


def unwell(audit: Audit) -> Section:
    found = audit.unwell
    total = sum(one.unwell or 0 for one in found)
    nodes = len({one.node for one in found})
    tainted = ", or they are tainted" if any(one.cause == "Tainted" for one in found) else ""
    uncounted = len({one.node for one in found if not one.of})
    many = amount(total, "device") if total or not uncounted else "Devices"
    about = f"{many} on {counted(nodes, 'node')} cannot be had: the node does not offer them{tainted}."
    if uncounted:
        about += f" On {counted(uncounted, 'node')}, nothing says how many there are."
    rows = cut(
        (
            one.node,
            f"{one.unwell} of {one.of} {one.resource}" if one.of else f"{one.resource}, number unknown",
            WHY_UNWELL[one.cause].format(label=one.label),
        )
        for one in found
    )
    return Section("Unwell devices", (about,), ("NODE", "DEVICES", "WHY"), rows, alarming=True)


def stranded(audit: Audit) -> Section:
    found = audit.stranded
    total = sum(node.devices for node in found)
    about = (
        f"{amount(total, 'free device')} on {counted(len(found), 'node')} cannot be used: pods without "
        f"devices took the cpu or memory that a pod with devices needs.",
    )
    rows = cut(
        (
            node.node,
            f"{number(node.devices)} {node.resource}",
            f"{node.free} {node.lacks} left; {counted(node.pods, 'pod')} without devices: "
            f"{listed(node.largest, 'pod', node.pods)}",
        )
        for node in found
    )
    return Section("Stranded devices", about, ("NODE", "DEVICES", "WHY"), rows, alarming=True)


def never(audit: Audit) -> Section:
    found = audit.never
    about = (f"{counted(len(found), 'request')} would not fit on this cluster even if it were empty.",)
    rows = cut((one.group, one.by, str(one.members), f"{one.category}: {one.message}") for one in found)
    return Section("Can never fit", about, ("GROUP", "KIND", "MEMBERS", "WHY"), rows, alarming=True)


def costs(audit: Audit) -> Section:
    rows = tuple(
        (one.what, number(one.devices), hours(one.device_hours_per_day), money(one.money_per_day, audit))
        for one in audit.costs
    )
    missing = any(one.money_per_day is None for one in audit.costs)
    return Section(
        "A day like this",
        (NO_PRICES,) if missing else (),
        ("DEVICES THAT ARE", "DEVICES", "DEVICE-HOURS", "MONEY"),
        rows,
    )


def money(found: float | None, audit: Audit) -> str:
    return "-" if found is None else f"{found:,.2f} {audit.currency}"


def replayed(replay: ReplayedJobs) -> Section:
    about = (
        f"The jobs of {duration(3600 * replay.hours)} were simulated on the same nodes. Started as whole "
        f"groups, they would have saved {digits(replay.saved_device_hours)} device-hours that incomplete "
        f"gangs held when placed pod by pod.",
        *(f"{warning[:1].upper()}{warning[1:]}." for warning in replay.warnings),
    )
    rows = tuple(
        (
            run.placement,
            f"{run.finished} of {run.jobs}",
            duration(run.mean_wait_seconds),
            hours(run.productive_device_hours),
            hours(run.incomplete_device_hours),
            str(run.deadlocks),
        )
        for run in replay.runs
    )
    head = ("PLACEMENT", "FINISHED", "MEAN WAIT", "PRODUCTIVE", "HELD INCOMPLETE", "DEADLOCKS")
    return Section("What whole groups would have saved", about, head, rows)


def groups(audit: Audit) -> Section:
    unknown = any(kind.unknown for kind in audit.groups)
    about = ("Some do not say how many members they need; these are not counted as gangs.",)
    rows = tuple((kind.by, str(kind.groups), str(kind.gangs), unsaid(kind)) for kind in audit.groups)
    return Section("Groups", about if unknown else (), ("KIND", "GROUPS", "GANGS", "OF UNKNOWN SIZE"), rows)


def unsaid(kind: GroupKind) -> str:
    return str(kind.unknown) if kind.unknown else "-"


def cut(rows: Iterator[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The first of many; the rest is in the data."""
    found = tuple(rows)
    more = len(found) - MOST_ROWS
    if more <= 0:
        return found
    filler = ("",) * (len(found[0]) - 1)
    return (*found[:MOST_ROWS], (f"and {more} more", *filler))
