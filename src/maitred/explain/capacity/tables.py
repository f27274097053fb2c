"""The answers as lines for people: a section for each question, with the question as its heading."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import UNSET
from rich.text import Text

from maitred.explain.capacity.document import (
    Capacity,
    Constraint,
    Fragmented,
    Gangs,
    Idle,
    IdlePart,
    IdleReason,
    Incomplete,
    Largest,
    Move,
    Placeable,
    PlaceablePriority,
    PreemptionWorth,
    ShapeOfPods,
)
from maitred.explain.tables import Cell, aligned, header, listed
from maitred.model.quantity import CPU, text
from maitred.model.words import counted

Section = Callable[[Capacity, int | None], Iterator[Text]]
MOST_NAMES = 3
TWO_DAYS = 2 * 24 * 60
"""In minutes: from then on days are easier to read."""

REASONS: dict[IdleReason, str] = {
    "Starting": "a group starts on them now",
    "Promised": "held for a group: other pods leave for it, or its own are not created yet",
    "NotManaged": "the policy (nodes.managed) leaves the nodes to other schedulers",
    "NotReady": "the nodes are not ready",
    "Cordoned": "the nodes are cordoned",
    "Unhealthy": "the nodes are not healthy: {}",
    "Unwell": "the device plugin reports that they are unhealthy",
    "NotAnswering": "the device plugin is not answering, or all devices of these nodes are unwell",
    "NotRegistered": "the device plugin is not registered: labels of the nodes tell of them",
    "DeviceTainted": "the devices are tainted: {}",
    "Tainted": "no pod that could use them tolerates {}",
    "Reserved": "reserved for {}",
    "Held": "held for {}",
    "Stranded": "the nodes have too little {} left for any pod that asks for these devices",
    "Quota": "the limits of {} keep back the groups that want them",
    "Budget": "the budget of {} cannot pay for the groups that want them",
    "Fragmented": "too few in one place for any waiting group",
    "Free": "no waiting group asks for them",
}


def capacity_lines(capacity: Capacity, width: int | None = None) -> Iterator[Text]:
    if not capacity.nodes:
        yield Text(f"There are no nodes; {_waiting_words(capacity)}.")
        return
    for number, (question, section) in enumerate(sections_of(capacity)):
        if number:
            yield Text()
        yield Text(question, "bold")
        yield from section(capacity, width)
    if capacity.notes:
        yield Text()
        yield from (Text(f"Note: {note}.") for note in capacity.notes)
    yield Text()
    yield Text(f"{counted(capacity.nodes, 'node')}; {_waiting_words(capacity)}.")


def _waiting_words(capacity: Capacity) -> str:
    if not capacity.waiting:
        return "no group waits for room"
    waiting, held = capacity.waiting, capacity.kept_back or 0
    who = f"{counted(waiting, 'group')} wait{'s' if waiting == 1 else ''}"
    if not held:
        return f"{who} for room"
    for_queue = f"for the limits or the budget of {'its queue' if held == 1 else 'their queues'}"
    return (
        f"{who} {for_queue}" if held == waiting else f"{who}: {waiting - held} for room, {held} {for_queue}"
    )


def _rows(rows: Sequence[Sequence[Cell]], width: int | None) -> Iterator[Text]:
    return aligned([("", *row) for row in rows], width)


def short(resource: str) -> str:
    """`gpu` of `nvidia.com/gpu`."""
    return resource.rpartition("/")[2]


def amount(resource: str, number: int) -> str:
    return f"{text(resource, number)} {short(resource)}"


def of_counted(capacity: Capacity, number: int) -> str:
    """An amount of what is counted, whatever it is."""
    if capacity.resources == (CPU,):
        return f"{text(CPU, number)} cpu"
    return counted(number, "device")


def money(capacity: Capacity, number: float | None) -> str:
    return "" if number is None else f"{number:,.2f} {capacity.currency}"


# -- can the next gang be placed ---------------------------------------------------------------------------


def _placeable(capacity: Capacity, width: int | None) -> Iterator[Text]:
    ranks = [rank for each in capacity.placeable for rank in each.ranks]
    if not ranks:
        yield Text("  Not known: no shape of a member was tried.")
        return
    ranked = any(len(each.ranks) > 1 for each in capacity.placeable)
    levels = [gangs.level for gangs in ranks[0].gangs]
    titles = ["ANYWHERE" if level is None else f"ONE {short(level)}" for level in levels]
    rows = [header("SHAPE OF A MEMBER", *(["PRIORITY"] if ranked else []), *titles)]
    names = _shapes([each.shape for each in capacity.placeable])
    for each, (name, *more) in zip(capacity.placeable, names, strict=True):
        for place, (rank, cells) in enumerate(_ranks(each)):
            rows.append(["" if place else name, *([rank] if ranked else []), *cells])
        rows += [[f"  {term}", *[""] * (len(rows[0]) - 1)] for term in more]
    what = "The largest gang that would start now" if capacity.gang is None else f"A gang of {capacity.gang}"
    rooms = any(g.with_room for each in capacity.placeable for rank in each.ranks for g in rank.gangs)
    yield Text(f"  {what}{'; after a slash, if all pods that it may evict were gone' if rooms else ''}:")
    yield from _rows(rows, width)


def _queues(capacity: Capacity, width: int | None) -> Iterator[Text]:
    rooms = capacity.queues or ()
    if not rooms:
        yield Text("  You may use no queue.")
        return
    rows = [header("QUEUE", "SHAPE OF A MEMBER", "LARGEST GANG", "BY ROOM ALONE", "FIRST LIMIT")]
    before = ""
    for one in rooms:
        name = "" if one.queue == before else one.queue
        rows.append([name, _shape(one.shape), str(one.members), str(one.room), one.limit or "-"])
        before = one.queue
    yield Text("  For a user who has nothing yet, without what other queues would have to give back:")
    yield from _rows(rows, width)


def _ranks(each: Placeable) -> Iterator[tuple[str, list[Cell]]]:
    """One row for all priorities that could have the same."""
    names: dict[tuple[str, ...], list[str]] = {}
    for rank in each.ranks:
        cells = tuple(_gang(gangs) for gangs in rank.gangs)
        names.setdefault(cells, []).append(_priority(rank))
    for cells, priorities in names.items():
        same = len(priorities) == len(each.ranks) > 1
        yield "any" if same else ", ".join(priorities), list(cells)


def _priority(rank: PlaceablePriority) -> str:
    return f"{rank.priority} ({rank.priority_class})" if rank.priority_class else str(rank.priority)


def _gang(gangs: Gangs) -> str:
    if gangs.fits == "now":
        return _within("yes", gangs.now)
    if gangs.fits == "with-room" and gangs.with_room is not None:
        return _within("after eviction", gangs.with_room)
    if gangs.fits == "no":
        return "no"
    now, room = _within(str(gangs.now.members), gangs.now), gangs.with_room
    if room is None or room.members <= gangs.now.members:
        return now
    if room.domain == gangs.now.domain:
        now = str(gangs.now.members)
    return f"{now} / {_within(str(room.members), room)}"


def _within(words: str, largest: Largest) -> str:
    return words if largest.domain is None else f"{words} ({largest.domain})"


def _shapes(shapes: Sequence[ShapeOfPods]) -> Iterator[list[str]]:
    """What each is called; where two would be called the same, with what sets them apart below."""
    names = [_shape(shape) for shape in shapes]
    for shape, name in zip(shapes, names, strict=True):
        namesakes = [other for other, theirs in zip(shapes, names, strict=True) if theirs == name]
        shared = set.intersection(*(set(_terms(other)) for other in namesakes))
        yield [name, *(term for term in _terms(shape) if term not in shared)]


def _terms(shape: ShapeOfPods) -> list[str]:
    selected = [f"on {key}={value}" for key, value in shape.selects.items()]
    return [
        *selected,
        *(f"on {term}" for term in shape.requires),
        *(f"tolerates {taint}" for taint in shape.tolerates),
        *(f"devices by {selector}" for selector in shape.selectors),
    ]


def _shape(shape: ShapeOfPods) -> str:
    devices_first = sorted(shape.requests, key=lambda name: ("/" not in name, name))
    claimed = [f"{count} {name}" for name, count in shape.claims.items()]
    words = ", ".join([*claimed, *(f"{shape.requests[name]} {short(name)}" for name in devices_first)])
    if shape.kind == "node":
        words = f"node of {words}"
    on = shape.model or ", ".join(shape.selects.values())
    return f"{words} ({on})" if on else words


# -- fragmentation -----------------------------------------------------------------------------------------


def _fragmented(capacity: Capacity, width: int | None) -> Iterator[Text]:
    if not capacity.fragmented:
        yield Text("  None.")
        return
    rows: list[Sequence[Cell]] = [header("GROUP", "BLOCKED BY", "WHAT HELPS")]
    for each in capacity.fragmented:
        alike = f" and {each.alike} like it" if each.alike else ""
        rows.append((each.group + alike, each.category, _help(each)))
    yield from _rows(rows, width)


def _help(each: Fragmented) -> str:
    if each.move is not None:
        return _move(each.move)
    needs = f"{each.holds} of {each.needed} fit"
    return f"{needs}; one move is not enough" if each.sought else f"{needs}; no move was tried"


def _move(move: Move) -> str:
    moved = [placement for placement in move.pods if placement.target != placement.source]
    to = f"to {listed(sorted({placement.target for placement in moved}), 'node')}"
    stay = len(move.pods) - len(moved)
    again = f", and {stay} more {'restarts' if stay == 1 else 'restart'} in place" if stay else ""
    lost = f"{again}; {move.lost_device_hours:g} device-hours lost"
    pods = counted(len(moved), "pod")
    if move.kind == "drain":
        return f"drain {move.node}: {pods} {to}{lost}"
    source = listed(sorted({placement.source for placement in moved}), "node")
    units = listed(move.units[:MOST_NAMES], "unit", len(move.units))
    whose = units if len(move.pods) == 1 else f"{pods} of {units}"
    return f"move {whose} from {source} {to}{lost}"


# -- incomplete groups -------------------------------------------------------------------------------------


def _incomplete(capacity: Capacity, width: int | None) -> Iterator[Text]:
    if not capacity.incomplete:
        yield Text("  None: no group runs with fewer members than its quorum.")
        return
    rows = [header("GROUP", "MEMBERS", "HOLDS", "SINCE", "WASTED", *_priced(capacity, "PER HOUR"))]
    rows += [[each.group, *_held(capacity, each)] for each in capacity.incomplete]
    yield from _rows(rows, width)


def _priced(capacity: Capacity, title: str) -> list[str]:
    return [] if capacity.currency is None else [title]


def _held(capacity: Capacity, each: Incomplete) -> Iterator[Cell]:
    unit = "core" if capacity.resources == (CPU,) else "device"
    starts = ", the rest starts now" if each.starts_now else ""
    yield f"{each.counted} of {each.quorum}{starts}"
    yield ", ".join(amount(resource, number) for resource, number in each.holds.items()) or "nothing counted"
    yield each.since or "not known"
    yield f"{each.device_hours:g} {unit}-hours" if each.since else "not known"
    if capacity.currency is not None:
        yield money(capacity, each.cost_per_hour)


# -- small ones first --------------------------------------------------------------------------------------


def _orders(capacity: Capacity, width: int | None) -> Iterator[Text]:
    if not capacity.orders:
        yield Text("  No large group waits while smaller groups could go first.")
        return
    rows: list[Sequence[Cell]] = []
    for each in capacity.orders:
        rows.append((each.group, each.words))
        rows += [("", f"assumed: {assumption}") for assumption in each.assumptions]
    yield from _rows(rows, width)


# -- preemption --------------------------------------------------------------------------------------------


def _preemption(capacity: Capacity, width: int | None) -> Iterator[Text]:
    if not capacity.preemption:
        yield Text("  No waiting group could start by preemption.")
        return
    rows: list[Sequence[Cell]] = [header("GROUP", "WORK LOST", "WORTH IT", "EVICTED")]
    rows += [
        (each.group, _lost(capacity, each), _worth(each), _victims(each)) for each in capacity.preemption
    ]
    yield from _rows(rows, width)


def _lost(capacity: Capacity, each: PreemptionWorth) -> str:
    lost = f"{each.lost_device_hours:g} device-hours"
    return lost if each.lost_money is None else f"{lost}, {money(capacity, each.lost_money)}"


def _worth(each: PreemptionWorth) -> str:
    if each.break_even_hours is None:
        return "not known"
    worth = f"after {duration(each.break_even_hours)}" if each.break_even_hours else "at once"
    if each.expected_wait_hours is None:
        return worth
    return f"{worth}; else waits {duration(each.expected_wait_hours)}"


CAUSES = {"Reclaim": ", reclaimed", "Budget": ", not paid for"}
"""What is said of those who leave for something else than a priority."""


def _victims(each: PreemptionWorth) -> str:
    named = listed(each.victims[:MOST_NAMES], "group", len(each.victims))
    victims = f"{counted(each.pods, 'pod')} of {named}{CAUSES.get(each.cause or '', '')}"
    if each.violations:
        victims += f", {each.violations} beyond budgets"
    return f"{victims}; not allowed: {each.why_not}" if each.why_not else f"{victims}, now"


def duration(hours: float) -> str:
    """`12m`, `1h05m`, `3d4h`."""
    minutes = round(hours * 60)
    if minutes < 60:
        return f"{minutes}m" if minutes or not hours else "1m"
    if minutes < TWO_DAYS:
        return f"{minutes // 60}h{minutes % 60:02}m"
    return f"{minutes // 1440}d{minutes // 60 % 24}h"


# -- topology ----------------------------------------------------------------------------------------------


def _constraints(capacity: Capacity, width: int | None) -> Iterator[Text]:
    if not capacity.constraints:
        yield Text("  None: no waiting group has to be within one domain.")
        return
    rows: list[Sequence[Cell]] = [header("CONSTRAINT", "WAITING", "TOTAL WAIT", "BLOCKS", "ONE LEVEL WIDER")]
    rows += [_constraint(capacity, each) for each in capacity.constraints]
    yield from _rows(rows, width)
    if any(each.because_hours is None for each in capacity.constraints):
        yield Text("  TOTAL WAIT includes hours for other blockers: only a ledger tells them apart.")


def _constraint(capacity: Capacity, each: Constraint) -> Sequence[Cell]:
    name = short(each.level)
    within = f"within one {name}" if each.constraint == "required" else f"slices within one {name}"
    waited = each.waited_hours if each.because_hours is None else each.because_hours
    wider = "anywhere" if each.wider is None else f"one {short(each.wider)}"
    return (
        within,
        f"{counted(each.groups, 'group')}, {of_counted(capacity, each.devices)}",
        duration(waited),
        counted(each.blocked, "group"),
        f"{wider}: {_started(each)}",
    )


def _started(each: Constraint) -> str:
    if not each.tried:
        return "not tried"
    groups = each.would_start
    names = f": {listed(groups[:MOST_NAMES], 'group', len(groups))}" if groups else ""
    return f"{len(groups) or 'none'} would start{names}"


# -- idle --------------------------------------------------------------------------------------------------


def _idle(capacity: Capacity, width: int | None) -> Iterator[Text]:
    for each in capacity.idle:
        kind = f"{each.resource} {each.model}".rstrip()
        unwell = f", {each.unwell} unwell" if each.unwell else ""
        partly = f", {each.partly} in use in part" if each.partly else ""
        idle = f"{text(each.resource, each.idle)} of {text(each.resource, each.total)} idle"
        yield Text(f"  {kind}: {idle}{partly}{unwell}")
        rows = [_idle_row(capacity, each, place) for place in range(len(each.reasons))]
        yield from _rows([("", *row) for row in rows], width)


def _idle_row(capacity: Capacity, each: Idle, place: int) -> Sequence[Cell]:
    part = each.reasons[place]
    why = REASONS[part.reason].format(_detail(part))
    cost = [f"{money(capacity, part.cost_per_hour)} an hour"] if part.cost_per_hour is not None else []
    where = counted(part.nodes, "node") if part.nodes else "shared by nodes"
    return (text(each.resource, part.devices), part.reason, where, *cost, why)


def _detail(part: IdlePart) -> str:
    if part.reason in ("Quota", "Budget"):
        return f"queue {part.detail}" if part.detail else "other queues"
    if part.reason in ("Reserved", "Held"):
        until = f" until {part.until}" if part.until else ""
        return f"{part.detail or 'others'}{until}"
    return part.detail


def sections_of(capacity: Capacity) -> Sequence[tuple[str, Section]]:
    first, *others = SECTIONS
    return SECTIONS if capacity.queues is UNSET else (first, IN_QUEUES, *others)


IN_QUEUES: tuple[str, Section] = ("What may each queue still start?", _queues)
SECTIONS: tuple[tuple[str, Section], ...] = (
    ("Can the next gang be placed?", _placeable),
    ("Which groups does fragmentation block, and what would one move free?", _fragmented),
    ("How much hardware do incomplete groups hold?", _incomplete),
    ("Should small groups go first while a large one waits?", _orders),
    ("When is preemption worth it?", _preemption),
    ("Which topology constraints cause waiting?", _constraints),
    ("Why are devices idle?", _idle),
)
