"""Evictions in one plain sentence each: for the victim, for its group, and for whoever they make room for."""

from collections import Counter
from collections.abc import Sequence

from maitred.explain.tenant_words import EVERYBODY_NAMED, Audience, elsewhere, rule_told
from maitred.model.drain import MAINTENANCE, makes_room
from maitred.model.plan import Eviction
from maitred.model.words import counted

MOST_NAMES = 4
"""That are named in one sentence."""


def victim_words(eviction: Eviction, reader: Audience = EVERYBODY_NAMED) -> str:
    """`evicted for ns/group (priority 100 > 10): 0.4 device-hours of work are lost; Job train is ...`."""
    receipt = eviction.receipt
    parts = [_loss(receipt.work_lost_device_hours, receipt.lost_since), receipt.departure.words]
    return _sentence([eviction], [part for part in parts if part], reader)


def group_words(evictions: Sequence[Eviction], reader: Audience = EVERYBODY_NAMED) -> str:
    """The same for pods that leave together: all of one group or of one owner."""
    who = evictions[0].group or evictions[0].receipt.departure.owner or evictions[0].pod
    leave = f"{counted(len(evictions), 'pod')} of {who} {_leaves(len(evictions))}"
    loss = _loss(sum(e.receipt.work_lost_device_hours for e in evictions), None)
    departures = dict.fromkeys(e.receipt.departure.words for e in evictions if e.receipt.departure.words)
    return _sentence(
        evictions, [f"{leave}, {loss}" if loss else leave, *list(departures)[:MOST_NAMES]], reader
    )


def preemptor_words(evictions: Sequence[Eviction], reader: Audience = EVERYBODY_NAMED) -> str:
    return f"Preempting: waits for {to_leave(evictions, reader)}"


def to_leave(evictions: Sequence[Eviction], reader: Audience = EVERYBODY_NAMED) -> str:
    """`16 pods to leave: 8 of ns/a, 8 of ns/b; 3.2 device-hours of work are lost`."""
    known = [e for e in evictions if reader.knows(e.pod)]
    groups = Counter(e.group for e in known if e.group is not None)
    lone = [e.pod for e in known if e.group is None]
    names = [*(f"{count} of {group}" for group, count in groups.items()), *lone]
    more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    strangers = elsewhere(len(evictions) - len(known), "pod")
    named = ", ".join([*names[:MOST_NAMES], *more, *strangers])
    loss = _loss(sum(e.receipt.work_lost_device_hours for e in evictions), None)
    words = f"{counted(len(evictions), 'pod')} to leave: {named}"
    return f"{words}; {loss}" if loss else words


def _sentence(evictions: Sequence[Eviction], parts: Sequence[str], reader: Audience) -> str:
    first = evictions[0]
    lower = max(e.receipt.priority for e in evictions)
    budgets = sorted({budget for e in evictions for budget in e.receipt.budgets})
    beyond = [f"this is beyond what {_several(budgets)} allows"] if budgets else []
    if first.receipt.override is not None:
        beyond.append(f"an override lifts that group past its queue until {first.receipt.override.until}")
    if first.cause == MAINTENANCE:
        head = "evicted" if makes_room(first.preemptor) else "evicted for maintenance"
        return f"{head}, {first.receipt.rule}: {'; '.join([*parts, *beyond])}"
    if first.cause == "Reservation":
        return f"evicted as its nodes are reserved for others: {'; '.join([*parts, *beyond])}"
    preemptor = reader.group(first.preemptor)
    if first.cause in ("Reclaim", "Budget"):
        rule = rule_told(first.receipt.rule, first.preemptor, reader)
        return f"evicted for {preemptor}: {'; '.join([rule, *parts, *beyond])}"
    head = f"evicted for {preemptor} (priority {first.receipt.preemptor_priority} > {lower})"
    return f"{head}: {'; '.join([*parts, *beyond])}"


def _several(budgets: Sequence[str]) -> str:
    more = f" and {len(budgets) - MOST_NAMES} more" if len(budgets) > MOST_NAMES else ""
    return f"PodDisruptionBudget {', '.join(budgets[:MOST_NAMES])}{more}"


def _loss(hours: float, since: str | None) -> str:
    if not hours:
        return ""
    amount = f"{hours:.1f}" if hours >= 1 else f"{hours:.2g}"
    return f"{amount} device-hours of work{f' since {since}' if since else ''} are lost"


def _leaves(count: int) -> str:
    return "leaves" if count == 1 else "leave"
