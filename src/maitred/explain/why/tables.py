"""Answers as lines for people. They are made from the answer alone, which may have come from elsewhere."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from rich.text import Text

from maitred.explain.tables import STYLES, Cell, aligned, header, listed, next_best, quorum_words
from maitred.explain.why.answer import (
    Comparison,
    EvictionAnswer,
    Nearest,
    OrderPlace,
    PodEviction,
    PreemptionAnswer,
    RankAnswer,
    Waited,
    Why,
)
from maitred.explain.why.progress import Slow
from maitred.explain.why.rules import WORDS
from maitred.explain.why.summary import lasting, ready_words
from maitred.model.overrides import OverrideNote
from maitred.model.plan import Toll
from maitred.model.words import counted, printable

UNNOTICED = 1.0
"""Seconds of a wait that are left out of its parts: a group is looked at within about as long."""
Rows = list[Sequence[Cell]]


def why_lines(answer: Why, width: int | None = None) -> Iterator[Text]:
    yield from told(answer.summary, width)
    yield Text()
    yield from aligned(list(facts(answer)), width)
    for title, rows in sections(answer):
        yield Text()
        yield Text(title, "bold")
        yield from aligned([("", *row) for row in rows], width)


def told(summary: str, width: int | None) -> Iterator[Text]:
    """The sentence that comes first."""
    return aligned([(Text(f"{printable(summary)}.", "bold"),)], width)


# -- facts ---------------------------------------------------------------------------------------------


def facts(answer: Why) -> Iterator[Sequence[Cell]]:
    yield "State", state_words(answer)
    if answer.quorum_from and answer.workload is None:
        yield "Quorum", f"said by {answer.quorum_from}"
    yield from facts_of_places(answer)
    yield from facts_of_waiting(answer)
    yield from (("Note", note) for note in answer.notes)


def facts_of_places(answer: Why) -> Iterator[Sequence[Cell]]:
    if answer.placement is not None:
        yield "Room" if answer.state == "Unattended" else "Where", where_words(answer)
    if answer.ranks is not None:
        yield from zip(chain(("Ranks",), repeat("")), rank_words(answer.ranks), strict=False)
    if answer.progress is not None:
        yield "Progress", ready_words(answer.progress)
    if answer.ends is not None:
        yield "End", answer.ends.words
    if answer.due is not None:
        yield "Deadline", Text(answer.due.words, "red" if answer.due.at_risk else "")
    if answer.yields is not None:
        yield answer.yields.cause or "Reclaim", answer.yields.words


def facts_of_waiting(answer: Why) -> Iterator[Sequence[Cell]]:
    if answer.waited is not None:
        yield "Waiting", waited_words(answer.waited)
    if answer.queue is not None and answer.state in ("Waiting", "Suspended"):
        yield "Turn", queue_words(answer.queue)
    if answer.override is not None:
        yield "Override", override_words(answer.override)
    if answer.preemption is not None:
        yield from preemption_rows(answer.preemption)
    if answer.estimate is not None:
        yield "Start", answer.estimate.words
        yield from (("", f"assuming that {one}") for one in answer.estimate.assumptions)


def state_words(answer: Why) -> Text:
    verdict = answer.verdict
    shown = answer.state if verdict in (None, "Scheduled") or answer.state == "Suspended" else verdict
    loose, have = answer.workload is not None, "placed"
    if answer.state == "Unattended":
        have = "would be placed"
    noun = "pod" if loose else "part" if answer.parts else "member"
    parts = [f"{answer.placed} of {counted(answer.members, noun)} {have}"]
    quorum = quorum_words(answer.quorum, answer.blockers)
    parts.append("each decided by itself" if loose else f"quorum {quorum}")
    if answer.priority is not None:
        parts.append(f"priority {answer.priority}")
    return Text.assemble((shown, STYLES[verdict] if verdict else ""), f", {', '.join(parts)}")


def where_words(answer: Why) -> str:
    placement = answer.placement
    if placement is None:
        return ""
    domains = ", ".join(f"{level} {domain}" for level, domain in placement.domains.items())
    since = f", since {placement.since}" if placement.since else ""
    return f"{domains}{': ' if domains else ''}{listed(placement.nodes, 'node')}{since}"


def rank_words(ranks: RankAnswer) -> Iterator[str]:
    """A line for each level that any pair crosses, or has to."""
    subject = f"of {counted(ranks.pairs, 'neighbouring pair')}"
    for one in ranks.levels:
        if one.crossing or one.least:
            level = f"domains of {one.level}" if "/" in one.level else f"{one.level}s"
            least = "" if one.least is None else f"; {one.least} is the least"
            yield f"{one.crossing} {subject} {'crosses' if one.crossing == 1 else 'cross'} {level}{least}"


def waited_words(waited: Waited) -> str:
    parts = [f"{lasting(seconds)} for {category}" for category, seconds in waited.by.items()]
    if parts and waited.unknown >= UNNOTICED:
        parts.append(f"{lasting(waited.unknown)} not recorded")
    by = f": {', '.join(parts)}" if parts else ""
    return f"{lasting(waited.seconds)}, since {waited.since}{by}"


def queue_words(queue: OrderPlace) -> str:
    if queue.turn == 1:
        return f"first of {counted(queue.of, 'group')}"
    rules = ", ".join(f"{count} {WORDS[rule].ahead}" for rule, count in queue.rules.items())
    ahead = f"{counted(queue.turn - 1, 'group')} ahead ({rules})"
    fates = (
        (queue.seated, "starts now", "start now"),
        (queue.promised, "waits for other pods to leave", "wait for other pods to leave"),
        (queue.waiting, "waits as well", "wait as well"),
    )
    told = ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in fates if count)
    return f"{queue.turn} of {queue.of}: {ahead}; {told}"


def override_words(override: OverrideNote) -> str:
    return f"lifted past its queue until {override.until} by {override.by}: {override.reason}"


def preemption_rows(preemption: PreemptionAnswer) -> Iterator[Sequence[Cell]]:
    title = preemption.cause or "Preemption"
    yield title, preemption.words if preemption.allowed else f"none: {preemption.words}"
    if preemption.cause == "Reclaim":
        yield "", preemption.rule
    if preemption.toll is not None:
        yield "", toll_words(preemption.toll)
    if preemption.nodes:
        yield "", f"places held on {listed(preemption.nodes, 'node')}"
    if preemption.next_best is not None:
        yield "", next_best(preemption.next_best)


def toll_words(toll: Toll) -> str:
    parts = [f"{counted(toll.pods, 'pod')} of {counted(toll.units, 'unit')}"]
    parts.append(f"priority up to {toll.highest_priority}")
    parts.append(f"{toll.work_lost_device_hours:g} device-hours lost")
    if toll.violations:
        parts.append(f"{counted(toll.violations, 'disruption')} beyond budgets")
    return f"costs {', '.join(parts)}"


# -- sections ------------------------------------------------------------------------------------------


def sections(answer: Why) -> Iterator[tuple[str, Rows]]:
    if answer.parts:
        yield "Its parts", part_rows(answer)
    if answer.blockers:
        yield "What is in the way", [(blocker.category, blocker.message) for blocker in answer.blockers]
    first = answer.on_empty_cluster
    if first is not None and first not in answer.blockers:
        yield "Even on an empty cluster", [(first.category, first.message)]
    if answer.nearest is not None and answer.nearest.places:
        yield nearest_title(answer.nearest), nearest_rows(answer.nearest)
    if answer.remedies:
        yield "What would help, each tried", [(Text(one.change, "green"),) for one in answer.remedies]
    if answer.queue is not None and answer.queue.first and answer.state in ("Waiting", "Suspended"):
        yield "Ahead of it", ahead_rows(answer.queue)
    if answer.progress is not None and answer.progress.slow:
        yield "Not Ready", [slow_row(slow) for slow in answer.progress.slow]


def part_rows(answer: Why) -> Rows:
    """Each below what it is part of."""
    depths = {answer.group: 0}
    rows: Rows = [header("PART", "VERDICT", "PLACED", "QUORUM", "WHY")]
    for part in answer.parts:
        depths[part.group] = depths.get(part.parent, 0) + 1
        own = (f"{one.category}: {one.message}" for one in part.blockers if "tree" not in one.detail)
        rows.append(
            (
                f"{'  ' * (depths[part.group] - 1)}{part.group}",
                Text(part.verdict, STYLES[part.verdict]),
                f"{part.placed}/{part.members}",
                str(part.quorum),
                next(own, ""),
            )
        )
    return rows


def nearest_title(nearest: Nearest) -> str:
    shown, total = len(nearest.places), nearest.total
    of = f" ({shown} of {total})" if shown < total else ""
    return f"Where it is nearest{of}"


def nearest_rows(nearest: Nearest) -> Rows:
    title = (nearest.level or "places").upper()
    rows: Rows = [header(title, "NODES", "ROOM FOR", "ONE MORE DOES NOT FIT")]
    for place in nearest.places:
        rows.append((place.name, str(place.nodes), f"{place.holds} of {nearest.needed}", place.why))
    return rows


def ahead_rows(queue: OrderPlace) -> Rows:
    rows: Rows = []
    for one in queue.first:
        verdict = Text(one.verdict, STYLES[one.verdict])
        rows.append((one.group, verdict, f"priority {one.priority}", f"first by {one.rule}"))
    rest = queue.turn - 1 - len(queue.first)
    return [*rows, (f"and {counted(rest, 'more group')}",)] if rest else rows


def slow_row(slow: Slow) -> Sequence[Cell]:
    age = "" if slow.seconds is None else f"for {lasting(slow.seconds)}"
    more = f" and {slow.members - 1} more" if slow.members > 1 else ""
    return (f"{slow.pod}{more}", slow.node, age, slow.words)


# -- the other two -------------------------------------------------------------------------------------


def comparison_lines(answer: Comparison, width: int | None = None) -> Iterator[Text]:
    yield from told(answer.summary, width)
    yield Text()
    rows: Rows = [header("RULE", answer.group, answer.other, "FIRST")]
    for point in answer.points:
        winner = {None: "", "group": answer.group, "other": answer.other}[point.first]
        rows.append((point.rule, point.group, point.other, Text(winner, "bold" if point.decides else "dim")))
    yield from aligned(rows, width)
    yield Text()
    stands: Rows = [(answer.group, answer.group_stands), (answer.other, answer.other_stands)]
    if answer.without_other:
        stands.append((f"without {answer.other}", answer.without_other))
    if answer.preemption:
        stands.append((answer.cause or "Preemption", answer.preemption))
    yield from aligned(stands, width)


def eviction_lines(answer: EvictionAnswer, width: int | None = None) -> Iterator[Text]:
    yield from told(answer.summary, width)
    for one in answer.evictions:
        yield Text()
        yield from aligned(list(receipt_rows(one)), width)
    if answer.known_since is None:
        yield Text()
        yield Text("Past evictions are not known: this answer has no ledger.")


def receipt_rows(one: PodEviction) -> Iterator[Sequence[Cell]]:
    eviction, receipt = one.eviction, one.eviction.receipt
    yield "When", one.at or "now"
    yield "For", f"{eviction.preemptor}, priority {receipt.preemptor_priority}"
    yield "Rule", receipt.rule
    yield "Pod", f"{eviction.pod}, priority {receipt.priority}; evicted together with {receipt.unit}"
    lost = f"{receipt.work_lost_device_hours:g} device-hours"
    yield "Lost", lost + (f" since {receipt.lost_since}" if receipt.lost_since else "")
    yield "In all", toll_words(receipt.toll)
    if receipt.override is not None:
        yield "Override", f"{eviction.preemptor} was {override_words(receipt.override)}"
    if receipt.budgets:
        yield "Budgets", f"beyond {listed(receipt.budgets, 'budget')}"
    if receipt.departure.words:
        yield "Owner", receipt.departure.words
    yield from (("Instead", next_best(other)) for other in receipt.alternatives)
